"""One immutable generation: an app with its config, skills and agents, read again only where files changed."""

import os
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from clawft.app.app import App
from clawft.config.loader import config_files
from clawft.errors import Diagnostic
from clawft.files import real_path
from clawft.server.reload.dependencies import (
    Dependencies,
    Stamps,
    find_dependencies,
    list_entries,
    stamp_all,
    stamp_paths,
)
from clawft.skills.discovery.catalog import (
    Catalog,
    DiscoveredSkill,
    apply_sidecar_of,
    apply_sidecars,
    load_folder,
    load_location,
    pause_garbage_collection,
)
from clawft.skills.discovery.locations import Location
from clawft.trust.status import SkillStatus, judge_each, judge_together

if TYPE_CHECKING:
    from clawft.scanner.screening import Screening


Seen = tuple[int, int, int]


class Row(Struct, frozen=True, gc=False):
    """One skill: what the scanner says, a mark of all that it holds, and its state as if it were alone."""

    found: DiscoveredSkill
    seen: Seen | None
    screening: "Screening | None"
    mark: str
    alone: SkillStatus


class LocationSnapshot(Struct, frozen=True):
    """One location as it was read. `linked`: what is found in one folder may depend on another."""

    rows: tuple[Row, ...]
    diagnostics: tuple[Diagnostic, ...]
    linked: bool


class LocationDraft(Struct):
    """One location as it is read now. `rows` are taken over from before; None marks a skill that must be read again."""

    location: Location
    found: list[DiscoveredSkill]
    rows: list[Row | None]
    diagnostics: tuple[Diagnostic, ...]
    linked: bool
    before: dict[str, Row]  # by file
    in_place: bool = False  # each skill stands where it stood; `before` has those to be looked at
    looked: "dict[int, tuple[Seen | None, Screening | None, str]]" = {}  # what was learned of those to be looked at

    def screening_of(self, number: int) -> "Screening | None":
        row = self.rows[number]
        return row.screening if row is not None else self.looked[number][1]


def draft_location(
    location: Location,
    before: LocationSnapshot | None,
    touched: Iterable[str] | None,
    limit: int,
    cache_dir: str | None,
) -> LocationDraft:
    """Read a location: all of it, or where `touched` names paths only what these may have changed."""
    paths = _find_inside(location, touched) if touched is not None else None
    if before is not None and paths is not None and not before.linked:
        if not paths:
            rows: list[Row | None] = list(before.rows)
            return LocationDraft(
                location, [row.found for row in before.rows], rows, before.diagnostics, before.linked, {}, True
            )
        patched = _patch(location, before, paths, limit)
        if patched is not None:
            return patched
    catalog = apply_sidecars(load_location(location, limit, cache_dir))
    found = list(catalog.found)
    known = {row.found.file: row for row in before.rows} if before else {}
    above = {upward for path in paths or () for upward in _upwards(path, location.path)}
    reused_rows = [
        _keep(discovered, known.get(discovered.file), paths, above) if paths is not None else None
        for discovered in found
    ]
    linked = catalog.linked or any(os.path.islink(discovered.file) for discovered in found if discovered.seen is None)
    found = [row.found if row is not None else discovered for row, discovered in zip(reused_rows, found, strict=True)]
    return LocationDraft(location, found, reused_rows, catalog.diagnostics, linked, known)


def _patch(location: Location, before: LocationSnapshot, paths: set[str], limit: int) -> LocationDraft | None:
    """The location with those skills read again that the paths lie in; None if they may have changed more."""
    if location.kind != "skills":
        return None
    numbers = {row.found.folder: number for number, row in enumerate(before.rows)}
    folders = {next((upward for upward in _upwards(path, location.path) if upward in numbers), "") for path in paths}
    found, rows = [row.found for row in before.rows], list[Row | None](before.rows)
    known = {}
    for folder in sorted(folders):
        number = numbers.get(folder, -1)
        if number < 0 or found[number].file != f"{folder}/SKILL.md":
            return None
        if os.path.islink(folder) or os.path.islink(found[number].file):  # whether it is followed, the search tells
            return None
        one = load_folder(location, folder, limit)
        if one is None:
            return None
        known[one.file] = before.rows[number]
        found[number], rows[number] = apply_sidecar_of(one), None
    return LocationDraft(location, found, rows, before.diagnostics, before.linked, known, True)


