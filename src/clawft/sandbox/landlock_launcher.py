"""Starts one program under Landlock. Run as a script of its own, by `sys.executable -I -S`: it imports nothing of ours.

    supervisor, which waits for the end of everything
      first process of a namespace of its own, where one can be made
        the program: limits, no capabilities, Landlock, filter of calls

What to do stands as JSON in the file that the first argument names by its descriptor. On the second, a socket, it
tells what is apart and passes a socket that listens there, waits for a byte, and tells how the program ended.
"""

import ctypes
import errno
import json
import os
import resource
import signal
import socket
import stat
import struct
import sys
from contextlib import suppress
from typing import Any

_LIBC = ctypes.CDLL(None, use_errno=True)
_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_PDEATHSIG, _NO_NEW_PRIVS, _SECCOMP, _CAPBSET_DROP, _SUBREAPER, _AMBIENT = 1, 38, 22, 24, 36, 47
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL_DEV = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_GRANTS = {
    "list": _READ_DIR,
    "read": _EXECUTE | _READ_FILE | _READ_DIR,
    "device": _READ_FILE | _WRITE_FILE | _IOCTL_DEV,
    "write": ~_IOCTL_DEV,
}
_MOUNT_SETATTR, _AT_RECURSIVE, _AT_EMPTY_PATH, _READ_ONLY = 442, 0x8000, 0x1000, 1
_OPENAT2, _CWD, _NO_LINKS, _IN_ROOT = 437, -100, 0x06, 0x10
_TCP = 3  # bind and connect
_SCOPES = 3  # abstract sockets and signals
_LAST_CAPABILITY = 63
_LEAST_PIDS = 400
_KERNEL = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
_CANNOT_EXECUTE, _CANNOT_FIND = 126, 127
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


def main() -> None:
    with open(int(sys.argv[1]), "rb") as file:
        task = json.load(file)
    tell = socket.socket(fileno=int(sys.argv[2]))
    tell.set_inheritable(False)
    _LIBC.prctl(_SUBREAPER, 1, 0, 0, 0)
    apart = _unshare()
    _LIBC.prctl(_PDEATHSIG, signal.SIGTERM, 0, 0, 0)  # after that: a change of rights would undo it
    if os.getppid() not in (task["parent"], 0):  # 0: it lives in another namespace
        sys.exit(1)
    listeners = [_listen(task["port"])] if apart["net"] and task["port"] else []
    _send(tell, apart, listeners)
    del listeners
    if not tell.recv(1):
        sys.exit(1)
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # from now on there is something to be ended first
    child = os.fork()
    if child == 0:
        _LIBC.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if apart["pid"]:
            os._exit(_be_first(task, apart, tell))
        _become(task, apart)
    _send(tell, {"child": child if apart["pid"] else 0}, [])
    code = _wait(child)
    _end_all()
    _send(tell, {"code": code}, [])
    os._exit(0)


def _send(tell: socket.socket, what: object, sockets: list[socket.socket]) -> None:
    data = json.dumps(what).encode() + b"\n"
    with suppress(BrokenPipeError):
        socket.send_fds(tell, [data], [socket.fileno() for socket in sockets])


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    return listener


def _unshare() -> dict[str, bool]:
    """Namespaces of our own, as far as the system allows: all, or none but that of the network, or none."""
    user, group = os.getuid(), os.getgid()
    spaces = _NEWNET | _NEWIPC | _NEWUTS | _NEWPID | _NEWNS
    if _LIBC.unshare(_NEWUSER | spaces) == 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with suppress(FileNotFoundError), open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    elif _LIBC.unshare(spaces) != 0:
        return {"net": _LIBC.unshare(_NEWNET) == 0 and _set_up_loopback(), "pid": False}
    return {"net": _set_up_loopback(), "pid": True}


def _set_up_loopback() -> bool:
    import fcntl

    with socket.socket() as any_socket:
        flags = struct.pack("16sH14x", b"lo", 1)  # IFF_UP
        with suppress(OSError):
            fcntl.ioctl(any_socket, 0x8914, flags)  # SIOCSIFFLAGS
    return True


