"""Control statements: their heads are evaluated, their blocks may or may not run, loops bind names."""

from clawft.scan.languages.code.blocks import Blocks
from clawft.scan.languages.code.cursor import Item, Node
from clawft.scan.languages.code.lexer import (
    LINE,
    NAME,
    OPERATOR,
    STRING,
)

__all__ = ["MODIFIERS", "Control"]

MODIFIERS = frozenset(
    [
        "public",
        "private",
        "protected",
        "internal",
        "static",
        "final",
        "async",
        "export",
        "default",
        "pub",
        "const",
        "let",
        "var",
        "my",
        "our",
        "local",
        "mut",
        "val",
        "override",
        "abstract",
        "lazy",
        "global",
        "nonlocal",
        "extern",
        "inline",
        "readonly",
        "declare",
        "state",
        "volatile",
        "sealed",
        "virtual",
        "suspend",
        "await",
    ]
)
_OPENERS = frozenset(
    [
        "if",
        "unless",
        "while",
        "until",
        "for",
        "do",
        "case",
        "begin",
        "def",
        "class",
        "module",
        "function",
        "repeat",
        "cond",
        "try",
        "receive",
    ]
)


class Control(Blocks):
    """The part of the parser that reads conditions and loops."""

    def _simple(self) -> list[Node]:
        raise NotImplementedError

    def _controlled(self, value: str, offset: int) -> list[Node]:
        """A control statement: its head is evaluated, its block may or may not run."""
        self.at += 1
        head: list[Node] = []
        style = self.syntax.blocks
        if style == "end" and value not in _OPENERS:  # else, elsif, when, rescue: inside a block that is open
            return self._head() if value not in ("else", "then", "ensure", "begin", "do") else head
        if value == "with" or (value in ("using", "try") and self.values[self.at] == "("):
            head = self._bindings()
        elif not self._block_starts():
            head = self._head()
        if style == "indent":
            body = self._suite()
        elif style == "end":
            body = self.end_block()
        elif self.values[self.at] == "{":
            body = self.block()
        else:
            body = []
        return [*head, ("block", offset, body)]

    def _block_starts(self) -> bool:
        value = self.values[self.at]
        return self.kinds[self.at] == LINE or (self.kinds[self.at] == OPERATOR and value in ("{", ":"))

    def _head(self) -> list[Node]:
        self.header = True
        found: list[Node] = []
        while self.at < self.limit and not self._block_starts() and self.values[self.at] not in ("do", "then"):
            before = self.at
            found.append(("expr", self.offsets[before], self.expression()))
            after = self.values[self.at]
            if self.syntax.blocks == "indent" and after == "as" and self.kinds[self.at + 1] == NAME:
                self.at += 2
            elif after == ";" or (after == "," and self.kinds[self.at] == OPERATOR):
                self.at += 1
            elif self.at == before or self.syntax.blocks != "end":
                break
            else:
                break
        self.header = False
        return found

    def _bindings(self) -> list[Node]:
        """`with EXPRESSION as NAME, …:` as assignments."""
        found: list[Node] = []
        wrapped = self.values[self.at] == "(" and self.values[self.match.get(self.at, self.at) + 1] in (":", "{")
        stop = self.match[self.at] if wrapped else self.limit
        if wrapped:
            self.at += 1
        outer, self.limit = self.limit, stop
        while self.at < stop and not (self._block_starts() and self.values[self.at] != "{"):
            before = self.at
            self.header = True
            value = self.expression(13)
            self.header = False
            if self.values[self.at] == "as" and self.at < stop:
                self.at += 1
                target = self.expression(13)
                found.append(("assign", value[1], [target], value, "="))
            elif value[0] == "set":
                found.append(("assign", value[1], [value[2]], value[3], "="))
            else:
                found.append(("expr", value[1], value))
            if self.at == before or self.values[self.at] in (",", ";"):
                self.at += 1
            elif not wrapped:
                break
        self.limit = outer
        if wrapped:
            self.at = stop + 1
        return found

    def _loop(self, offset: int) -> Node:
        """A loop over something: its names, what it goes over, its body."""
        self.at += 1
        if self.values[self.at] == "await":
            self.at += 1
        wrapped = (
            self.values[self.at] == "(" and self.kinds[self.at] == OPERATOR and self.language not in ("python", "nim")
        )
        stop = self.match.get(self.at, self.limit) if wrapped else self._header_end()
        start = self.at + 1 if wrapped else self.at
        names, source = self._loop_parts(start, stop)
        if wrapped and not names and self.language == "perl":
            names = ["$_"]
        self.at = stop + 1 if wrapped else stop
        if self.syntax.blocks == "indent":
            body = self._suite()
        elif self.syntax.blocks == "end":
            body = self.end_block()
        elif self.values[self.at] == "{" and self.kinds[self.at] == OPERATOR:
            body = self.block()
        else:
            body = self._simple()
        return ("for", offset, names, source, body)

    def _header_end(self) -> int:
        at = self.at
        while (
            at < self.limit
            and self.kinds[at] != LINE
            and not (self.values[at] in ("{", ":", "do") and self.kinds[at] != STRING)
        ):
            at = self.match.get(at, at) + 1
        if self.values[at] == "{" and self.match.get(at, -1) > 0 and self.values[self.match[at] + 1] == "{":
            at = self.match[at] + 1  # a literal to go over, then the block
        return min(at, self.limit)

    def _loop_parts(self, start: int, stop: int) -> tuple[list[str], Node]:
        outer, self.limit = self.limit, stop
        split = self._find_split(start, stop)
        names: list[str] = []
        nothing: Node = ("const", self.offsets[start], None)
        if split < 0:
            self.at = start
            source = self._perl_loop(start, names) if self.language == "perl" else self._loop_clauses(stop) or nothing
        elif self.values[split] == "as":  # PHP: what, then the names
            names = [
                self.values[one] for one in range(split, stop) if self.kinds[one] == NAME and self.values[one][0] == "$"
            ]
            self.at = start
            source = self.expression(13)
        else:
            names = [self.values[one] for one in range(start, split) if self.kinds[one] == NAME]
            self.at = split + (2 if self.values[split + 1] == "range" else 1)
            self.header = True
            source = self.expression() if self.at < stop else nothing
            if self.syntax.blocks == "indent" and self.values[self.at] == "," and self.at < stop:
                rest: list[Item] = [(None, source)]
                while self.at < stop and self.values[self.at] == ",":
                    self.at += 1
                    rest.append((None, self.expression()))
                source = ("seq", source[1], rest)
            self.header = False
        self.limit = outer
        return [one for one in names if one not in MODIFIERS or one in ("state", "default")], source

    def _find_split(self, start: int, stop: int) -> int:
        at = start
        while at < stop:
            value, kind = self.values[at], self.kinds[at]
            if kind == NAME and value in ("in", "of", "as") and at > start:
                return at
            if kind == OPERATOR and (value == ":" or (value in (":=", "=") and self.values[at + 1] == "range")):
                return at
            if kind == OPERATOR and value == ";":
                return -1
            at = self.match.get(at, at) + 1
        return -1

    def _perl_loop(self, start: int, names: list[str]) -> Node:
        at = start
        while self.kinds[at] == NAME and self.values[at] in ("my", "our"):
            at += 1
        if self.kinds[at] == NAME and self.values[at][0] == "$" and self.values[at + 1] == "(":
            names.append(self.values[at])
            at += 1
        self.at = at
        return self.expression()

    def _loop_clauses(self, stop: int) -> Node | None:
        nodes = []
        while self.at < stop:
            before = self.at
            nodes.append(self.expression())
            self.at = max(self.at, before) + (1 if self.values[self.at] in (";", ",") or self.at == before else 0)
        return ("any", nodes[0][1], [], ("seq", nodes[0][1], [(None, one) for one in nodes])) if nodes else None