def _keep(found: DiscoveredSkill, row: Row | None, paths: set[str], above: set[str]) -> Row | None:
    """Return what was known of a skill, if none of it was touched; `above` are the paths and all folders above them."""
    if row is None or found.seen is None or row.seen != seen_of(found) or found.folder in above:
        return None
    return None if any(upward in paths for upward in _upwards(found.folder, found.location.path)) else row


def seen_of(found: DiscoveredSkill) -> Seen | None:
    """The status of a skill's file, where it is known."""
    return (found.seen.mtime_ns, found.seen.ctime_ns, found.seen.size) if found.seen else None


def _find_inside(location: Location, touched: Iterable[str]) -> set[str]:
    """The touched paths that lie in a location, as it names them; itself, where a folder above it was touched."""
    root = location.path
    real = real_path(root)
    inside = set()
    for path in touched:
        for base in (root, real):
            if path == base or path.startswith(f"{base}/"):
                inside.add(root + path[len(base) :])
            elif base.startswith(f"{path}/"):
                inside.add(root)
    return inside


def _upwards(path: str, root: str) -> Iterator[str]:
    """A path and the folders above it, down to a root."""
    while len(path) >= len(root):
        yield path
        path = os.path.dirname(path)


def with_real(paths: Iterable[str]) -> set[str]:
    """Paths, and what they are where no link leads: a folder may be watched by another name."""
    known: dict[str, str] = {}
    found = set()
    for path in paths:
        folder, name = os.path.split(path)
        if folder not in known:
            known[folder] = real_path(folder)
        found |= {path, os.path.join(known[folder], name)}
    return found


_MANY = 500  # paths: beyond that, looking at everything is quicker


class GenerationInputs(Struct, frozen=True):
    """The inputs of a generation, for the next one to reuse."""

    depends: Dependencies
    stamps: Stamps
    parts: dict[Location, LocationSnapshot]
    versions: dict[str, str]
    judged_by: tuple[object, ...]


class Generation(Struct, frozen=True):
    """A snapshot of everything as it was read at one time. A turn keeps one to its end.

    For a skill that did not change, `SkillStatus.found` is the same object as in the generation before.
    """

    number: int
    app: App
    at: str
    base: int = 0  # the generation since which only skills changed: what was opened with it still holds
    read: GenerationInputs | None = None


def load_generation(before: Generation, at: str, touched: Collection[str] | None = None) -> Generation:
    """The generation after another: all is read anew, or where `touched` names paths what these may have changed.

    Raises: ClawftError.
    """
    with pause_garbage_collection():
        return _load_next(before, at, touched)


def _load_next(before: Generation, at: str, touched: Collection[str] | None) -> Generation:
    taken_ns = time.time_ns()
    app, old = before.app.copy().refresh(), before.read
    for name in ("secrets", "audit"):  # what plugins keep secret may be something else by now
        vars(app).pop(name, None)
    # Taken before anything is read: what is written meanwhile differs at the next look.
    first = stamp_paths({*config_files(app.workspace), *(old.depends.files | old.stamps.places.keys() if old else ())})
    paths = None if touched is None or len(touched) > _MANY or old is None else with_real(touched)
    depends = find_dependencies(app)
    stamps = stamp_all(depends, taken_ns, old.stamps if old else None, paths)
    if old is not None and app.config.skills != before.app.config.skills:
        paths = None
    limit = app.config.skills.max_skill_prompt_bytes
    known = old.parts if old else {}
    drafts = [draft_location(location, known.get(location), paths, limit, app.cache_dir) for location in app.locations]
    _look_at(app, drafts)
    found = tuple(chain.from_iterable(draft.found for draft in drafts))
    catalog = Catalog(found, tuple(chain.from_iterable(draft.diagnostics for draft in drafts)))
    vars(app)["catalog"] = catalog  # read already: nothing is read again when it is asked for
    versions = old.versions if old and not _renames(drafts) else catalog.versions
    judged_by = _judged_by(app, stamps)
    everything = paths is None or old is None or old.judged_by != judged_by
    parts = _judge(app, drafts, everything=everything, other_skills=old is None or old.versions != versions)
    vars(app)["skills"] = judge_together([row.alone for part in parts.values() for row in part.rows])
    app.agents  # noqa: B018  read now, on this thread
    paths_now = _find_places(depends, found, app.locations)
    places = stamp_paths(paths_now - first.keys()) | {path: first[path] for path in paths_now & first.keys()}
    statuses = {path: first.get(path, status) for path, status in stamps.statuses.items()}
    stamps = structs.replace(stamps, statuses=statuses, places=places)
    number = before.number + 1
    return Generation(number, app, at, number, GenerationInputs(depends, stamps, parts, versions, judged_by))


