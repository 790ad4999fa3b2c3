"""Expressions of PowerShell: strings, variables, members and operators, with constants folded."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable

from clawft.scan.facts import Kind
from clawft.scan.languages.commands import NOTHING, Value, World, join_sources
from clawft.scan.languages.powershell.operators import MAX_ITEMS, apply_operator, as_text, flatten
from clawft.scan.languages.powershell.tokens import (
    MEMBER,
    NUMBER,
    OPERATOR,
    SPACE,
    TYPE,
    VARIABLE,
    WORD,
    name_of,
    unescape,
)
from clawft.scan.languages.powershell.values import Item, sources_in

__all__ = ["CallMember", "ExpressionReader", "joined"]

MAX_DEPTH = 16
_PROMPT = re.compile(r"PS [^>\n]{0,80}>[ \t]*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "", "a": "", "b": ""}

CallMember = Callable[["ExpressionReader", Item, str, list[Item], int], Item]


class ExpressionReader(ABC):
    """A place in a script at which expressions are read; statements are read by the class that extends it."""

    def __init__(self, text: str, world: World, member: CallMember) -> None:
        self.text = text
        self.at = 0
        self.world = world
        self.variables: dict[str, Item] = {}
        self._call_member = member
        self._depth = 0

    @abstractmethod
    def read_until(self, closing: str) -> list[Item]:
        """Statements up to a closing mark, which is passed; what they give."""

    def skip(self, *, lines: bool = False) -> None:
        """Blanks and comments; line breaks and `;` too where a statement may begin."""
        text = self.text
        while self.at < len(text):
            if match := SPACE.match(text, self.at):
                self.at = match.end()
            char = text[self.at : self.at + 1]
            if char == "#":
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            elif lines and char in ("\n", ";", "|", ",") and char:
                self.at += 1
                if char == "\n" and (prompt := _PROMPT.match(text, self.at)):
                    self.at = prompt.end()
            else:
                return

    def _expression(self) -> Item:
        if self._depth >= MAX_DEPTH:
            self.at += 1
            return NOTHING
        self._depth += 1
        value = self._operand()
        for _ in range(20_000):
            self.skip()
            char = self.text[self.at : self.at + 1]
            if char == ",":
                value = self._list(value)
            elif char in ("+", "*", "%", "/") and char:
                self.at += 1
                self.skip(lines=True)
                value = apply_operator(self.world, char, value, self._operand())
            elif match := OPERATOR.match(self.text, self.at):
                self.at = match.end()
                self.skip(lines=True)
                value = apply_operator(self.world, match[1].lower(), value, self._right(match[1].lower()))
            elif self.text.startswith("..", self.at):
                self.at += 2
                value = apply_operator(self.world, "..", value, self._operand())
            else:
                break
        self._depth -= 1
        return value

    def _list(self, first: Item) -> list[Value]:
        """Operands with commas between them."""
        values = list(flatten(first))
        while self.text.startswith(",", self.at):
            self.at += 1
            self.skip(lines=True)
            values += flatten(self._operand())
            self.skip()
        return values[:MAX_ITEMS]

    def _right(self, operator: str) -> Item:
        """The right side of an operator; `-f` and `-replace` take a list."""
        value = self._operand()
        if operator in ("f", "replace", "split", "join") and self.text.startswith(",", self.at + self._blank()):
            self.skip()
            return self._list(value)
        return value

    def _blank(self) -> int:
        match = SPACE.match(self.text, self.at)
        return match.end() - self.at if match else 0

    def _operand(self) -> Item:
        self.skip()
        if match := OPERATOR.match(self.text, self.at):  # -join @(…), -split "…", -not $x
            self.at = match.end()
            self.skip()
            return apply_operator(self.world, match[1].lower(), self._operand_guarded(), NOTHING)
        if self.text[self.at : self.at + 1] in ("!", "-", "+") and self.at < len(self.text):
            self.at += 1
        return self._postfix(self._primary())

    def _operand_guarded(self) -> Item:
        if self._depth >= MAX_DEPTH:
            return NOTHING
        self._depth += 1
        value = self._operand()
        self._depth -= 1
        return value

    def _primary(self) -> Item:
        text, at = self.text, self.at
        char = text[at : at + 1]
        if char == "'":
            return self._single()
        if char == '"':
            return self._double()
        if char == "@" and text[at + 1 : at + 2] in ("'", '"'):
            return self._here_string()
        if char in "($@{" and char:
            return self._bracketed(char)
        if char == "[":
            return self._type()
        if number := NUMBER.match(text, at):
            self.at = number.end()
            return Value(
                str(int(number[0], 16)) if number[0][:2].lower() == "0x" and len(number[0]) < 20 else number[0]
            )
        if word := WORD.match(text, at):
            self.at = word.end()
            return Value(unescape(word[0]))
        return NOTHING

    def _bracketed(self, char: str) -> Item:
        if match := VARIABLE.match(self.text, self.at):
            self.at = match.end()
            return self._variable(name_of(match), match.start())
        width = 1 if char in "({" else 2
        if width == 2 and self.text[self.at + 1 : self.at + 2] not in ("(", "{"):
            self.at += 1
            return NOTHING
        self.at += width
        if self._depth >= MAX_DEPTH:
            return NOTHING
        self._depth += 1
        begin = self.at
        block = char == "{"
        outputs = self.read_until("}" if self.text[begin - 1] == "{" else ")")
        self._depth -= 1
        if block:
            return Value(self.text[begin : max(begin, self.at - 1)][:20_000], sources_in(flatten(outputs)), known=True)
        if char == "@" or len(outputs) > 1:
            return flatten(outputs)
        return outputs[0] if outputs else NOTHING

    def _variable(self, name: str, at: int) -> Item:
        if name in self.variables:
            return self.variables[name]
        if name.startswith("env:"):
            if name in (
                "env:temp",
                "env:tmp",
                "env:userprofile",
                "env:home",
                "env:appdata",
                "env:localappdata",
                "env:windir",
                "env:comspec",
                "env:public",
            ):
                return Value({"env:userprofile": "~", "env:home": "~"}.get(name, "$" + name))
            fact = self.world.fact(Kind.ENV, name[4:].upper(), at, "$" + name)
            return Value("$" + name, (fact,), known=False)
        if name == "home":
            return Value("~")
        return Value("$" + name, known=name == "profile")

    def _type(self) -> Item:
        match = TYPE.match(self.text, self.at)
        if match is None:
            self.at += 1
            return NOTHING
        self.at = match.end()
        name = match[1].lower().removeprefix("system.")
        if self.text.startswith("::", self.at):
            return Value(f"[{name}]", known=False)
        self.skip()
        following = self.text[self.at : self.at + 1]
        if following and (following in "$('\"@[" or following.isdigit()) and self._depth < MAX_DEPTH:
            self._depth += 1
            value = apply_operator(self.world, f"[{name}]", self._postfix(self._primary()), NOTHING)
            self._depth -= 1
            return value
        return Value(f"[{name}]", known=False)

    def _postfix(self, value: Item) -> Item:
        """Members, calls and indexes after a value."""
        for _ in range(2000):
            if match := MEMBER.match(self.text, self.at):
                offset = self.at
                self.at = match.end()
                name = match[2].strip("'\"")
                args: list[Item] = []
                called = self.text.startswith("(", self.at)
                if called and self._depth < MAX_DEPTH:
                    self.at += 1
                    self._depth += 1
                    args = self._flat_args(self.read_until(")"))
                    self._depth -= 1
                value = self._call_member(self, value, name if called else "." + name, args, offset)
            elif (
                self.text.startswith("[", self.at)
                and not self.text.startswith("[[", self.at)
                and not TYPE.match(self.text, self.at)
                and self._depth < MAX_DEPTH
            ):
                self.at += 1
                self._depth += 1
                index = self.read_until("]")
                self._depth -= 1
                value = apply_operator(self.world, "index", value, flatten(index))
            else:
                return value
        return value

    @staticmethod
    def _flat_args(outputs: list[Item]) -> list[Item]:
        return list(outputs[0]) if len(outputs) == 1 and isinstance(outputs[0], list) else outputs

    # Strings.

    def _single(self) -> Value:
        at = self.at + 1
        pieces: list[str] = []
        while True:
            end = self.text.find("'", at)
            if end < 0:
                end = self.text.find("\n", at)
                end = len(self.text) if end < 0 else end
                pieces.append(self.text[at:end])
                break
            pieces.append(self.text[at:end])
            if not self.text.startswith("''", end):
                break
            pieces.append("'")
            at = end + 2
        self.at = end + 1
        return Value("".join(pieces))

    def _here_string(self) -> Value:
        quote = self.text[self.at + 1]
        end = self.text.find("\n" + quote + "@", self.at)
        body = self.text[self.at + 2 : end if end >= 0 else len(self.text)].strip("\r\n")
        self.at = end + 3 if end >= 0 else len(self.text)
        return Value(body) if quote == "'" else self.expand_string(body)

    def _double(self) -> Value:
        match = re.compile(r"\"((?:`.|\"\"|[^\"`])*)(?:\"|\Z)", re.DOTALL).match(self.text, self.at)
        if match is None:
            self.at += 1
            return NOTHING
        self.at = match.end()
        return self.expand_string(match[1].replace('""', '"'))

    def expand_string(self, body: str) -> Value:
        """A string in double quotes with its variables and `$( )` filled in."""
        if "$" not in body and "`" not in body:
            return Value(body)
        pieces: list[Value] = []
        at = 0
        for match in re.compile(
            r"`(.)|\$\(([^()]*(?:\([^()]*\)[^()]*)*)\)|\$(?:\{([^}\n]{1,80})\}|([A-Za-z_]\w*(?::[A-Za-z_]\w*)?))",
            re.DOTALL,
        ).finditer(body):
            pieces.append(Value(body[at : match.start()]))
            at = match.end()
            if match[1] is not None:
                pieces.append(Value(_ESCAPES.get(match[1], match[1])))
            elif match[2] is not None:
                pieces.append(self._inner(match[2]))
            else:
                pieces.append(as_text(self._variable((match[3] or match[4]).lower(), self.at - 1)))
        pieces.append(Value(body[at:]))
        known = all(one.known for one in pieces)
        return self.world.make(
            "".join(one.text for one in pieces), join_sources(*[one.sources for one in pieces]), known=known
        )

    def _inner(self, text: str) -> Value:
        if self._depth >= MAX_DEPTH:
            return NOTHING
        saved, at = self.text, self.at
        anchor = self.world.anchor
        self.world.anchor = anchor if anchor is not None else max(0, at - 1)
        self._depth += 1
        self.text, self.at = text, 0
        outputs = self.read_until("")
        self.text, self.at = saved, at
        self._depth -= 1
        self.world.anchor = anchor
        return as_text(joined(outputs))


def joined(outputs: list[Item]) -> Item:
    return outputs[0] if len(outputs) == 1 else flatten(outputs) if outputs else NOTHING
