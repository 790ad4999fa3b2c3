"""Paths in the brackets of a pattern, `Read(src/**)`: judged by where links lead. Files are not read."""

import os
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from clawft.files import real_path
from clawft.trust.call import Call, Where
from clawft.trust.globs import Glob, PatternError, Sign, fits, is_plain, match_items, parse_glob

__all__ = ["Paths", "split_names"]

Root = Literal["project", "home", "/"]


class Paths(Struct, frozen=True):
    """`src/**`, `/abs/x`, `~/notes/*.md`, `*.env`: written as git's ignore files are, and starting at the project."""

    root: Root
    names: tuple[Glob | Sign, ...]

    @classmethod
    def parse(cls, argument: str, folders: Mapping[str, str]) -> "Paths":
        """Raises: PatternError."""
        if argument.startswith("!") or any(char in argument for char in "[]\\\0"):
            raise PatternError("of the signs in paths only *, ** and ? are understood")
        tokens = parse_glob(argument, folders, "*?")
        at_home, absolute = tokens[:2] == ("~", "/"), tokens[:1] == ("/",)
        names = split_names(tokens[2:] if at_home else tokens)
        if (".", ".") in names:
            raise PatternError("a path may not go up with '..'")
        if not names:
            raise PatternError("there is no path in it")
        # A single name is meant wherever it stands, unless `./` says otherwise.
        anywhere = len(names) == 1 and not absolute and not at_home and tokens[:2] != (".", "/")
        root: Root = "/" if absolute else "home" if at_home else "project"
        return cls(root, (Sign.REST, *names) if anywhere else names)

    def covers(self, call: Call) -> bool:
        return self.means(call.path[1], call.where)

    def touches(self, call: Call) -> bool:
        """By what is written, or by where it leads. A path that makes no sense is touched."""
        return not call.path[1] or any(self.forbids(path, call.where) for path in call.path)

    def means(self, path: str, where: Where, *, inside: bool = True) -> bool:
        """Whether a real path is meant; `inside`: a folder that is named plainly means what is in it."""
        rest = (Sign.REST,) if inside and is_plain(self.names[-1]) else ()
        return any(_below(path, root, (*self.names, *rest)) for root in _roots(self.root, where))

    def forbids(self, path: str, where: Where) -> bool:
        """Whether a path is meant, read as widely as it can be: links in the start of the pattern are followed too."""
        plain = next((n for n, name in enumerate(self.names) if not is_plain(name)), len(self.names))
        start = ["".join(str(one) for one in name) for name in self.names[:plain] if not isinstance(name, Sign)]
        for root in _roots(self.root, where):
            if _below(path, root, (*self.names, Sign.REST)):
                return True
            real = real_path(os.path.join(root, *start)) if start else ""
            if real and _below(path, real, (*self.names[plain:], Sign.REST)):
                return True
        return False


def split_names(tokens: Glob) -> tuple[Glob | Sign, ...]:
    """The names of a path; `**` alone is any number of folders, and `.` none."""
    names: list[list[str | Sign]] = [[]]
    for token in tokens:
        if token == "/":
            names.append([])
        else:
            names[-1].append(token)
    kept = [name for name in names if name and name != ["."]]
    return tuple(Sign.REST if name == [Sign.REST, Sign.REST] else tuple(name) for name in kept)


def _below(path: str, root: str, names: Sequence[Glob | Sign]) -> bool:
    if not path:
        return False
    parts, start = _names(path), _names(root)
    return parts[: len(start)] == start and match_items(names, parts[len(start) :], fits)


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name]


def _roots(root: Root, where: Where) -> list[str]:
    if root == "/":
        return ["/"]
    folder = where.project if root == "project" else where.home
    return [one for one in dict.fromkeys((real_path(folder), folder)) if one] if folder else []
