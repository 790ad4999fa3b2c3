"""Resolve references to exact versions with all their dependencies, and stage them."""

import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

import anyio
from msgspec import Struct, structs

from clawft.errors import ClawftError, Diagnostic, NotFound, find_close
from clawft.install.lockfile.file import load_lock
from clawft.install.lockfile.model import SkillOrigin
from clawft.install.sources.model import ResolvedSkill, SkillReference, SkillSource
from clawft.install.sources.selection import REGISTRIES, SkillSources
from clawft.install.transaction.installation import Finder, Transaction, WantedSkill
from clawft.install.transaction.scanning import ScanProcesses
from clawft.install.transaction.stage import StagedSkill
from clawft.messages import ReportProgress
from clawft.skills.parse.dependencies import SkillDependency, is_met, parse_dependency
from clawft.skills.parse.model import Skill

RESOLVES = 8  # at once
MAX_LISTED = 40

T = TypeVar("T")
R = TypeVar("R")


class SkillChoice(Struct, frozen=True):
    """The choice among the skills of a place that holds several."""

    skills: tuple[str, ...] = ()
    every: bool = False


def find_chosen(sources: SkillSources, reference: SkillReference, choice: SkillChoice) -> Finder:
    """Return a function that finds the skills a reference means. That function raises: ClawftError for a reference that
    is not exact."""

    async def find() -> list[WantedSkill]:
        source = sources.find(reference)
        return [WantedSkill(source, skill) for skill in await _resolve(source, reference, choice)]

    return find


async def run_each(things: Sequence[T], work: Callable[[T], Awaitable[R]]) -> list[R]:
    """The work on each thing, several at once, in their order. Raises: ClawftError, the first there is."""
    room = anyio.Semaphore(RESOLVES)
    done: list[R | None] = [None] * len(things)
    errors: list[ClawftError] = []

    async def do(number: int, thing: T) -> None:
        try:
            async with room:
                done[number] = await work(thing)
        except ClawftError as error:
            errors.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for number, thing in enumerate(things):
            group.start_soon(do, number, thing)
    if errors:
        raise errors[0]
    return done  # type: ignore[return-value]  # all of them were done


async def _resolve(source: SkillSource, reference: SkillReference, choice: SkillChoice) -> tuple[ResolvedSkill, ...]:
    if choice.skills and not reference.skill and not reference.slug:
        found: list[ResolvedSkill] = []
        for name in choice.skills:
            found += await _one(source, structs.replace(reference, skill=name))
        return tuple(found)
    if choice.every and not reference.skill:
        return await source.resolve(reference)
    return await _one(source, reference)


async def _one(source: SkillSource, reference: SkillReference) -> tuple[ResolvedSkill, ...]:
    """Just one skill. Raises: NotFound; ClawftError where there are several to choose from."""
    found = await source.resolve(reference)
    if reference.skill:
        named = [skill for skill in found if skill.name == reference.skill] or [
            skill for skill in found if reference.skill in (skill.origin.path, skill.origin.path.rpartition("/")[2])
        ]
        if len(named) == 1:
            return tuple(named)
        if not named:
            close = find_close(reference.skill, [skill.name for skill in found])
            hint = f"did you mean '{close}'? " if close else ""
            hint += f"There are: {_list(found)}" if found else ""
            raise NotFound("skill-not-found", f"There is no skill '{reference.skill}' in {reference.text}", hint=hint)
        found = tuple(named)
    if len(found) == 1:
        return found
    if not found:
        raise NotFound("no-skill", f"There is no skill in {reference.text}", hint="A skill has a SKILL.md")
    message = f"{reference.text} holds {len(found)} skills"
    hint = f"Say which: --skill NAME, or --all. There are: {_list(found)}"
    raise ClawftError("several-skills", message, hint=hint)


def _list(found: Sequence[ResolvedSkill]) -> str:
    names = [f"{skill.name} ({skill.origin.path})" if skill.origin.path else skill.name for skill in found]
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + more


MAX_BROUGHT = 50
MAX_ASKED = 200  # most names are of packages and programs, but each is asked for


class _Required(Struct, frozen=True):
    need: SkillDependency
    must: bool


class _Search(Struct):
    """One installation, while what it needs is looked for. `present` are versions of what is there, by name."""

    sources: SkillSources
    own: bool
    present: Mapping[str, str]
    locked: Mapping[str, Collection[str]]  # what each skill of the lock depends on
    staged: dict[str, StagedSkill] = {}
    asked: int = 0


