"""The smallest expressions: names, strings, numbers, brackets, and functions without a name."""

from typing import Any

from clawft.scan.languages.code.cursor import Item, Node
from clawft.scan.languages.code.items import Items
from clawft.scan.languages.code.lexer import (
    COMMAND,
    LINE,
    MIXED,
    NAME,
    NUMBER,
    OPERATOR,
    STRING,
    WORDS,
    Tokens,
)
from clawft.scan.languages.code.syntax import DEFINERS

__all__ = ["Primaries"]


class Primaries(Items):
    """The part of the parser that reads what stands by itself."""

    def _primary(self) -> Node:
        at = self.at
        kind, value, offset = self.kinds[at], self.values[at], self.offsets[at]
        if kind == NAME:
            return self._named(value, offset)
        if kind == STRING:
            return self._string(offset)
        if kind == NUMBER:
            self.at += 1
            return ("const", offset, value)
        if kind == MIXED:
            return self._string(offset)
        if kind == COMMAND:
            self.at += 1
            return ("call", offset, ("name", offset, "`"), [(None, self._text(value, offset))])
        if kind == WORDS:
            self.at += 1
            return ("seq", offset, [(None, ("const", offset, one)) for one in value])
        if kind == OPERATOR:
            return self._bracketed(value, offset)
        return ("const", offset, None)

    def _text(self, value: Any, offset: int) -> Node:
        if not isinstance(value, list):
            return ("const", offset, value)
        return ("mixed", offset, [one if isinstance(one, str) else self._hole(one) for one in value])

    def _hole(self, tokens: Tokens) -> Node:
        inner = type(self)(tokens)
        inner.depth = self.depth + 3
        return inner.expression()

    def _string(self, offset: int) -> Node:
        """A string, and those that stand right after it where a language joins them."""
        node = self._text(self.values[self.at], offset)
        self.at += 1
        if self.language not in ("python", "ruby", "c", "nim", "dart"):
            return node
        parts = [node]
        while self.kinds[self.at] in (STRING, MIXED):
            parts.append(self._text(self.values[self.at], self.offsets[self.at]))
            self.at += 1
        if len(parts) == 1:
            return node
        if all(one[0] == "const" and type(one[2]) is type(node[2]) for one in parts):
            return ("const", offset, type(node[2])().join(one[2] for one in parts))
        return ("mixed", offset, [inner for one in parts for inner in (one[2] if one[0] == "mixed" else [one])])

    def _named(self, value: str, offset: int) -> Node:
        if self.plain and value not in DEFINERS[self.language] and self.values[self.at + 1] != "=>":
            self.at += 1
            return ("name", offset, value)
        following = self.values[self.at + 1] if self.kinds[self.at + 1] == OPERATOR else ""
        if following in ("=>", "->") and following not in self.attrs and self._arrow_ahead(value):
            self.at += 2
            return ("lambda", offset, [(value, None)], self._body())
        if value in ("do", "eval") and following == "{" and self.language == "perl":
            self.at += 1
            return ("call", offset, ("lambda", offset, [], self.block()), [])
        if value in DEFINERS[self.language]:
            found = self._function(value, offset)
            if found:
                return found
        self.at += 1
        if self.language == "perl" and value[0] == "@" and value != "@_":
            value = "$" + value[1:]
        if value.startswith("\\"):
            value = value[1:]
        return ("name", offset, value)

    def _function(self, word: str, offset: int) -> Node | None:
        at = self.at + 1
        language = self.language
        if word == "lambda" and language == "python":
            self.at = at
            names = self._python_lambda()
            return ("lambda", offset, names, [("return", offset, self.expression())])
        if language == "elixir" and word == "fn":
            self.at = at
            return ("lambda", offset, [], self.end_block())
        ahead = self.values[at]
        if self.kinds[at] == NAME and word != "lambda" and self.values[at + 1] == "(":
            at += 1  # a function expression may have a name of its own
            ahead = "("
        if ahead == "*":
            at += 1
            ahead = self.values[at]
        if (ahead == "(" and word in ("function", "func", "fn", "fun", "sub")) or (
            ahead == "{" and word in ("sub", "lambda", "proc")
        ):
            self.at = at
            names = self.parameters() if ahead == "(" else []
            return ("lambda", offset, names, self._function_body())
        return None

    def _function_body(self) -> list[Node]:
        if self.syntax.blocks == "end":
            return self.end_block()
        while (
            self.at < self.limit
            and self.values[self.at] not in ("{", "=>", ",", ")", ";")
            and self.kinds[self.at] != LINE
            and self.language != "r"
        ):
            self.at = self.match.get(self.at, self.at) + 1  # a type, or the variables a closure uses
        if self.values[self.at] == "=>":
            self.at += 1
        return self._body()

    def _body(self) -> list[Node]:
        """The body of a function without a name: a block, or one expression that it returns."""
        self.skip_lines()
        if self.values[self.at] == "{" and self.kinds[self.at] == OPERATOR:
            return self.block()
        return [("return", self.offsets[self.at], self.expression())]

    def _python_lambda(self) -> list[Item]:
        names: list[Item] = []
        while self.at < self.limit and self.values[self.at] != ":" and self.kinds[self.at] != LINE:
            if self.kinds[self.at] == NAME:
                name = self.values[self.at]
                self.at += 1
                default = None
                if self.values[self.at] == "=":
                    self.at += 1
                    default = self.expression(1)
                names.append((name, default))
            else:
                self.at += 1
        self.at += 1
        return names

    def _bracketed(self, value: str, offset: int) -> Node:
        if value == "(":
            return self._parenthesised(offset)
        if value in "[{":
            if value == "{" and self.language in ("kotlin", "swift", "groovy"):
                return self._closure(offset)
            return self._sequence(offset)
        if value == "->" and self.language == "ruby":
            self.at += 1
            names = self.parameters() if self.values[self.at] == "(" else []
            return ("lambda", offset, names, self.end_block() if self.values[self.at] == "do" else self._body())
        if value in ("|", "||") and self.language == "rust":
            names = self._bars()
            return ("lambda", offset, names, self._body())
        if (
            value == "<"
            and self.language == "perl"
            and self.kinds[self.at + 1] == NAME
            and self.values[self.at + 2] == ">"
        ):
            self.at += 3  # what a handle gives
            return ("name", offset, self.values[self.at - 2])
        if value == ":" and self.kinds[self.at + 1] in (NAME, STRING):
            self.at += 2  # a symbol
            return ("const", offset, self.values[self.at - 1])
        if value == "." and self.kinds[self.at + 1] == NAME:
            self.at += 2  # an implicit member
            return ("name", offset, self.values[self.at - 1])
        if value in ")]}" or value in (",", ";"):
            return ("const", offset, None)
        self.at += 1
        return ("const", offset, None)

    def _parenthesised(self, offset: int) -> Node:
        close = self.match.get(self.at, -1)
        after = self.values[close + 1] if 0 < close < self.limit else ""
        if after == "=>" or (after == "->" and self.language in ("java", "kotlin", "groovy")):
            names = self.parameters()
            self.at = close + 2
            return ("lambda", offset, names, self._body())
        if after == ":" and self.language == "javascript" and (arrow := self._typed_arrow(close)):
            names = self.parameters()
            self.at = arrow + 1
            return ("lambda", offset, names, self._body())
        items = self.items()
        if len(items) == 1 and items[0][0] is None and (self.values[self.at - 2] != "," or self.language != "python"):
            inner: Node = items[0][1]
            return inner
        return ("seq", offset, items)

    def _typed_arrow(self, close: int) -> int:
        """Where the arrow of a function with a written return type stands, if there is one near."""
        for at in range(close + 2, min(close + 14, self.limit)):
            if self.values[at] == "=>":
                return at
            if self.values[at] in (";", ")", ",", "}", "=", "?") or self.kinds[at] in (LINE, STRING):
                return 0
        return 0

    def _sequence(self, offset: int) -> Node:
        braces = self.values[self.at] == "{"
        items = self.items()
        while self.language == "go" and not items and self.kinds[self.at] == NAME:
            self.at += 1  # []string{…}: the type is no value
            while self.values[self.at] == "." and self.kinds[self.at + 1] == NAME:
                self.at += 2
            if self.values[self.at] != "{":
                break
            items = self.items()
        if len(items) == 1 and items[0][1][0] == "comp":
            comprehension: Node = items[0][1]
            return comprehension
        if braces:  # { a, b } is { a: a, b: b }
            items = [(one[2] if key is None and one[0] == "name" else key, one) for key, one in items]
        return ("seq", offset, items)

    def _closure(self, offset: int) -> Node:
        """A block as a value: `{ x -> … }`, `{ |x| … }`, `{ x in … }`."""
        close = self.match.get(self.at, self.limit)
        names: list[Item] = [("it", None), ("$0", None)]
        for at in range(self.at + 1, min(self.at + 12, close)):
            if self.values[at] in ("->", "in") and self.kinds[at] != STRING:
                names = [(self.values[one], None) for one in range(self.at + 1, at) if self.kinds[one] == NAME]
                self.values[at] = ";"
                self.kinds[at] = OPERATOR
                break
        return ("lambda", offset, names, self.block())

    def _bars(self) -> list[Item]:
        """The parameters between two bars."""
        names: list[Item] = []
        if self.values[self.at] == "||":
            self.at += 1
            return names
        self.at += 1
        while self.at < self.limit and self.values[self.at] != "|" and self.kinds[self.at] != LINE:
            if self.kinds[self.at] == NAME:
                names.append((self.values[self.at], None))
            self.at += 1
        self.at += 1
        return names
