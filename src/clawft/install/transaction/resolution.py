"""Skills that other skills need: found where those come from, brought along, and written down; never in a circle.

`requires.skills`, and a name with its owner, must be had. `dependencies` names packages and programs as often as
skills: a bare name there counts only if it is here, or if whoever publishes the skill has a skill of that name.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from msgspec import Struct, structs

from clawft.errors import ClawftError, Diagnostic, NotFound
from clawft.format.dependency import Need, is_met, parse_need
from clawft.format.model import Skill
from clawft.locks.file import load_lock
from clawft.locks.model import Origin
from clawft.sources.choose import Sources
from clawft.sources.model import Reference, Resolved
from clawft.supply.install import Transaction, Wanted
from clawft.supply.scanning import Scans
from clawft.supply.stage import Staged

__all__ = ["bring_needed", "order"]

MAX_BROUGHT = 50
MAX_ASKED = 200  # most names are of packages and programs, but each is asked for
_REGISTRIES = ("clawhub", "contract")


class _Required(Struct, frozen=True):
    need: Need
    must: bool


class _Search(Struct):
    """One installation, while what it needs is looked for. `present` are versions of what is there, by name."""

    sources: Sources
    own: bool
    present: Mapping[str, str]
    locked: Mapping[str, Collection[str]]  # what each skill of the lock depends on
    staged: dict[str, Staged] = {}
    asked: int = 0


async def bring_needed(
    transaction: Transaction,
    sources: Sources,
    staged: Sequence[Staged],
    scans: Scans,
    here: Callable[[], Mapping[str, str]],
) -> list[Staged]:
    """The skills with all that they need and is not there, what is needed first.

    `here` tells the versions of all skills there are, by name. Raises: ClawftError for what cannot be had, and for a
    circle.
    """
    if not any(map(_list_required, staged)):
        return list(staged)
    lock = load_lock(transaction.site.lock)
    present = {**here(), **{name: one.version for name, one in lock.items()}}
    locked = {name: one.dependencies for name, one in lock.items()}
    search = _Search(sources, transaction.site.scope == "user", present, locked, {one.name: one for one in staged})
    new = list(staged)
    while new:
        wanted: dict[str, Wanted] = {}
        for needing, required in [(one, required) for one in new for required in _list_required(one)]:
            found = await _find(search, needing, required)
            if found is not None:
                wanted.setdefault(required.need.name, found)
            if len(search.staged) + len(wanted) > len(staged) + MAX_BROUGHT:
                raise ClawftError("dependency-many", f"More than {MAX_BROUGHT} other skills would be needed")
        new = await transaction.stage(list(wanted.values()), scans)
        for one in new:
            if one.name not in wanted:  # else it would be missed, and brought, again and again
                message = f"A skill that is needed cannot have its name; it would be installed as '{one.name}'"
                raise ClawftError("dependency-missing", message, path=one.resolved.origin.url)
        search.staged |= {one.name: one for one in new}
    return _link(search)


def order(needed: Mapping[str, Collection[str]]) -> list[str]:
    """Names with what each needs before it. Raises: ClawftError that shows the circle."""
    try:
        return list(TopologicalSorter({name: sorted(needed[name]) for name in sorted(needed)}).static_order())
    except CycleError as error:
        circle = " needs ".join(reversed(error.args[1]))
        hint = "Their authors must take one of these out"
        raise ClawftError("dependency-cycle", f"Skills need each other in a circle: {circle}", hint=hint) from error


def _list_required(staged: Staged) -> list[_Required]:
    """What a skill needs, itself left out where it may be: a text that names no skill stands for none."""
    skill: Skill | None = staged.found.skill
    if skill is None:
        return []
    listed = [(text, True) for text in skill.requires.skills] + [(text, False) for text in skill.dependencies]
    found: dict[str, _Required] = {}
    for text, must in listed:
        need = parse_need(text)
        if need is not None and (must or need.name != staged.name):
            found.setdefault(need.name, _Required(need, must or bool(need.owner)))
    return list(found.values())


async def _find(search: _Search, one: Staged, required: _Required) -> Wanted | None:
    """Where to have it from; None for what is there, or for what is no skill. Raises: ClawftError."""
    need = required.need
    if need.name in search.staged or need.name in search.present:
        staged = search.staged.get(need.name)
        _check(one, required, staged.resolved.version if staged else search.present[need.name])
        return None
    search.asked += 1
    if search.asked > MAX_ASKED:
        raise ClawftError("dependency-many", f"More than {MAX_ASKED} names are given of what could be other skills")
    try:
        found = await _resolve(search, one.resolved.origin, required)
    except ClawftError as error:
        if required.must or not isinstance(error, NotFound):
            message = f"'{one.name}' needs the skill '{need.text}', which cannot be had: {error}"
            hint = error.hint or f"Install it first: weft skills install {need.text}"
            raise ClawftError("dependency-missing", message, path=one.resolved.origin.url, hint=hint) from error
        found = None
    if found is None:
        return None
    _check(one, required, found.resolved.version)
    return found


def _check(one: Staged, required: _Required, version: str) -> None:
    """Raises: ClawftError for a version that will not do."""
    need = required.need
    if required.must and not is_met(need.versions, version):
        message = f"'{one.name}' needs '{need.text}', and {version} is what there is"
        hint = f"Run: weft skills update {need.name}"
        raise ClawftError("dependency-version", message, path=one.resolved.origin.url, hint=hint)


async def _resolve(search: _Search, origin: Origin, required: _Required) -> Wanted | None:
    """The skill of that name where another comes from; with an owner, in a registry. Raises: ClawftError."""
    need = required.need
    version = need.versions[2:] if need.versions.startswith("==") and "," not in need.versions else ""
    if origin.kind in _REGISTRIES or need.owner:
        if origin.kind in _REGISTRIES:
            source, kind, url = search.sources.find(origin, own=search.own), origin.kind, origin.url
        else:
            name = next(iter(search.sources.registries))
            settings = search.sources.registries[name]
            source, kind, url = search.sources.registry(name), "clawhub", settings.url
        asked = Reference(need.text, kind, owner=need.owner or origin.owner, slug=need.name, version=version, url=url)
        try:
            return _one(await source.resolve(asked), source, need)
        except NotFound:
            if need.owner or not required.must:
                raise
        return _of_another(_one(await source.resolve(structs.replace(asked, owner="")), source, need), origin)
    if origin.kind in ("folder", "archive") and "://" not in origin.url and not origin.path:
        beside = os.path.join(os.path.dirname(origin.url), need.name)
        if origin.kind == "archive" or not os.path.isfile(os.path.join(beside, "SKILL.md")):
            raise NotFound("source-skill", f"There is no '{need.name}' beside it")
        asked = Reference(need.text, "folder", url=beside)
    else:
        asked = Reference(need.text, origin.kind, url=origin.url, ref=origin.ref, skill=need.name)
    source = search.sources.find(Origin(asked.kind, asked.url), own=search.own)
    return _one(await source.resolve(asked), source, need)


def _of_another(wanted: Wanted, origin: Origin) -> Wanted:
    """Of a bare name anybody may publish a skill: whose it is that comes along is told."""
    owner = wanted.resolved.origin.owner
    if not origin.owner or owner.lower() == origin.owner.lower():
        return wanted
    message = f"'{wanted.resolved.name}' is of @{owner}, and is needed by a skill of @{origin.owner}"
    note = Diagnostic("dependency-owner", "warning", message, hint="Is it the one that is meant?")
    return structs.replace(wanted, resolved=structs.replace(wanted.resolved, notes=(*wanted.resolved.notes, note)))


def _one(found: Sequence[Resolved], source: object, need: Need) -> Wanted:
    named = [one for one in found if need.name in (one.name, one.origin.slug)]
    if len(named) != 1:
        raise NotFound("source-skill", f"There is no one skill '{need.name}'")
    return Wanted(source, named[0], requested=False)  # type: ignore[arg-type]


def _link(search: _Search) -> list[Staged]:
    """Each with the names that its entry in the lock depends on, what is needed first. Raises: ClawftError."""
    known = search.staged.keys() | search.locked.keys()
    links: dict[str, tuple[str, ...]] = {}
    unknown: dict[str, list[str]] = {}
    for name, one in search.staged.items():
        names = [required.need.name for required in _list_required(one)]
        links[name] = tuple(sorted({each for each in names if each in known}))
        unknown[name] = [each for each in names if each not in known and each not in search.present]
    needed: dict[str, Collection[str]] = {**search.locked, **links}
    ordered = [name for name in order(needed) if name in search.staged]
    return [_with_links(search.staged[name], links[name], unknown[name]) for name in ordered]


def _with_links(staged: Staged, links: tuple[str, ...], unknown: Sequence[str]) -> Staged:
    notes = [
        Diagnostic("dependency-unknown", "note", f"It names '{name}', which is no skill here or where it comes from")
        for name in unknown
    ]
    resolved = structs.replace(staged.resolved, notes=(*staged.resolved.notes, *notes))
    return structs.replace(staged, resolved=resolved, dependencies=links)
