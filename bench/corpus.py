"""`make corpus DIR=…`: what loading any folder of skills gives, and what of it is not found, with the reason."""

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from clawft.errors import Diagnostic
from clawft.skills.discovery import Catalog, DiscoveredSkill
from clawft.skills.discovery.walk import MAX_DEPTH
from clawft.skills.parse.model import NAMESPACES
from folder import open_folder

SCHEMA = "clawft.corpus.v1"
UNEXPLAINED = "for no known reason"
TIMEOUT_S = 600


@dataclass(frozen=True)
class Figures:
    """Everything that is said about a folder. Paths are relative to it."""

    root: str
    files: int
    found: int
    load_ms: float
    complete: int
    broken: list[dict[str, Any]]
    incomplete: list[str]
    not_found: dict[str, list[str]]
    found_elsewhere: list[str]
    search: list[dict[str, Any]]
    diagnostics: dict[str, int]
    requirements: dict[str, int]
    requirements_unread: dict[str, int]
    strict: int
    peer: dict[str, int] = field(default_factory=dict)


def measure(root: str, *, with_peer: bool) -> Figures:
    """Load a folder once, without a cache, and count."""
    top = os.path.abspath(root)
    with tempfile.TemporaryDirectory(prefix="clawft-corpus-") as temporary:
        folder = open_folder(top, os.path.join(temporary, "cache"))
        start = time.perf_counter()
        catalog = folder.load()
        elapsed_ms = (time.perf_counter() - start) * 1000
        strict = count_strict(top, temporary)
    plain = set(list_files(top))
    found = {one.file for one in catalog.found}
    namespaces = count_requirements(catalog.found)
    return Figures(
        root=top,
        files=len(plain),
        found=len(found),
        load_ms=round(elapsed_ms, 1),
        complete=sum(_is_complete(one) for one in catalog.found),
        broken=[_say(one.problem, top) for one in catalog.found if one.problem],
        incomplete=[os.path.relpath(one.file, top) for one in catalog.found if one.skill and not _is_complete(one)],
        not_found=explain_missing(plain - found, catalog, top),
        found_elsewhere=sorted(os.path.relpath(path, top) for path in found - plain),
        search=[_say(one, top) for one in catalog.diagnostics],
        diagnostics=_sorted(Counter(item.code for one in catalog.found for item in one.diagnostics)),
        requirements={name: count for name, count in namespaces.items() if name in NAMESPACES},
        requirements_unread={name: count for name, count in namespaces.items() if name not in NAMESPACES},
        strict=strict,
        peer=count_peer(catalog.found) if with_peer else {},
    )


def list_files(top: str) -> list[str]:
    """Every SKILL.md in any case below a folder, by nothing but os.walk."""
    return [os.path.join(at, name) for at, _, names in os.walk(top) for name in names if name.lower() == "skill.md"]


def explain_missing(missing: Iterable[str], catalog: Catalog, top: str) -> dict[str, list[str]]:
    """Files that were not found, by reason."""
    taken = {one.folder: one.file for one in catalog.found}
    said = {one.path for one in catalog.diagnostics if one.code != "depth-limit"}
    reasons: dict[str, list[str]] = {}
    for path in sorted(missing):
        reasons.setdefault(_explain(path, taken, said, top), []).append(os.path.relpath(path, top))
    return reasons


def _explain(path: str, taken: dict[str, str], said: set[str], top: str) -> str:
    """Why a file was not found: the first thing, from the top down, that ends the search."""
    *folders, _ = os.path.relpath(path, top).split(os.sep)
    at = top
    for depth, name in enumerate(("", *folders)):
        at = os.path.join(at, name) if name else at
        if name.startswith(".") or name in ("node_modules", "__pycache__"):
            return "in a hidden folder or one of packages"
        if depth > MAX_DEPTH:
            return f"more than {MAX_DEPTH} folders down"
        if at in taken:
            return "beside another skill file" if at == os.path.dirname(path) else "nested inside another skill"
        if at in said:
            return "in a folder that the search complained about"
    return UNEXPLAINED


