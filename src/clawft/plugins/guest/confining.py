"""Gives up what a plugin was not granted, before any of its code is loaded: it cannot be had again."""

import ctypes
import os
import resource
import struct

__all__ = ["give_up", "limit_memory"]

_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2
_CREATE_RULESET, _RESTRICT_SELF, _EXECUTE = 444, 446, 1  # of Landlock, the same on every machine


def give_up(program: bytes) -> None:
    """Have the kernel refuse the calls of a filter, for this thread and all that it starts. Raises: OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    held = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held))
    forward_only = libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    _stay_apart(libc)
    if not forward_only or libc.prctl(_SECCOMP, _FILTER, header, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "The kernel takes no filter of system calls")


def _stay_apart(libc: ctypes.CDLL) -> None:
    """Have the kernel keep it from the memory of others, such as the first process of the sandbox, through which it
    could start programs after all. Where there is no Landlock, the kernel's own rules about that hold."""
    rules = libc.syscall(_CREATE_RULESET, struct.pack("Q", _EXECUTE), 8, 0)
    if rules >= 0:
        libc.syscall(_RESTRICT_SELF, rules, 0)
        os.close(rules)


def limit_memory(data_bytes: int) -> None:
    """Have the kernel refuse more memory than that, and leave no image of it on the disk."""
    for what, most in ((resource.RLIMIT_DATA, data_bytes), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(what)
        lower = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (lower, lower))
