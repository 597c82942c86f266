"""Secrets of plugins: where they are readable, and where they are not. Real: both databases and the encryption."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import select, update
from tests.support.plugins import write_files

from claude_sdk_pattern.plugins.errors import SecretUnreadableError
from claude_sdk_pattern.plugins.secret_redaction import REDACTED, SecretRedactor
from claude_sdk_pattern.plugins.secret_store import SecretStore
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import PluginSecretRow

pytestmark = pytest.mark.anyio

OLD, NEW = "old-secret-key-" + "0" * 32, "new-secret-key-" + "1" * 32
CANARY = "canary-plaintext-7531"


@pytest.fixture
def store(database: Database) -> SecretStore:
    """Secrets under the first of the two keys."""
    return SecretStore(database, secret_key=OLD)


async def ciphertexts(database: Database) -> dict[tuple[str, str], str]:
    """Return what the database holds."""
    async with database.reading() as session:
        rows = (await session.scalars(select(PluginSecretRow))).all()
    return {(row.plugin, row.key): row.ciphertext for row in rows}


async def test_secret_is_encrypted_and_comes_back(store: SecretStore, database: Database) -> None:
    await store.store("weather", {"API_KEY": CANARY, "OTHER": "x"})
    assert await store.reveal("weather", "API_KEY") == CANARY
    assert await store.reveal("weather", "NEVER_SET") is None
    assert await store.keys("weather") == {"API_KEY", "OTHER"}
    assert CANARY not in str(await ciphertexts(database))
    await store.store("weather", {"API_KEY": None})
    assert await store.keys("weather") == {"OTHER"}


async def test_same_secret_twice_looks_different(store: SecretStore, database: Database) -> None:
    await store.store("weather", {"A": CANARY, "B": CANARY})
    assert len(set((await ciphertexts(database)).values())) == 2


@pytest.mark.parametrize(
    "to", [("weather", "OTHER"), ("news", "API_KEY"), ("weatherAPI", "_KEY")], ids=["key", "plugin", "shifted"]
)
async def test_ciphertext_that_was_moved_to_another_place_is_refused(
    store: SecretStore, database: Database, to: tuple[str, str]
) -> None:
    await store.store("weather", {"API_KEY": CANARY})
    await store.store(to[0], {to[1]: "its own"})
    stolen = (await ciphertexts(database))["weather", "API_KEY"]
    async with database.sessions.begin() as session:
        here = (PluginSecretRow.plugin == to[0], PluginSecretRow.key == to[1])
        await session.execute(update(PluginSecretRow).where(*here).values(ciphertext=stolen))
    with pytest.raises(SecretUnreadableError, match="Set it again"):
        await store.reveal(*to)


async def test_key_is_changed_without_losing_a_secret(store: SecretStore, database: Database) -> None:
    await store.store("weather", {"API_KEY": CANARY})
    after = SecretStore(database, secret_key=NEW, previous_secret_key=OLD)
    assert await after.reveal("weather", "API_KEY") == CANARY
    assert await after.rotate() == 1
    assert await SecretStore(database, secret_key=NEW).reveal("weather", "API_KEY") == CANARY
    with pytest.raises(SecretUnreadableError):
        await store.reveal("weather", "API_KEY")


async def test_secrets_that_are_set_while_keys_are_rotated_are_kept(database: Database) -> None:
    store = SecretStore(database, secret_key=NEW, previous_secret_key=OLD)
    await store.store("weather", {f"K{number}": "before" for number in range(20)})
    await asyncio.gather(
        store.rotate(), store.store("weather", {f"K{number}": f"after {number}" for number in range(20)})
    )
    assert [await store.reveal("weather", f"K{number}") for number in range(20)] == [f"after {n}" for n in range(20)]


async def test_rotation_with_the_wrong_keys_says_which_secret(store: SecretStore, database: Database) -> None:
    await store.store("weather", {"API_KEY": CANARY})
    with pytest.raises(SecretUnreadableError, match="API_KEY of the plugin weather"):
        await SecretStore(database, secret_key=NEW).rotate()


async def test_mounted_file_counts_more_than_the_database(database: Database, tmp_path: Path) -> None:
    write_files(tmp_path, {"weather/API_KEY": "from a file\n", "weather/..data": "kubernetes keeps this"})
    store = SecretStore(database, secret_key=OLD, files=tmp_path)
    await store.store("weather", {"API_KEY": "from the database", "OTHER": "x"})
    assert await store.reveal("weather", "API_KEY") == "from a file"
    assert await store.keys("weather") == {"API_KEY", "OTHER"}
    assert store.keys_in_files("weather") == {"API_KEY"}
    assert store.keys_in_files("news") == frozenset()


async def test_whoever_keeps_the_logs_is_told_before_a_secret_is_handed_out(database: Database) -> None:
    told: list[str] = []
    store = SecretStore(database, secret_key=OLD, on_reveal=told.append)
    await store.store("weather", {"API_KEY": CANARY})
    assert told == [CANARY]
    fresh = SecretStore(database, secret_key=OLD, on_reveal=told.append)
    await fresh.reveal("weather", "API_KEY")
    assert told == [CANARY, CANARY]
    assert fresh.redactor.text(f"the key is {CANARY}.") == f"the key is {REDACTED}."


async def test_secrets_are_taken_out_of_texts_and_values_in_every_form() -> None:
    redactor = SecretRedactor()
    redactor.register('sécret\n"quoted"', "secret-long", "secret-longer", "tiny")
    assert redactor.text("a secret-longer one, and secret-long") == f"a {REDACTED} one, and {REDACTED}"
    assert redactor.text(r'{"k": "s\u00e9cret\n\"quoted\""}') == f'{{"k": "{REDACTED}"}}'
    assert redactor.text("a tiny word stays") == "a tiny word stays"
    value = {"list": ["x secret-long y", 3, None], "secret-long": True}
    assert redactor.value(value) == {"list": [f"x {REDACTED} y", 3, None], REDACTED: True}
