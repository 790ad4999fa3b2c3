"""Tokens to statements, as far as flows need them: definitions, assignments, loops, imports, returns; the rest is flat.

A statement is a tuple: expr node · assign targets value operator · def name parameters body · for names node body ·
block body · return node · import pairs · global names.
"""

from typing import Any

from clawft.scan.languages.code.control import MODIFIERS, Control
from clawft.scan.languages.code.cursor import Item, Node, Unreadable
from clawft.scan.languages.code.imports import read_import
from clawft.scan.languages.code.lexer import (
    END,
    LINE,
    NAME,
    OPERATOR,
    Tokens,
)
from clawft.scan.languages.code.quiet import TELLING, skip_telling
from clawft.scan.languages.code.syntax import DEFINERS

__all__ = ["parse"]

_DEFINE = frozenset(["def", "function", "func", "fn", "sub", "fun", "proc", "defp", "defmacro", "method", "init"])
_GROUP = frozenset(
    [
        "class",
        "struct",
        "impl",
        "module",
        "namespace",
        "trait",
        "interface",
        "enum",
        "object",
        "extension",
        "defmodule",
        "record",
        "protocol",
        "package",
    ]
)
_CONTROL = frozenset(
    [
        "if",
        "elif",
        "elsif",
        "elseif",
        "else",
        "while",
        "unless",
        "until",
        "try",
        "except",
        "catch",
        "finally",
        "switch",
        "case",
        "match",
        "when",
        "do",
        "loop",
        "begin",
        "rescue",
        "ensure",
        "then",
        "with",
        "using",
        "guard",
        "repeat",
        "unsafe",
        "synchronized",
        "default",
        "select",
        "BEGIN",
        "END",
        "autoreleasepool",
        "of",
    ]
)
_DECLARATIONS = frozenset(("const", "let", "var", "my", "our", "local", "val"))
_LOOPS = frozenset(("for", "foreach"))
_IMPORTS = frozenset(
    ["import", "from", "use", "using", "require_once", "include", "include_once", "source", "alias", "library"]
)
_ASSIGN = frozenset(
    (
        "=",
        ":=",
        "<-",
        "+=",
        "-=",
        "*=",
        "/=",
        ".=",
        "|=",
        "&=",
        "^=",
        "%=",
        "||=",
        "&&=",
        "??=",
        "**=",
        "//=",
        "<<=",
        "<<-",
        "~=",
    )
)
_SEVERAL = frozenset(
    ["javascript", "java", "csharp", "c", "dart", "php", "kotlin", "swift", "groovy"]
)  # let a = 1, b = 2


