"""Holds the namespaces that the commands of one session share, and starts bubblewrap in them. Run as a script of its
own, by `sys.executable -I -S`: it imports nothing of ours.

    server: in a user, network, IPC and mount namespace of the session, outside of its process namespace
      init: the first process of the session's process namespace; with its end the kernel ends all others in it
      bubblewrap: outside of the process namespace; what it starts is inside

It answers requests on the socket that its argument names by its descriptor, and ends with it.
"""

import ctypes
import fcntl
import json
import os
import selectors
import signal
import socket
import struct
import sys
from contextlib import suppress

_LIBC = ctypes.CDLL(None, use_errno=True)
_NEWNS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
_SLAVE, _REMOUNT, _PROC_FLAGS = 0x00084000, 0x20, 0xE  # MS_REC | MS_SLAVE; nosuid, nodev, noexec
_SUBREAPER = 36
# Where the server sees the session's processes. Nothing of /sys is ever shown to a command, and bubblewrap itself needs
# the machine's /proc.
PROC = "/sys"
_MAX_FDS = 64
_BACKLOG = 128
_CANNOT_EXECUTE = 126
_KERNEL = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])


def main() -> None:
    requests = socket.socket(fileno=int(sys.argv[1]))
    requests.set_inheritable(False)
    try:
        namespace, life = _make_namespaces(int(sys.argv[2]))
        shown = os.open(PROC, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        _answer(requests, {"error": str(error)})
        sys.exit(1)
    _answer(requests, {}, [shown])
    os.close(shown)
    _Server(requests, namespace).serve()
    os.close(life)


def _answer(requests: socket.socket, what: object, descriptors: "list[int] | None" = None) -> None:
    with suppress(BrokenPipeError):
        socket.send_fds(requests, [json.dumps(what).encode()], descriptors or [])


def _make_namespaces(processes: int) -> "tuple[int, int]":
    """The namespace of processes, and the descriptor with whose end the first process in it ends. Raises: OSError."""
    user, group = os.getuid(), os.getgid()
    _check(_LIBC.unshare(_NEWUSER | _NEWNET | _NEWIPC | _NEWNS))
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    _check(_LIBC.mount(b"none", b"/", None, _SLAVE, None))  # what is mounted outside is seen here, and not the reverse
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
    _LIBC.prctl(_SUBREAPER, 1, 0, 0, 0)  # so that init becomes our child when what made it has ended
    ended, life = os.pipe()
    problems_read, tell = os.pipe()
    maker = os.fork()
    if maker == 0:
        # A process that unshares this namespace cannot go back, and bubblewrap has to be outside of it.
        init = os.fork() if _LIBC.unshare(_NEWPID) == 0 else -1
        if init == 0:
            os.close(life)
            _be_init(ended, tell, processes)
        os.write(tell, b"%d\n" % init if init > 0 else b"-1\nno namespace of processes\n")
        os._exit(0)
    os.close(tell)
    os.waitpid(maker, 0)
    with open(problems_read, encoding="utf-8") as file:
        lines = file.read().split("\n")
    init = max(int(line) for line in lines if line.lstrip("-").isdecimal())
    problems = [line for line in lines if line and not line.lstrip("-").isdecimal()]
    if problems:
        raise OSError(problems[0])
    return os.open(f"/proc/{init}/ns/pid", os.O_RDONLY | os.O_CLOEXEC), life


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _be_init(ended: int, tell: int, processes: int) -> None:
    """Show the session's processes, then wait for the end of the server; children are reaped by the kernel."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if _LIBC.mount(b"proc", PROC.encode(), b"proc", _PROC_FLAGS, None) != 0:
        os.write(tell, b"its processes cannot be shown: %s\n" % os.strerror(ctypes.get_errno()).encode())
        os._exit(1)
    if not os.geteuid() and _KERNEL >= (6, 14):  # a limit for root, too; before, it was one of the whole machine
        with suppress(OSError), open(f"{PROC}/sys/kernel/pid_max", "w", encoding="ascii") as file:
            file.write(str(processes))
    # Read-only only now: root may write below /proc/sys without any capability.
    _LIBC.mount(None, PROC.encode(), None, _PROC_FLAGS | _REMOUNT | 0x1001, None)  # MS_BIND | MS_RDONLY
    os.closerange(0, ended)
    os.closerange(ended + 1, _MAX_FDS)
    os.read(ended, 1)
    os._exit(0)


class _Child:
    """A started program. It is reaped when the one who asked for it has left: until then its number belongs to it."""

    def __init__(self, pid: int, control: socket.socket) -> None:
        self.pid = pid
        self.control = control
        self.descriptor = os.pidfd_open(pid)
        self.is_ended = self.is_released = False


class _Server:
    def __init__(self, requests: socket.socket, namespace: int) -> None:
        self._requests = requests
        self._namespace = namespace
        self._selector = selectors.DefaultSelector()
        self._selector.register(requests, selectors.EVENT_READ)

    def serve(self) -> None:
        """Serve until nobody can ask any more."""
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    if not self._take():
                        return
                elif key.fileobj is key.data.control:
                    self._release(key.data)
                else:
                    self._end(key.data)

    def _take(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._requests, 4096, _MAX_FDS)
        if not data:
            return False
        try:
            asked = json.loads(data)
            if asked == "listen":
                with _listen() as listener:
                    _answer(self._requests, {}, [listener.fileno()])
            else:
                _answer(self._requests, {"pid": self._start(asked, descriptors)})
        except OSError as error:
            _answer(self._requests, {"error": str(error)})
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return True

    def _start(self, numbers: "list[int]", descriptors: "list[int]") -> int:
        """Start what the first descriptor holds; the second tells its end, and the others it gets as these numbers."""
        with open(os.dup(descriptors[0]), "rb") as file:
            words = [os.fsencode(word) for word in json.load(file)]
        pid = os.fork()
        if pid == 0:
            self._become(words, dict(zip(numbers, descriptors[2:], strict=True)))
        child = _Child(pid, socket.socket(fileno=os.dup(descriptors[1])))
        self._selector.register(child.control, selectors.EVENT_READ, child)
        self._selector.register(child.descriptor, selectors.EVENT_READ, child)
        return pid

    def _become(self, words: "list[bytes]", files: "dict[int, int]") -> None:
        try:
            os.setsid()
            _check(_LIBC.setns(self._namespace, _NEWPID))
            free = max(files) + 1  # none of the numbers may be taken before its own turn
            held = {number: fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, free) for number, source in files.items()}
            for number, source in held.items():
                os.dup2(source, number)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.execve(words[0], words, {})
        except BaseException as error:
            os.write(2, f"The sandbox could not start it: {error}\n".encode())
        os._exit(_CANNOT_EXECUTE)

    def _end(self, child: _Child) -> None:
        """Tell how it ended."""
        self._selector.unregister(child.descriptor)
        child.is_ended = True
        found = os.waitid(os.P_PIDFD, child.descriptor, os.WEXITED | os.WNOWAIT)
        if found is not None:
            code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
            with suppress(OSError):
                child.control.send(str(code).encode())
        self._forget(child)

    def _release(self, child: _Child) -> None:
        self._selector.unregister(child.control)
        child.control.close()
        child.is_released = True
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        self._forget(child)

    def _forget(self, child: _Child) -> None:
        if child.is_ended and child.is_released:
            os.waitpid(child.pid, 0)
            os.close(child.descriptor)


def _listen() -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(_BACKLOG)
    return listener


if __name__ == "__main__":
    main()