def _be_first(task: Any, apart: dict[str, bool], tell: socket.socket) -> int:
    """Init of the namespace: with its end the kernel ends everything else in it."""
    _LIBC.mount(b"none", b"/", None, 0x44000, None)  # MS_REC | MS_PRIVATE: what is mounted here stays here
    _show_as_tmp(task, task["private"])
    own_proc = _LIBC.mount(b"proc", b"/proc", b"proc", 0xE, None) == 0  # nosuid, nodev, noexec
    if own_proc and not os.geteuid():  # a limit for root, too, from Linux 6.14 on
        _limit_numbers(max(task["limits"]["processes"], _LEAST_PIDS))
    _send(tell, {"own_proc": own_proc}, [])
    _make_read_only(task)
    child = os.fork()
    if child == 0:
        _become(task, {**apart, "proc": own_proc})
    tell.close()
    code = _wait(child)
    return code if code >= 0 else 128 - code


def _show_as_tmp(task: Any, private: str) -> None:
    """The program's own folder in the place of /tmp, which many take for granted; it then has that name only."""
    if private and _LIBC.mount(os.fsencode(private), b"/tmp", None, 0x1000, None) == 0:  # MS_BIND
        task["grants"] = [[kind, "/tmp" if path == private else path, mark] for kind, path, mark in task["grants"]]
        task["env"] = {
            name: "/tmp" + value[len(private) :] if value.startswith(private) else value
            for name, value in task["env"].items()
        }


def _make_read_only(task: Any) -> None:
    """Landlock lets everybody change rights and times of every file, so all mounts but those to be written to are
    made read-only. Where that is not possible it stays so."""
    shown = ["/tmp"] if ["write", "/tmp", None] in task["grants"] else []
    opened = [path for path in (*task["open"], *shown) if os.path.isdir(path)]
    mounted = {path: _mount_on_itself(path) for path in (*opened, *task["closed"])}
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    if _set_mount(root, _AT_RECURSIVE, _READ_ONLY, 0):
        for path in opened:
            _set_mount(mounted[path], 0, 0, _READ_ONLY)
    for descriptor in (root, *mounted.values()):
        if descriptor >= 0:
            os.close(descriptor)


def _mount_on_itself(path: str) -> int:
    """Give a place a mount of its own, and open that; -1 where it cannot be done, or a link is on the way now."""
    try:
        before = open_plain(path)
        name = f"/proc/self/fd/{before}".encode()
        _LIBC.mount(name, name, None, 0x5000, None)  # MS_BIND, MS_REC
        after = open_plain(path)
    except OSError:
        return -1
    if os.path.sameopenfile(before, after):
        os.close(before)
        return after
    os.close(before)
    os.close(after)
    return -1


def _set_mount(descriptor: int, flags: int, add: int, remove: int) -> bool:
    attributes = struct.pack("QQQQ", add, remove, 0, 0)
    flags |= _AT_EMPTY_PATH
    done: int = _LIBC.syscall(_MOUNT_SETATTR, descriptor, b"", flags, attributes, len(attributes))
    return done == 0


def _limit_numbers(most: int) -> None:
    with suppress(OSError):
        if os.getpid() == 1 and _KERNEL >= (6, 14):  # before, it was one number for the whole machine
            with open("/proc/sys/kernel/pid_max", "w", encoding="ascii") as file:
                file.write(str(most))


def _wait(child: int) -> int:
    """Wait for a child and return its exit code, or minus the signal. Others are reaped; a signal to end ends the
    wait."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 1
        if pid == child:
            return os.waitstatus_to_exitcode(status)
        if pid == 0 and signal.sigwait(_SIGNALS) != signal.SIGCHLD:
            os.kill(child, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(child, 0)
            return -signal.SIGKILL


def _end_all() -> None:
    """End what the program left: everything that lost its parent came to us."""
    while True:
        for pid in _children():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            if not _children():
                os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    """All descendants, deepest last, so that none is started while we go through them from the top."""
    found = [os.getpid()]
    for pid in found:
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                    found += map(int, file.read().split())
    return found[1:]


def _become(task: Any, apart: dict[str, bool]) -> None:
    """Give everything up and be the program."""
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.closerange(3, 64)
        _set_limits(task["limits"], counted=apart["pid"])
        os.chdir(task["cwd"])
        _drop_capabilities()
        if _LIBC.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no_new_privs")
        _restrict(task["grants"], own_proc=apart.get("proc", False), network=apart["net"])
        _load_filter(bytes.fromhex(task["filters"]["apart" if apart["net"] else "shared"]))
        _execute(task["words"], task["env"])
    except FileNotFoundError as error:
        sys.stderr.write(f"{error.filename or task['words'][0]}: not found\n")
        code = _CANNOT_FIND
    except BaseException as error:
        sys.stderr.write(f"The sandbox could not start it: {error}\n")
        code = _CANNOT_EXECUTE
    sys.stderr.flush()
    os._exit(code)


def _execute(words: list[str], env: dict[str, str]) -> None:
    if "/" in words[0]:
        os.execve(words[0], words, env)
    os.execvpe(words[0], words, env)


def _set_limits(limits: dict[str, int], *, counted: bool) -> None:
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_DATA: limits["data_bytes"] or limits["memory_bytes"],
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        resource.RLIMIT_NPROC: limits["processes"] + (0 if counted else _count_ours()),
    }
    for what, value in wanted.items():
        _, hard = resource.getrlimit(what)
        lower = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (lower, lower))


def _count_ours() -> int:
    """Count the user's threads: without a namespace the kernel counts all of them."""
    user, count = os.getuid(), 0
    for name in os.listdir("/proc"):
        with suppress(OSError):
            if name.isdecimal() and os.stat(f"/proc/{name}").st_uid == user:
                count += os.stat(f"/proc/{name}/task").st_nlink - 2
    return count


