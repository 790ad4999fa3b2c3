"""A filter of system calls (seccomp): what neither a namespace nor Landlock keeps apart is refused.

Keys of the kernel, sockets to the host of a virtual machine, programs with the rights of their owner, and calls through
which others could be smuggled past.
Built here as the bytes that the kernel takes; loaded by bubblewrap or the Landlock launcher.
"""

import errno
import platform
import struct
import sys
from collections.abc import Iterable

from msgspec import Struct

AF_INET, AF_INET6, AF_NETLINK = 2, 10, 16
# Not those of the file system: one of the project may be a service of this machine, which runs outside.
INSIDE_NAMESPACE = (AF_INET, AF_INET6, AF_NETLINK)

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_NEW_USER = 0x10000000
_THREAD = 0x00010000
_X32 = 0x40000000


class _Machine(Struct, frozen=True):
    architecture: int
    socket: int
    clone: int
    unshare: int
    refused: tuple[int, ...]  # add_key request_key keyctl bpf perf_event_open userfaultfd kexec_load kexec_file_load
    modes: tuple[tuple[int, int], ...]  # calls that set the rights of a file, with the argument that holds them
    starts: tuple[int, ...] = (221, 281)  # execve execveat, and fork vfork where there are such calls
    steers: tuple[int, ...] = (117, 270, 271)  # ptrace process_vm_readv process_vm_writev


_REFUSED = (217, 218, 219, 280, 241, 282, 104, 294)
_MODES = ((52, 1), (53, 2), (452, 2))  # fchmod, fchmodat, fchmodat2
_MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        41,
        56,
        272,
        (248, 249, 250, 321, 298, 323, 246, 320),
        ((90, 1), (91, 1), (268, 2), (452, 2)),
        (59, 322, 57, 58),
        (101, 310, 311),
    ),
    "aarch64": _Machine(0xC00000B7, 198, 220, 97, _REFUSED, _MODES),
    "riscv64": _Machine(0xC00000F3, 198, 220, 97, _REFUSED, _MODES),
}
_SET_ID = 0o6000  # a program that runs with the rights of its owner, which outside may be root
# io_uring makes sockets without the call that does so, and clone3 hides its flags: programs do without both.
_ABSENT = (425, 426, 427, 435)
_TAKE_FILE = 438  # pidfd_getfd: an open file of another process


def build_filter(families: Iterable[int], *, namespaces: bool) -> bytes | None:
    """A filter that lets sockets of these families be made, and user namespaces if `namespaces`.

    None for a machine whose calls are not known here.
    """
    machine = _find_machine()
    if machine is None:
        return None
    program = _begin(machine)
    for number in machine.refused:
        program += _if(_JUMP_EQUAL, number, errno.EPERM)
    for number in _ABSENT if not namespaces else _ABSENT[:3]:
        program += _if(_JUMP_EQUAL, number, errno.ENOSYS)
    if not namespaces:
        for number in (machine.clone, machine.unshare):
            program += _on_argument(number, 0, _if(_JUMP_ANY_BIT, _NEW_USER, errno.EPERM))
    for number, argument in machine.modes:
        program += _on_argument(number, argument, _if(_JUMP_ANY_BIT, _SET_ID, errno.EPERM))
    allowed = [word for family in families for word in _if(_JUMP_EQUAL, family, 0, allow=True)]
    program += _on_argument(machine.socket, 0, [*allowed, (_RETURN, 0, 0, _ERROR | errno.EAFNOSUPPORT)])
    program.append((_RETURN, 0, 0, _ALLOW))
    return _pack(program)


def build_lone_filter() -> bytes | None:
    """A filter that lets a process start threads, but no process and no program, nor have another one do so; None for a
    machine whose calls are not known here."""
    machine = _find_machine()
    if machine is None:
        return None
    program = _begin(machine)
    for number in (*machine.starts, *machine.steers, _TAKE_FILE):
        program += _if(_JUMP_EQUAL, number, errno.EPERM)
    program += _if(_JUMP_EQUAL, _ABSENT[-1], errno.ENOSYS)  # clone3, whose flags cannot be seen
    program += _on_argument(machine.clone, 0, _unless(_JUMP_ANY_BIT, _THREAD, errno.EPERM))
    program.append((_RETURN, 0, 0, _ALLOW))
    return _pack(program)


_Word = tuple[int, int, int, int]


def _find_machine() -> _Machine | None:
    return _MACHINES.get(platform.machine()) if sys.byteorder == "little" else None


def _begin(machine: _Machine) -> list[_Word]:
    """Calls of another architecture are refused; of the others the number is looked at."""
    program = [(_LOAD, 0, 0, _ARCHITECTURE), *_unless(_JUMP_EQUAL, machine.architecture, errno.ENOSYS)]
    program.append((_LOAD, 0, 0, _NUMBER))
    if machine.architecture == _MACHINES["x86_64"].architecture:
        program += _if(_JUMP_AT_LEAST, _X32, errno.ENOSYS)
    return program


def _if(jump: int, value: int, error: int, *, allow: bool = False) -> list[_Word]:
    return [(jump, 0, 1, value), (_RETURN, 0, 0, _ALLOW if allow else _ERROR | error)]


def _unless(jump: int, value: int, error: int) -> list[_Word]:
    return [(jump, 1, 0, value), (_RETURN, 0, 0, _ERROR | error)]


def _on_argument(number: int, argument: int, inner: list[_Word]) -> list[_Word]:
    """For one call, look at the lower half of one of its arguments; after it, the number is loaded again."""
    body = [(_LOAD, 0, 0, _ARGUMENTS + 8 * argument), *inner, (_LOAD, 0, 0, _NUMBER)]
    return [(_JUMP_EQUAL, 0, len(body), number), *body]


def _pack(program: Iterable[_Word]) -> bytes:
    return b"".join(struct.pack("=HBBI", *word) for word in program)