async def stage_dependencies(
    transaction: Transaction,
    sources: SkillSources,
    staged: Sequence[StagedSkill],
    scans: ScanProcesses,
    here: Callable[[], Mapping[str, str]],
) -> list[StagedSkill]:
    """The skills with all that they need and is not there, what is needed first.

    `here` tells the versions of all skills there are, by name. Raises: ClawftError for what cannot be had, and for a
    circle.
    """
    if not any(map(_list_required, staged)):
        return list(staged)
    lock = load_lock(transaction.site.lock)
    present = {**here(), **{name: skill.version for name, skill in lock.items()}}
    locked = {name: skill.dependencies for name, skill in lock.items()}
    search = _Search(
        sources, transaction.site.scope == "user", present, locked, {skill.name: skill for skill in staged}
    )
    new = list(staged)
    while new:
        wanted: dict[str, WantedSkill] = {}
        for needing, required in [(skill, required) for skill in new for required in _list_required(skill)]:
            found = await _find(search, needing, required)
            if found is not None:
                wanted.setdefault(required.need.name, found)
            if len(search.staged) + len(wanted) > len(staged) + MAX_BROUGHT:
                raise ClawftError("dependency-many", f"More than {MAX_BROUGHT} other skills would be needed")
        new = await transaction.stage(list(wanted.values()), scans)
        for skill in new:
            if skill.name not in wanted:  # else it would be missed, and brought, again and again
                message = f"A skill that is needed cannot have its name; it would be installed as '{skill.name}'"
                raise ClawftError("dependency-missing", message, path=skill.resolved.origin.url)
        search.staged |= {skill.name: skill for skill in new}
    return _link(search)


def sort_by_dependency(needed: Mapping[str, Collection[str]]) -> list[str]:
    """Names with what each needs before it. Raises: ClawftError that shows the circle."""
    try:
        return list(TopologicalSorter({name: sorted(needed[name]) for name in sorted(needed)}).static_order())
    except CycleError as error:
        circle = " needs ".join(reversed(error.args[1]))
        hint = "Their authors must take one of these out"
        raise ClawftError("dependency-cycle", f"Skills need each other in a circle: {circle}", hint=hint) from error


def _list_required(staged: StagedSkill) -> list[_Required]:
    """List the skills that a skill requires, without itself where that is optional; a text that names no skill is
    ignored."""
    skill: Skill | None = staged.found.skill
    if skill is None:
        return []
    listed = [(text, True) for text in skill.requires.skills] + [(text, False) for text in skill.dependencies]
    found: dict[str, _Required] = {}
    for text, must in listed:
        need = parse_dependency(text)
        if need is not None and (must or need.name != staged.name):
            found.setdefault(need.name, _Required(need, must or bool(need.owner)))
    return list(found.values())


async def _find(search: _Search, one: StagedSkill, required: _Required) -> WantedSkill | None:
    """Find a required skill; None where it is already there, or where the text names no skill. Raises: ClawftError."""
    need = required.need
    if need.name in search.staged or need.name in search.present:
        staged = search.staged.get(need.name)
        _check(one, required, staged.resolved.version if staged else search.present[need.name])
        return None
    search.asked += 1
    if search.asked > MAX_ASKED:
        raise ClawftError("dependency-many", f"More than {MAX_ASKED} names are given of what could be other skills")
    try:
        found = await _resolve_dependencies(search, one.resolved.origin, required)
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


def _check(one: StagedSkill, required: _Required, version: str) -> None:
    """Raises: ClawftError for a version that will not do."""
    need = required.need
    if required.must and not is_met(need.versions, version):
        message = f"'{one.name}' needs '{need.text}', and {version} is what there is"
        hint = f"Run: weft skills update {need.name}"
        raise ClawftError("dependency-version", message, path=one.resolved.origin.url, hint=hint)


