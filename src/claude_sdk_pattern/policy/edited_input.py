"""Whether what a person put in place of a tool's input is an input of that tool."""

from claude_sdk_pattern.policy.calls import JsonObject
from claude_sdk_pattern.policy.errors import InputRefusedError

# Fields that an answer adds to what the agent asked: that is the answer.
_ADDED: dict[str, frozenset[str]] = {"AskUserQuestion": frozenset({"answers", "annotations"})}

_JSON_NAMES = {
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


def check_edited_input(tool: str, original: JsonObject, edited: JsonObject) -> None:
    """Do nothing if an edited input has only fields of the original, each of its kind; the tool knows which it needs.

    Raises:
        InputRefusedError: it does not; the message names the field.
    """
    for name, value in edited.items():
        if name in _ADDED.get(tool, frozenset()):
            continue
        if name not in original:
            raise InputRefusedError(f"{name}: this call has no such field.")
        kinds = _kind(original[name]), _kind(value)
        if kinds[0] != kinds[1]:
            raise InputRefusedError(f"{name}: it has to be {kinds[0]}, as before.")


def _kind(value: object) -> str:
    return next((name for kind, name in _JSON_NAMES.items() if type(value) is kind), "null")
