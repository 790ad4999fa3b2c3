"""The skills of each location, read again only where something was touched: the same as if all were read."""

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from clawft.discovery.catalog import Found
from clawft.discovery.load import load_folder, load_location
from clawft.discovery.locations import Location
from clawft.discovery.sidecars import apply_sidecar_of, apply_sidecars
from clawft.errors import Diagnostic
from clawft.files import real_path
from clawft.trust import Standing

if TYPE_CHECKING:
    from clawft.scan.screening import Screening

__all__ = ["Draft", "Part", "Row", "draft_part", "seen_of", "with_real"]

Seen = tuple[int, int, int]


class Row(Struct, frozen=True, gc=False):
    """One skill: what the scanner says, a mark of all that it holds, and its state as if it were alone."""

    found: Found
    seen: Seen | None
    screening: "Screening | None"
    mark: str
    alone: Standing


class Part(Struct, frozen=True):
    """One location as it was read. `linked`: what is found in one folder may depend on another."""

    rows: tuple[Row, ...]
    diagnostics: tuple[Diagnostic, ...]
    linked: bool


class Draft(Struct):
    """One location as it is read now. `rows` are taken over from before; None stands for what must be looked at."""

    location: Location
    found: list[Found]
    rows: list[Row | None]
    diagnostics: tuple[Diagnostic, ...]
    linked: bool
    before: dict[str, Row]  # by file
    in_place: bool = False  # each skill stands where it stood; `before` has those to be looked at
    looked: "dict[int, tuple[Seen | None, Screening | None, str]]" = {}  # what was learned of those to be looked at

    def screening_of(self, number: int) -> "Screening | None":
        row = self.rows[number]
        return row.screening if row is not None else self.looked[number][1]


def draft_part(
    location: Location, before: Part | None, touched: Iterable[str] | None, limit: int, cache_dir: str | None
) -> Draft:
    """Read a location: all of it, or where `touched` names paths only what these may have changed."""
    paths = _find_inside(location, touched) if touched is not None else None
    if before is not None and paths is not None and not before.linked:
        if not paths:
            rows: list[Row | None] = list(before.rows)
            return Draft(
                location, [row.found for row in before.rows], rows, before.diagnostics, before.linked, {}, True
            )
        patched = _patch(location, before, paths, limit)
        if patched is not None:
            return patched
    catalog = apply_sidecars(load_location(location, limit, cache_dir))
    found = list(catalog.found)
    known = {row.found.file: row for row in before.rows} if before else {}
    above = {one for path in paths or () for one in _upwards(path, location.path)}
    kept = [_keep(one, known.get(one.file), paths, above) if paths is not None else None for one in found]
    linked = catalog.linked or any(os.path.islink(one.file) for one in found if one.seen is None)
    found = [row.found if row is not None else one for row, one in zip(kept, found, strict=True)]
    return Draft(location, found, kept, catalog.diagnostics, linked, known)


def _patch(location: Location, before: Part, paths: set[str], limit: int) -> Draft | None:
    """The location with those skills read again that the paths lie in; None if they may have changed more."""
    if location.kind != "skills":
        return None
    numbers = {row.found.folder: number for number, row in enumerate(before.rows)}
    folders = {next((one for one in _upwards(path, location.path) if one in numbers), "") for path in paths}
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
    return Draft(location, found, rows, before.diagnostics, before.linked, known, True)


def _keep(found: Found, row: Row | None, paths: set[str], above: set[str]) -> Row | None:
    """What was known of a skill, if nothing of it was touched; `above` are the paths and all folders above them."""
    if row is None or found.seen is None or row.seen != seen_of(found) or found.folder in above:
        return None
    return None if any(one in paths for one in _upwards(found.folder, found.location.path)) else row


def seen_of(found: Found) -> Seen | None:
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
