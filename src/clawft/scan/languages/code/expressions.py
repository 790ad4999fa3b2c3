"""Tokens to expressions: one tolerant parser for all code languages. What it does not understand it steps over."""

from clawft.scan.languages.code.chains import STOP_WORDS, Chains
from clawft.scan.languages.code.cursor import Node, Unreadable
from clawft.scan.languages.code.lexer import (
    COMMAND,
    LINE,
    MIXED,
    NAME,
    NUMBER,
    OPERATOR,
    STRING,
)

__all__ = ["Expressions"]

MAX_NESTING = 40
_BINARY = {
    "or": 1, "||": 1, "??": 1, "?:": 1, "and": 2, "&&": 2, "in": 4, "is": 4, "==": 4, "!=": 4, "===": 4, "!==": 4,
    "<": 4, ">": 4, "<=": 4, ">=": 4, "=~": 4, "!~": 4, "<=>": 4, "instanceof": 4, "|>": 4, "%>%": 4, "isa": 4, "eq": 4,
    "ne": 4, "|": 5, "^": 6, "xor": 6, "bxor": 6, "^^^": 6, "&": 7, "<<": 8, ">>": 8, "..": 9, "...": 9, "..<": 9,
    "..=": 9, "<>": 9, "++": 9, "to": 9, "+": 10, "-": 10, ".": 10, "*": 11, "/": 11, "%": 11, "//": 11, "@": 11,
    "x": 11, "div": 11, "mod": 11, "as": 12, "**": 13,
}  # fmt: skip
_PREFIX_OPERATORS = frozenset(
    ("-", "+", "!", "~", "&", "*", "**", "...", "@", "\\", "&&", "++", "--", "%", "$", "#", "<-", "^", "..")
)
_PREFIX_WORDS = frozenset(
    [
        "not",
        "await",
        "new",
        "yield",
        "async",
        "typeof",
        "void",
        "delete",
        "mut",
        "ref",
        "move",
        "unsafe",
        "try",
        "throw",
        "defined",
        "raise",
        "return",
        "local",
        "my",
        "our",
        "let",
        "const",
        "var",
        "val",
        "lazy",
        "static",
        "final",
        "inout",
        "out",
        "go",
        "defer",
        "co_await",
        "box",
        "dyn",
    ]
)
_NEVER = frozenset((",", ")", "]", "}", ";", ":", "(", "{", "["))  # no operator between two values
_AUGMENTED = frozenset(("+=", ".=", "||=", "??=", "|=", "^=", "&="))


