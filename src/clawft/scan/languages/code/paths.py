"""Paths as values: the home folder as a tilde, and the files a program wrote itself remembered."""

from typing import TYPE_CHECKING

from clawft.scan.facts import Kind
from clawft.scan.languages.code.calls import Call
from clawft.scan.languages.code.persistence import find_place
from clawft.scan.languages.code.values import CHARACTER, Mark, Value, merge

if TYPE_CHECKING:
    from clawft.scan.languages.code.machine import Machine

__all__ = ["paths_of", "read_path", "write_path"]


def paths_of(value: Value) -> list[str]:
    """The paths that a value may be, with the home folder as a tilde."""
    found: list[str] = []
    for one in value.texts() if value.ref != CHARACTER else ():
        path = one.replace("$HOME", "~").replace("${HOME}", "~").replace("%USERPROFILE%", "~")
        if "/~" in path:
            path = "~" + path.partition("/~")[2] if "~/" in path or path.endswith("~") else path
        found.append(path)
    return found or [""]


def read_path(machine: "Machine", call: Call, path: Value) -> Value:
    marks = []
    for one in paths_of(path):
        sources = merge(path.marks, [machine.files[one]] if one in machine.files else [])
        marks.append(machine.mark(Kind.READ, one, call.offset, call.ref, sources))
    return Value((), tuple(marks), "file()")


def write_path(machine: "Machine", call: Call, path: Value, content: tuple[Mark, ...]) -> Mark | None:
    first = None
    for one in paths_of(path):
        mark = machine.mark(Kind.WRITE, one, call.offset, call.ref, content)
        first = first or mark
        if one:
            machine.stored += machine.files.get(one) is not mark
            machine.files[one] = mark
            place = find_place(one)
            if place:
                machine.mark(Kind.PERSIST, place, call.offset, call.ref, (mark,))
    return first
