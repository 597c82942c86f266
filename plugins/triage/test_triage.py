"""Reports that are judged: for people who are signed in, and over the webhook with its signature."""

import hashlib
import hmac
import json
from typing import Any

import pytest

from claude_sdk_pattern.workbench.active_plugin import ActivePlugin

pytestmark = pytest.mark.cli

KEY = "a-shared-secret"
REPORT = {"text": "the roof leaks"}


@pytest.fixture(scope="module")
def plugin_config() -> dict[str, Any]:
    """The secret that senders share."""
    return {"WEBHOOK_SECRET": KEY}


def test_a_person_gets_a_verdict_that_fits_the_schema(active_plugin: ActivePlugin) -> None:
    answer = active_plugin.request("POST", "/judge", json=REPORT)
    assert answer.status_code == 200, answer.text
    assert answer.json()["verdict"] == {"severity": "low", "summary": "sample"}


def test_a_report_is_judged_only_with_the_right_signature(active_plugin: ActivePlugin) -> None:
    body = json.dumps(REPORT).encode()
    right = hmac.new(KEY.encode(), body, hashlib.sha256).hexdigest()
    wrong = active_plugin.request("POST", "/hook", content=body, headers={"x-signature": "0" * 64})
    assert wrong.status_code == 401
    answer = active_plugin.request("POST", "/hook", content=body, headers={"x-signature": right})
    assert answer.status_code == 200, answer.text
    assert answer.json()["verdict"]["summary"] == "sample"
