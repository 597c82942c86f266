"""What may stand in a scenario file. ``docs/scripted-model.md`` explains each field to authors who do not program."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from claude_sdk_pattern.model_gateway.scripted.templates import is_template


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _name_the_known_fields(cls, data: Any) -> Any:
        if isinstance(data, dict):
            known = set(cls.model_fields)
            unknown = [str(key) for key in data if key not in known]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            if unknown:
                raise ValueError(f'"{unknown[0]}" is not known here; write one of: {", ".join(sorted(known))}')
        return data  # pyright: ignore[reportUnknownVariableType]


def _number_or_placeholder(value: float | str) -> float | str:
    if isinstance(value, str) and not is_template(value):
        raise ValueError("write a number such as 50, or a placeholder such as {{ count }}")
    if not isinstance(value, str) and value < 0:
        raise ValueError("write a number that is not negative")
    return value


type Number = Annotated[int | float | str, AfterValidator(_number_or_placeholder)]
"""A number, or a text with a placeholder that becomes one when the scenario is played."""


class When(_Part):
    """When a scenario is chosen: any of the first three fits, and ``tool_offered``, if given, is offered too."""

    says: tuple[str, ...] = ()
    """Whole messages. Capitals, spaces and punctuation at the ends do not matter."""

    mentions: tuple[str, ...] = ()
    """Phrases that occur in the message as whole words. Capitals do not matter."""

    matches: tuple[str, ...] = ()
    """Regular expressions, searched in the message. Named groups become placeholders."""

    tool_offered: str | None = None
    """Only when the request offers the model this tool."""

    @field_validator("matches")
    @classmethod
    def _must_compile(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as problem:
                raise ValueError(f"{pattern!r} is not a regular expression: {problem}") from None
        return patterns

    @model_validator(mode="after")
    def _must_say_something(self) -> Self:
        if not (self.says or self.mentions or self.matches):
            raise ValueError("give at least one of: says, mentions, matches")
        return self


class Pace(_Part):
    """How fast an answer comes. Without it the answer comes as fast as it can be sent."""

    tokens_per_second: Number | None = None
    """None or 0: no limit."""

    first_token_after_seconds: Number = 0
    words_per_chunk: int | None = Field(default=None, ge=1)
    characters_per_chunk: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _one_chunk_size(self) -> Self:
        if self.words_per_chunk is not None and self.characters_per_chunk is not None:
            raise ValueError("give words_per_chunk or characters_per_chunk, not both")
        return self


class Usage(_Part):
    """Token counts that the answer reports. What is not given is estimated from the sizes of request and answer."""

    input_tokens: Number | None = None
    output_tokens: Number | None = None
    cache_read_input_tokens: Number = 0
    cache_creation_input_tokens: Number = 0


type FaultKind = Literal[
    "error_status",
    "hang_before_headers",
    "hang_mid_stream",
    "cut_mid_stream",
    "garbage_mid_stream",
    "error_mid_stream",
    "pings_mid_stream",
]


class Fault(_Part):
    """What goes wrong instead of, or in the middle of, the answer."""

    kind: FaultKind
    status: Number = 500
    """HTTP status, for ``error_status``."""

    error_type: str | None = None
    """The API's name of the error; by default the one that goes with the status."""

    message: str | None = None
    retry_after_seconds: Number | None = None
    attempts: Number | None = None
    """How many times it goes wrong before it goes well. None: always."""

    after_chunks: Number = 5
    """How much of the answer comes first, for the kinds in mid-stream."""

    seconds: Number = 3600
    """How long a hanging connection is held if the client does not leave first."""


class ToolCall(_Part):
    """One tool that the model asks the CLI to run."""

    tool: str
    input: dict[str, Any] | str
    """The tool's input; or a placeholder whose words are a JSON object."""


class Generated(_Part):
    """Text made to size. Give ``words`` (prose with headings) or ``tokens`` (one short token per chunk)."""

    words: Number | None = None
    tokens: Number | None = None
    timestamps: bool | str = False
    """Each token is `` t=<time.monotonic_ns() when it is sent>``. A placeholder counts as yes unless it is empty."""

    @model_validator(mode="after")
    def _one_size(self) -> Self:
        given = [value for value in (self.words, self.tokens) if value is not None]
        if len(given) != 1:
            raise ValueError("give either words or tokens")
        return self


type StopReason = Literal["end_turn", "max_tokens", "stop_sequence", "refusal", "pause_turn"]


class Step(_Part):
    """One answer of the model: first it thinks, then it says, then it uses tools; each is optional."""

    think: str | None = None
    say: str | None = None
    generate: Generated | None = None
    use: tuple[ToolCall, ...] = ()
    pace: Pace = Pace()
    usage: Usage = Usage()
    stop_reason: StopReason | None = None
    fault: Fault | None = None

    @model_validator(mode="after")
    def _must_do_something(self) -> Self:
        if not (self.think or self.say or self.generate or self.use or self.fault):
            raise ValueError("give at least one of: think, say, generate, use, fault")
        return self


class Scenario(_Part):
    """What the model does from one user message to the end of that turn, step by step."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    about: str
    when: When
    steps: tuple[Step, ...] = Field(min_length=1)
    structured_output: dict[str, Any] | Literal["none"] | None = None
    """The data to hand in when the request demands structured output. None: data made up from the demanded schema;
    ``"none"``: nothing, as in an answer to Claude Code itself."""

    misfits: Number = 0
    """How many times data that breaks the demanded schema is handed in before the structured output."""

    after_a_failed_tool: Step | Literal["continue"] | None = None
    """What to answer when a tool failed or was refused. None: what the collection says."""


class ScenarioFile(_Part):
    """One YAML file."""

    about: str
    scenarios: tuple[Scenario, ...] = ()
    fallback: Step | None = None
    """The answer to a message that fits no scenario."""

    after_a_failed_tool: Step | None = None
    after_the_last_step: Step | None = None
    """The answer when the CLI asks on although the scenario is over."""

    after_a_message_in_between: Step | None = None
    """What is added to a turn's last answer when the person wrote something while a tool ran."""
