"""What stands between the SDK and the Claude Code CLI: it walls itself in, and then becomes the CLI's sandbox.

Run by itself, as ``python -I -S enter.py WORD ... -- COMMAND ... -- ARGUMENT ...``, for each agent process that starts,
and for each process of a plugin. It imports nothing of this project and nothing that takes time to import, because all
of it is paid at each start.

WORDs are ``name=value``: ``namespaces`` (``yes`` or ``no``), ``nest`` (whether the agent may make more of them),
``uid`` (of the agent, used by root only), ``home`` (how many bytes its home may have), and as often as need be ``door``
(a port to listen on), ``limit`` (such as ``NPROC:512``) and ``pass`` (a variable to pass on). COMMAND is bubblewrap
with what is the same for every process, or whatever else starts what follows; ARGUMENTs are the CLI and what the SDK
gives it.

What differs from process to process comes in the environment and goes no further: ``CLAUDE_SDK_PATTERN_WORKSPACE``
(a folder that it may write to, and begins in; an agent's ``CLAUDE_CONFIG_DIR`` is another),
``CLAUDE_SDK_PATTERN_READ_ONLY`` and ``CLAUDE_SDK_PATTERN_WRITABLE`` (paths, joined by colons),
``CLAUDE_SDK_PATTERN_PASSED`` (names of more variables to pass on, joined by spaces), ``CLAUDE_SDK_PATTERN_CGROUP`` (a
control group to join), ``CLAUDE_SDK_PATTERN_DOORWAY`` (folder of the server's socket)
and ``CLAUDE_SDK_PATTERN_PROCESS`` (the process's id).
"""

# The C module itself: `socket`, `json` and `subprocess` would add 15 to 25 ms to each start.
import _socket
import fcntl
import os
import resource
import struct
import sys
from typing import NoReturn

# Of all exit codes the one that shells and container engines use for "could not be started".
FAILED = 125
COMPLAINT = "agent sandbox: "

_SIOCSIFFLAGS = 0x8914
_IFF_UP, _IFF_RUNNING = 0x1, 0x40

# How much likelier than others an agent is to be chosen when the machine has no memory left: the server must not be.
_OOM_SCORE_ADJUSTMENT = "500"

# A busy agent must not keep the server, through which all others speak, from its turn on the processor.
_NICENESS = 5

_BACKLOG = 128


def main(words: list[str]) -> NoReturn:
    """Enter the namespaces and limits that the words ask for and become the command."""
    end = words.index("--")
    command_end = words.index("--", end + 1)
    told: dict[str, list[str]] = {}
    for word in words[:end]:
        name, _, value = word.partition("=")
        told.setdefault(name, []).append(value)
    command, arguments = words[end + 1 : command_end], words[command_end + 1 :]
    workspace = os.environ["CLAUDE_SDK_PATTERN_WORKSPACE"]
    # Only what is listed goes on. bubblewrap itself stays alive as pid 1 of the namespace, readable as /proc/1/environ.
    names = [*told.get("pass", []), *os.environ.get("CLAUDE_SDK_PATTERN_PASSED", "").split()]
    environment = {name: os.environ[name] for name in names if name in os.environ}

    # A Ctrl-C at the server's terminal is for the server, which then ends its agents in good order.
    if os.getpgrp() != os.getpid():
        os.setsid()
    os.nice(_NICENESS)
    _write("/proc/self/oom_score_adj", _OOM_SCORE_ADJUSTMENT)
    if "CLAUDE_SDK_PATTERN_CGROUP" in os.environ:
        _write(f"{os.environ['CLAUDE_SDK_PATTERN_CGROUP']}/cgroup.procs", "0")
    if told["namespaces"] == ["yes"]:
        uid = int(told["uid"][0]) if os.geteuid() == 0 else None
        writable = [workspace, *_paths("CLAUDE_SDK_PATTERN_WRITABLE")]
        _enter_namespaces(uid, [int(port) for port in told.get("door", [])])
        mounts: list[str] = []
        if "CLAUDE_CONFIG_DIR" in environment:
            environment["HOME"] = environment["CLAUDE_CONFIG_DIR"]
            mounts = _home(environment["HOME"], told["home"][0])
        command = [*command, *mounts, *_folders(writable), *_CLOSED, "--chdir", workspace]
        command += _as_agent(uid, may_nest=told["nest"] == ["yes"])
    # After the namespaces: processes are counted for each user namespace by itself, and the limit that holds when one
    # is made holds for all that its maker runs.
    for limit in told["limit"]:
        _limit(*limit.split(":"))
    os.execve(command[0], [*command, *arguments], environment)  # noqa: S606 - no shell is what is wanted