class _Parser(Control):
    def _statement_into(self, found: list[Node]) -> None:
        kind, value = self.kinds[self.at], self.values[self.at]
        if kind == LINE:
            if value >= 0:
                self.indent = value
            self.at += 1
            return
        if kind == OPERATOR:
            if value in (";", ",", ")", "]", "}"):
                self.at += 1
                return
            if value == "{":
                found.append(("block", self.offsets[self.at], self.block()))
                return
            if (
                value == "@"
                and self.kinds[self.at + 1] == NAME
                and self.language in ("python", "java", "kotlin", "swift", "javascript", "dart")
            ):
                self.at += 1  # a decorator: its call stands on its own
        if kind == NAME:
            if value in _WORDS and not self._is_called(value) and self._keyword(value, found):
                return
            if value in TELLING and (end := skip_telling(self.tokens, self.at, self.limit)) > self.at:
                self.at = end
                return
        found.extend(self._simple())

    def _is_called(self, value: str) -> bool:
        """Whether a word that other languages keep for themselves is the name of a function here."""
        if self.values[self.at + 1] != "(" or value in _KEPT.get(self.language, _WORDS):
            return False
        close = self.match.get(self.at + 1)
        return close is not None and self.values[close + 1] not in (":", "{", "=>")

    def _keyword(self, value: str, found: list[Node]) -> bool:
        """A statement that begins with a word of its own; False when the word is only a name here."""
        at, offset = self.at, self.offsets[self.at]
        after = self.values[at + 1] if self.kinds[at + 1] == OPERATOR else ""
        relative = value == "from" and after in (".", "..", "...")
        if (
            after
            and not relative
            and (
                after in _ASSIGN
                or after in (".", ",", ")", "=>", "->", "?.")
                or (after == ":" and value not in _CONTROL)
            )
        ):
            return False
        if after == "[" and value not in _DECLARATIONS:
            return False
        if value in MODIFIERS:
            self.at += 1
            if after == ":":
                self.at += 1
            elif after in ("{", "[", "(") and value in _DECLARATIONS:
                found.extend(self._simple())
            return True
        if value in _DEFINE and value in DEFINERS[self.language]:
            return self._definition(found, offset)
        if value in _IMPORTS:
            return self._import(found)
        if value in _LOOPS:
            found.append(self._loop(offset))
            return True
        if value == "return":
            self.at += 1
            node = self._values()
            found.append(("return", offset, node))
            self._modifier(found)
            return True
        if value in _GROUP and after != "(":
            return self._group(found)
        if value in _CONTROL:
            found.extend(self._controlled(value, offset))
            return True
        return False

    def _import(self, found: list[Node]) -> bool:
        if (
            self.language != "go"
            and self.values[self.at] == "import"
            and self.kinds[self.at + 1] == OPERATOR
            and self.values[self.at + 1] in ("(", ".")
        ):
            return False  # a call of that name
        pairs, at = read_import(self.values, self.kinds, self.at, self.limit, self.syntax)
        if at <= self.at:
            return False
        found.append(("import", self.offsets[self.at], pairs))
        self.at = at
        return True

    def _values(self) -> Node:
        """One expression, or several as a tuple."""
        if self.at >= self.limit or self.kinds[self.at] in (LINE, END) or self.values[self.at] in (";", "}"):
            return ("const", self.offsets[self.at], None)
        first = self.expression(-1)
        if self.language in _SEVERAL and first[0] != "name":
            return first
        if self.values[self.at] != "," or self.kinds[self.at] != OPERATOR or self.at >= self.limit:
            return first
        items: list[Item] = [(None, first)]
        while self.at < self.limit and self.values[self.at] == "," and self.kinds[self.at] == OPERATOR:
            self.at += 1
            self.skip_lines()
            if self.at < self.limit and self.kinds[self.at] != LINE and self.values[self.at] not in ("=", ";"):
                items.append((None, self.expression(-1)))
        return ("seq", first[1], items)

    def _simple(self) -> list[Node]:
        """An expression or an assignment, and a condition that may stand after it."""
        found: list[Node] = []
        while self._one_of_several(found):
            self.step()
        return found

    def _one_of_several(self, found: list[Node]) -> bool:
        """One assignment or expression; True when another one follows it after a comma."""
        offset = self.offsets[self.at]
        node = self._values()
        node = self._declared(node)
        if (
            node[0] == "call"
            and self.values[self.at] == "{"
            and self.kinds[self.at] == OPERATOR
            and self.syntax.blocks == "braces"
            and node[2][0] in ("name", "bin")
        ):
            found.append(("def", offset, _last_name(node[2]), self._called_as_parameters(node), self.block()))
            return False
        value = self.values[self.at] if self.kinds[self.at] == OPERATOR and self.at < self.limit else ""
        if value in _ASSIGN:
            self.at += 1
            self.skip_lines()
            several = self.language in _SEVERAL
            right = self.expression(-1) if several else self._values()
            targets = [node]
            while self.values[self.at] == "=" and self.kinds[self.at] == OPERATOR and self.at < self.limit:
                self.at += 1
                targets.append(right)
                right = self.expression(-1) if several else self._values()
            found.append(("assign", offset, targets, right, value))
            if several and self.values[self.at] == "," and self.kinds[self.at] == OPERATOR and self.at < self.limit:
                self.at += 1
                self.skip_lines()
                return True
        elif node[0] == "set":
            found.append(("assign", offset, [node[2]], node[3], "="))
        else:
            found.append(("expr", offset, node))
        self._modifier(found)
        return False

    def _skip_to_body(self) -> None:
        """What may stand between the parameters of a method and its body: `throws E`, `async`, `const`."""
        for at in range(self.at, min(self.at + 12, self.limit)):
            if self.values[at] == "{" and self.kinds[at] == OPERATOR:
                self.at = at
                return
            if self.kinds[at] not in (NAME, OPERATOR) or self.values[at] in (";", "(", "="):
                return

    def _called_as_parameters(self, node: Node) -> list[Item]:
        names = []
        for key, inner in node[3]:
            name = key if isinstance(key, str) else _last_name(inner[2] if inner[0] == "set" else inner)
            if name:
                names.append((name, None))
        return names

    def _declared(self, node: Node) -> Node:
        """A declaration with its type: before the name, or after a colon."""
        if self.syntax.typed:
            while (
                self.kinds[self.at] == NAME
                and self.at < self.limit
                and node[0] in ("name", "attr", "bin", "index")
                and self.values[self.at] not in ("if", "in")
            ):
                node = self.expression()
            return node
        if (
            self.values[self.at] == ":"
            and self.kinds[self.at] == OPERATOR
            and node[0] in ("name", "attr")
            and self.syntax.blocks != "end"
        ):
            at = self.at + 1
            while at < self.limit and self.kinds[at] != LINE and self.values[at] not in ("=", ";", "{", ","):
                at = self.match.get(at, at) + 1
            if self.values[at] in ("=", ";") or self.kinds[at] == LINE:
                self.at = at
        elif self.kinds[self.at] == NAME and self.language == "go":
            at = self.at
            while at < self.limit and self.kinds[at] != LINE and self.values[at] not in ("=", ";", "{"):
                at += 1
            if self.values[at] == "=":
                self.at = at
        return node

    def _modifier(self, found: list[Node]) -> None:
        """Ruby and Perl write a condition after the statement."""
        while (
            self.kinds[self.at] == NAME
            and self.at < self.limit
            and self.values[self.at] in ("if", "unless", "while", "until", "for", "foreach", "rescue")
            and self.language in ("ruby", "perl", "elixir")
        ):
            word, offset = self.values[self.at], self.offsets[self.at]
            self.at += 1
            condition = self.expression()
            if word in ("for", "foreach"):
                found.append(("for", offset, ["$_"], condition, [found.pop()]))
            else:
                found.insert(len(found) - 1, ("expr", offset, condition))


# Words that may stand before a bracket without being called.
_KEPT = {
    "python": frozenset(("if", "elif", "while", "with", "except", "return", "for", "from", "import", "class", "def")),
    "javascript": frozenset(
        ("if", "while", "switch", "catch", "for", "function", "return", "import", "var", "let", "const", "else", "do")
    ),
}
_WORDS = _DEFINE | _GROUP | _CONTROL | _LOOPS | MODIFIERS | _IMPORTS | {"return"}


def _last_name(node: Node) -> str:
    """The name that a declaration declares: the last of its words."""
    while node[0] in ("bin", "set"):
        node = node[4] if node[0] == "bin" else node[2]
    name: Any = node[2] if node[0] == "name" else node[3] if node[0] == "attr" else ""
    return str(name)


def parse(tokens: Tokens) -> tuple[list[Node], bool]:
    """The statements of a text, and whether they are all of them: what is too twisted is read as far as it goes."""
    parser = _Parser(tokens)
    if tokens.kinds and tokens.kinds[0] == LINE:
        parser.indent = max(tokens.values[0], 0)
    found: list[Node] = []
    try:
        while parser.at < parser.last:
            parser._progress(found)
    except (Unreadable, RecursionError):
        return found, False
    return found, True
