"""Statements of a rare language, read one after another: calls become facts, and values flow through names."""

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from clawft.scanner.languages.commands import (
    NOTHING,
    CommandCall,
    CommandContext,
    CommandValue,
    join_sources,
    sources_of,
    unknown,
)
from clawft.scanner.languages.rare.manners import RareLanguage, compile_rare_language, find_effect
from clawft.scanner.languages.shell.evaluator import ShellEvaluator

MAX_TOKENS = 60_000
MAX_DEPTH = 24
MAX_ITEMS = 400  # of one statement
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|[0-7]{3}|.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b"}
_BINDERS = frozenset(
    ("let", "let*", "letrec", "when-let", "if-let", "binding", "for", "doseq", "loop", "with-open", "let-values")
)
_SETTERS = frozenset(
    ("def", "define", "setq", "setq-local", "set!", "setf", "defvar", "defparameter", "defconst", "defonce", "set")
)
_PASSES = frozenset(("|>", ">>="))
_LEAD = re.compile(r"^[$@%]+")
_BASE = re.compile(r"::|\.|->|:")


class BracketGroup(Struct):
    """The items between two brackets."""

    open: str
    offset: int
    items: list["StatementItem"]
    end: int = 0


class StatementItem(Struct):
    """One piece of a statement: a text, a name, an operator, a number or a group."""

    kind: str
    text: str
    offset: int
    group: BracketGroup | None = None


