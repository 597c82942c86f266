"""What the gate is asked and what it answers: plain values."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from claude_sdk_pattern.policy.model import Category, Decision, RoleName, Rule

type JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that an agent, or a subagent with ``agent_id``, wants to make."""

    tool: str
    input: JsonObject
    tool_use_id: str | None = None
    agent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateContext:
    """Where a call happens.

    Attributes:
        role: of the person whose session it is.
        workspace: the folder of the session; relative paths begin here, and its attachments lie in it.
        permission_mode: the CLI's mode now.
        readable: further folders of this session alone that may be read.
        writable: those that may be written as well.
        home: what ``~`` stands for in a path.
        rules: what was added for this session, its owner and their role.
    """

    role: RoleName
    workspace: Path
    permission_mode: str = "default"
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    home: Path | None = None
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the gate says.

    An ``allow`` without a ``rule`` means that nothing speaks against the call: the session's permission mode then
    decides whether a person is asked. With a rule nobody is.

    Attributes:
        rule: id of the rule that decided.
        reason: for the agent and for people.
        changed_input: what to run instead of what was asked for.
        changes: what was changed, in words.
    """

    decision: Decision
    category: Category | None = None
    rule: str | None = None
    reason: str | None = None
    changed_input: JsonObject | None = None
    changes: tuple[str, ...] = field(default=())

    @property
    def is_granted(self) -> bool:
        """Whether a rule allows the call, so that nobody needs to be asked."""
        return self.decision == "allow" and self.rule is not None


def input_hash(tool: str, tool_input: Mapping[str, Any]) -> str:
    """Return what a call is bound to: the same for the same tool and input, whatever the order of the fields."""
    canonical = orjson.dumps([tool, dict(tool_input)], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(canonical).hexdigest()
