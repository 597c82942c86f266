"""The shape of a policy: what stands in ``builtin.yaml``, in an operator's file, and in the rules of the database.

Models are frozen and forbid extra fields: a misspelt key in a policy is an error and never a rule that is not there.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

type Decision = Literal["allow", "ask", "deny"]

type RoleName = Literal["user", "operator", "admin"]

ROLE_RANK: dict[RoleName, int] = {"user": 0, "operator": 1, "admin": 2}
"""Each role may do what those of lower rank may."""

type Category = Literal[
    "files.read", "files.write", "shell", "network", "agents", "planning", "person", "mcp", "result"
]
"""What kind of thing a tool does. ``person`` tools ask somebody; ``result`` tools only hand in data."""

type Severity = Literal["low", "medium", "high"]

type Reaction = Literal["pass", "flag", "block"]

RuleId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,79}$")]

Pattern = Annotated[str, StringConstraints(min_length=1, max_length=2000)]

HostPath = Annotated[str, StringConstraints(pattern=r"^/[^:*\x00]*$", max_length=2000)]
"""An absolute path, without the letters that stand for other things in patterns and lists of paths."""


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rule(_Data):
    """Allows, asks about, or denies what it matches. What it does not name it does not look at.

    Attributes:
        tools: names of tools, with ``*`` for any letters.
        commands: for the shell: a command with ``*`` within a word, ``*`` as last word for any rest, and ``**`` for any
            words in between. An ``allow`` has to cover every command of a script, the others only one.
        paths: for file tools: the path inside the workspace, or the whole path outside of it; ``*`` crosses folders.
        hosts: for the network: names of hosts, ``*.example.org`` for those below.
        input_hash: one exact input of the tool, as ``calls.input_hash`` has it.
        roles: for people of these roles only; empty: for all.
        reason: said to the agent and to people; for a denial, what to do instead.
    """

    id: RuleId
    decision: Decision
    tools: tuple[Pattern, ...] = ("*",)
    commands: tuple[Pattern, ...] = ()
    paths: tuple[Pattern, ...] = ()
    hosts: tuple[Pattern, ...] = ()
    input_hash: str | None = None
    roles: tuple[RoleName, ...] = ()
    reason: Annotated[str, StringConstraints(min_length=1, max_length=500)]


class CategoryPolicy(_Data):
    """Who may use the tools of a category: people whose role includes ``role``."""

    role: RoleName


class FilePolicy(_Data):
    """Folders and files of the machine that file tools may use besides the session's own, by absolute path."""

    readable: tuple[HostPath, ...] = ()
    writable: tuple[HostPath, ...] = ()


class HostPolicy(_Data):
    """Hosts that network tools and commands may reach."""

    allow: tuple[Pattern, ...] = ()


class PromptPolicy(_Data):
    """What the prompt guard does for each severity, and which of its patterns are off."""

    low: Reaction = "pass"
    medium: Reaction = "flag"
    high: Reaction = "block"
    other_sessions: Reaction = "block"
    disable: tuple[RuleId, ...] = ()


class Policy(_Data):
    """A whole policy, or a part that is laid over another.

    Attributes:
        tools: the category of each tool, by name or pattern (``mcp__acme__*``). What is not here is not declared.
        unsandboxed: commands that may run outside of Claude Code's own sandbox.
        secret_variables: names of environment variables that commands may not refer to, with ``*``.
        disable: ids of rules of the layers below that do not hold any more.
    """

    version: Literal[1]
    tools: dict[Pattern, Category] = Field(default_factory=dict)
    categories: dict[Category, CategoryPolicy] = Field(default_factory=dict[Category, CategoryPolicy])
    files: FilePolicy = FilePolicy()
    hosts: HostPolicy = HostPolicy()
    unsandboxed: tuple[Pattern, ...] = ()
    secret_variables: tuple[Pattern, ...] = ()
    rules: tuple[Rule, ...] = ()
    disable: tuple[RuleId, ...] = ()
    prompt: PromptPolicy = PromptPolicy()

    def with_layer(self, layer: "Policy") -> "Policy":
        """Return this policy with another laid over it: lists grow, single values are replaced.

        The layer's rules come first, but order only decides which of several agreeing rules is named.

        Raises:
            ValueError: the layer disables a rule that is not there, or uses an id a second time.
        """
        known = {rule.id for rule in self.rules}
        if missing := sorted(set(layer.disable) - known):
            raise ValueError(f"disable: there is no rule {missing[0]}")
        rules = (*layer.rules, *(rule for rule in self.rules if rule.id not in layer.disable))
        ids = [rule.id for rule in rules]
        if twice := sorted({rule_id for rule_id in ids if ids.count(rule_id) > 1}):
            raise ValueError(f"rules: the id {twice[0]} is used twice")
        return Policy(
            version=1,
            tools={**self.tools, **layer.tools},
            categories={**self.categories, **layer.categories},
            files=FilePolicy(
                readable=(*self.files.readable, *layer.files.readable),
                writable=(*self.files.writable, *layer.files.writable),
            ),
            hosts=HostPolicy(allow=(*self.hosts.allow, *layer.hosts.allow)),
            unsandboxed=(*self.unsandboxed, *layer.unsandboxed),
            secret_variables=(*self.secret_variables, *layer.secret_variables),
            rules=rules,
            prompt=layer.prompt if "prompt" in layer.model_fields_set else self.prompt,
        )