class RareLanguageReader:
    """Reads the statements of one document in a world."""

    def __init__(
        self, world: CommandContext, manner: RareLanguage, language: str, effects: "Mapping[str, RareEffect]"
    ) -> None:
        self.world = world
        self.manner = manner
        self.language = language
        self.effects = effects
        self.variables = {name: CommandValue(text) for name, text in manner.preset.items()}
        # Objects that an address was given to, and whether they send.
        self.requests: dict[str, tuple[CommandValue, bool]] = {}
        self.base = 0
        self._text = ""
        self._pattern = compile_rare_language(manner)
        self._joins = frozenset(manner.joins.split())
        self._assigns = frozenset(manner.assigns.split())
        self._shell = ShellEvaluator(world)

    def read(self, text: str, base: int) -> None:
        """Read a text that begins at an offset of the document."""
        self.base, self._text = base, text
        if self.manner.calls:
            self._statements(self._tree(text).items, 0)
        if self.manner.commands:
            for count, match in enumerate(re.finditer(self.manner.commands, text, re.MULTILINE | re.IGNORECASE)):
                command = max((group for group in match.groups() if group), key=len, default="")
                if command and count < MAX_ITEMS:
                    call = self.call(match[0][:40].strip(), match.start())
                    call.args = [self._filled(command.strip())]
                    self.effects["exec"](self, call, "first")

    def call(self, name: str, offset: int) -> CommandCall:
        return CommandCall(name, [], NOTHING, self.base + offset, name)

    # Text to a tree.

    def _tree(self, text: str) -> BracketGroup:
        root = BracketGroup("", 0, [])
        stack = [root]
        for count, match in enumerate(self._pattern.finditer(text)):
            kind, piece = match.lastgroup or "", match[0]
            if count > MAX_TOKENS:
                break
            if kind == "o" and piece in _CLOSERS:
                group = BracketGroup(piece, match.start(), [])
                stack[-1].items.append(StatementItem("g", piece, match.start(), group))
                if len(stack) < MAX_DEPTH:
                    stack.append(group)
            elif kind == "o" and piece in ")]}":
                self._close(stack, piece, match.start())
            elif kind != "c":
                stack[-1].items.append(StatementItem(kind, piece, match.start()))
        return root

    def _close(self, stack: list[BracketGroup], piece: str, end: int) -> None:
        for depth in range(len(stack) - 1, 0, -1):
            if _CLOSERS[stack[depth].open] == piece:
                stack[depth].end = end
                del stack[depth:]
                return

    # The tree to values.

    def _statements(self, items: list[StatementItem], depth: int) -> list[CommandValue]:
        """Statements one after another; what each gives."""
        values: list[CommandValue] = []
        start = 0
        for index in range(len(items) + 1):
            item = items[index] if index < len(items) else None
            if item is None or item.kind == "l" or (item.kind == "o" and item.text in self.manner.ends):
                if index > start:
                    values.append(self._statement(items[start : min(index, start + MAX_ITEMS)], depth))
                start = index + 1
        return values

    def _statement(self, items: list[StatementItem], depth: int) -> CommandValue:
        if self.manner.heads:
            return self._form(items, depth)
        if self.manner.pipes and (piped := self._piped(items, depth)):
            return piped
        for index, item in enumerate(items[1:5], 1):
            if item.kind == "o" and item.text in self._assigns and index + 1 < len(items):
                for earlier in items[: index - 1]:
                    self._sequence([earlier], depth)
                value = self._sequence(items[index + 1 :], depth)
                self._assign(items[index - 1], value)
                return value
        return self._sequence(items, depth)

    def _assign(self, target: StatementItem, value: CommandValue) -> None:
        names = [target] if target.group is None else target.group.items
        for name in names:
            if name.kind == "n":
                self.keep(name.text, value)

    def _run(self, command: CommandValue, call: CommandCall) -> CommandValue:
        return self.world.run_code(command, self.manner.shell, call)

    def _piped(self, items: list[StatementItem], depth: int) -> CommandValue | None:
        """`print … | "command"`, `"command" | getline name`, `getline name < path`: the ways of awk."""
        for index, item in enumerate(items):
            call = self.call(item.text, item.offset)
            if item.kind == "o" and item.text == "|" and 0 < index < len(items) - 1:
                left = self._sequence(items[:index], depth)
                if items[index + 1].text != "getline":
                    call.stdin, call.fed = left, True
                    return self._run(self._sequence(items[index + 1 :], depth), call)
                output = self._run(left, call)
                self.keep(items[min(index + 2, len(items) - 1)].text, output)
                return output
            if item.text == "<" and index > 1 and items[index - 2].text == "getline" and index + 1 < len(items):
                content = self.world.read(self._sequence(items[index + 1 :], depth), call)
                self.keep(items[index - 1].text, content)
                return content
        return None

    def keep(self, name: str, value: CommandValue) -> None:
        self.variables[self.plain(name)] = value
        if not value.known:  # so that it flows into command lines, too
            self._shell.variables[self.plain(name)] = value

    def plain(self, name: str) -> str:
        name = _LEAD.sub("", name)
        return name.lower() if self.manner.folded else name

    def _form(self, items: list[StatementItem], depth: int) -> CommandValue:
        """`name …`, as lisps and Tcl write a call: what follows is read from left to right, then the call is made."""
        head, rest = items[0], items[1:]
        if head.kind == "n" and head.text.lower() in _SETTERS and len(rest) > 1 and rest[0].kind == "n":
            value = self.merge([self._one(following, depth) for following in rest[1:]])
            self.keep(rest[0].text, value)
            return value
        if head.text in _BINDERS and rest and rest[0].group is not None and not self.manner.bare:
            self._bind(rest[0].group, depth)
            rest = rest[1:]
        values = [self._one(other, depth) for other in rest if other.kind in "sngd"]
        effect = find_effect(self.manner, head.text) if head.kind == "n" else None
        if effect:
            return self._perform(effect, head, values)
        first = self._one(head, depth) if head.kind in "sgd" or (head.kind == "n" and not self.manner.bare) else NOTHING
        return self.merge([first, *values])

    def _one(self, item: StatementItem, depth: int) -> CommandValue:
        return self.merge(self._group(item.group, depth)) if item.group is not None else self._operand(item)

    def _sequence(self, items: list[StatementItem], depth: int) -> CommandValue:
        """Evaluate values side by side; the value before `|>` or `>>=` is one more argument of the call after it."""
        arguments: list[CommandValue] = []
        start = 0
        for index in range(len(items) + 1):
            if index == len(items) or (items[index].kind == "o" and items[index].text in _PASSES):
                arguments = [self._segment(items[start:index], depth, arguments)]
                start = index + 1
        return arguments[0]

    def _segment(self, items: list[StatementItem], depth: int, arguments: list[CommandValue]) -> CommandValue:
        """From right to left: a call takes what is to its right."""
        right = list(arguments)
        joined = False  # an operator that joins stands before what was read last
        index = len(items) - 1
        while index >= 0:
            item = items[index]
            value: CommandValue | None = None
            if item.kind == "n" and (effect := find_effect(self.manner, item.text)):
                right = [self._perform(effect, item, right)]
            elif item.group is not None:
                args = self._group(item.group, depth)
                if index and items[index - 1].kind == "n" and not self.manner.spaced:
                    index -= 1
                    value = self._called(items[index], [*args, *arguments])
                else:
                    value = self.merge(args)
            elif item.kind in "snd":
                value = self._operand(item)
            elif item.kind == "o":
                joined = item.text in self._joins
            if value is not None:
                after = items[index + 1].text if index + 1 < len(items) else ""
                if joined or (self.manner.sides and right and after != ","):
                    value = self._concat(value, right.pop(0) if right else NOTHING)
                right.insert(0, value)
                joined = False
            index -= 1
        return self.merge(right)

    def _called(self, name: StatementItem, args: list[CommandValue]) -> CommandValue:
        """`name(…)`, or an index `name[…]`."""
        effect = find_effect(self.manner, name.text)
        if effect:
            return self._perform(effect, name, args)
        held = self._operand(name)
        return self.merge([held, *args]) if held.sources else self.merge(args)

    def _perform(self, effect: tuple[str, str], item: StatementItem, args: list[CommandValue]) -> CommandValue:
        call = self.call(item.text, item.offset)
        call.args = args
        return self.effects[effect[0]](self, call, effect[1])

    def _group(self, group: BracketGroup, depth: int) -> list[CommandValue]:
        """The values between two brackets: of statements in braces, else of arguments."""
        if depth > MAX_DEPTH or not group.items:
            return []
        if self.manner.bare and group.open == "{":
            self._statements(group.items, depth + 1)
            return [CommandValue(self._text[group.offset + 1 : group.end].strip())]
        if self.manner.heads:
            items = [item for item in group.items if item.kind != "l" and item.text != ","]
            if group.open == "(" or self.manner.bare:
                return [self._form(items, depth + 1)] if items else []
            return [self._one(item, depth + 1) for item in items[:MAX_ITEMS] if item.kind in "sngd"]
        if group.open == "{" and any(item.kind == "l" or item.text == ";" for item in group.items):
            return self._statements(group.items, depth + 1)
        return self._arguments(group, depth)

    def _arguments(self, group: BracketGroup, depth: int) -> list[CommandValue]:
        values: list[CommandValue] = []
        items: list[StatementItem] = []
        for item in [*group.items, StatementItem("o", ",", 0)]:
            if item.kind == "o" and item.text in (",", ";"):
                if items:
                    values.append(self._statement(items[:MAX_ITEMS], depth + 1))
                items = []
            elif item.kind != "l":
                items.append(item)
        return values

    def _bind(self, group: BracketGroup, depth: int) -> None:
        """The names of a `let`: pairs side by side, or each pair in brackets."""
        items = [item for item in group.items if item.kind != "l" and item.text != ","]
        for index, item in enumerate(items[:MAX_ITEMS]):
            if item.group is not None and item.group.items and item.group.items[0].kind == "n":
                inner = [member for member in item.group.items if member.kind != "l"]
                if group.open == "(" and len(inner) > 1:
                    self.keep(inner[0].text, self.merge([self._one(member, depth + 1) for member in inner[1:]]))
                    continue
            if index and items[index - 1].kind == "n" and item.kind != "n":
                self.keep(items[index - 1].text, self._one(item, depth + 1))

    # Operands.

    def _operand(self, item: StatementItem) -> CommandValue:
        if item.kind == "s":
            return self._string(item)
        if item.kind == "d":
            return CommandValue(item.text)
        name = self.plain(item.text)
        if self.manner.bare and not item.text.startswith("$"):
            return self._filled(item.text)
        if name in self.variables:
            return self.variables[name]
        held = self.variables.get(_BASE.split(name)[0])
        if held is not None:
            return unknown(held.text, held.sources)
        return CommandValue(item.text if self.manner.words else "", known=self.manner.words)

    def _string(self, item: StatementItem) -> CommandValue:
        text = item.text
        for quote in ("'''", '"""', "''"):
            if len(text) >= 2 * len(quote) and text.startswith(quote) and text.endswith(quote):
                text = text[len(quote) : -len(quote)]
                break
        else:
            first = min((at for at in (text.find(quote) for quote in "\"'`") if at >= 0), default=-1)
            text = text[first + 1 : -1] if first >= 0 else text
        text = _ESCAPE.sub(_unescape, text) if self.manner.escapes else text.replace('""', '"')
        return self._filled(text)

    def _filled(self, text: str) -> CommandValue:
        """A text with the names in it replaced by what they hold."""
        if not self.manner.holes or not re.search(self.manner.holes, text):
            return self.world.make(text)
        sources: list[CommandValue] = []

        def fill(match: re.Match[str]) -> str:
            held = self.variables.get(self.plain(match[1]))
            if held is None:
                return match[0]
            sources.append(held)
            return held.text if held.known else match[0]

        filled = re.sub(self.manner.holes, fill, text)
        known = all(source.known for source in sources)
        return self.world.make(filled, sources_of(sources), known=known)

    def _concat(self, left: CommandValue, right: CommandValue) -> CommandValue:
        return self.world.make(
            left.text + right.text, join_sources(left.sources, right.sources), known=left.known and right.known
        )

    def merge(self, values: list[CommandValue]) -> CommandValue:
        """Several values as one, as the words of a command line; a single one stays as it is."""
        filled = [value for value in values if value.text or value.sources]
        if len(filled) == 1:
            return filled[0]
        text = " ".join([_quoted(value.text) for value in filled[:40]])
        return self.world.make(
            text,
            sources_of(filled),
            known=bool(filled) and all(value.known for value in filled),
        )


def _quoted(text: str) -> str:
    if " " not in text or text[0] in "'\"-":
        return text
    return f'"{text}"' if "'" in text or "\\" in text else f"'{text}'"


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xu" and len(code) > 1:
        number = int(code[1:].strip("{}"), 16)
        return chr(number) if number < 0x110000 else ""
    if len(code) == 3:
        return chr(int(code, 8))
    return _PLAIN.get(code, code)


RareEffect = Callable[[RareLanguageReader, CommandCall, str], CommandValue]
