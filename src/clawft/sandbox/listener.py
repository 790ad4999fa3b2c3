"""A socket that listens inside a sandbox's network, for the proxy outside of it.

`open_listener` runs this file as a script of its own, which joins the network of a process, listens there, and
passes the socket back. Only a fresh process of one thread can join, and what joined is never needed again.
"""

import ctypes
import fcntl
import os
import socket
import sys

PROXY_PORT = 3128  # the network is new: every port is free
_NEWUSER, _NEWNET = 0x10000000, 0x40000000
_GET_USERNS = 0xB701
_BACKLOG = 128


async def open_listener(pid: int) -> socket.socket:
    """A socket on the loopback of the network that the process `pid` is in. Raises: OSError."""
    import anyio  # the script needs none of it

    from clawft.sandbox.process import Launch, Streams, run_launch

    ours, theirs = socket.socketpair()
    with ours, theirs:
        words = (sys.executable, "-I", "-S", __file__, str(theirs.fileno()), str(pid))
        launch = Launch(words, "/", {}, pass_fds=(theirs.fileno(),))
        done = await run_launch(launch, timeout_s=10, max_bytes=2000, streams=Streams())
        theirs.close()
        await anyio.wait_readable(ours)
        _, descriptors, _, _ = socket.recv_fds(ours, 16, 1)
        if not descriptors:
            raise OSError(done.output.decode("utf-8", "replace").strip()[-300:] or "no socket came")
        return socket.socket(fileno=descriptors[0])


def _main() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    network = os.open(f"/proc/{sys.argv[2]}/ns/net", os.O_RDONLY)
    owner = fcntl.ioctl(network, _GET_USERNS)  # root of this namespace may join
    for space, kind in ((owner, _NEWUSER), (network, _NEWNET)):
        if libc.setns(space, kind) != 0 and kind == _NEWNET:  # our own user namespace cannot be joined, nor need be
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with socket.socket() as listener, socket.socket(fileno=int(sys.argv[1])) as asking:
        listener.bind(("127.0.0.1", PROXY_PORT))
        listener.listen(_BACKLOG)
        socket.send_fds(asking, [b"1"], [listener.fileno()])


if __name__ == "__main__":
    _main()
