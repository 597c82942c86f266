"""Prices: the packaged table, an operator's own, and what answers cost by them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from claude_sdk_pattern.model_gateway.prices import PriceTable, PriceTableError, load_prices
from claude_sdk_pattern.model_gateway.usage import Usage, read_usage

MILLION = 1_000_000
ROW = "{input: 1, output: 2, cache_write_5m: 3, cache_write_1h: 4, cache_read: 5}"


@pytest.fixture(scope="module")
def packaged() -> PriceTable:
    return load_prices()


@pytest.mark.parametrize(
    ("model", "input_usd", "output_usd"),
    [
        ("claude-sonnet-4-5", 3, 15),
        ("claude-sonnet-4-5-20250929", 3, 15),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 3, 15),
        ("claude-opus-4-20250514", 15, 75),
        ("claude-opus-4-1-20250805", 15, 75),
        ("claude-opus-4-5", 5, 25),
        ("claude-opus-5", 5, 25),
        ("claude-opus-5-5", 4, 20),
        ("claude-opus-5-5[1m]", 4, 20),
        ("claude-haiku-4-5-20251001", 1, 5),
        ("claude-3-5-haiku-latest", 0.8, 4),
    ],
)
def test_a_model_has_the_prices_of_its_family(
    packaged: PriceTable, model: str, input_usd: float, output_usd: float
) -> None:
    assert packaged.cost_usd(model, Usage(input_tokens=MILLION)) == pytest.approx(input_usd)
    assert packaged.cost_usd(model, Usage(output_tokens=MILLION)) == pytest.approx(output_usd)


@pytest.mark.parametrize("model", ["something-else", "", "claude-opus-55"])
def test_a_model_nobody_knows_costs_as_much_as_the_dearest(packaged: PriceTable, model: str) -> None:
    assert packaged.cost_usd(model, Usage(input_tokens=MILLION, output_tokens=MILLION)) == pytest.approx(90)


def test_each_kind_of_token_has_its_price(packaged: PriceTable) -> None:
    figures = {
        "input_tokens": 1000,
        "output_tokens": 2000,
        "cache_read_input_tokens": 30_000,
        "cache_creation_input_tokens": 5000,
        "cache_creation": {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 4000},
        "server_tool_use": {"web_search_requests": 2},
    }
    usage = read_usage(figures)
    assert usage.prompt_tokens == 36_000
    expected = (1000 * 3 + 2000 * 15 + 30_000 * 0.3 + 1000 * 3.75 + 4000 * 6) / MILLION + 2 * 0.01
    assert packaged.cost_usd("claude-sonnet-4-5", usage) == pytest.approx(expected)


def test_a_long_prompt_has_its_own_prices_where_the_list_says_so(packaged: PriceTable) -> None:
    short = packaged.cost_usd("claude-haiku-5-5", Usage(input_tokens=100_000))
    long = packaged.cost_usd("claude-haiku-5-5", Usage(input_tokens=50_000, cache_read_tokens=50_001))
    assert short == pytest.approx(0.01)
    assert long == pytest.approx((50_000 * 0.5 + 50_001 * 0.05) / MILLION)


@pytest.mark.parametrize("odd", [None, "many", -5, [], {"a": 1}, 1.5])
def test_figures_that_are_none_count_as_none(odd: object) -> None:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_creation", "server_tool_use", "output_tokens")
    assert read_usage(dict.fromkeys(names, odd)) == Usage()


def test_an_operator_may_bring_prices_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(f"models:\n  house-model: {ROW}\n")
    own = load_prices(path)
    assert own.cost_usd("house-model-2", Usage(output_tokens=MILLION)) == pytest.approx(2)
    assert own.cost_usd("claude-sonnet-4-5", Usage(cache_read_tokens=MILLION)) == pytest.approx(5)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "models"),
        ("models: {}", "empty"),
        ("models: [1]", "models"),
        ("models: {a: 3}", "a: needs exactly"),
        ("models: {a: {input: 1}}", "a: needs exactly"),
        (f"models: {{a: {ROW.replace('input: 1', 'input: -1')}}}", "a: input"),
        (f"models: {{a: {ROW.replace('input: 1', 'input: free')}}}", "a: input"),
        (f"models: {{a: {ROW}}}\nlong_prompts: {{b: {ROW}}}", "b: in `long_prompts`"),
        (f"models: {{a: {ROW}}}\nlong_prompts: {{a: {ROW}}}", "a: over_tokens"),
        (f"models: {{a: {ROW}}}\nweb_search: true", "web_search"),
        ("models: {", "prices.yaml"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_by_name(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(PriceTableError, match=complaint) as refused:
        load_prices(path)
    assert str(path) in str(refused.value)


def test_a_table_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PriceTableError, match="missing"):
        load_prices(tmp_path / "missing.yaml")


def test_the_server_does_not_start_with_prices_it_cannot_read(tmp_path: Path) -> None:
    started = subprocess.run(
        [sys.executable, "-c", "from claude_sdk_pattern.cli import app; app()", "serve"],
        env={
            **os.environ,
            "ANTHROPIC_API_KEY": "sk-ant-nobody",
            "CLAUDE_SDK_PATTERN_SECRET_KEY": "x" * 32,
            "CLAUDE_SDK_PATTERN_DATA_DIR": str(tmp_path),
            "CLAUDE_SDK_PATTERN_MODEL_PRICES_FILE": str(tmp_path / "missing.yaml"),
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert started.returncode == 1
    assert started.stderr.startswith("error: ")
    assert "missing.yaml" in started.stderr
    assert "Traceback" not in started.stderr
