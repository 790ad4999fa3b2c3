"""What follows a value: members, calls, indexes, blocks and arguments without parentheses."""

from clawft.scan.languages.code.cursor import Item, Node
from clawft.scan.languages.code.lexer import (
    COMMAND,
    END,
    LINE,
    MIXED,
    NAME,
    NUMBER,
    OPERATOR,
    STRING,
    WORDS,
)
from clawft.scan.languages.code.primaries import Primaries

__all__ = ["STOP_WORDS", "Chains"]

MAX_CHAIN = 60
STOP_WORDS = frozenset(
    [
        "if",
        "else",
        "elif",
        "elsif",
        "elseif",
        "unless",
        "while",
        "until",
        "for",
        "then",
        "do",
        "end",
        "rescue",
        "ensure",
        "except",
        "finally",
        "catch",
        "and",
        "or",
        "in",
        "of",
        "is",
        "as",
        "from",
        "import",
        "instanceof",
        "isa",
        "eq",
        "ne",
        "xor",
        "x",
        "div",
        "mod",
        "to",
        "when",
        "with",
        "use",
        "where",
        "foreach",
        "bxor",
        "not",
    ]
)
_ENDS = frozenset((",", ")", "]", "}", ";", "=", "==", "+", "=>"))  # never a link of a chain, in any language
_MARKS = frozenset(("!", "?", "++", "--"))
_CALLABLE = frozenset(("name", "attr"))


