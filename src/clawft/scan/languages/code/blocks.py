"""Definitions and blocks: braces, indentation and `end`, and the parameters of functions."""

from clawft.scan.languages.code.cursor import Item, Node, Unreadable
from clawft.scan.languages.code.expressions import Expressions
from clawft.scan.languages.code.lexer import (
    LINE,
    NAME,
    OPERATOR,
    Tokens,
)

__all__ = ["Blocks"]

MAX_BLOCKS = 60


class Blocks(Expressions):
    """The part of the parser that knows where a body begins and ends."""

    def __init__(self, tokens: Tokens) -> None:
        super().__init__(tokens)
        self.indent = 0
        self.blocks = 0

    def _statement_into(self, found: list[Node]) -> None:
        raise NotImplementedError

    def statements(self, stop: int) -> list[Node]:
        """The statements up to a token."""
        outer, self.limit = self.limit, stop
        found: list[Node] = []
        while self.at < stop:
            self._progress(found)
        self.limit = outer
        return found

    def _definition(self, found: list[Node], offset: int) -> bool:
        at = self.at + 1
        if self.values[at] == "(" and self.kinds[at] == OPERATOR:
            if self.language != "go":
                return False
            at = self.match.get(at, at) + 1  # the receiver of a method
        if self.values[at] == "*":
            at += 1
        if self.kinds[at] != NAME and self.values[self.at] not in ("init",):
            return False
        name = self.values[at]
        at += 1
        if self.language == "groovy" and self.values[at] != "(":
            self.at += 1  # a variable
            return True
        while self.values[at] in (".", ":", "::", "->") and self.kinds[at + 1] == NAME:
            name = self.values[at + 1]
            at += 2
        self.at = at
        self._skip_generics()
        spaced = self.language == "ruby" and self.kinds[self.at] == NAME
        parameters = self.parameters() if self.values[self.at] == "(" else self._bare_parameters() if spaced else []
        found.append(("def", offset, name, parameters, self._definition_body()))
        return True

    def _skip_generics(self) -> None:
        if self.values[self.at] == "<":
            for at in range(self.at, min(self.at + 60, self.limit)):
                if self.values[at] == "(":
                    self.at = at
                    return

    def _definition_body(self) -> list[Node]:
        self.blocks += 1
        try:
            if self.blocks > MAX_BLOCKS:
                return []
            if self.syntax.blocks == "indent":
                return self._suite()
            if self.syntax.blocks == "end":
                if self.values[self.at] == "=" and self.kinds[self.at] == OPERATOR:
                    self.at += 1
                    return [("return", self.offsets[self.at], self.expression())]
                return self.end_block()
            return self._brace_body()
        finally:
            self.blocks -= 1

    def _brace_body(self) -> list[Node]:
        """A body in braces, after whatever types stand before it; or one expression after `=`."""
        while self.at < self.limit and self.values[self.at] not in ("{", ";", "=", "=>"):
            self.at = self.match.get(self.at, self.at) + 1
        if self.at >= self.limit or self.values[self.at] == ";":
            return []
        if self.values[self.at] == "{":
            return self.block()
        self.at += 1
        self.skip_lines()
        if self.values[self.at] == "{":
            return self.block()
        return [("return", self.offsets[self.at], self.expression())]

    def parameters(self) -> list[Item]:
        """The names between the parentheses of a definition, each with its default."""
        stop = self.match.get(self.at, -1)
        if stop < 0:
            self.at += 1
            return []
        self.at += 1
        outer, self.limit = self.limit, stop
        names: list[Item] = []
        while self.at < stop:
            self._parameter(names, stop)
        self.at, self.limit = stop + 1, outer
        return names

    def _bare_parameters(self) -> list[Item]:
        names: list[Item] = []
        while self.at < self.limit and self.kinds[self.at] != LINE and self.values[self.at] != ";":
            if self.kinds[self.at] == NAME:
                names.append((self.values[self.at], None))
            self.at += 1
        return names

    def _parameter(self, names: list[Item], stop: int) -> None:
        chunk: list[str] = []
        default: Node | None = None
        while self.at < stop and self.values[self.at] != ",":
            if self.kinds[self.at] == NAME:
                chunk.append(self.values[self.at])
            elif self.values[self.at] == "=" and self.kinds[self.at] == OPERATOR:
                self.at += 1
                default = self.expression(1)
                continue
            elif self.values[self.at] == "{" and self.language == "javascript":
                inner = self.match.get(self.at, stop)
                names += [(self.values[one], None) for one in range(self.at, inner) if self.kinds[one] == NAME]
                self.at = inner
            elif self.kinds[self.at] == OPERATOR and self.values[self.at] in "([<":
                self.at = max(self.at, min(self.match.get(self.at, self.at), stop))
            self.at += 1
        self.at += 1
        words = [one for one in chunk if one not in ("mut", "ref", "final", "const", "self")]
        if words:
            sigil = [one for one in words if one[0] == "$"]
            pick = (
                sigil[0]
                if sigil
                else words[-1]
                if self.syntax.typed or (self.language == "swift" and len(words) > 2)
                else words[0]
            )
            names.append((pick, default))
        elif chunk:
            names.append((chunk[0], default))

    def _group(self, found: list[Node]) -> bool:
        """A class or module: its body stands in the open, methods and all."""
        if self.kinds[self.at + 1] != NAME and self.values[self.at + 1] not in ("<<", "{", ":"):
            return False
        self.at += 1
        if self.syntax.blocks == "indent":
            while self.at < self.limit and self.values[self.at] != ":" and self.kinds[self.at] != LINE:
                self.at = self.match.get(self.at, self.at) + 1
            found.extend(self._suite())
        elif self.syntax.blocks == "end":
            while self.at < self.limit and self.kinds[self.at] != LINE and self.values[self.at] not in (";", "do"):
                self.at += 1
            found.extend(self.end_block(opened=self.values[self.at] != "do"))
        else:
            while (
                self.at < self.limit
                and self.values[self.at] not in ("{", ";")
                and not (self.kinds[self.at] == LINE and self.language == "go")
            ):
                self.at += 1
            if self.values[self.at] == "{":
                found.extend(self.block())
        return True

    def block(self, stop: int = -1) -> list[Node]:
        """The statements between braces; `stop` when the opening one is passed already."""
        self.depth += 1
        header, self.header = self.header, False
        try:
            if stop < 0:
                stop = self.match.get(self.at, self.limit)
                self.at += 1
            if self.depth > MAX_BLOCKS:
                self.at = stop + 1
                return []
            start = self.at
            found = self.statements(min(stop, self.limit))
            self.at = max(start, min(stop + 1, self.limit + 1, self.last))  # a bracket left open never leads back
            return found
        finally:
            self.depth -= 1
            self.header = header

    def _suite(self) -> list[Node]:
        """The statements below a header that ends in a colon: those on its line, or those further in."""
        indent = self.indent
        while self.at < self.limit and self.values[self.at] not in (":", "=") and self.kinds[self.at] != LINE:
            self.at = self.match.get(self.at, self.at) + 1
        if self.at < self.limit and self.kinds[self.at] == OPERATOR:
            self.at += 1
        found: list[Node] = []
        if self.depth > MAX_BLOCKS:
            return found
        self.depth += 1
        if self.kinds[self.at] != LINE:
            while self.at < self.limit and self.kinds[self.at] != LINE:
                self._progress(found)
        else:
            while self.at < self.limit and (
                self.kinds[self.at] != LINE or self.values[self.at] > indent or self.values[self.at] < 0
            ):
                self._progress(found)
        self.depth -= 1
        self.indent = indent
        return found

    def _progress(self, found: list[Node]) -> None:
        self.room -= 1
        if self.room < 0:
            raise Unreadable
        before = self.at
        self._statement_into(found)
        if self.at <= before:
            self.at = before + 1

    def end_block(self, *, opened: bool = False) -> list[Node]:
        """The statements up to the `end` that closes this block."""
        self.depth += 1
        header, self.header = self.header, False
        found: list[Node] = []
        if self.values[self.at] in ("do", "then") and not opened:
            self.at += 1
        while self.at < self.limit and self.depth <= MAX_BLOCKS:
            if (
                self.kinds[self.at] == NAME
                and self.values[self.at] == "end"
                and self.values[self.at - 1] not in (".", ":")
            ):
                self.at += 1
                break
            self._progress(found)
        self.depth -= 1
        self.header = header
        return found
