"""Verify installed skills against our lock, offline and in parallel."""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
from msgspec import Struct, structs

from clawft.errors import ClawftError, Diagnostic
from clawft.files import read_optional
from clawft.install.lockfile.compare import SAME, FolderDifference, compare_folder, is_untouched
from clawft.install.lockfile.file import check_block, read_block, split_lock
from clawft.install.lockfile.foreign import LOCKS, PROJECT_LOCK, find_global_lock
from clawft.install.lockfile.model import MAX_LOCK_BYTES, LockedSkill
from clawft.install.transaction.targets import InstallSite

if TYPE_CHECKING:
    from clawft.trust.signing.signatures import Signature


T = TypeVar("T")
R = TypeVar("R")
_WORTH = 100  # fewer things are done sooner than a process is started
_MAX_PROCESSES = 4


def run_forked(things: Sequence[T], job: Callable[[T], R | None], kind: type[R]) -> dict[int, R]:
    """Run the job for each thing in forked processes, and return the results by index, without those that are None.
    Results must be such as msgspec can encode."""
    processes = min(_count_processors(), _MAX_PROCESSES) if len(things) >= _WORTH and _may_fork() else 1
    parts = [range(number, len(things), processes) for number in range(processes)]
    others = [(part, *_start(things, job, part)) for part in parts[1:]]
    found = _do(things, job, parts[0])
    decode = msgspec.msgpack.Decoder(dict[int, kind]).decode  # type: ignore[valid-type]
    for part, process, results in others:
        with open(results, "rb") as file:
            data = file.read()
        _, status = os.waitpid(process, 0)
        found |= decode(data) if status == 0 else _do(things, job, part)  # what another could not do is done here
    return found


def _do(things: Sequence[T], job: Callable[[T], R | None], part: range) -> dict[int, R]:
    return {at: found for at in part if (found := job(things[at])) is not None}


def _start(things: Sequence[T], job: Callable[[T], R | None], part: range) -> tuple[int, int]:
    """A process that does a part, and where it writes what came of it."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    code = 1
    try:  # whatever happens, the child must not go on as if it were the parent
        os.close(reading)
        with open(writing, "wb") as file:
            file.write(msgspec.msgpack.encode(_do(things, job, part)))
        code = 0
    finally:
        os._exit(code)


def _count_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _may_fork() -> bool:
    """Not where threads run: one that holds a lock would not be there to let go of it."""
    threading = sys.modules.get("threading")
    return hasattr(os, "fork") and (threading is None or threading.active_count() == 1)


VerificationState = Literal["same", "changed", "missing", "untrusted", "unknown"]
SIGNATURE = ".clawft-signature"  # as in signing/


class VerifiedFolder(Struct, frozen=True, omit_defaults=True):
    """The check of one folder of one skill, against one lock.

    `untrusted`: it is what was installed, but its signer's key is revoked. `unknown`: the lock does not say.
    """

    name: str
    scope: str
    client: str
    folder: str
    lock: str
    state: VerificationState
    version: str = ""
    difference: FolderDifference = SAME
    why: str = ""
    signature: str = ""  # what it is worth now, where the lock says that there is one
    ours: bool = False  # the lock is our own


class VerificationResult(Struct, frozen=True):
    """The result of a verification: all folders checked, and diagnostics for locks that could not be read."""

    locks: tuple[str, ...] = ()
    checked: tuple[VerifiedFolder, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    def join(self, other: "VerificationResult") -> "VerificationResult":
        diagnostics = (*self.diagnostics, *other.diagnostics)
        return VerificationResult((*self.locks, *other.locks), (*self.checked, *other.checked), diagnostics)

    @property
    def ok(self) -> bool:
        """Return whether nothing differs from a lock, and every lock could be read."""
        return not self.diagnostics and all(folder.state in ("same", "unknown") for folder in self.checked)


def compare_signature(found: "Signature", *, known: bool) -> FolderDifference:
    """Return the difference for a signature that is not valid; none if only its key is not accepted. `known`: to the
    lock."""
    if found.state == "unsigned":
        return FolderDifference(missing=(SIGNATURE,))
    if found.state == "bad":
        return FolderDifference(changed=(SIGNATURE,)) if known else FolderDifference(extra=(SIGNATURE,))
    return SAME


Signed = Callable[
    [str, LockedSkill], "Signature | None"
]  # from a folder and its skill to a signature that is not valid


class _Verification(Struct, frozen=True, omit_defaults=True):
    """The result of checking one folder, if it is not the same."""

    difference: FolderDifference = SAME
    refused: Diagnostic | None = None


class _Job(Struct, frozen=True):
    name: str
    block: Mapping[str, Any]
    client: str
    folder: str


def verify_site(site: InstallSite, names: Collection[str] = (), signed: Signed | None = None) -> VerificationResult:
    """Our lock of one scope; `names`: only these. `signed` judges signatures, where there are any."""
    try:
        data = read_optional(site.lock, MAX_LOCK_BYTES)
        blocks = split_lock(data, site.lock) if data is not None else {}
    except ClawftError as error:
        return VerificationResult((site.lock,), diagnostics=(error.diagnostic,))
    wanted = {name: block for name, block in blocks.items() if not names or name in names}
    jobs = [job for name, block in wanted.items() for job in _jobs(site, name, block)]
    comparisons = run_forked(jobs, lambda job: _look(job, site.lock), _Verification)
    checked = [_conclude(site, job, comparisons.get(at)) for at, job in enumerate(jobs)]
    if signed is not None:
        checked = [_check_signature(folder, job, site.lock, signed) for folder, job in zip(checked, jobs, strict=True)]
    refused = [comparison.refused for comparison in comparisons.values() if comparison.refused is not None]
    return VerificationResult((site.lock,) if data is not None else (), tuple(checked), tuple(dict.fromkeys(refused)))


def has_others(site: InstallSite, environ: Mapping[str, str]) -> bool:
    """Return whether another installer left a lock in this scope: told without reading one."""
    paths = [os.path.join(os.path.dirname(root), name) for root in site.roots.values() for name in LOCKS]
    return any(map(os.path.lexists, (vercel_lock(site, environ), *paths)))


def vercel_lock(site: InstallSite, environ: Mapping[str, str]) -> str:
    """Return the path of the `skills` command's lock in this scope."""
    return f"{site.base}/{PROJECT_LOCK}" if site.scope == "project" else find_global_lock(site.base, environ)