def _enter_namespaces(uid: int | None, ports: list[int]) -> None:
    """Enter a user and a network namespace, open the doors, and hand them to the server.

    A socket belongs to the network namespace it was made in, whoever accepts on it. So the server answers inside this
    namespace without being there, and nothing has to carry bytes from one to the other.
    """
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
    if ports:
        # Through the descriptor, because the path of a unix socket may have 107 bytes only.
        folder = os.open(os.environ["CLAUDE_SDK_PATTERN_DOORWAY"], os.O_PATH | os.O_DIRECTORY)
        server.connect(f"/proc/self/fd/{folder}/doorway")
    if uid is None:
        _unshare_as_ordinary_user()
    else:
        _unshare_as_root(uid)
    _bring_loopback_up()
    if not ports:
        return
    doors = [_listen(port) for port in ports]
    descriptors = struct.pack(f"{len(doors)}i", *(door.fileno() for door in doors))
    name = os.environ["CLAUDE_SDK_PATTERN_PROCESS"].encode()
    server.sendmsg([name], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])


def _unshare_as_ordinary_user() -> None:
    uid, gid = os.geteuid(), os.getegid()
    os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNET)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{gid} {gid} 1")


def _unshare_as_root(uid: int) -> None:
    """Enter namespaces in which root is root and the agent's user is itself, and nobody else exists.

    Only a process outside may map more than its own user, so a child does it that stays behind.
    """
    entered, enter = os.pipe()
    pid = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(enter)
        try:
            if os.read(entered, 1):
                for name in ("uid_map", "gid_map"):
                    _write(f"/proc/{pid}/{name}", f"0 0 1\n{uid} {uid} 1")
        except OSError as error:
            _complain(error)
            os._exit(FAILED)
        os._exit(0)
    os.close(entered)
    os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNET)
    os.write(enter, b".")
    os.close(enter)
    if os.waitpid(child, 0)[1]:
        sys.exit(FAILED)


def _bring_loopback_up() -> None:
    """Bring the one interface of a new network namespace up."""
    any_socket = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    fcntl.ioctl(any_socket.fileno(), _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP | _IFF_RUNNING))
    any_socket.close()


def _listen(port: int) -> _socket.socket:
    door = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    door.bind(("127.0.0.1", port))
    door.listen(_BACKLOG)
    return door


# bubblewrap's own file systems are in memory, so whoever can write to them can fill it.
_CLOSED = ("--remount-ro", "/dev", "--remount-ro", "/")


def _folders(writable: list[str]) -> list[str]:
    """Return bubblewrap's arguments for what this process has of the host's files besides the system."""
    read_only = _paths("CLAUDE_SDK_PATTERN_READ_ONLY")
    mounts: list[str] = []
    for option, path in [*(("--bind", path) for path in writable), *(("--ro-bind", path) for path in read_only)]:
        mounts += [*parents(path), option, path, path]
    return mounts


def _paths(variable: str) -> list[str]:
    return [path for path in os.environ.get(variable, "").split(":") if path]


def _home(folder: str, size: str) -> list[str]:
    """Return bubblewrap's arguments for a home in memory in place of a folder, with the files that are in that.

    To resume a conversation, the SDK has put its transcript there. The CLI writes on it before each request: on the
    host's disk it would wait for whatever the server is making durable at that moment, and what is in memory is gone
    with the process, however that ends.
    """
    # Open to all, because bubblewrap makes everything root's and nobody but the agent is in there.
    made = [*parents(folder), "--perms", "0777", "--size", size, "--tmpfs", folder]
    for path, folders, files in os.walk(folder):
        for name in folders:
            made += ["--perms", "0777", "--dir", os.path.join(path, name)]
        for name in files:
            descriptor = os.open(os.path.join(path, name), os.O_RDONLY)
            os.set_inheritable(descriptor, True)
            made += ["--perms", "0666", "--file", str(descriptor), os.path.join(path, name)]
    return made


def parents(path: str) -> list[str]:
    """Return bubblewrap's arguments that make the folders above a path, open to any user; its own are root's alone."""
    folders: list[str] = []
    while (path := os.path.dirname(path)) != "/":
        folders.append(path)
    return [word for folder in reversed(folders) for word in ("--perms", "0755", "--dir", folder)]


def _as_agent(uid: int | None, *, may_nest: bool) -> list[str]:
    """Return the rest of bubblewrap's command: the user that the CLI becomes."""
    if uid is None:
        return ["--unshare-user", *([] if may_nest else ["--disable-userns"]), "--"]
    if not may_nest:
        # The limit of this user namespace, which its root may set; bubblewrap does likewise with its own.
        _write("/proc/sys/user/max_user_namespaces", "0")
    become = ["/usr/bin/setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all", "--"]
    return ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--", *become]


def _limit(name: str, value: str) -> None:
    kind: int = getattr(resource, f"RLIMIT_{name}")
    hard = resource.getrlimit(kind)[1]
    wanted = int(value)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(kind, (wanted, wanted))


def _write(path: str, text: str) -> None:
    # One call: the kernel takes these files whole.
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _complain(error: OSError) -> None:
    os.write(2, f"{COMPLAINT}{error}\n".encode())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except OSError as failure:
        _complain(failure)
        sys.exit(FAILED)