async def _resolve_dependencies(search: _Search, origin: SkillOrigin, required: _Required) -> WantedSkill | None:
    """The skill of that name where another comes from; with an owner, in a registry. Raises: ClawftError."""
    need = required.need
    version = need.versions[2:] if need.versions.startswith("==") and "," not in need.versions else ""
    if origin.kind in REGISTRIES or need.owner:
        if origin.kind in REGISTRIES:
            source, kind, url = search.sources.find(origin, own=search.own), origin.kind, origin.url
        else:
            name = next(iter(search.sources.registries))
            settings = search.sources.registries[name]
            source, kind, url = search.sources.registry(name), "clawhub", settings.url
        asked = SkillReference(
            need.text, kind, owner=need.owner or origin.owner, slug=need.name, version=version, url=url
        )
        try:
            return _resolve_dependency(await source.resolve(asked), source, need)
        except NotFound:
            if need.owner or not required.must:
                raise
        return _of_another(
            _resolve_dependency(await source.resolve(structs.replace(asked, owner="")), source, need), origin
        )
    if origin.kind in ("folder", "archive") and "://" not in origin.url and not origin.path:
        sibling = os.path.join(os.path.dirname(origin.url), need.name)
        if origin.kind == "archive" or not os.path.isfile(os.path.join(sibling, "SKILL.md")):
            raise NotFound("source-skill", f"There is no '{need.name}' beside it")
        asked = SkillReference(need.text, "folder", url=sibling)
    else:
        asked = SkillReference(need.text, origin.kind, url=origin.url, ref=origin.ref, skill=need.name)
    source = search.sources.find(SkillOrigin(asked.kind, asked.url), own=search.own)
    return _resolve_dependency(await source.resolve(asked), source, need)


def _of_another(wanted: WantedSkill, origin: SkillOrigin) -> WantedSkill:
    """Warn about a dependency whose owner is not that of the skill needing it: anybody may publish a skill under a bare
    name."""
    owner = wanted.resolved.origin.owner
    if not origin.owner or owner.lower() == origin.owner.lower():
        return wanted
    message = f"'{wanted.resolved.name}' is of @{owner}, and is needed by a skill of @{origin.owner}"
    note = Diagnostic("dependency-owner", "warning", message, hint="Is it the one that is meant?")
    return structs.replace(wanted, resolved=structs.replace(wanted.resolved, notes=(*wanted.resolved.notes, note)))


def _resolve_dependency(found: Sequence[ResolvedSkill], source: object, need: SkillDependency) -> WantedSkill:
    named = [skill for skill in found if need.name in (skill.name, skill.origin.slug)]
    if len(named) != 1:
        raise NotFound("source-skill", f"There is no one skill '{need.name}'")
    return WantedSkill(source, named[0], requested=False)  # type: ignore[arg-type]


def _link(search: _Search) -> list[StagedSkill]:
    """Each with the names that its entry in the lock depends on, what is needed first. Raises: ClawftError."""
    known = search.staged.keys() | search.locked.keys()
    links: dict[str, tuple[str, ...]] = {}
    unknown: dict[str, list[str]] = {}
    for name, skill in search.staged.items():
        names = [required.need.name for required in _list_required(skill)]
        links[name] = tuple(sorted({each for each in names if each in known}))
        unknown[name] = [each for each in names if each not in known and each not in search.present]
    needed: dict[str, Collection[str]] = {**search.locked, **links}
    ordered = [name for name in sort_by_dependency(needed) if name in search.staged]
    return [_with_links(search.staged[name], links[name], unknown[name]) for name in ordered]


def _with_links(staged: StagedSkill, links: tuple[str, ...], unknown: Sequence[str]) -> StagedSkill:
    notes = [
        Diagnostic("dependency-unknown", "note", f"It names '{name}', which is no skill here or where it comes from")
        for name in unknown
    ]
    resolved = structs.replace(staged.resolved, notes=(*staged.resolved.notes, *notes))
    return structs.replace(staged, resolved=resolved, dependencies=links)


class SkillResolver:
    """The resolver of skill references. `here` returns the versions of all skills on this machine, by name."""

    def __init__(self, sources: SkillSources, scans: ScanProcesses, here: Callable[[], Mapping[str, str]]) -> None:
        self._sources = sources
        self._scans = scans
        self._here = here

    async def stage(
        self,
        transaction: Transaction,
        references: Sequence[SkillReference],
        choice: SkillChoice,
        tell: ReportProgress | None,
    ) -> list[StagedSkill]:
        """Download, read and scan them beside their places. Raises: ClawftError."""
        finders = [find_chosen(self._sources, reference, choice) for reference in references]
        staged = await transaction.stage(finders, self._scans, tell)
        return await stage_dependencies(transaction, self._sources, staged, self._scans, self._here)