class Chains(Primaries):
    """The part of the parser that reads chains."""

    def _postfix(self, node: Node) -> Node:
        start, links = node, 0
        kinds, values = self.kinds, self.values
        while True:
            kind, value = kinds[self.at], values[self.at]
            if kind == OPERATOR:
                if value in _ENDS:
                    return node
                if value in _MARKS and self._is_mark(value):
                    self.at += 1
                    continue
                found = self._link(node, value)
                if found is None:
                    return node
                node = found
            elif kind != LINE:
                return self._called_plainly(node)
            elif not self._chains_on():
                return node
            self.step()
            links += 1
            if links > MAX_CHAIN:
                node, links = start, 0  # no one writes such a chain: its end matters more than its middle

    def _link(self, node: Node, value: str) -> Node | None:
        """One more link of a chain; None at its end."""
        if value in self.attrs and not (value == ":" and not self._is_method()):
            return self._attribute(node)
        if value == "(":
            return self._trailing_block(("call", node[1], node, self.items()))
        if value == "[":
            return self._index(node)
        if value == "{":
            return self._brace(node)
        if self.commands and node[0] in _CALLABLE and self._command_ahead(node):
            return self._command(node)
        return None

    def _called_plainly(self, node: Node) -> Node:
        """A call without parentheses, with a block or arguments; or just the node."""
        kind, value = self.kinds[self.at], self.values[self.at]
        if value == "do" and kind == NAME and not self.header and self.language in ("ruby", "elixir"):
            if node[0] in ("call", "attr", "name"):
                return self._trailing_block(node if node[0] == "call" else ("call", node[1], node, []))
        elif self.commands and kind != END and node[0] in _CALLABLE and self._command_ahead(node):
            return self._command(node)
        return node

    def _is_mark(self, value: str) -> bool:
        """Whether an operator only says something of the value before it: `!`, `?`, `++`."""
        if value in ("!", "?"):
            return self.language in ("rust", "kotlin", "swift", "csharp") and self._is_unwrap()
        return value in ("++", "--") and self.language != "elixir"

    def _is_unwrap(self) -> bool:
        return self.values[self.at + 1] in (".", ";", ")", ",", "?", "}", "!") or self.kinds[self.at + 1] == LINE

    def _is_method(self) -> bool:
        """In Lua a colon calls a method."""
        return self.kinds[self.at + 1] == NAME and (
            self.values[self.at + 2] == "(" or self.kinds[self.at + 2] == STRING
        )

    def _chains_on(self) -> bool:
        """Whether a chain of calls goes on after the line break; moves there."""
        ahead = self.at
        while self.kinds[ahead] == LINE:
            ahead += 1
        value = self.values[ahead]
        if (
            self.kinds[ahead] == OPERATOR
            and value in self.attrs
            and value not in ("::", ":", "@", "$")
            and self.syntax.blocks != "indent"
        ):
            self.at = ahead
            return True
        return False

    def _attribute(self, node: Node) -> Node | None:
        value = self.values[self.at]
        after = self.at + 1
        while self.kinds[after] == LINE:
            after += 1
        kind, name = self.kinds[after], self.values[after]
        if kind == NAME:
            self.at = after + 1
            return ("attr", self.offsets[after], node, name)
        if kind == OPERATOR and name in "([{" and value in ("->", "?.", ".", "::"):
            self.at = after
            if name == "{" and self.language == "perl":
                return self._brace_index(node)
            if name == "(":  # a call through a reference, or .() as Ruby and Elixir write it
                return ("call", node[1], node, self.items())
            return node if name == "[" else None
        if kind == OPERATOR and name == "<" and value == "::":
            return self._turbofish(node, after)
        if kind in (STRING, NUMBER):
            self.at = after + 1
            return ("attr", self.offsets[after], node, str(name))
        return None

    def _turbofish(self, node: Node, at: int) -> Node:
        """Rust writes types between a name and its arguments: stepped over."""
        for ahead in range(at, min(at + 30, self.limit)):
            if self.values[ahead] in (">", ">>") and self.values[ahead + 1] in ("(", "::"):
                self.at = ahead + 1
                return node
        self.at = at + 1
        return node

    def _index(self, node: Node) -> Node | None:
        if (
            self.commands
            and self.language == "ruby"
            and node[0] == "name"
            and self.offsets[self.at] > node[1] + len(node[2])
        ):
            return None if not self._command_ahead(node) else self._command(node)
        if self.language == "python":
            return self._python_index(node)
        return ("index", node[1], node, self.items())

    def _brace_index(self, node: Node) -> Node:
        items = self.items()
        keys: list[Item] = [
            (None, ("const", one[1][1], one[1][2]) if one[1][0] == "name" and one[1][2][0] != "$" else one[1])
            for one in items
        ]
        return ("index", node[1], node, keys)

    def _brace(self, node: Node) -> Node | None:
        language = self.language
        if language == "perl":
            if (
                node[0] in ("index", "attr")
                or (node[0] == "name" and node[2][0] == "$" and not self.header)
                or (self.header and self.offsets[self.at] == node[1] + len(str(node[2])))
            ):
                return self._brace_index(node)
            return None
        if self.header:
            return None
        if language in ("ruby", "kotlin", "swift", "groovy"):
            if node[0] in ("call", "name", "attr"):
                call = node if node[0] == "call" else ("call", node[1], node, [])
                return self._trailing_block(call)
            return None
        if language in ("java", "c") and node[0] != "index":
            return None
        if language in ("go", "rust", "csharp", "java", "c", "lua") and node[0] in ("name", "attr", "index", "call"):
            items = self.items()
            return (
                ("call", node[1], node, items)
                if language == "lua" or node[0] in ("name", "attr")
                else ("seq", node[1], items)
            )
        return None

    def _trailing_block(self, call: Node) -> Node:
        """A block given to a call: `list.each do |x| … end`, `{ |x| … }`."""
        value, language = self.values[self.at], self.language
        if language in ("ruby", "elixir") and value == "do" and self.kinds[self.at] == NAME and not self.header:
            offset = self.offsets[self.at]
            self.at += 1
            names = self._bars() if self.values[self.at] == "|" else []
            return (
                "call",
                call[1],
                call[2],
                [*call[3], (None, ("lambda", offset, names, self.end_block(opened=True)))],
            )
        if value == "{" and self.kinds[self.at] == OPERATOR and not self.header:
            offset = self.offsets[self.at]
            if language == "ruby":
                names, start = [], self.at
                if self.values[self.at + 1] == "|":
                    self.at += 1
                    names = self._bars()
                    body = self.block(self.match.get(start, self.limit))
                else:
                    body = self.block()
                return ("call", call[1], call[2], [*call[3], (None, ("lambda", offset, names, body))])
            if language in ("kotlin", "swift", "groovy"):
                return ("call", call[1], call[2], [*call[3], (None, self._closure(offset))])
        return call

    def _command_ahead(self, node: Node) -> bool:
        """Whether what follows can only be an argument of a call without parentheses."""
        at = self.at
        kind, value = self.kinds[at], self.values[at]
        if node[0] == "name" and (node[2][0] in "$@" or node[2] in STOP_WORDS):
            return False
        if kind in (STRING, MIXED, COMMAND, WORDS):
            return True
        if self.language == "lua":
            return False
        if kind == NAME:
            return value not in STOP_WORDS and (
                self.language != "php"
                or node[-1]
                in (
                    "include",
                    "include_once",
                    "require",
                    "require_once",
                    "echo",
                    "print",
                    "return",
                    "new",
                    "throw",
                    "use",
                )
            )
        if kind == NUMBER:
            return self.language != "php"
        if kind == OPERATOR and value in ("[", ":", "->", "\\", "*", "&", "@", "<", "%"):
            gap_before = self.offsets[at] > self.offsets[at - 1] + len(str(self.values[at - 1]))
            tight_after = self.offsets[at + 1] == self.offsets[at] + len(value)
            return gap_before and tight_after and self.language in ("ruby", "perl") and value not in ("->",)
        return False

    def _command(self, node: Node) -> Node:
        """A call without parentheses: its arguments go on to the end of the statement."""
        items: list[Item] = []
        language = self.language
        while self.at < self.limit and self.kinds[self.at] != LINE:
            before = self.at
            items.append(self.item())
            if self.values[self.at] == "," and self.kinds[self.at] == OPERATOR:
                self.at += 1
                self.skip_lines()
                continue
            if language == "perl" and len(items) == 1 and self._is_argument(self.at):
                continue  # print HANDLE LIST, system PROGRAM LIST
            if self.at == before or language != "lua":
                break
        return self._trailing_block(("call", node[1], node, items))

    def _is_argument(self, at: int) -> bool:
        if self.values[at] == "<" and self.kinds[at] == OPERATOR:
            return self.kinds[at + 1] == NAME and bool(self.values[at + 2] == ">")
        return self.kinds[at] in (STRING, MIXED) or (self.kinds[at] == NAME and self.values[at] not in STOP_WORDS)
