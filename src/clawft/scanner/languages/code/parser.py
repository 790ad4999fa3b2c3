"""Tokens to statements: definitions, blocks, control flow, assignments, imports and returns."""

from typing import Any

from clawft.scanner.languages.code.expressions import ExpressionParser, Node, NodeItem, UnreadableProgram
from clawft.scanner.languages.code.imports import read_import
from clawft.scanner.languages.code.lexer import END, LINE, NAME, OPERATOR, STRING, TokenList
from clawft.scanner.languages.code.relevance import OUTPUT_CALLS, skip_output_statement
from clawft.scanner.languages.code.syntax import DEFINERS
from clawft.scanner.regex import words

MAX_BLOCKS = 60
MODIFIERS = words(
    "public private protected internal static final async export default pub const let var my our local mut val "
    "override abstract lazy global nonlocal extern inline readonly declare state volatile sealed virtual suspend await"
)
_OPENERS = words("if unless while until for do case begin def class module function repeat cond try receive")
_DEFINE = frozenset(["def", "function", "func", "fn", "sub", "fun", "proc", "defp", "defmacro", "method", "init"])
_GROUP = words(
    "class struct impl module namespace trait interface enum object extension defmodule record protocol package"
)
_CONTROL = words(
    "if elif elsif elseif else while unless until try except catch finally switch case match when do loop begin"
    " rescue ensure then with using guard repeat unsafe synchronized default select BEGIN END autoreleasepool of"
)
_DECLARATIONS = frozenset(("const", "let", "var", "my", "our", "local", "val"))
_LOOPS = frozenset(("for", "foreach"))
_IMPORTS = frozenset(
    ["import", "from", "use", "using", "require_once", "include", "include_once", "source", "alias", "library"]
)
_ASSIGN = words("= := <- += -= *= /= .= |= &= ^= %= ||= &&= ??= **= //= <<= <<- ~=")
_SEVERAL = frozenset(
    ["javascript", "java", "csharp", "c", "dart", "php", "kotlin", "swift", "groovy"]
)  # let a = 1, b = 2
# Words that may stand before a bracket without being called.
_RESERVED = {
    "python": frozenset(("if", "elif", "while", "with", "except", "return", "for", "from", "import", "class", "def")),
    "javascript": frozenset(
        ("if", "while", "switch", "catch", "for", "function", "return", "import", "var", "let", "const", "else", "do")
    ),
}
_WORDS = _DEFINE | _GROUP | _CONTROL | _LOOPS | MODIFIERS | _IMPORTS | {"return"}


class StatementParser(ExpressionParser):
    """Reads statements: definitions, blocks, control flow, assignments, imports and returns."""

    def __init__(self, tokens: TokenList) -> None:
        super().__init__(tokens)
        self.indent = 0
        self.blocks = 0

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

    def parameters(self) -> list[NodeItem]:
        """The names between the parentheses of a definition, each with its default."""
        stop = self.match.get(self.at, -1)
        if stop < 0:
            self.at += 1
            return []
        self.at += 1
        outer, self.limit = self.limit, stop
        names: list[NodeItem] = []
        while self.at < stop:
            self._parameter(names, stop)
        self.at, self.limit = stop + 1, outer
        return names

    def _bare_parameters(self) -> list[NodeItem]:
        names: list[NodeItem] = []
        while self.at < self.limit and self.kinds[self.at] != LINE and self.values[self.at] != ";":
            if self.kinds[self.at] == NAME:
                names.append((self.values[self.at], None))
            self.at += 1
        return names

    def _parameter(self, names: list[NodeItem], stop: int) -> None:
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
                names += [(self.values[index], None) for index in range(self.at, inner) if self.kinds[index] == NAME]
                self.at = inner
            elif self.kinds[self.at] == OPERATOR and self.values[self.at] in "([<":
                self.at = max(self.at, min(self.match.get(self.at, self.at), stop))
            self.at += 1
        self.at += 1
        words = [word for word in chunk if word not in ("mut", "ref", "final", "const", "self")]
        if words:
            sigil = [word for word in words if word[0] == "$"]
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
            raise UnreadableProgram
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
                self.values[index]
                for index in range(split, stop)
                if self.kinds[index] == NAME and self.values[index][0] == "$"
            ]
            self.at = start
            source = self.expression(13)
        else:
            names = [self.values[index] for index in range(start, split) if self.kinds[index] == NAME]
            self.at = split + (2 if self.values[split + 1] == "range" else 1)
            self.header = True
            source = self.expression() if self.at < stop else nothing
            if self.syntax.blocks == "indent" and self.values[self.at] == "," and self.at < stop:
                rest: list[NodeItem] = [(None, source)]
                while self.at < stop and self.values[self.at] == ",":
                    self.at += 1
                    rest.append((None, self.expression()))
                source = ("seq", source[1], rest)
            self.header = False
        self.limit = outer
        return [name for name in names if name not in MODIFIERS or name in ("state", "default")], source

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
        return ("any", nodes[0][1], [], ("seq", nodes[0][1], [(None, node) for node in nodes])) if nodes else None

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
            if value in OUTPUT_CALLS and (end := skip_output_statement(self.tokens, self.at, self.limit)) > self.at:
                self.at = end
                return
        found.extend(self._simple())

    def _is_called(self, value: str) -> bool:
        """Return whether a word that other languages keep for themselves is the name of a function here."""
        if self.values[self.at + 1] != "(" or value in _RESERVED.get(self.language, _WORDS):
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
        items: list[NodeItem] = [(None, first)]
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

    def _called_as_parameters(self, node: Node) -> list[NodeItem]:
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


def _last_name(node: Node) -> str:
    """The name that a declaration declares: the last of its words."""
    while node[0] in ("bin", "set"):
        node = node[4] if node[0] == "bin" else node[2]
    name: Any = node[2] if node[0] == "name" else node[3] if node[0] == "attr" else ""
    return str(name)


def parse(tokens: TokenList) -> tuple[list[Node], bool]:
    """The statements of a text, and whether they are all of them: what is too twisted is read as far as it goes."""
    parser = StatementParser(tokens)
    if tokens.kinds and tokens.kinds[0] == LINE:
        parser.indent = max(tokens.values[0], 0)
    found: list[Node] = []
    try:
        while parser.at < parser.last:
            parser._progress(found)
    except (UnreadableProgram, RecursionError):
        return found, False
    return found, True
