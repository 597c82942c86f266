"""The manifest of a plugin: what stands in the ``plugin.json`` at the root of its folder.

Models are frozen and forbid extra fields: a misspelt key is a problem with a name and never a capability that is not
there. :func:`manifest_schema` publishes them for editors. ``docs/plugins.md`` describes every field.
"""

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Annotated, Any, Final, Literal, Self

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from claude_sdk_pattern.plugins.versions import is_range, is_version
from claude_sdk_pattern.policy.hooks import HookEvent

MANIFEST_FILE: Final = "plugin.json"

MANIFEST_VERSION: Final = "1"

VARIABLES_OF_OTHERS: Final = re.compile(
    r"^(PATH|HOME|PWD|SHELL|USER|LOGNAME|TERM|TMPDIR|LANG|LC_.*|IFS|ENV|PS[0-9]|PROMPT_COMMAND|SHELLOPTS|.*_PROXY|GCONV_PATH"
    r"|(CLAUDE|ANTHROPIC|MCP|API|MAX|DISABLE|ENABLE|BASH|LD|DYLD|NODE|NPM|BUN|GIT|SSL|OTEL|GLIBC)_.*"
    r"|(CLAUDECODE|PYTHON|PERL|RUBY).*)$"
)
"""Variables that a plugin does not set in an agent's environment: those of the platform and of Claude Code, and those
by which shells, loaders and interpreters are told to run something else."""

UI_FOLDER: Final = "ui"
"""The part of a plugin's folder that browsers get files of."""

SCHEMA_URL: Final = "https://claude-sdk-pattern.dev/schemas/plugin.schema.json"

PLACEHOLDER: Final = re.compile(r"\$\{([^}]*)\}")
"""What is filled in when a server or an agent is started: ``${config.KEY}``; for servers also ``${plugin_root}`` and
``${plugin_data}``."""


HOST_NAME: Final = re.compile(r"^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$")
"""A host, ``*.example.org`` for all below it, with or without a port."""


def _relative_path(text: str) -> str:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or "\\" in text or "\x00" in text:
        raise ValueError("must be a path inside the plugin's folder, without `..`")
    return text


def _in_ui_folder(*endings: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if PurePosixPath(text).parts[0] != UI_FOLDER or not text.endswith(endings):
            raise ValueError(f"must be a file in the folder `{UI_FOLDER}`, such as {UI_FOLDER}/chart{endings[0]}")
        return text

    return check


def _free_variable(text: str) -> str:
    if VARIABLES_OF_OTHERS.fullmatch(text):
        raise ValueError("is a variable of the platform, of Claude Code or of the system; choose another name")
    return text


def _version(text: str) -> str:
    if not is_version(text):
        raise ValueError("must be a version of three numbers, such as 1.2.0")
    return text


def _version_range(text: str) -> str:
    if not is_range(text):
        raise ValueError("must be a range of versions, such as ^1.0 or >=0.1.0")
    return text


Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9](?:-?[a-z0-9])*$", max_length=64)]
"""Kebab case: lower-case letters, digits and single hyphens between them."""

ConfigKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=64)]
VariableName = Annotated[
    str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]*$", max_length=64), AfterValidator(_free_variable)
]
VersionText = Annotated[str, AfterValidator(_version)]
VersionRange = Annotated[str, AfterValidator(_version_range)]
RelativePath = Annotated[str, StringConstraints(min_length=1, max_length=255), AfterValidator(_relative_path)]
ModuleName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$", max_length=200)]
FunctionName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$", max_length=200)
]
ShortText = Annotated[str, StringConstraints(min_length=1, max_length=500)]
LongText = Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
HostName = Annotated[str, StringConstraints(pattern=HOST_NAME.pattern, max_length=260)]

PartName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w.-]*(:[A-Za-z0-9][\w.-]*)?$", max_length=200)]
"""A skill or subagent of the same plugin, or ``plugin:name`` for one of another."""

PermissionModeName = Literal["default", "acceptEdits", "plan", "dontAsk"]
PluginType = Literal["tool", "mcp", "skill", "endpoint"]

