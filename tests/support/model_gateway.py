"""A model gateway with short limits, for tests that put their own upstream behind it."""

from claude_sdk_pattern.model_gateway.breaker import CircuitBreaker
from claude_sdk_pattern.model_gateway.exchange import ModelTimeouts
from claude_sdk_pattern.model_gateway.failures import RetryPolicy
from claude_sdk_pattern.model_gateway.prices import load_prices
from claude_sdk_pattern.model_gateway.proxy import ModelGateway
from claude_sdk_pattern.model_gateway.spending import SpendingMeters
from claude_sdk_pattern.model_gateway.tokens import AgentTokens


def make_gateway(
    upstream: str,
    *,
    tokens: AgentTokens,
    api_key: str | None = None,
    breaker: CircuitBreaker | None = None,
    first_byte_seconds: float = 5.0,
    idle_seconds: float = 5.0,
    max_retries: int = 3,
    max_retry_wait_seconds: float = 30.0,
    budget_usd: float | None = None,
    user_budget_usd: float | None = None,
) -> ModelGateway:
    """Return a gateway to ``upstream`` whose breaker hardly ever opens."""
    return ModelGateway(
        upstream=upstream,
        api_key=api_key,
        tokens=tokens,
        breaker=breaker or CircuitBreaker(failures=1000, window_seconds=60, open_seconds=60),
        timeouts=ModelTimeouts(first_byte_seconds=first_byte_seconds, idle_seconds=idle_seconds),
        policy=RetryPolicy(max_retries=max_retries, max_retry_wait_seconds=max_retry_wait_seconds),
        meters=SpendingMeters(load_prices(), budget_usd=budget_usd, user_budget_usd=user_budget_usd),
    )
