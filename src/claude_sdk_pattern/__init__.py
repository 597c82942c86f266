"""A pluggable, multi-user agent platform around the Claude Agent SDK."""

from importlib.metadata import version

__version__ = version("claude-sdk-pattern")