Slot = Literal["side-panel", "message-renderer", "input-extension", "settings-section", "header-action"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Author(_Part):
    """Who made the plugin."""

    name: ShortText
    email: ShortText | None = None
    url: ShortText | None = None


class ToolsCapability(_Part):
    """Python functions with the SDK's ``@tool``.

    Attributes:
        module: imported from the plugin's folder, or from its ``python`` folder; its ``@tool`` functions are offered.
        in_process: run inside the server; only for plugins that the operator trusts.
        timeout_seconds: for one call.
        memory_mb: memory of the plugin's process, in MiB.
    """

    module: ModuleName
    in_process: bool = False
    timeout_seconds: float = Field(default=30.0, gt=0, le=3600)
    memory_mb: int = Field(default=512, ge=32, le=65_536)


class StdioServer(_Part):
    """An MCP server that is a program: it is started in the plugin's folder, behind walls of its own."""

    type: Literal["stdio"]
    command: ShortText
    args: tuple[Annotated[str, StringConstraints(max_length=10_000)], ...] = ()
    env: dict[ConfigKey, str] = Field(default_factory=dict)
    timeout_seconds: float = Field(default=60.0, gt=0, le=3600)
    memory_mb: int = Field(default=512, ge=32, le=65_536)


class RemoteServer(_Part):
    """An MCP server at an address: Streamable HTTP, or its predecessor, server-sent events."""

    type: Literal["http", "sse"]
    url: Annotated[str, StringConstraints(pattern=r"^(https?://|\$\{)", max_length=2000)]
    headers: dict[ShortText, str] = Field(default_factory=dict)
    timeout_seconds: float = Field(default=60.0, gt=0, le=3600)


McpServer = Annotated[StdioServer | RemoteServer, Field(discriminator="type")]


class EndpointsCapability(_Part):
    """A FastAPI router, mounted below ``/api/v1/plugins/<name>/``.

    Attributes:
        public: paths below that which need no sign-in, such as ``/hook``.
        timeout_seconds: for one request.
    """

    module: ModuleName
    router: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*$")] = "router"
    public: tuple[Annotated[str, StringConstraints(pattern=r"^/[^?#]*$", max_length=200)], ...] = ()
    timeout_seconds: float = Field(default=30.0, gt=0, le=600)
    max_body_bytes: int = Field(default=1_048_576, ge=0, le=104_857_600)
    memory_mb: int = Field(default=512, ge=32, le=65_536)


class Capabilities(_Part):
    """What the plugin brings.

    Attributes:
        skills: folders that hold a ``SKILL.md``, or folders of such folders.
        folders: folders whose files agents may read, and are told of.
        environment: variables that agents have, and what they start; with ``${config.KEY}`` for a value of the
            configuration that is not secret.
    """

    tools: ToolsCapability | None = None
    mcp_servers: dict[Name, McpServer] = Field(default_factory=dict[Name, McpServer])
    skills: tuple[RelativePath, ...] = ()
    folders: tuple[RelativePath, ...] = ()
    environment: dict[VariableName, Annotated[str, StringConstraints(max_length=10_000)]] = Field(
        default_factory=dict[str, str]
    )
    endpoints: EndpointsCapability | None = None


class PathPermissions(_Part):
    """Folders of the server's machine, besides the plugin's own."""

    readable: tuple[ShortText, ...] = ()
    writable: tuple[ShortText, ...] = ()


class Permissions(_Part):
    """What the plugin gets, and all that it gets. Operators agree to this list.

    Attributes:
        tools: tools that the agent may use because of this plugin; ``*`` for any letters. Tools the plugin brings and
            does not list are refused.
        hosts: what its own processes may reach, ``*.example.org`` for all below it, with or without a port.
        secrets: keys of ``config_schema`` whose values are handed to its processes.
        environment: variables that it sets for agents.
        events: hook events that its functions are told of.
        slots: places of the web app where its code runs, with the rights of whoever looks at the page.
        apps: its tools may show pages in the conversation, walled off from the web app (MCP Apps). They may load from
            and connect to ``hosts``.
    """

    tools: tuple[ShortText, ...] = ()
    hosts: tuple[HostName, ...] = ()
    paths: PathPermissions = PathPermissions()
    secrets: tuple[ConfigKey, ...] = ()
    environment: tuple[VariableName, ...] = ()
    events: tuple[HookEvent, ...] = ()
    slots: tuple[Slot, ...] = ()
    apps: bool = False


class UiPart(_Part):
    """A React component in a place of the web app.

    Attributes:
        bundle: a JavaScript module in the plugin's ``ui`` folder, the only one that browsers get files of.
        export: the component's name in it.
        style: a style sheet in the same folder; it holds inside the plugin's components only.
        title: what people read above a ``side-panel`` or a ``settings-section``.
        tools: of a ``message-renderer``: whose results it draws, tools of this plugin; ``*`` for any letters.
    """

    slot: Slot
    bundle: Annotated[RelativePath, AfterValidator(_in_ui_folder(".js", ".mjs"))]
    export: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_$][\w$]*$")] = "default"
    style: Annotated[RelativePath, AfterValidator(_in_ui_folder(".css"))] | None = None
    title: Annotated[str, StringConstraints(min_length=1, max_length=60)] | None = None
    tools: tuple[ShortText, ...] = ()

    @model_validator(mode="after")
    def _has_what_its_slot_needs(self) -> Self:
        if self.slot in {"side-panel", "settings-section"} and self.title is None:
            raise ValueError(f"a `{self.slot}` needs a `title`")
        if (self.slot == "message-renderer") != bool(self.tools):
            needs = "needs `tools`" if self.slot == "message-renderer" else "has no `tools`: a `message-renderer` does"
            raise ValueError(f"a `{self.slot}` {needs}")
        return self


