"""The sandboxes that work on this machine: each is tried with a program that does nothing."""

import ctypes
import errno
import os
from contextlib import closing
from functools import partial
from threading import Thread
from typing import Literal

import anyio
from msgspec import Struct

from clawft.errors import ClawftError, Refused
from clawft.sandbox.bubblewrap import BubblewrapRun, base_flags
from clawft.sandbox.confinement import ResourceLimits
from clawft.sandbox.landlock import LandlockRun
from clawft.sandbox.process import Streams, run_launch
from clawft.sandbox.visible_files import LEAST_ETC, ConfinedProgram, VisibleFiles
from clawft.trust.programs import HostPrograms

SandboxMode = Literal["auto", "bubblewrap", "landlock", "off"]
KINDS: tuple[Literal["bubblewrap", "landlock"], ...] = ("bubblewrap", "landlock")
_PROBE_S = 10
_LEAST = 3  # the version of Landlock that keeps files from being cut
_CREATE_RULESET = 444
_worked: set[tuple[object, ...]] = set()


class SandboxStatus(Struct, frozen=True):
    """The sandbox that commands run in, and the reason why it is no better one."""

    kind: Literal["bubblewrap", "landlock", "off", "none"]
    reason: str = ""


class UsableSandbox(Struct, frozen=True):
    """A sandbox that works, with what bubblewrap needs."""

    status: SandboxStatus
    bwrap: str = ""
    base: tuple[str, ...] = ()
    least: tuple[str, ...] = ()  # the same for a program that needs little of the system; each mount takes its time


def probe(mode: SandboxMode, host_programs: HostPrograms, limits: ResourceLimits) -> UsableSandbox:
    """Try what the settings name, best first; the reasons of those that do not work are kept."""
    if mode == "off":
        return UsableSandbox(SandboxStatus("off", "the setting sandbox.mode turns it off"))
    reasons = []
    if mode != "landlock":
        bwrap, reason = _find_bubblewrap(host_programs)
        for nested in (False, True) if bwrap else ():
            base = tuple(base_flags(host_programs.home, limits, nested=nested))
            reason = _try_once(partial(BubblewrapRun, bwrap, base), limits, bwrap, base, host_programs.home)
            if not reason:
                least = base_flags(host_programs.home, limits, nested=nested, etc=LEAST_ETC)
                return UsableSandbox(SandboxStatus("bubblewrap"), bwrap, base, tuple(least))
        reasons.append(f"{reason}" if not bwrap else f"bubblewrap does not work ({reason})")
    if mode != "bubblewrap":
        reason = _check_landlock() or _try_once(LandlockRun, limits)
        if not reason:
            return UsableSandbox(SandboxStatus("landlock", "; ".join(reasons)))
        reasons.append(f"Landlock does not work ({reason})")
    return UsableSandbox(SandboxStatus("none", "; ".join(reasons)))


def _find_bubblewrap(host_programs: HostPrograms) -> tuple[str, str]:
    """The program, or why there is none."""
    try:
        return host_programs.find("bwrap"), "bubblewrap is not installed"
    except Refused as error:
        return "", str(error)


def _try_once(
    confine: "type[LandlockRun] | partial[BubblewrapRun]",
    limits: ResourceLimits,
    program: str = "/bin/sh",
    base: tuple[str, ...] = (),
    home: str = "",
) -> str:
    """Return why a program cannot be run so. What worked in this process is not tried again, unless `program` is
    another file, or the flags are others; of a home it matters only which folder of the root it is mounted in."""
    try:
        file = os.stat(program)
    except OSError as error:
        return f"{program}: {error.strerror}"
    changes = (file.st_dev, file.st_ino, file.st_mtime_ns, file.st_mode)
    flags = tuple(flag for flag in base if flag != home)
    tried = (program, changes, flags, tuple(home.split("/")[:2]), limits)
    reason = "" if tried in _worked else _try(confine, limits)
    if not reason:
        _worked.add(tried)
    return reason


def _try(confine: "type[LandlockRun] | partial[BubblewrapRun]", limits: ResourceLimits) -> str:
    """Return why a program cannot be run so; '' if it can. Runs in a thread of its own, since an event loop may be
    running here."""
    job = ConfinedProgram(("/bin/sh", "-c", ":"), "/", {}, VisibleFiles(), limits)
    reasons: list[str] = []

    async def run() -> None:
        try:
            with closing(confine(job)) as confined:
                done = await run_launch(confined.launch, timeout_s=_PROBE_S, max_bytes=2000, streams=Streams())
            message = done.output.decode("utf-8", "replace").strip() or f"it ended with {done.code}"
            reasons.append(message[-300:] if done.code else "")
        except (ClawftError, OSError, ExceptionGroup) as error:
            reasons.append(str(error)[-300:])

    thread = Thread(target=anyio.run, args=(run,))
    thread.start()
    thread.join()
    return reasons[0] if reasons else "it could not be tried"


def _check_landlock() -> str:
    """Return why the kernel's Landlock is not enough; '' if it is."""
    libc = ctypes.CDLL(None, use_errno=True)
    version: int = libc.syscall(_CREATE_RULESET, None, 0, 1)
    if version >= _LEAST:
        return ""
    if version > 0:
        return f"the kernel has version {version}, and {_LEAST} is needed"
    known = {errno.ENOSYS: "the kernel has none", errno.EOPNOTSUPP: "the kernel has it turned off"}
    return known.get(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
