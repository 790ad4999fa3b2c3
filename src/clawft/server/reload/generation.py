"""One generation: an app whose config, skills and agents are all read. It is never changed after.

The next one takes over what was not touched. What comes of that is what reading everything would give.
"""

import os
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from clawft.app import App
from clawft.config.load import config_files
from clawft.discovery.catalog import Catalog, Found
from clawft.discovery.load import no_collection
from clawft.discovery.locations import Location
from clawft.reloading.depends import Depends, Stamps, find_depends, list_entries, stamp_all, stamp_paths
from clawft.reloading.parts import Draft, Part, Row, draft_part, seen_of, with_real
from clawft.trust.state import judge_each, judge_together

if TYPE_CHECKING:
    from clawft.scan.screening import Screening

__all__ = ["Generation", "load_generation"]

_MANY = 500  # paths: beyond that, looking at everything is quicker


class Read(Struct, frozen=True):
    """What a generation was made of, for the next one to take over."""

    depends: Depends
    stamps: Stamps
    parts: dict[Location, Part]
    versions: dict[str, str]
    judged_by: tuple[object, ...]


class Generation(Struct, frozen=True):
    """Everything as it was read at one time. Whoever works with it keeps it for a whole turn.

    Of a skill that did not change, `Standing.found` is the same object as in the generation before.
    """

    number: int
    app: App
    at: str
    base: int = 0  # the generation since which only skills changed: what was opened with it still holds
    read: Read | None = None


def load_generation(before: Generation, at: str, touched: Collection[str] | None = None) -> Generation:
    """The generation after another: all is read anew, or where `touched` names paths what these may have changed.

    Raises: ClawftError.
    """
    with no_collection():
        return _load_next(before, at, touched)


def _load_next(before: Generation, at: str, touched: Collection[str] | None) -> Generation:
    taken_ns = time.time_ns()
    app, old = before.app.reopen(), before.read
    # Taken before anything is read: what is written meanwhile differs at the next look.
    first = stamp_paths({*config_files(app.workspace), *(old.depends.files | old.stamps.places.keys() if old else ())})
    paths = None if touched is None or len(touched) > _MANY or old is None else with_real(touched)
    depends = find_depends(app)
    stamps = stamp_all(depends, taken_ns, old.stamps if old else None, paths)
    if old is not None and app.config.skills != before.app.config.skills:
        paths = None
    limit = app.config.skills.max_skill_prompt_bytes
    known = old.parts if old else {}
    drafts = [draft_part(one, known.get(one), paths, limit, app.cache_dir) for one in app.locations]
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
    return Generation(number, app, at, number, Read(depends, stamps, parts, versions, judged_by))


def _find_places(depends: Depends, found: Iterable[Found], locations: Iterable[Location]) -> set[str]:
    """Return the files of skills, agents and commands, and the folders in which new ones appear."""
    places = {one.path for one in locations} | depends.agents
    for tree in depends.agents:
        places.update(path for path, _ in list_entries(tree))
    for skill in found:
        places.add(skill.file)
        folder = os.path.dirname(skill.folder if skill.base_dir else skill.file)
        while len(folder) > len(skill.location.path) and folder not in places:
            places.add(folder)
            folder = os.path.dirname(folder)
    return places


def _renames(drafts: Sequence[Draft]) -> bool:
    """Whether a skill may have come, gone, or changed its name or version."""
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
    """What the state of a skill depends on beside the skill itself, and others that it requires."""
    run = app.run_trust
    return app.config.skills, app.config.values, stamps.hashes, run.project, dict(run.digests)


def _look_at(app: App, drafts: Sequence[Draft]) -> None:
    """Scan what is not taken over, as loading skills does; what turns out to be as it was is taken for the same."""
    fresh = [(draft, number) for draft in drafts for number, row in enumerate(draft.rows) if row is None]
    found = [draft.found[number] for draft, number in fresh]
    screenings, marks = _screen(app, found)
    for (draft, number), one, screening, mark in zip(fresh, found, screenings, marks, strict=True):
        mark = mark or _mark(one)
        was = draft.before.get(one.file)
        if was is not None and was.mark == mark and (was.found is one or was.found == one):
            draft.found[number] = was.found
        draft.looked[number] = (seen_of(one), screening, mark)


def _screen(app: App, found: Sequence[Found]) -> "tuple[Sequence[Screening | None], Sequence[str]]":
    skills = app.config.skills
    if not found or not skills.enabled or not skills.security.scan_on_load:
        return [None] * len(found), [""] * len(found)
    from clawft.scan.gate import screen_contents

    return screen_contents(found, app.scan_dir, app.tell_scan)


def _mark(found: Found) -> str:
    """A mark of what a skill holds, where nobody read all of it: by the times and sizes of its files."""
    whole = sha256()
    with suppress(OSError):
        status = os.stat(found.file)
        whole.update(f"{status.st_mtime_ns} {status.st_size}\n".encode())
    for path, status in list_entries(found.base_dir) if found.base_dir else ():
        whole.update(f"{path} {status.st_mtime_ns} {status.st_size}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _judge(app: App, drafts: Sequence[Draft], *, everything: bool, other_skills: bool) -> dict[Location, Part]:
    """The parts of a generation: of skills that are taken over, the state too, unless everything is judged.

    `other_skills`: some came, went or changed their version, which those that require them depend on.
    """
    chosen = [
        (draft, number, one)
        for draft in drafts
        for number, one in enumerate(draft.found)
        if everything or draft.rows[number] is None or (other_skills and one.skill and one.skill.requires.skills)
    ]
    screenings = [draft.screening_of(number) for draft, number, _ in chosen]
    found = [one for _, _, one in chosen]
    standings = judge_each(found, app.config.skills, app.host, app.weigh(screenings), app.strangers.check)
    for (draft, number, one), screening, alone in zip(chosen, screenings, standings, strict=True):
        row = draft.rows[number]
        seen, mark = (row.seen, row.mark) if row is not None else draft.looked[number][::2]
        draft.rows[number] = Row(one, seen, screening, mark, alone)
    return {one.location: Part(tuple(filter(None, one.rows)), one.diagnostics, one.linked) for one in drafts}