class Hook(_Part):
    """A Python function that is told of an event. One of kind ``security`` that fails denies, others are skipped."""

    event: HookEvent
    matcher: Annotated[str, StringConstraints(max_length=500)] | None = None
    function: FunctionName
    kind: Literal["security", "observing"] = "observing"
    timeout_seconds: float = Field(default=5.0, gt=0, le=60)


class _Prompted(_Part):
    prompt: LongText | None = None
    prompt_file: RelativePath | None = None

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if (self.prompt is None) == (self.prompt_file is None):
            raise ValueError("needs either `prompt` or `prompt_file`")
        return self


class Agent(_Prompted):
    """A subagent. Without ``tools`` it has those of the agent that calls it."""

    description: LongText
    tools: tuple[ShortText, ...] | None = None
    model: ShortText | None = None


class Profile(_Prompted):
    """Who an agent is: a system prompt with a name that people see. What it leaves out is as in any other session.

    Attributes:
        model: of sessions that ask for no other; so is ``permission_mode``.
        plugins: those that its sessions are made with, besides its own; left out: all that are active.
        skills: those that its agents are told of; left out: all of its plugins. A name without the plugin before it,
            as in ``other-plugin:skill``, is of its own plugin.
        agents: subagents of plugins that its agents may call, named likewise; left out: all.
    """

    display_name: ShortText
    description: ShortText | None = None
    model: ShortText | None = None
    permission_mode: PermissionModeName | None = None
    plugins: tuple[Name, ...] | None = None
    skills: tuple[PartName, ...] | None = None
    agents: tuple[PartName, ...] | None = None


