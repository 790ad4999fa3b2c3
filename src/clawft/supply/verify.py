"""Whether what is installed is what our lock says, told offline. Quick: most folders are as they were."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from clawft.errors import ClawftError, Diagnostic
from clawft.files import read_optional
from clawft.locks.clawhub import LOCKS
from clawft.locks.compare import SAME, Difference, compare_folder, is_untouched
from clawft.locks.file import check_block, read_block, split_lock
from clawft.locks.model import LockedSkill
from clawft.locks.names import MAX_LOCK_BYTES
from clawft.locks.vercel import PROJECT_LOCK, find_global_lock
from clawft.supply.share import share
from clawft.supply.targets import Site
from clawft.supply.verified import SIGNATURE, Checked, State, Verified, compare_signature

if TYPE_CHECKING:
    from clawft.signing.check import Signature

__all__ = ["Signed", "has_others", "vercel_lock", "verify_site"]

Signed = Callable[[str, LockedSkill], "Signature | None"]  # a folder and its skill to a signature that counts no more


class _Told(Struct, frozen=True, omit_defaults=True):
    """What a look at one folder came to, if it is not the same."""

    difference: Difference = SAME
    refused: Diagnostic | None = None


class _Job(Struct, frozen=True):
    name: str
    block: Mapping[str, Any]
    client: str
    folder: str


def verify_site(site: Site, names: Collection[str] = (), signed: Signed | None = None) -> Verified:
    """Our lock of one scope; `names`: only these. `signed` judges signatures, where there are any."""
    try:
        data = read_optional(site.lock, MAX_LOCK_BYTES)
        blocks = split_lock(data, site.lock) if data is not None else {}
    except ClawftError as error:
        return Verified((site.lock,), diagnostics=(error.diagnostic,))
    wanted = {name: block for name, block in blocks.items() if not names or name in names}
    jobs = [job for name, block in wanted.items() for job in _jobs(site, name, block)]
    told = share(jobs, lambda job: _look(job, site.lock), _Told)
    checked = [_conclude(site, job, told.get(at)) for at, job in enumerate(jobs)]
    if signed is not None:
        checked = [_check_signature(one, job, site.lock, signed) for one, job in zip(checked, jobs, strict=True)]
    refused = [one.refused for one in told.values() if one.refused is not None]
    return Verified((site.lock,) if data is not None else (), tuple(checked), tuple(dict.fromkeys(refused)))


def has_others(site: Site, environ: Mapping[str, str]) -> bool:
    """Whether another installer left a lock in this scope: told without reading one."""
    beside = [os.path.join(os.path.dirname(root), name) for root in site.roots.values() for name in LOCKS]
    return any(map(os.path.lexists, (vercel_lock(site, environ), *beside)))


def vercel_lock(site: Site, environ: Mapping[str, str]) -> str:
    """Where the `skills` command has its lock in this scope."""
    return f"{site.base}/{PROJECT_LOCK}" if site.scope == "project" else find_global_lock(site.base, environ)


def _jobs(site: Site, name: str, block: Mapping[str, Any]) -> Iterable[_Job]:
    """The folders a skill was put into; a client that is not known has none."""
    clients = block.get("to", ("clawft",))
    known = [one for one in site.roots if one in clients] if isinstance(clients, list | tuple) else []
    return [_Job(name, block, client, os.path.join(site.roots[client], name)) for client in known or ("clawft",)]


def _look(job: _Job, lock: str) -> _Told | None:
    try:
        digest = check_block(job.name, job.block, lock).digest  # first: until then the name may lead anywhere
        lines = job.block.get("files")
        if isinstance(lines, list) and {str}.issuperset(map(type, lines)) and is_untouched(job.folder, lines, digest):
            return None
        skill = read_block(job.name, job.block, lock)
    except ClawftError as error:
        return _Told(refused=error.diagnostic)
    difference = compare_folder(job.folder, skill.files)
    return _Told(difference) if difference.any else None


def _conclude(site: Site, job: _Job, told: _Told | None) -> Checked:
    version = job.block.get("version")
    known = version if isinstance(version, str) else ""
    same = Checked(job.name, site.scope, job.client, job.folder, site.lock, "same", known, ours=True)
    if told is None:
        return same
    if told.refused is not None:
        return structs.replace(same, folder="", state="unknown", why=told.refused.message)
    state: State = "missing" if told.difference.gone else "changed"
    return structs.replace(same, state=state, difference=told.difference, why=told.difference.why)


def _check_signature(checked: Checked, job: _Job, lock: str, signed: Signed) -> Checked:
    """A signature that the lock has counts as long as it is good; any other must not be one that is refused."""
    known = bool(job.block.get("signed_by"))
    if checked.state != "same" or not (known or os.path.lexists(os.path.join(job.folder, SIGNATURE))):
        return checked
    found = signed(job.folder, read_block(job.name, job.block, lock))
    if found is None:
        return structs.replace(checked, signature="good") if known else checked
    difference = compare_signature(found, known=known)
    state: State = "changed" if difference.any else "untrusted"
    why = f"Its signature counts no more: {found.line}"
    return structs.replace(checked, state=state, difference=difference, signature=found.line, why=why)
