"""Rules and the audit log as an administrator sees them. Users are in ``test_accounts``."""

import json
import re

import pytest
from playwright.async_api import expect
from tests.browser.conftest import SignIn
from tests.browser.steps import conversation, say

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.cli]


async def test_a_rule_is_made_explained_obeyed_and_removed(sign_in: SignIn) -> None:
    admin, alice = await sign_in(username="ada"), await sign_in()
    await admin.get_by_role("link", name="Administration").click()
    await admin.get_by_role("link", name="Rules").click()
    form = admin.get_by_role("form", name="Add a rule")
    await form.get_by_label("For whom").select_option("user")
    await form.get_by_label("Patterns").fill("frobnicate *\nfrob")
    await form.get_by_label("Reason").fill("Not in this house")
    await form.get_by_role("button", name="Add a rule").click()
    row = admin.get_by_role("row", name=re.compile("Not in this house"))
    await expect(row).to_contain_text("Bash: frobnicate *, frob")
    rule = await row.get_by_role("code").first.inner_text()

    asked = admin.get_by_role("form", name="What would happen?")
    await asked.get_by_label("Command").fill("cd x && frobnicate é")
    await asked.get_by_role("button", name="Explain").click()
    await expect(asked).to_contain_text(f"It is denied. {rule} Not in this house")
    await asked.get_by_label("In a conversation of").select_option("admin")
    await asked.get_by_role("button", name="Explain").click()
    await expect(asked).to_contain_text("No rule speaks against it")

    await say(alice, "run bash: frobnicate x")
    await expect(conversation(alice).get_by_text(rule).first).to_be_visible()

    await row.get_by_role("button", name="Remove the rule: Not in this house").click()
    await expect(row).to_have_count(0)
    await admin.get_by_text("Rules of the policy files").click()
    await expect(admin.get_by_text("shell.privilege")).to_be_visible()


async def test_the_audit_log_is_read_filtered_checked_and_taken_along(sign_in: SignIn) -> None:
    admin = await sign_in(username="ada")
    await admin.get_by_role("link", name="Administration").click()
    await admin.get_by_role("link", name="Audit").click()
    table = admin.get_by_role("region", name="Audit log").get_by_role("row")
    await expect(table.filter(has_text="auth.login").first).to_contain_text("ada")
    await admin.get_by_label("Action").select_option("session.")
    await expect(table.filter(has_text="auth.login")).to_have_count(0)
    await admin.get_by_role("button", name="Clear the filters").click()
    await table.filter(has_text="auth.login").first.get_by_role("button", name="ada").click()
    await expect(admin.get_by_label("Person, by id")).not_to_have_value("")
    await admin.get_by_role("button", name="Check the chain").click()
    await expect(admin.get_by_text(re.compile("entr(y|ies), .*as (it was|they were) written"))).to_be_visible()
    async with admin.expect_download() as saving:
        await admin.get_by_role("button", name="Export").click()
    lines = (await (await saving.value).path()).read_text().splitlines()
    assert len(lines) > 1
    assert "anchor" in json.loads(lines[-1])
