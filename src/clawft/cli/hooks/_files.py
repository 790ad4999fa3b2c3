"""What a hook made of the files of the prompt, file by file, to be read by a person."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Any

__all__ = ["tell_files"]

MAX_LINES = 40  # of one file

_Place = tuple[str, int]  # a path, and which of several of that path


def tell_files(before: Any, after: Sequence[Mapping[str, Any]]) -> list[str]:
    """What was added, changed and removed, each with its text, indented, in lines below it."""
    old, new = _place(before), _place(after)
    said = [f"removes {path}" for path, at in old if (path, at) not in new]
    for place, one in new.items():
        if place not in old:
            said.append(f"adds {place[0]}{':' if _text(one) else ', which is empty'}{_indent(_lines(one))}")
        elif one != old[place]:
            said.append(_tell_change(place[0], old[place], one))
    kept = [place for place in old if place in new]
    if kept != [place for place in new if place in old]:
        said.append(f"changes the order: {', '.join(path for path, _ in new)}")
    return said


def _tell_change(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    fields = sorted(name for name in {*old, *new} - {"content"} if old.get(name) != new.get(name))
    about = "".join(f", {name}: {new.get(name, '')}" for name in fields)
    if _text(old) == _text(new):
        return f"changes {path}{about}"
    compared = list(unified_diff(_lines(old), _lines(new), lineterm="", n=1))[2:]
    return f"changes {path}{about}:{_indent(compared)}"


def _place(files: Any) -> dict[_Place, Mapping[str, Any]]:
    """Files by their path. What a person wrote into an event may be anything, and is left aside."""
    seen: Counter[str] = Counter()
    placed = {}
    for one in _usable(files):
        path = str(one["path"])
        placed[path, seen[path]] = one
        seen[path] += 1
    return placed


def _usable(files: Any) -> Iterator[Mapping[str, Any]]:
    for one in files if isinstance(files, Iterable) else ():
        if isinstance(one, Mapping) and one.get("path"):
            # as they come back: what is not set is not there
            yield {name: value for name, value in one.items() if value not in ("", False)}


def _text(file: Mapping[str, Any]) -> str:
    return str(file.get("content", ""))


def _lines(file: Mapping[str, Any]) -> list[str]:
    return _text(file).strip("\n").splitlines()


def _indent(lines: Sequence[str]) -> str:
    more = len(lines) - MAX_LINES
    shown = [*lines[:MAX_LINES], f"… ({more} lines more)"] if more > 0 else lines
    return "".join(f"\n  {line}".rstrip(" ") for line in shown)