class Expressions(Chains):
    """The part of the parser that reads one expression."""

    def expression(self, level: int = 0) -> Node:
        """The expression that begins here; always moves on by at least one token unless a closing one is met."""
        self.room -= 1
        if self.room < 0:
            raise Unreadable
        if self.depth > MAX_NESTING:
            return self._skip_nested()
        self.depth += 1
        try:
            left = self._unary()
            return self._binary(left, level)
        finally:
            self.depth -= 1

    def _skip_nested(self) -> Node:
        offset = self.offsets[self.at]
        self.at = self.match.get(self.at, self.at) + 1
        return ("const", offset, None)

    def _binary(self, left: Node, level: int) -> Node:
        while True:
            at = self.at if self.kinds[self.at] != LINE else self._over_lines_to_operator()
            value, kind = self.values[at], self.kinds[at]
            if kind == OPERATOR:
                if value in _NEVER:
                    return left
                if value == "?" and level <= 0:
                    left = self._ternary(at, left)
                    continue
                if value in _AUGMENTED and level == 0 and left[0] != "const":
                    self.at = at + 1
                    self.skip_lines()
                    left = ("set", left[1], left, self.expression(), value)
                    continue
                if value in ("=", ":=", "<-") and level == 0 and left[0] != "const":
                    self.at = at + 1
                    self.skip_lines()
                    left = ("set", left[1], left, self.expression())
                    continue
            elif kind == NAME:
                if value == "if" and self.language == "python" and level <= 0:
                    left = self._python_choice(at, left)
                    continue
            else:
                return left
            if value == "<" and self.language == "perl" and self.kinds[at + 1] == NAME and self.values[at + 2] == ">":
                return left  # what a handle gives, not a comparison
            strength = _BINARY.get(value)
            if strength is None or strength < level or (value in (".", "..") and value not in self.syntax.concat):
                return left
            if (
                kind == NAME
                and value in ("x", "div", "mod", "to", "eq", "ne", "isa", "xor", "bxor", "as")
                and not self._is_word_operator(value)
            ):
                return left
            self.at = at + 1
            self.skip_lines()
            right = self.expression(
                0 if kind == NAME and value in ("and", "or") and self.language != "python" else strength + 1
            )
            left = ("bin", left[1], value, left, right)

    def _is_word_operator(self, value: str) -> bool:
        if value in ("x", "eq", "ne", "isa"):
            return self.language == "perl"
        return value != "as" or not self.header

    def _over_lines_to_operator(self) -> int:
        """The next token; over line breaks when an operator goes on there."""
        at = ahead = self.at
        if self.syntax.blocks == "indent":
            return at
        while self.kinds[ahead] == LINE:
            ahead += 1
        if self.kinds[ahead] == OPERATOR and self.values[ahead] in (
            "?",
            "||",
            "&&",
            "+",
            "??",
            "|>",
            "==",
            "===",
            "?:",
            "..",
            "|",
            "<>",
        ):
            return ahead
        return at

    def _ternary(self, at: int, condition: Node) -> Node:
        self.at = at + 1
        self.skip_lines()
        yes = self.expression(1)
        self.skip_lines_before(":")
        if self.values[self.at] == ":" and self.kinds[self.at] == OPERATOR:
            self.at += 1
            self.skip_lines()
            no = self.expression(0)
            return ("any", condition[1], [yes, no], condition)
        return ("any", condition[1], [yes], condition)

    def _python_choice(self, at: int, yes: Node) -> Node:
        self.at = at + 1
        condition = self.expression(1)
        if self.values[self.at] == "else":
            self.at += 1
            return ("any", yes[1], [yes, self.expression(0)], condition)
        return ("any", yes[1], [yes], condition)

    def _unary(self) -> Node:
        at = self.at
        kind, value = self.kinds[at], self.values[at]
        if kind == OPERATOR and value in _PREFIX_OPERATORS:
            self.at += 1
            if value == "%" and self.language == "elixir":
                return self.expression(12)
            if value == "%" and self.language == "perl" and self.kinds[self.at] == NAME:
                self.at += 1
                return ("name", self.offsets[self.at - 1], "$" + self.values[self.at - 1])
            if value == "&" and self.language == "ruby" and self.values[self.at] == ":":
                self.at += 1
            inner = self.expression(12)
            if value == "-" and inner[0] == "const" and isinstance(inner[2], int):
                return ("const", inner[1], -inner[2])
            return ("attr", inner[1], inner, "~") if value == "~" and inner[0] == "const" else inner
        if kind == NAME and value in _PREFIX_WORDS and self._prefixes(at):
            self.at += 2 if self.values[at + 1] in ("!", "?") and self.kinds[at + 1] == OPERATOR else 1
            return self.expression(
                3 if value in ("not", "defined") else 0 if value in ("yield", "return", "throw", "raise") else 12
            )
        return self._postfix(self._primary())

    def _prefixes(self, at: int) -> bool:
        """Whether a prefix word stands before something that it can modify."""
        kind, value = self.kinds[at + 1], self.values[at + 1]
        word = self.values[at]
        if word in ("go", "defer") and self.language != "go":
            return False
        if word == "async" and value == "(":
            return bool(self.values[min(self.match.get(at + 1, at) + 1, self.limit)] in ("=>", ":"))
        if word == "try" and kind == OPERATOR and value in ("!", "?"):
            return True
        if kind == OPERATOR:
            return (
                value in "({["
                and self.values[at]
                in (
                    "my",
                    "our",
                    "local",
                    "await",
                    "not",
                    "yield",
                    "return",
                    "go",
                    "defer",
                    "const",
                    "let",
                    "var",
                    "try",
                )
            ) or value in ("&", "*", "-", "%", "@", "\\")
        return kind in (STRING, MIXED, NUMBER, COMMAND) or (kind == NAME and value not in STOP_WORDS)
