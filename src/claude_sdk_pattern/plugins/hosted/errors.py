"""What can be wrong with the Python of a plugin."""


class CodeError(Exception):
    """The plugin's Python has not what its manifest or itself says."""