def _drop_capabilities() -> None:
    """None is left, nor comes back by starting another program as root."""
    _LIBC.prctl(_AMBIENT, 4, 0, 0, 0)  # clear all
    for number in range(_LAST_CAPABILITY + 1):
        _LIBC.prctl(_CAPBSET_DROP, number, 0, 0, 0)
    header = struct.pack("Ii", 0x20080522, 0)
    if _LIBC.capset(header, bytes(24)) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _restrict(grants: list[list[Any]], *, own_proc: bool, network: bool) -> None:
    version = _LIBC.syscall(_CREATE_RULESET, None, 0, 1)
    handled = max(rights for least, rights in _RIGHTS.items() if least <= version)
    tcp = _TCP if version >= 4 and not network else 0
    scopes = _SCOPES if version >= 6 else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _LIBC.syscall(_CREATE_RULESET, struct.pack("QQQ", handled, tcp, scopes)[:size], size, 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "Landlock")
    ours = ["/proc"] if own_proc else [f"/proc/{os.readlink('/proc/self')}", "/proc/cpuinfo", "/proc/meminfo"]
    own = [["read", path, None] for path in ours]
    for kind, path, mark in (*grants, *own):
        _grant(ruleset, _GRANTS[kind] & handled, path, mark)
    if _LIBC.syscall(_RESTRICT_SELF, ruleset, 0) != 0:
        raise OSError(ctypes.get_errno(), "Landlock")
    os.close(ruleset)


def open_plain(path: str, root: int | None = None) -> int:
    """Open a place without following any link on the way: another program may put one there at any moment.

    `root` is the folder that the path begins at, such as the root of a process. Raises: OSError.
    """
    flags = os.O_PATH | os.O_CLOEXEC
    resolve = _NO_LINKS if root is None else _NO_LINKS | _IN_ROOT
    start = _CWD if root is None else root
    found: int = _LIBC.syscall(_OPENAT2, start, os.fsencode(path), struct.pack("QQQ", flags, 0, resolve), 24)
    if found >= 0:
        return found
    number = ctypes.get_errno()
    if number not in (errno.ENOSYS, errno.EPERM):  # which older kernels, and filters that do not know it, answer
        raise OSError(number, os.strerror(number), path)
    descriptor = os.open("/" if root is None else ".", flags, dir_fd=root)
    for part in filter(None, path.split("/")):
        try:
            inner = os.open(part, flags | os.O_NOFOLLOW, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = inner
        if stat.S_ISLNK(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return descriptor


def _grant(ruleset: int, rights: int, path: str, mark: list[int] | None) -> None:
    """Grant rights on a path, unless it is missing, or became a link or something else since it was looked at."""
    try:
        descriptor = open_plain(path)
    except OSError:
        return
    try:
        status = os.fstat(descriptor)
        if mark and [status.st_dev, status.st_ino] != mark:
            return
        if not stat.S_ISDIR(status.st_mode):
            rights &= _OF_FILES
        attributes = struct.pack("=Qi", rights, descriptor)
        if rights and _LIBC.syscall(_ADD_RULE, ruleset, 1, attributes, 0) != 0:
            raise OSError(ctypes.get_errno(), f"Landlock, {path}")
    finally:
        os.close(descriptor)


def _load_filter(program: bytes) -> None:
    if not program:
        return
    held = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held))
    if _LIBC.prctl(_SECCOMP, 2, header, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    main()
