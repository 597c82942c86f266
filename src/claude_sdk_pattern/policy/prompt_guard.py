"""The prompt guard: looks at a person's message before it is accepted.

Patterns find known phrases and no more. The guard says what it saw so that people can look; what an agent may do is
decided by the permission gate, whatever it has been told.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from claude_sdk_pattern.policy.model import PromptPolicy, Reaction, RuleId, Severity

OTHER_SESSION = "prompt.other-session"
"""The rule about sessions and folders that are not the writer's."""

# Tags, joiners and marks without width: a reader does not see them, and they keep words from being found.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]"
)

# Letters of other scripts that look like Latin ones and that no compatibility form makes so.
_LOOKALIKES = str.maketrans(
    "асеорхуіјѕԁɡһӏԛԝвкмнтАВСЕНІЈКМОРЅТХУΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανι", "aceopxyijsdghlqwbkmhtABCEHIJKMOPSTXYABEZHIKMNOPTYXoavi"
)

_SPELLED = re.compile(r"(?<![^\W_])(?:[^\W\d_][-._* ]){3,}[^\W\d_](?![^\W_])")

_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)

_REACTION_RANK: dict[Reaction, int] = {"pass": 0, "flag": 1, "block": 2}


class _PatternData(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: RuleId
    severity: Severity
    pattern: str
    why: str
    raw: bool = False


class _PatternFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    patterns: tuple[_PatternData, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionPattern:
    """One thing to look for. ``is_raw``: in the text as it came, not in its plain form."""

    id: str
    severity: Severity
    expression: re.Pattern[str]
    why: str
    is_raw: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptVerdict:
    """What becomes of a message, and the rule that says so; None if nothing was found."""

    reaction: Reaction
    rule: str | None = None
    why: str | None = None


@cache
def injection_patterns() -> tuple[InjectionPattern, ...]:
    """Return the patterns that come with the package."""
    text = resources.files(__package__).joinpath("injection_patterns.yaml").read_text(encoding="utf-8")
    found = _PatternFile.model_validate(yaml.safe_load(text))
    return tuple(
        InjectionPattern(
            id=item.id,
            severity=item.severity,
            expression=re.compile(item.pattern, re.IGNORECASE | re.DOTALL if not item.raw else re.IGNORECASE),
            why=item.why,
            is_raw=item.raw,
        )
        for item in found.patterns
    )


class PromptGuard:
    """Decides about messages.

    Args:
        policy: what to do for each severity.
        workspaces: the folder in which all sessions have theirs.
        patterns: what to look for.
    """

    def __init__(
        self, policy: PromptPolicy, *, workspaces: Path, patterns: Sequence[InjectionPattern] | None = None
    ) -> None:
        self._policy = policy
        self._workspaces = str(workspaces)
        chosen = injection_patterns() if patterns is None else patterns
        self._patterns = [pattern for pattern in chosen if pattern.id not in policy.disable]

    def check(self, text: str, *, foreign_ids: Iterable[str] = (), own_workspace: str | None = None) -> PromptVerdict:
        """Return what becomes of a message.

        Args:
            text: the message.
            foreign_ids: which of :func:`ids_in` belong to sessions of others.
            own_workspace: the name of the writer's own folder among the workspaces.
        """
        worst = PromptVerdict(reaction="pass")
        if any(foreign_ids) or self._names_other_folder(text, own_workspace):
            why = "The message names a session or folder that is not yours."
            worst = _worse(worst, PromptVerdict(reaction=self._policy.other_sessions, rule=OTHER_SESSION, why=why))
        plain = plain_text(text)
        for pattern in self._patterns:
            if pattern.expression.search(text if pattern.is_raw else plain):
                reaction = self._reaction(pattern.severity)
                worst = _worse(worst, PromptVerdict(reaction=reaction, rule=pattern.id, why=pattern.why))
        return worst

    def _reaction(self, severity: Severity) -> Reaction:
        match severity:
            case "low":
                return self._policy.low
            case "medium":
                return self._policy.medium
            case "high":
                return self._policy.high

    def _names_other_folder(self, text: str, own: str | None) -> bool:
        place = text.find(self._workspaces)
        while place >= 0:
            rest = text[place + len(self._workspaces) :].lstrip("/")
            if own is None or not rest.startswith(own):
                return True
            place = text.find(self._workspaces, place + 1)
        return False


def ids_in(text: str) -> set[str]:
    """Return what looks like the id of a session in a text."""
    return {found.lower() for found in _UUID.findall(text)}


def plain_text(text: str) -> str:
    """Return a text as a careful reader takes it: without what is invisible, look-alikes as what they look like."""
    text = _INVISIBLE.sub("", text)
    text = unicodedata.normalize("NFKC", text).translate(_LOOKALIKES)
    text = text.replace("\u2019", "'").replace("\u2018", "'")
    # W-o-r-d-s and w o r d s.
    text = _SPELLED.sub(lambda found: re.sub(r"[-._* ]", "", found[0]), text)
    return re.sub(r"[\s,;()\"*_`~]+", " ", text)


def _worse(first: PromptVerdict, second: PromptVerdict) -> PromptVerdict:
    if first.rule is None or _REACTION_RANK[second.reaction] > _REACTION_RANK[first.reaction]:
        return second
    return first
