"""The secrets of plugins: encrypted in the database, or in files that something else writes.

Each is encrypted with a key of its own, derived from the server's secret, the plugin's name and the secret's: a
ciphertext that is copied to another row cannot be decrypted there, and one key that leaks opens nothing else.
"""

import base64
import os
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import Connection, delete, insert, select, update

from claude_sdk_pattern.plugins.errors import SecretUnreadableError
from claude_sdk_pattern.plugins.secret_redaction import SecretRedactor
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import PluginSecretRow

MAX_SECRET_LENGTH: Final = 65_536


class SecretStore:
    """Keeps secrets and hands them out to whoever starts a plugin's process.

    Args:
        database: where they are.
        secret_key: the server's secret; with ``previous_secret_key``, what that encrypted is still read.
        files: a folder with a file ``PLUGIN/KEY`` for each secret that comes from elsewhere, as Kubernetes mounts
            them. Such a file counts more than the database.
        on_reveal: is told each value before it is handed out, to keep it out of the logs.

    ``redactor`` takes the same values out of what plugins say.
    """

    def __init__(
        self,
        database: Database,
        *,
        secret_key: str,
        previous_secret_key: str | None = None,
        files: Path | None = None,
        on_reveal: Callable[[str], None] = lambda value: None,
    ) -> None:
        self._database = database
        self._secrets = [secret_key, *([previous_secret_key] if previous_secret_key else [])]
        self._files = files
        self._on_reveal = on_reveal
        self.redactor = SecretRedactor()

    async def reveal(self, plugin: str, key: str) -> str | None:
        """Return a secret, or ``None`` if it was never set.

        Raises:
            SecretUnreadableError: it was encrypted with another key, or for another plugin, or its file is unreadable.
        """
        value = self._from_file(plugin, key)
        if value is None:
            async with self._database.reading() as session:
                row = await session.get(PluginSecretRow, (plugin, key))
            if row is None:
                return None
            value = self._decrypted(plugin, key, row.ciphertext)
        self._register(value)
        return value

    async def keys(self, plugin: str) -> frozenset[str]:
        """Return which secrets of a plugin are set."""
        async with self._database.reading() as session:
            stored = (await session.scalars(select(PluginSecretRow.key).where(PluginSecretRow.plugin == plugin))).all()
        return frozenset(stored) | self.keys_in_files(plugin)

    def keys_in_files(self, plugin: str) -> frozenset[str]:
        """Return which secrets of a plugin come from files; they cannot be changed here."""
        if self._files is None:
            return frozenset()
        try:
            # Kubernetes keeps the files behind links whose names begin with two dots.
            return frozenset(name for name in os.listdir(self._files / plugin) if not name.startswith("."))
        except OSError:
            return frozenset()

    async def store(self, plugin: str, values: Mapping[str, str | None]) -> None:
        """Set secrets; ``None`` removes one. All or none of them."""
        rows = {
            key: None if value is None else self._cipher(plugin, key).encrypt(value.encode()).decode()
            for key, value in values.items()
        }
        for value in values.values():
            if value is not None:
                self._register(value)

        def transaction(connection: Connection) -> None:
            now = datetime.now(UTC)
            for key, ciphertext in rows.items():
                here = (PluginSecretRow.plugin == plugin, PluginSecretRow.key == key)
                connection.execute(delete(PluginSecretRow).where(*here))
                if ciphertext is not None:
                    values = {"plugin": plugin, "key": key, "ciphertext": ciphertext, "updated_at": now}
                    connection.execute(insert(PluginSecretRow).values(**values))

        await self._database.write(transaction)

    async def forget(self, plugin: str) -> None:
        """Remove all secrets of a plugin."""

        def transaction(connection: Connection) -> None:
            connection.execute(delete(PluginSecretRow).where(PluginSecretRow.plugin == plugin))

        await self._database.write(transaction)

    async def rotate(self) -> int:
        """Encrypt all secrets anew with the server's secret of today; return how many.

        Safe while servers run: each secret is replaced only if nobody changed it meanwhile.

        Raises:
            SecretUnreadableError: one was encrypted with neither of the keys. Those before it are rotated.
        """
        async with self._database.reading() as session:
            rows = (await session.scalars(select(PluginSecretRow).order_by(PluginSecretRow.plugin))).all()
        for row in rows:
            fresh = self._cipher(row.plugin, row.key).encrypt(
                self._decrypted(row.plugin, row.key, row.ciphertext).encode()
            )
            await self._replace(row, fresh.decode())
        return len(rows)

    async def _replace(self, row: PluginSecretRow, ciphertext: str) -> None:
        unchanged = (
            PluginSecretRow.plugin == row.plugin,
            PluginSecretRow.key == row.key,
            PluginSecretRow.ciphertext == row.ciphertext,
        )

        def transaction(connection: Connection) -> None:
            connection.execute(update(PluginSecretRow).where(*unchanged).values(ciphertext=ciphertext))

        await self._database.write(transaction)

    def _register(self, value: str) -> None:
        self.redactor.register(value)
        self._on_reveal(value)

    def _from_file(self, plugin: str, key: str) -> str | None:
        if self._files is None or key not in self.keys_in_files(plugin):
            return None
        try:
            with (self._files / plugin / key).open(encoding="utf-8") as file:
                return file.read(MAX_SECRET_LENGTH).rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise SecretUnreadableError(plugin, key) from error

    def _decrypted(self, plugin: str, key: str, ciphertext: str) -> str:
        try:
            return self._cipher(plugin, key).decrypt(ciphertext.encode()).decode()
        except InvalidToken as error:
            raise SecretUnreadableError(plugin, key) from error

    def _cipher(self, plugin: str, key: str) -> MultiFernet:
        """Return what encrypts with today's secret, and decrypts with both."""
        return MultiFernet([Fernet(_derived(secret, plugin, key)) for secret in self._secrets])


def masked(keys: Collection[str], present: Collection[str]) -> dict[str, str | None]:
    """Return what is shown of secrets: that they are set, and nothing of what they are."""
    return {key: MASK if key in present else None for key in sorted(keys)}


MASK: Final = "********"
"""What stands for a secret that is set; sent back, it changes nothing."""


def _derived(secret: str, plugin: str, key: str) -> bytes:
    # Lengths in front: no two pairs of names make one text.
    info = f"claude_sdk_pattern/plugin-secret/{len(plugin)}:{plugin}/{len(key)}:{key}"
    raw = HKDF(algorithm=SHA256(), length=32, salt=None, info=info.encode()).derive(secret.encode())
    return base64.urlsafe_b64encode(raw)