def _find_places(depends: Dependencies, found: Iterable[DiscoveredSkill], locations: Iterable[Location]) -> set[str]:
    """Return the files of skills, agents and commands, and the folders in which new ones appear."""
    places = {location.path for location in locations} | depends.agents
    for tree in depends.agents:
        places.update(path for path, _ in list_entries(tree))
    for skill in found:
        places.add(skill.file)
        folder = os.path.dirname(skill.folder if skill.base_dir else skill.file)
        while len(folder) > len(skill.location.path) and folder not in places:
            places.add(folder)
            folder = os.path.dirname(folder)
    return places


def _renames(drafts: Sequence[LocationDraft]) -> bool:
    """Return whether a skill may have come, gone, or changed its name or version."""
    for draft in drafts:
        if not draft.in_place:
            return True
        for number in draft.looked:
            found = draft.found[number]
            one, then = found.skill, draft.before[found.file].found.skill
            if one is None or then is None or (one.name, one.version) != (then.name, then.version):
                return True
    return False


def _judged_by(app: App, stamps: Stamps) -> tuple[object, ...]:
    """Return everything that a skill's state depends on apart from the skill itself and the skills it requires."""
    run = app.run_trust
    return app.config.skills, app.config.values, stamps.hashes, run.project, dict(run.digests)


def _look_at(app: App, drafts: Sequence[LocationDraft]) -> None:
    """Scan what is not taken over, as loading skills does; what turns out to be as it was is taken for the same."""
    fresh = [(draft, number) for draft in drafts for number, row in enumerate(draft.rows) if row is None]
    found = [draft.found[number] for draft, number in fresh]
    screenings, marks = _screen(app, found)
    for (draft, number), discovered, screening, mark in zip(fresh, found, screenings, marks, strict=True):
        mark = mark or _mark(discovered)
        was = draft.before.get(discovered.file)
        if was is not None and was.mark == mark and (was.found is discovered or was.found == discovered):
            draft.found[number] = was.found
        draft.looked[number] = (seen_of(discovered), screening, mark)


def _screen(app: App, found: Sequence[DiscoveredSkill]) -> "tuple[Sequence[Screening | None], Sequence[str]]":
    skills = app.config.skills
    if not found or not skills.enabled or not skills.security.scan_on_load:
        return [None] * len(found), [""] * len(found)
    from clawft.scanner.gate import screen_contents

    return screen_contents(found, app.scan_dir, app.tell_scan)


def _mark(found: DiscoveredSkill) -> str:
    """A mark of what a skill holds, where nobody read all of it: by the times and sizes of its files."""
    whole = sha256()
    with suppress(OSError):
        status = os.stat(found.file)
        whole.update(f"{status.st_mtime_ns} {status.st_size}\n".encode())
    for path, status in list_entries(found.base_dir) if found.base_dir else ():
        whole.update(f"{path} {status.st_mtime_ns} {status.st_size}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _judge(
    app: App, drafts: Sequence[LocationDraft], *, everything: bool, other_skills: bool
) -> dict[Location, LocationSnapshot]:
    """The parts of a generation: of skills that are taken over, the state too, unless everything is judged.

    `other_skills`: some came, went or changed their version, which those that require them depend on.
    """
    chosen = [
        (draft, number, discovered)
        for draft in drafts
        for number, discovered in enumerate(draft.found)
        if everything
        or draft.rows[number] is None
        or (other_skills and discovered.skill and discovered.skill.requires.skills)
    ]
    screenings = [draft.screening_of(number) for draft, number, _ in chosen]
    found = [discovered for _, _, discovered in chosen]
    statuses = judge_each(found, app.config.skills, app.host, app.weigh(screenings), app.trust_policy.check)
    for (draft, number, discovered), screening, alone in zip(chosen, screenings, statuses, strict=True):
        row = draft.rows[number]
        seen, mark = (row.seen, row.mark) if row is not None else draft.looked[number][::2]
        draft.rows[number] = Row(discovered, seen, screening, mark, alone)
    return {
        draft.location: LocationSnapshot(tuple(filter(None, draft.rows)), draft.diagnostics, draft.linked)
        for draft in drafts
    }