class Manifest(_Part):
    """A whole manifest, consistent in itself. Whether the files it names are there is for the reader of the folder.

    ``config_schema`` is a JSON Schema (2020-12) of an object; a property with ``"writeOnly": true`` is a secret.
    """

    schema_url: str | None = Field(default=None, alias="$schema")
    manifest_version: Literal["1"]
    name: Name
    version: VersionText
    description: Annotated[str, StringConstraints(max_length=2000)] = ""
    author: Author | ShortText | None = None
    platform_version: VersionRange = "*"
    type: PluginType
    dependencies: dict[Name, VersionRange] = Field(default_factory=dict[Name, VersionRange])
    capabilities: Capabilities = Capabilities()
    permissions: Permissions = Permissions()
    ui: tuple[UiPart, ...] = ()
    hooks: tuple[Hook, ...] = ()
    agents: dict[Name, Agent] = Field(default_factory=dict[Name, Agent])
    profiles: dict[Name, Profile] = Field(default_factory=dict[Name, Profile])
    config_schema: dict[str, Any] = Field(default_factory=dict)

    @property
    def secret_keys(self) -> frozenset[str]:
        """The keys of the configuration that are secret."""
        return secret_keys(self.config_schema)

    @model_validator(mode="after")
    def _brings_what_its_type_says(self) -> Self:
        brought = {
            "tool": self.capabilities.tools is not None,
            "mcp": bool(self.capabilities.mcp_servers),
            "skill": bool(self.capabilities.skills),
            "endpoint": self.capabilities.endpoints is not None,
        }
        if not brought[self.type]:
            part = {"tool": "tools", "mcp": "mcp_servers", "skill": "skills", "endpoint": "endpoints"}[self.type]
            raise ValueError(f"a plugin of type `{self.type}` needs `capabilities.{part}`")
        return self

    @model_validator(mode="after")
    def _configuration_fits(self) -> Self:
        _check_config_schema(self.config_schema)
        declared = set(self.permissions.secrets)
        if missing := sorted(self.secret_keys - declared):
            raise ValueError(f"`permissions.secrets` has to name the secret `{missing[0]}` of `config_schema`")
        if missing := sorted(declared - self.secret_keys):
            raise ValueError(
                f"`permissions.secrets` names `{missing[0]}`, which `config_schema` does not have as a property "
                'with `"type": "string", "writeOnly": true`'
            )
        return self

    @model_validator(mode="after")
    def _placeholders_are_known(self) -> Self:
        for name, server in self.capabilities.mcp_servers.items():
            match server:
                case StdioServer():
                    open_texts, private_texts = (server.command, *server.args), tuple(server.env.values())
                case RemoteServer():
                    open_texts, private_texts = (server.url,), tuple(server.headers.values())
            for text in (*open_texts, *private_texts):
                self._check_placeholders(f"the server `{name}`", text, may_be_secret=text in private_texts)
        for name, text in self.capabilities.environment.items():
            self._check_placeholders(f"the variable `{name}`", text, of_server=False)
        return self

    @model_validator(mode="after")
    def _environment_is_declared(self) -> Self:
        for name in self.capabilities.environment:
            if name not in self.permissions.environment:
                raise ValueError(f"`permissions.environment` has to name `{name}`, which `capabilities` sets")
        return self

    @model_validator(mode="after")
    def _events_are_declared(self) -> Self:
        for hook in self.hooks:
            if hook.event not in self.permissions.events:
                raise ValueError(f"`permissions.events` has to name `{hook.event}`, which a hook is for")
        return self

    @model_validator(mode="after")
    def _ui_is_declared(self) -> Self:
        own = (f"mcp__{self.name}__", f"mcp__{self.name}-")
        for part in self.ui:
            if part.slot not in self.permissions.slots:
                raise ValueError(f"`permissions.slots` has to name `{part.slot}`, which a part of `ui` fills")
            for tool in part.tools:
                if not tool.startswith(own):
                    raise ValueError(f"`ui` names `{tool}`, and a plugin draws for its own tools: {own[0]}*")
        return self

    def _check_placeholders(
        self, where: str, text: str, *, may_be_secret: bool = False, of_server: bool = True
    ) -> None:
        known: dict[str, Any] = self.config_schema.get("properties", {})
        for inner in PLACEHOLDER.findall(text):
            key = inner.removeprefix("config.")
            if of_server and inner in {"plugin_root", "plugin_data"}:
                continue
            if key == inner or key not in known:
                raise ValueError(f"{where} uses ${{{inner}}}, which is no key of `config_schema`")
            if key in self.secret_keys and not may_be_secret:
                raise ValueError(f"{where} uses the secret `{key}`, which only `env` and `headers` of a server may")


def secret_keys(config_schema: dict[str, Any]) -> frozenset[str]:
    """Return the keys of a configuration that are secret: JSON Schema says ``writeOnly``."""
    properties: dict[str, dict[str, Any]] = config_schema.get("properties", {})
    return frozenset(key for key, part in properties.items() if part.get("writeOnly") is True)


def manifest_schema() -> dict[str, Any]:
    """Return the JSON Schema of manifests, for editors."""
    schema = Manifest.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_URL, **schema}


def _check_config_schema(schema: dict[str, Any]) -> None:
    if not schema:
        return
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"`config_schema` is no JSON Schema: {error.message[:200]}") from error
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        raise ValueError('`config_schema` has to be a schema with `"type": "object"` and `properties`')
    properties: dict[str, Any] = schema["properties"]
    for key, part in properties.items():
        if not isinstance(part, dict):
            raise ValueError(f"`config_schema` has to describe the key `{key[:64]}` with an object")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", key):
            raise ValueError(f"`config_schema` has the key `{key[:64]}`; keys are letters, digits and underscores")
    for key in secret_keys(schema):
        if properties[key].get("type") != "string":
            raise ValueError(f'the secret `{key}` of `config_schema` has to have `"type": "string"`')
        if "default" in properties[key]:
            raise ValueError(f"the secret `{key}` of `config_schema` has a default; a secret that is shipped is none")
