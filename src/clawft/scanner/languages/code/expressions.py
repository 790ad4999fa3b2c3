"""Tokens to expressions: one tolerant parser for all code languages. What it does not understand it steps over."""

from abc import ABC, abstractmethod
from typing import Any

from clawft.scanner.languages.code.lexer import (
    COMMAND,
    END,
    LINE,
    MIXED,
    NAME,
    NUMBER,
    OPERATOR,
    PADDING,
    STRING,
    WORDS,
    TokenList,
)
from clawft.scanner.languages.code.syntax import BINARY_OPERATORS, DEFINERS, PREFIX_OPERATORS, PREFIX_WORDS, STOP_WORDS
from clawft.scanner.regex import words

STEPS_PER_TOKEN = 40  # of the parser; sound text takes about three
Node = tuple[Any, ...]
NodeItem = tuple[Any, Any]
MAX_CHAIN = 60
_ENDS = frozenset((",", ")", "]", "}", ";", "=", "==", "+", "=>"))  # never a link of a chain, in any language
_MARKS = frozenset(("!", "?", "++", "--"))
_CALLABLE = frozenset(("name", "attr"))
MAX_NESTING = 40
_NEVER = frozenset((",", ")", "]", "}", ";", ":", "(", "{", "["))  # no operator between two values
_AUGMENTED = frozenset(("+=", ".=", "||=", "??=", "|=", "^=", "&="))


class UnreadableProgram(Exception):
    """The parser took far more steps than a text of this size can need."""


_PHP_STATEMENTS = words("include include_once require require_once echo print return new throw use")


# Words that a bracket may follow without being called.
_BEFORE_BRACKETS = words("my our local await not yield return go defer const let var try")


# Operators that go on with an expression on the next line.
_CONTINUING = words("? || && + ?? |> == === ?: .. | <>")