def _jobs(site: InstallSite, name: str, block: Mapping[str, Any]) -> Iterable[_Job]:
    """The folders a skill was put into; a client that is not known has none."""
    clients = block.get("to", ("clawft",))
    known = [root for root in site.roots if root in clients] if isinstance(clients, list | tuple) else []
    return [_Job(name, block, client, os.path.join(site.roots[client], name)) for client in known or ("clawft",)]


def _look(job: _Job, lock: str) -> _Verification | None:
    try:
        digest = check_block(job.name, job.block, lock).digest  # first: until then the name may lead anywhere
        lines = job.block.get("files")
        if isinstance(lines, list) and {str}.issuperset(map(type, lines)) and is_untouched(job.folder, lines, digest):
            return None
        skill = read_block(job.name, job.block, lock)
    except ClawftError as error:
        return _Verification(refused=error.diagnostic)
    difference = compare_folder(job.folder, skill.files)
    return _Verification(difference) if difference.any else None


def _conclude(site: InstallSite, job: _Job, comparison: _Verification | None) -> VerifiedFolder:
    version = job.block.get("version")
    known = version if isinstance(version, str) else ""
    same = VerifiedFolder(job.name, site.scope, job.client, job.folder, site.lock, "same", known, ours=True)
    if comparison is None:
        return same
    if comparison.refused is not None:
        return structs.replace(same, folder="", state="unknown", why=comparison.refused.message)
    state: VerificationState = "missing" if comparison.difference.is_absent else "changed"
    return structs.replace(same, state=state, difference=comparison.difference, why=comparison.difference.why)


def _check_signature(checked: VerifiedFolder, job: _Job, lock: str, signed: Signed) -> VerifiedFolder:
    """A signature that the lock has counts as long as it is good; any other must not be one that is refused."""
    known = bool(job.block.get("signed_by"))
    if checked.state != "same" or not (known or os.path.lexists(os.path.join(job.folder, SIGNATURE))):
        return checked
    found = signed(job.folder, read_block(job.name, job.block, lock))
    if found is None:
        return structs.replace(checked, signature="good") if known else checked
    difference = compare_signature(found, known=known)
    state: VerificationState = "changed" if difference.any else "untrusted"
    why = f"Its signature counts no more: {found.line}"
    return structs.replace(checked, state=state, difference=difference, signature=found.line, why=why)
