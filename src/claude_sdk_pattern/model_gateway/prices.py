"""What tokens cost: the table in ``prices.yaml``, or an operator's own of the same form."""

import re
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, cast

import yaml

from claude_sdk_pattern.model_gateway.usage import Usage

_PACKAGED = Path(__file__).parent / "prices.yaml"

_MILLION = 1_000_000


class PriceTableError(ValueError):
    """A price table that cannot be used; the text says where and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrices:
    """USD for a million tokens of each kind."""

    input: float
    output: float
    cache_write_5m: float
    cache_write_1h: float
    cache_read: float

    def cost_usd(self, usage: Usage) -> float:
        """Return what the tokens of an answer cost."""
        return (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_write_5m_tokens * self.cache_write_5m
            + usage.cache_write_1h_tokens * self.cache_write_1h
            + usage.cache_read_tokens * self.cache_read
        ) / _MILLION


_COLUMNS = tuple(field.name for field in fields(TokenPrices))


class PriceTable:
    """Prices by model.

    Args:
        models: prices by the part of a model's name that they are for; the longest that fits wins.
        long_prompts: by the same names, the length of a prompt in tokens over which other prices hold, and those.
        web_search_usd: price of one web search.
    """

    def __init__(
        self,
        models: dict[str, TokenPrices],
        *,
        long_prompts: dict[str, tuple[int, TokenPrices]] | None = None,
        web_search_usd: float = 0.0,
    ) -> None:
        self._models = models
        self._long_prompts = long_prompts or {}
        self._web_search_usd = web_search_usd
        every = [*models.values(), *(prices for _, prices in self._long_prompts.values())]
        # A budget must hold for models nobody has told us the price of, too.
        self._dearest = TokenPrices(**{name: max(getattr(prices, name) for prices in every) for name in _COLUMNS})
        self._family = cache(self._find_family)

    def cost_usd(self, model: str, usage: Usage) -> float:
        """Return what an answer of this model cost."""
        family = self._family(model)
        prices = self._dearest if family is None else self._models[family]
        if family in self._long_prompts:
            over_tokens, long_prices = self._long_prompts[family]
            if usage.prompt_tokens > over_tokens:
                prices = long_prices
        return prices.cost_usd(usage) + usage.web_searches * self._web_search_usd

    def _find_family(self, model: str) -> str | None:
        # Not followed by a digit: `claude-opus-4-1` is no part of `claude-opus-4-12`.
        fitting = [name for name in self._models if re.search(re.escape(name) + r"(?!\d)", model)]
        return max(fitting, key=len, default=None)


def load_prices(path: Path | None = None) -> PriceTable:
    """Read a price table; None reads the one that comes with the package.

    Raises:
        PriceTableError: the file cannot be read or is no price table.
    """
    path = path or _PACKAGED
    try:
        content: Any = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise PriceTableError(f"{path}: {error}") from error
    try:
        models = {name: _prices(name, row) for name, row in _table(content, "models").items()}
        if not models:
            raise PriceTableError("`models` is empty")
        long_prompts: dict[str, tuple[int, TokenPrices]] = {}
        for name, row in _table(content, "long_prompts").items():
            if name not in models:
                raise PriceTableError(f"{name}: in `long_prompts` but not in `models`")
            rest = dict(cast("dict[str, Any]", row)) if isinstance(row, dict) else {}
            over = int(_number(name, "over_tokens", rest.pop("over_tokens", None)))
            long_prompts[name] = (over, _prices(name, rest))
        search = _number("the table", "web_search", content.get("web_search", 0))
    except PriceTableError as error:
        raise PriceTableError(f"{path}: {error}") from None
    return PriceTable(models, long_prompts=long_prompts, web_search_usd=search)


def _table(content: Any, name: str) -> dict[str, Any]:
    found: Any = cast("dict[str, Any]", content).get(name, {}) if isinstance(content, dict) else None
    if not isinstance(found, dict):
        raise PriceTableError(f"`{name}` is not a table of prices by model")
    return {str(key): value for key, value in cast("dict[Any, Any]", found).items()}


def _prices(model: str, row: Any) -> TokenPrices:
    given = cast("dict[str, Any]", row) if isinstance(row, dict) else {}
    if set(given) != set(_COLUMNS):
        raise PriceTableError(f"{model}: needs exactly {', '.join(_COLUMNS)}")
    return TokenPrices(**{name: _number(model, name, value) for name, value in given.items()})


def _number(where: str, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise PriceTableError(f"{where}: {name} is not a number from 0 on")
    return float(value)
