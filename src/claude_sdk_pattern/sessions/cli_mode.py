"""Which permission mode the CLI is in for a session's mode."""

from claude_agent_sdk import PermissionMode


def cli_mode(mode: PermissionMode | str) -> PermissionMode:
    """Return the mode of the CLI that asks the platform about what this mode decides.

    In the CLI's own ``dontAsk`` an agent cannot put a question to a person either. So the CLI asks as by default, and
    the platform denies without asking anybody.
    """
    match mode:
        case "acceptEdits" | "plan" | "bypassPermissions":
            return mode
        case _:
            return "default"