def count_requirements(found: Iterable[DiscoveredSkill]) -> dict[str, int]:
    """How many skills have a block with `requires`, by the name of the block."""
    blocks = (item for one in found if one.skill for item in one.skill.metadata.items())
    return _sorted(Counter(name for name, block in blocks if isinstance(block, dict) and "requires" in block))


def count_strict(top: str, home: str) -> int:
    """How many files pass `weft skills validate --strict`."""
    weft = os.path.join(sysconfig.get_path("scripts"), "weft")
    words = [weft, "skills", "validate", "--strict", "--format", "json", "--dir", top]
    environ = {"PATH": os.environ.get("PATH", os.defpath), "HOME": home, "LANG": "C.UTF-8"}
    done = subprocess.run(words, env=environ, cwd=home, capture_output=True, timeout=TIMEOUT_S)
    if done.returncode not in (0, 1) or not done.stdout:
        raise SystemExit(f"error: {' '.join(words)}\n{done.stderr.decode(errors='replace')}")
    return sum(one["ok"] for one in json.loads(done.stdout)["files"])


def count_peer(found: Iterable[DiscoveredSkill]) -> dict[str, int]:
    """How many skills skills-ref reads, and how many it finds valid. What it stumbles over counts for neither."""
    peer = import_module("skills_ref")
    counts = {"reads": 0, "accepts": 0}
    for one in found:
        try:
            peer.read_properties(Path(one.folder))
            counts["reads"] += 1
            counts["accepts"] += not peer.validate(Path(one.folder))
        except Exception:  # also errors that are not its own
            continue
    return counts


def render_figures(figures: Figures) -> str:
    """The figures as text: totals first, then lists."""
    total = figures.found
    lines = [
        f"skill files       {figures.files} by name, {total} found as skills",
        f"loaded            {_of(figures.complete, total)} with name and description",
        f"broken            {_of(len(figures.broken), total)}",
        f"pass --strict     {_of(figures.strict, total)}",
        *(f"skills-ref        {word} {_of(count, total)}" for word, count in figures.peer.items()),
        f"time              {figures.load_ms:.0f} ms without a cache, {figures.load_ms / max(1, total):.3f} ms a skill",
    ]
    for name, counts in (
        ("requirements, by block of metadata", figures.requirements),
        ("requirements in blocks that no client reads", figures.requirements_unread),
        ("diagnostics", figures.diagnostics),
    ):
        lines += _section(name, [f"{count:6}  {code}" for code, count in counts.items()])
    for name, said in (("broken", figures.broken), ("said by the search", figures.search)):
        lines += _section(name, [line for one in said for line in _render_said(one)])
    lines += _section("without a description", figures.incomplete)
    for reason, paths in figures.not_found.items():
        lines += _section(f"not found, {reason} ({len(paths)})", paths)
    lines += _section("found, though not by that name or behind a link", figures.found_elsewhere)
    return "\n".join(lines)


def _section(name: str, lines: list[str]) -> list[str]:
    return ["", f"{name}:", *(f"  {line}" for line in lines)] if lines else []


def _render_said(one: dict[str, Any]) -> list[str]:
    hint = [f"    hint: {one['hint']}"] if one["hint"] else []
    return [f"{one['where']}: {one['reason']} [{one['code']}]", *hint]


def _of(count: int, total: int) -> str:
    return f"{count} of {total} ({100 * count / total:.1f} %)" if total else "none"


def _is_complete(one: DiscoveredSkill) -> bool:
    return one.skill is not None and bool(one.skill.name and one.skill.description)


def _say(one: Diagnostic, top: str) -> dict[str, Any]:
    where = os.path.relpath(one.path, top) + (f":{one.line}" if one.line else "")
    return {"where": where, "code": one.code, "reason": one.message, "hint": one.hint}


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(counts.most_common())


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench/corpus.py", description=__doc__)
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--peer", action="store_true", help="also count what skills-ref reads and accepts")
    options = parser.parse_args(words)
    if not os.path.isdir(options.folder):
        parser.error(f"there is no folder {options.folder}")
    figures = measure(options.folder, with_peer=options.peer)
    if options.format == "json":
        print(json.dumps({"schema": SCHEMA, **asdict(figures)}, indent=2, ensure_ascii=False))
    else:
        print(render_figures(figures))
    return 1 if UNEXPLAINED in figures.not_found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