class ExpressionParser(ABC):
    """A place in the tokens at which expressions are read; statements are read by the class that extends it."""

    def __init__(self, tokens: TokenList) -> None:
        self.tokens = tokens
        self.kinds, self.values, self.offsets, self.match = tokens.kinds, tokens.values, tokens.offsets, tokens.match
        self.syntax = tokens.syntax
        self.language = tokens.syntax.name
        self.plain = self.language in ("python", "javascript")  # a name is a name there, whatever follows
        self.attrs, self.commands = tokens.syntax.attrs, tokens.syntax.commands
        self.at = 0
        self.limit = self.last = len(tokens.kinds) - PADDING
        self.depth = 0
        self.room = STEPS_PER_TOKEN * len(tokens.kinds)  # steps that are left: no text may hold the parser up
        self.header = False  # in the head of a control statement: an open brace begins its block

    def step(self) -> None:
        """Count a step. Every loop that does not move on by itself comes through here."""
        self.room -= 1
        if self.room < 0:
            raise UnreadableProgram

    def skip_lines(self) -> None:
        while self.kinds[self.at] == LINE and self.at < self.limit:
            self.at += 1

    def skip_lines_before(self, value: str) -> None:
        """Step over line breaks if the given token comes after them."""
        ahead = self.at
        while self.kinds[ahead] == LINE:
            ahead += 1
        if self.values[ahead] == value:
            self.at = ahead

    @abstractmethod
    def block(self, stop: int = -1) -> list[Node]:
        """Read the statements between braces; `stop` is where they end when the opening brace is passed already."""

    @abstractmethod
    def end_block(self, *, opened: bool = False) -> list[Node]:
        """Read the statements up to the `end` that closes this block."""

    @abstractmethod
    def parameters(self) -> list[NodeItem]:
        """Read the names between the parentheses of a definition, each with its default."""

    def expression(self, level: int = 0) -> Node:
        """The expression that begins here; always moves on by at least one token unless a closing one is met."""
        self.room -= 1
        if self.room < 0:
            raise UnreadableProgram
        if self.depth > MAX_NESTING:
            offset = self.offsets[self.at]
            self.at = self.match.get(self.at, self.at) + 1
            return ("const", offset, None)
        self.depth += 1
        try:
            left = self._unary()
            return self._binary(left, level)
        finally:
            self.depth -= 1

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
            strength = BINARY_OPERATORS.get(value)
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
        if self.kinds[ahead] == OPERATOR and self.values[ahead] in _CONTINUING:
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
        if kind == OPERATOR and value in PREFIX_OPERATORS:
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
        if kind == NAME and value in PREFIX_WORDS and self._prefixes(at):
            self.at += 2 if self.values[at + 1] in ("!", "?") and self.kinds[at + 1] == OPERATOR else 1
            return self.expression(
                3 if value in ("not", "defined") else 0 if value in ("yield", "return", "throw", "raise") else 12
            )
        return self._postfix(self._primary())

    def _prefixes(self, at: int) -> bool:
        """Return whether a prefix word stands before something that it can modify."""
        kind, value = self.kinds[at + 1], self.values[at + 1]
        word = self.values[at]
        if word in ("go", "defer") and self.language != "go":
            return False
        if word == "async" and value == "(":
            return bool(self.values[min(self.match.get(at + 1, at) + 1, self.limit)] in ("=>", ":"))
        if word == "try" and kind == OPERATOR and value in ("!", "?"):
            return True
        if kind == OPERATOR:
            return (value in "({[" and self.values[at] in _BEFORE_BRACKETS) or value in ("&", "*", "-", "%", "@", "\\")
        return kind in (STRING, MIXED, NUMBER, COMMAND) or (kind == NAME and value not in STOP_WORDS)

    def items(self) -> list[NodeItem]:
        """Read the items between two brackets, from the opening one on to behind the closing one."""
        stop = self.match.get(self.at, -1)
        limit = stop if stop >= 0 else self.limit
        header, self.header = self.header, False
        outer, self.limit = self.limit, limit
        self.at += 1
        start = self.at
        found: list[NodeItem] = []
        while self.at < limit:
            kind = self.kinds[self.at]
            if kind == LINE or (kind == OPERATOR and self.values[self.at] in (",", ";")):
                self.at += 1
                continue
            if stop < 0 and kind == OPERATOR and self.values[self.at] in (")", "]", "}"):
                break
            before = self.at
            found.append(self.item())
            if self.at <= before:
                self.at = before + 1
        self.at = min(limit + 1, self.last) if stop >= 0 else max(start, min(self.at + 1, outer))
        self.limit, self.header = outer, header
        return found

    def item(self) -> NodeItem:
        """One element of a list, a map or an argument list, with its key if it has one."""
        kind, at = self.kinds[self.at], self.at
        after = self.values[at + 1] if self.kinds[at + 1] == OPERATOR else ""
        if (
            kind in (NAME, STRING)
            and (after in (":", "=>") or (after == "=" and kind == NAME))
            and not (after == "=>" and kind == NAME and self._arrow_ahead(self.values[at]))
            and not (after == ":" and self.language == "python")  # a key is an expression there
        ):
            self.at += 2
            self.skip_lines()
            return (str(self.values[at]), self.expression())
        node = self.expression()
        if self.kinds[self.at] == NAME and self.values[self.at] in ("for", "async") and self.syntax.blocks == "indent":
            node = self._comprehension(node)
        value = self.values[self.at] if self.kinds[self.at] == OPERATOR else ""
        if value in ("=>", ":", "->") and self.at < self.limit:
            self.at += 1
            self.skip_lines()
            second = self.expression()
            if self.kinds[self.at] == NAME and self.values[self.at] == "for":
                second = self._comprehension(second)
                return (None, ("comp", second[1], ("seq", node[1], [(None, node), (None, second[2])]), second[3]))
            return (node, second)
        if value == "{" and node[0] == "call" and self.language == "javascript" and node[2][0] == "name":
            return (
                node[2][2],
                ("lambda", node[1], [(inner[2], None) for _, inner in node[3] if inner[0] == "name"], self.block()),
            )
        return (None, node)

    def _python_index(self, node: Node) -> Node:
        """An index or a slice."""
        stop = self.match.get(self.at, -1)
        if stop < 0:
            return ("index", node[1], node, self.items())
        outer, self.limit = self.limit, stop
        self.at += 1
        parts: list[Node] = []
        empty: Node = ("const", node[1], None)
        slot, sliced = empty, False
        while self.at < stop:
            value, before = self.values[self.at], self.at
            if self.kinds[self.at] == OPERATOR and value in (":", "::", ","):
                sliced = sliced or value != ","
                parts += [slot] if value != "::" else [slot, empty]
                slot = empty
                self.at += 1
            else:
                slot = self.expression()
                self.at = max(self.at, before + 1)
        parts.append(slot)
        self.at, self.limit = stop + 1, outer
        if sliced:
            return ("index", node[1], node, [(None, ("slice", node[1], parts))])
        return ("index", node[1], node, [(None, part) for part in parts])

    def _comprehension(self, node: Node) -> Node:
        loops: list[tuple[list[str], Node]] = []
        while self.at < self.limit and self.kinds[self.at] == NAME and self.values[self.at] in ("for", "async"):
            self.at += 1 if self.values[self.at] == "for" else 2
            names = []
            while self.at < self.limit and self.values[self.at] != "in":
                if self.kinds[self.at] == NAME:
                    names.append(self.values[self.at])
                self.at += 1
            self.at += 1
            loops.append((names, self.expression(1)))
            while self.at < self.limit and self.values[self.at] == "if":
                self.at += 1
                self.expression(1)
        return ("comp", node[1], node, loops)

    def _arrow_ahead(self, value: str) -> bool:
        if self.values[self.at + 1] == "->":
            return self.language in ("java", "kotlin", "groovy", "elixir")
        return self.language in ("javascript", "csharp", "dart", "java") and value not in ("default",)

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
            return ("seq", offset, [(None, ("const", offset, part)) for part in value])
        if kind == OPERATOR:
            return self._bracketed(value, offset)
        return ("const", offset, None)

    def _text(self, value: Any, offset: int) -> Node:
        if not isinstance(value, list):
            return ("const", offset, value)
        return ("mixed", offset, [part if isinstance(part, str) else self._hole(part) for part in value])

    def _hole(self, tokens: TokenList) -> Node:
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
        if all(part[0] == "const" and type(part[2]) is type(node[2]) for part in parts):
            return ("const", offset, type(node[2])().join(part[2] for part in parts))
        return ("mixed", offset, [inner for part in parts for inner in (part[2] if part[0] == "mixed" else [part])])

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

    def _python_lambda(self) -> list[NodeItem]:
        names: list[NodeItem] = []
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
        """Find the arrow of a function with a written return type, if there is one near."""
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
            items = [(value[2] if key is None and value[0] == "name" else key, value) for key, value in items]
        return ("seq", offset, items)

    def _closure(self, offset: int) -> Node:
        """A block as a value: `{ x -> … }`, `{ |x| … }`, `{ x in … }`."""
        close = self.match.get(self.at, self.limit)
        names: list[NodeItem] = [("it", None), ("$0", None)]
        for at in range(self.at + 1, min(self.at + 12, close)):
            if self.values[at] in ("->", "in") and self.kinds[at] != STRING:
                names = [(self.values[index], None) for index in range(self.at + 1, at) if self.kinds[index] == NAME]
                self.values[at] = ";"
                self.kinds[at] = OPERATOR
                break
        return ("lambda", offset, names, self.block())

    def _bars(self) -> list[NodeItem]:
        """The parameters between two bars."""
        names: list[NodeItem] = []
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
        """Return whether an operator only says something of the value before it: `!`, `?`, `++`."""
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
        """Return whether a chain of calls goes on after the line break; moves there."""
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
        keys: list[NodeItem] = [
            (None, ("const", item[1][1], item[1][2]) if item[1][0] == "name" and item[1][2][0] != "$" else item[1])
            for item in items
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
        """Return whether what follows can only be an argument of a call without parentheses."""
        at = self.at
        kind, value = self.kinds[at], self.values[at]
        if node[0] == "name" and (node[2][0] in "$@" or node[2] in STOP_WORDS):
            return False
        if kind in (STRING, MIXED, COMMAND, WORDS):
            return True
        if self.language == "lua":
            return False
        if kind == NAME:
            return value not in STOP_WORDS and (self.language != "php" or node[-1] in _PHP_STATEMENTS)
        if kind == NUMBER:
            return self.language != "php"
        if kind == OPERATOR and value in ("[", ":", "->", "\\", "*", "&", "@", "<", "%"):
            gap_before = self.offsets[at] > self.offsets[at - 1] + len(str(self.values[at - 1]))
            tight_after = self.offsets[at + 1] == self.offsets[at] + len(value)
            return gap_before and tight_after and self.language in ("ruby", "perl") and value not in ("->",)
        return False

    def _command(self, node: Node) -> Node:
        """A call without parentheses: its arguments go on to the end of the statement."""
        items: list[NodeItem] = []
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
