"""The text of a config file: the line of each key, and parser errors explained by line and key."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from clawft.config.keys import Path, is_free, join_path, to_snake_case
from clawft.config.loader import SECTIONS, ConfigLayer, section_type
from clawft.config.schema import SettingProblem, find_close_setting, find_problem
from clawft.errors import ClawftError
from clawft.files import why_damaged

Place = tuple[Path, int]

_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r]+|\#[^\n]*)
    |(?P<text>\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')
    |(?P<mark>[\n\[\]{},=:.])
    |(?P<bare>[^\s\[\]{},=:."'\#]+)""",
    re.VERBOSE | re.DOTALL,
)


def locate_keys(data: bytes, *, toml: bool) -> list[Place]:
    """Every key with its line, in the order of the text; the tables of a header count as keys."""
    reader = _Reader(data.decode("utf-8-sig", errors="replace"), toml)
    with suppress(IndexError, RecursionError):  # not a text we know how to read: what was found is still right
        reader.read_document()
    return reader.places


def find_line(path: Path, places: Sequence[Place]) -> int:
    """The line of a key; that of the table around it if it has none of its own."""
    for length in range(len(path), 0, -1):
        line = next((line for known, line in places if known == path[:length]), 0)
        if line:
            return line
    return 0


def find_duplicate(places: Sequence[Place], path: Path | None = None) -> Place | None:
    """The second place of a key that stands there twice: of this one, or of the first such."""
    seen: set[Path] = set()
    for place in places:
        if place[0] in seen and path in (None, place[0]):
            return place
        seen.add(place[0])
    return None


class _Reader:
    """Goes through the tokens once. `:` and `=` are the same to it, and so are strings of every kind."""

    def __init__(self, text: str, toml: bool) -> None:
        self.toml = toml
        self.places: list[Place] = []
        self.tokens: list[tuple[str, str, int]] = []
        self.at = 0
        self.counts: dict[Path, int] = {}  # of the tables in a list of tables
        line = 1
        for match in _TOKEN.finditer(text):
            kind, token = str(match.lastgroup), match[0]
            if kind != "skip" and (toml or token != "\n"):
                self.tokens.append((kind, token, line))
            line += token.count("\n")

    def peek(self) -> str:
        return self.tokens[self.at][1]

    def read_document(self) -> None:
        if not self.toml:
            self.read_value(())
            return
        table: Path = ()
        while self.at < len(self.tokens):
            if self.peek() == "\n":
                self.at += 1
            elif self.peek() == "[":
                table = self.read_header()
            else:
                self.read_pair(table)

    def read_header(self) -> Path:
        """`[a.b]` or `[[a.b]]`: the table that the following lines belong to."""
        line, many = self.tokens[self.at][2], self.tokens[self.at + 1][1] == "["
        self.at += 2 if many else 1
        path: Path = ()
        while self.peek() != "]":
            path = self.read_key(path)
            if path in self.counts and not (many and self.peek() == "]"):
                path = (*path, self.counts[path] - 1)
        self.at += 2 if many else 1
        if many:
            self.counts[path] = self.counts.get(path, 0) + 1
            path = (*path, self.counts[path] - 1)
            self.places.append((path, line))
        return path

    def read_pair(self, table: Path) -> None:
        path = self.read_key(table)
        while self.peek() not in ("=", ":"):
            path = self.read_key(path)
        self.at += 1
        self.read_value(path)

    def read_key(self, table: Path) -> Path:
        """One part of a key, and the dot behind it."""
        kind, token, line = self.tokens[self.at]
        name = _unquote(token, self.toml) if kind == "text" else token
        path = (*table, name if is_free(table) else to_snake_case(name))
        self.places.append((path, line))
        self.at += 1
        if self.peek() == ".":
            self.at += 1
        return path

    def read_value(self, path: Path) -> None:
        if self.peek() == "{":
            self.at += 1
            while self.skip_gaps() != "}":
                self.read_pair(path)
            self.at += 1
        elif self.peek() == "[":
            self.at += 1
            index = 0
            while self.skip_gaps() != "]":
                self.places.append(((*path, index), self.tokens[self.at][2]))
                self.read_value((*path, index))
                index += 1
            self.at += 1
        else:
            while self.at < len(self.tokens) and self.peek() not in (",", "]", "}", "\n"):
                self.at += 1

    def skip_gaps(self) -> str:
        while self.peek() in ("\n", ","):
            self.at += 1
        return self.peek()


def _unquote(token: str, toml: bool) -> str:
    if toml:
        import tomllib

        return str(tomllib.loads(f"k = {token}")["k"])
    from json import loads

    return str(loads(token))


def explain_syntax(error: Exception, path: str, data: bytes) -> ClawftError:
    """A file that is not TOML or JSON, or no text at all."""
    text = str(error)
    if (why := why_damaged(data, error)) != text:
        hint = "Restore it from a backup; or move it away, and begin anew with the defaults"
        return ClawftError("config-invalid", f"{os.path.basename(path)} is damaged: {why}", path=path, hint=hint)
    line, byte = re.search(r"line (\d+)", text), re.search(r"\(byte (\d+)\)", text)
    if line:
        number = int(line[1])
    elif byte:
        number = data.count(b"\n", 0, int(byte[1])) + 1
    else:
        number = data.rstrip().count(b"\n") + 1
    return ClawftError("config-invalid", f"The config cannot be parsed: {text}", path=path, line=number)


def explain_duplicate(source: str, data: bytes, path: Path | None = None) -> ClawftError:
    """A key that stands in its table twice, perhaps in two spellings."""
    place = find_duplicate(locate_keys(data, toml=source.endswith(".toml")), path)
    key, line = place or (path or (), 0)
    return ClawftError("config-invalid", f"{join_path(key)} is set twice", path=source, line=line, hint="Keep one")


def explain_value(layer: ConfigLayer, convert: Callable[[Any, Any], Any]) -> ClawftError:
    """A value of the wrong type, or a key that does not exist."""
    problem = next(_find_problems(layer, convert))
    line = line_of(layer, problem.path)
    if problem.message:
        message = f"{join_path(problem.path)}: {problem.message}"
        return ClawftError("config-invalid", message, path=layer.source, line=line)
    kind = "section" if len(problem.path) == 1 else "setting"
    message = f"There is no {kind} '{join_path(problem.path)}'"
    return ClawftError(
        "config-unknown-key", message, path=layer.source, line=line, hint=find_close_setting(problem.path)
    )


def _find_problems(layer: ConfigLayer, convert: Callable[[Any, Any], Any]) -> Iterator[SettingProblem]:
    for name, value in layer.values.items():
        if name in SECTIONS:
            problem = find_problem(value, section_type(name), convert, (name,))
            if problem:
                yield problem
        else:
            yield SettingProblem((name,))


def line_of(layer: ConfigLayer, path: Path) -> int:
    """The line that sets something in a layer; 0 for a variable."""
    return find_line(path, locate_keys(layer.data, toml=layer.source.endswith(".toml"))) if layer.data else 0
