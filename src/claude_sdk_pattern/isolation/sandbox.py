"""The walls: bubblewrap's arguments for what an agent sees of the machine, and the files in place of the host's."""

from pathlib import Path

from claude_sdk_pattern.isolation.enter import parents
from claude_sdk_pattern.isolation.kinds import AgentLimits

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")

# From the host's /etc programs need certificates and the dynamic linker's cache, never its password hashes, service
# configuration or keys. What names users, hosts and resolvers is made up, because the host's says much about it.
_ETC = (
    "alternatives",
    "ca-certificates.conf",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "nsswitch.conf",
    "pki",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
)


def write_etc(folder: Path, uid: int, gid: int) -> Path:
    """Write the files that take the place of the host's in /etc, and return their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {
        "hosts": "127.0.0.1 localhost\n::1 localhost\n",
        "passwd": f"root:x:0:0:root:/:/bin/sh\nagent:x:{uid}:{gid}:agent:/tmp:/bin/bash\n",
        "group": f"root:x:0:\nagent:x:{gid}:\n",
    }.items():
        path = folder / name
        path.write_text(text)
        path.chmod(0o644)
    return folder


def sandbox_arguments(limits: AgentLimits, *, etc: Path, cli: Path | None = None) -> list[str]:
    """Return bubblewrap's arguments for everything that is the same for each agent.

    The user and the network namespace are not among them: :mod:`claude_sdk_pattern.isolation.enter` makes these before.
    """
    arguments = ["--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    # Control groups of the host are nothing to look at; older kernels have no namespace for them.
    arguments += ["--unshare-cgroup-try", "--hostname", "agent", "--proc", "/proc", "--dev", "/dev"]
    arguments += _tmpfs("/tmp", limits.tmp_bytes) + _tmpfs("/dev/shm", limits.shm_bytes)  # noqa: S108 - the agent's own
    for folder in ("/run", "/etc", "/etc/ssl"):
        arguments += ["--perms", "0755", "--dir", folder]
    for entry in _SYSTEM:
        path = Path(entry)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), entry]
        elif path.exists():
            arguments += ["--ro-bind", entry, entry]
    for name in _ETC:
        # `-try` because distributions differ in what they have.
        arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for path in sorted(etc.iterdir()):
        arguments += ["--ro-bind", str(path), f"/etc/{path.name}"]
    if cli is not None:
        arguments += [*parents(str(cli)), "--ro-bind", str(cli), str(cli)]
    return arguments


def _tmpfs(path: str, size_bytes: int) -> list[str]:
    return ["--perms", "1777", "--size", str(size_bytes), "--tmpfs", path]
