"""Makefiles: what the recipes and `$(shell …)` run, with variables filled in."""

import re

from clawft.scan.documents import Document
from clawft.scan.facts import Analysis
from clawft.scan.languages.commands import Value, World
from clawft.scan.languages.shell.evaluate import Evaluator
from clawft.scan.languages.shell.parse import Parser
from clawft.scan.languages.windows import find_windows

__all__ = ["analyse"]

MAX_EXPANSIONS = 20_000
MAX_LINE = 60_000
_MARKS = ("curl", "wget", "$(shell", "http", "bash", "sh ", "python", "base64", "rm ", "ssh", "nc ")
_LOGICAL = re.compile(r"[^\n]*?(?:\\\r?\n[^\n]*?)*(?:\n|\Z)")
_ASSIGN = re.compile(
    r"^[ ]*(?:export[ \t]+|override[ \t]+)*([A-Za-z_.][\w.-]*)[ \t]*(::?:?=|\?=|\+=|!=|=)[ \t]*(.*)$", re.DOTALL
)
_TARGET = re.compile(r"^[^\s#:=][^#:=\n]*::?(?!=)([^\n;]*)(?:;(.*))?$", re.DOTALL)
_PREFIX = re.compile(r"^[\s@+-]+")


def analyse(document: Document) -> Analysis:
    """The facts of a Makefile."""
    reader = _Reader(World(document))
    for begin, end in find_windows(document.text, _MARKS):
        reader.read(document.text[begin:end], begin)
    return reader.world.finish()


class _Reader:
    def __init__(self, world: World) -> None:
        self.world = world
        self._shell = Evaluator(world)
        self._variables: dict[str, str] = {"MAKE": "make", "HOME": "$$HOME", "SHELL": "sh", "CURDIR": "."}
        self._final: set[str] = set()  # set by `:=`: filled in already
        self._expansions = 0

    def read(self, text: str, base: int) -> None:
        recipes: list[tuple[str, int]] = []
        for match in _LOGICAL.finditer(text):
            line, offset = match[0].rstrip("\r\n"), base + match.start()
            if line.startswith("\t") or (line.startswith("    ") and recipes and not _ASSIGN.match(line)):
                recipes.append((line, offset))
            elif not line or line.lstrip().startswith("#"):
                continue
            elif assign := _ASSIGN.match(line):
                self._assign(assign[1], assign[2], assign[3].replace("\\\n", " ").strip(), offset)
            elif (target := _TARGET.match(line)) and not line.startswith("$("):
                recipes.append((target[2] or "", offset))
                self._expand(target[1] or "", offset)
            else:
                self._expand(line, offset)  # $(shell …) and $(eval …) on their own
        # A variable may be set after the recipe that uses it.
        for line, offset in recipes:
            self._recipe(line, offset)

    def _recipe(self, line: str, offset: int) -> None:
        prefix = _PREFIX.match(line)
        body = line[prefix.end() :] if prefix else line
        if body and not body.startswith("#"):
            self._run(self._expand(body, offset), offset)

    def _run(self, command: str, offset: int) -> Value:
        before, self.world.anchor = self.world.anchor, offset
        value = self._shell.run_nodes(Parser(command[:MAX_LINE]).read())
        self.world.anchor = before
        self.world.cwd = ""
        return value

    def _assign(self, name: str, mark: str, value: str, offset: int) -> None:
        if mark == "?=" and name in self._variables:
            return
        if mark == "!=":
            value = self._output(self._run(self._expand(value, offset), offset))
            self._final.add(name)
        elif "shell" in value or mark in (":=", "::="):
            value = self._expand(value, offset)
            self._final.add(name)
        else:
            self._final.discard(name)
        self._variables[name] = f"{self._variables.get(name, '')} {value}".strip() if mark == "+=" else value

    def _output(self, value: Value) -> str:
        """What a command gives; a variable of the shell when it is only known at run time."""
        if value.known:
            return value.text
        name = f"make_{len(self._shell.variables)}"
        self._shell.variables[name] = value
        return f"${{{name}}}"

    def _expand(self, text: str, offset: int, depth: int = 0) -> str:
        """The text with `$(NAME)` filled in and `$$` as `$`, which is then the shell's."""
        if "$" not in text:
            return text
        pieces: list[str] = []
        at = 0
        while (dollar := text.find("$", at)) >= 0 and self._expansions < MAX_EXPANSIONS:
            self._expansions += 1
            pieces.append(text[at:dollar])
            following = text[dollar + 1 : dollar + 2]
            if following == "$":
                pieces.append("$")
                at = dollar + 2
            elif following and following in "({":
                end = _find_close(text, dollar + 1)
                pieces.append(self._reference(text[dollar + 2 : end], offset, depth))
                at = end + 1
            else:
                pieces.append("" if following in ("@", "<", "^", "*", "?", "") else self._variables.get(following, ""))
                at = dollar + 2
        pieces.append(text[at:])
        return "".join(pieces)[:MAX_LINE]

    def _reference(self, inner: str, offset: int, depth: int) -> str:
        if depth > 8:
            return ""
        word, _, rest = inner.partition(" ")
        if word == "shell":
            return self._output(self._run(self._expand(rest, offset, depth + 1), offset))
        if rest:
            return self._function(word, rest, offset, depth)
        name, colon, _ = inner.partition(":")
        name = name.strip() if colon else inner.strip()
        held = self._variables.get(name)
        if held is None:
            return "${" + name + "}"
        return held if name in self._final else self._expand(held, offset, depth + 1)

    def _function(self, name: str, rest: str, offset: int, depth: int) -> str:
        """The text functions that hide words: subst, strip, join, addsuffix, addprefix, eval, info."""
        args = [self._expand(one, offset, depth + 1) for one in rest.split(",")]
        if name == "subst" and len(args) == 3 and args[0]:
            return args[2].replace(args[0], args[1])
        if name == "join" and len(args) == 2:
            return " ".join(one + two for one, two in zip(args[0].split(), args[1].split(), strict=False))
        if name == "addsuffix" and len(args) == 2:
            return " ".join(one + args[0] for one in args[1].split())
        if name == "addprefix" and len(args) == 2:
            return " ".join(args[0] + one for one in args[1].split())
        return (
            args[-1].strip() if name in ("strip", "firstword", "lastword", "sort", "if", "or", "eval", "value") else ""
        )


def _find_close(text: str, at: int) -> int:
    """The bracket that closes the one at a place, or the end."""
    opening, depth = text[at], 0
    closing = ")" if opening == "(" else "}"
    for index in range(at, min(len(text), at + 4000)):
        depth += (text[index] == opening) - (text[index] == closing)
        if depth == 0:
            return index
    return min(len(text), at + 4000)
