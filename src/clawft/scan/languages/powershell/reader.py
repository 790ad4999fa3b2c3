"""PowerShell, read in one pass: commands, pipelines and expressions, with constants folded. Nothing is refused."""

import re
from collections.abc import Callable

from clawft.scan.facts import Kind
from clawft.scan.languages.commands import NOTHING, Call, Value, World
from clawft.scan.languages.commands.system import check_assignment
from clawft.scan.languages.powershell.expressions import CallMember, ExpressionReader, joined
from clawft.scan.languages.powershell.operators import apply_operator, as_text, flatten
from clawft.scan.languages.powershell.tokens import TYPE, VARIABLE, WORD, name_of, unescape
from clawft.scan.languages.powershell.values import Item, sources_in

__all__ = ["Reader"]

MAX_STEPS = 60_000
_ASSIGN = re.compile(r"[ \t]*(\+?=)(?!=)[ \t]*")
_KEY = re.compile(r"(?:[A-Za-z][\w-]*|'[^'\n]*'|\"[^\"\n$]*\")[ \t]*=(?!=)[ \t]*")
_KEYWORD = re.compile(r"[A-Za-z]{2,12}(?![\w-])")
_KEYWORDS = frozenset(
    ("if", "elseif", "else", "while", "for", "foreach", "do", "until", "try", "catch", "finally", "switch", "param",
    "return", "begin",
     "process", "end", "trap", "throw", "break", "continue", "exit", "using", "class", "in", "data",
     "workflow", "filter")
)  # fmt: skip

RunCommand = Callable[["Reader", str, list[Item], Call], Item]


class Reader(ExpressionReader):
    """Reads a script and notes what it does in a world."""

    def __init__(self, text: str, world: World, run: RunCommand, member: CallMember) -> None:
        super().__init__(text, world, member)
        self.functions: dict[str, tuple[int, int]] = {}
        self._run_command = run
        self._steps = 0
        self._called: set[str] = set()

    # Statements.

    def read_script(self, begin: int, end: int) -> None:
        """A span of the text, functions that nobody calls included."""
        whole = self.text
        self.at, self.text = begin, whole if end >= len(whole) else whole[:end]
        self.read_until("")
        self.text = whole
        for name in [one for one in self.functions if one not in self._called]:
            self.call_function(name, [], NOTHING)

    def read_until(self, closing: str) -> list[Item]:
        """Statements up to a closing mark, which is passed; what they give."""
        outputs: list[Item] = []
        while self.at < len(self.text) and self._steps < MAX_STEPS:
            self._steps += 1
            self.skip(lines=True)
            char = self.text[self.at : self.at + 1]
            if not char:
                break
            if char == closing:
                self.at += 1
                return outputs
            before = self.at
            if char in ")}]":
                self.at += 1
                continue
            value = self._statement()
            if value is not NOTHING:
                outputs.append(value)
            if self.at == before:
                self.at += 1
        return outputs

    def _statement(self) -> Item:
        match = VARIABLE.match(self.text, self.at)
        if match:
            assign = _ASSIGN.match(self.text, match.end())
            if assign:
                self.at = assign.end()
                value = self._pipeline()
                self._assign(name_of(match), value, append=assign[1] == "+=", at=match.start())
                return NOTHING
        typed = TYPE.match(self.text, self.at)
        if (
            typed
            and (match := VARIABLE.match(self.text, typed.end()))
            and (assign := _ASSIGN.match(self.text, match.end()))
        ):
            self.at = assign.end()
            self._assign(name_of(match), self._pipeline(), append=assign[1] == "+=", at=match.start())
            return NOTHING
        if key := _KEY.match(self.text, self.at):  # of a table: @{ name = value }
            self.at = key.end()
            return self._pipeline()
        word = _KEYWORD.match(self.text, self.at)
        if word and word[0].lower() in ("function", "filter"):
            self.at = word.end()
            self._function()
            return NOTHING
        if word and word[0].lower() in _KEYWORDS:
            self.at = word.end()
            self.skip()
            if word[0].lower() == "foreach" and self.text.startswith("(", self.at):
                self._foreach()
            return NOTHING
        return self._pipeline()

    def _foreach(self) -> None:
        """`foreach ($x in values)`: the variable stands for all of them."""
        self.at += 1
        self.skip()
        match = VARIABLE.match(self.text, self.at)
        if match is None:
            return
        self.at = match.end()
        self.skip()
        if self.text[self.at : self.at + 2].lower() == "in":
            self.at += 2
        values = flatten(self._pipeline())
        first = values[0] if values else NOTHING
        known = len(values) == 1 and first.known
        self.variables[name_of(match)] = Value(first.text, sources_in(values), known)

    def _assign(self, name: str, value: Item, *, append: bool, at: int) -> None:
        held = self.variables.get(name)
        if append and held is not None:
            value = apply_operator(self.world, "+", held, value)
        self.variables[name] = value
        if name.startswith("env:"):
            check_assignment(self.world, name[4:].upper(), as_text(value), at)

    def _function(self) -> None:
        self.skip()
        name = WORD.match(self.text, self.at)
        if name is None:
            return
        self.at = name.end()
        open_at = self.text.find("{", self.at, self.at + 2000)
        if open_at < 0:
            return
        self.at = open_at + 1
        end = self._find_close(open_at)
        self.functions[name[0].lower()] = (open_at + 1, end)
        self.at = end + 1

    def _find_close(self, at: int) -> int:
        """The brace that closes the one at a place; strings are passed roughly."""
        depth = 0
        for match in re.compile(r"[{}]|'[^'\n]*'|\"(?:`.|[^\"`\n])*\"|#[^\n]*", re.DOTALL).finditer(self.text, at):
            mark = match[0]
            depth += (mark == "{") - (mark == "}")
            if depth == 0 and mark == "}":
                return match.start()
        return len(self.text)

    def call_function(self, name: str, args: list[Item], stdin: Value) -> Item:
        """The body of a function with its arguments."""
        span = self.functions[name]
        self._called.add(name)
        if self._depth >= 6:
            return NOTHING
        before, saved = self.at, self.text
        names = re.findall(r"\$(\w+)", re.split(r"\)\s*\n", self.text[span[0] : span[1]], maxsplit=1)[0][:600])
        plain = [one for one in args if not (isinstance(one, Value) and one.text.startswith("-") and one.known)]
        for parameter, value in zip(names, plain, strict=False):
            self.variables[parameter.lower()] = value
        self.variables["args"] = list(flatten(args))
        self.variables["_"] = stdin
        self._depth += 1
        self.at, self.text = span[0], self.text[: span[1]]
        outputs = self.read_until("")
        self.at, self.text = before, saved
        self._depth -= 1
        return joined(outputs)

    # Pipelines.

    def _pipeline(self) -> Item:
        value = self._element(NOTHING, fed=False)
        while True:
            self.skip()
            if not self.text.startswith("|", self.at) or self.text.startswith("||", self.at):
                return self._redirected(value)
            self.at += 1
            self.skip(lines=True)
            self.variables["_"] = value
            value = self._element(value, fed=True)

    def _redirected(self, value: Item) -> Item:
        match = re.compile(r"\d?(>>?)(?!&)[ \t]*").match(self.text, self.at)
        if match is None:
            return value
        self.at = match.end()
        before = self.at
        target = as_text(self._argument())
        if self.at > before and target.text.lower() not in ("$null", ""):
            self.world.write(target, as_text(value), Call(">", [], NOTHING, before), append=match[1] == ">>")
        return NOTHING

    def _element(self, stdin: Item, *, fed: bool) -> Item:
        self.skip()
        char = self.text[self.at : self.at + 1]
        if (
            char in "&."
            and char
            and self.text[self.at + 1 : self.at + 2] in " \t('\"$"
            and not self.text.startswith("&&", self.at)
        ):
            self.at += 1
            self.skip()
            return self._command(self._primary(), stdin, fed=fed)
        if char and (
            char in "$('\"@[{" or char.isdigit() or (char == "-" and self.text[self.at + 1 : self.at + 2].isalpha())
        ):
            return self._expression()
        word = WORD.match(self.text, self.at)
        if word is None:
            return NOTHING
        offset = self.at
        self.at = word.end()
        return self._command(Value(unescape(word[0])), stdin, fed=fed, offset=offset)

    def _command(self, name: Item, stdin: Item, *, fed: bool, offset: int = -1) -> Item:
        offset = offset if offset >= 0 else self.at
        args: list[Item] = []
        while self.at < len(self.text) and len(args) < 200:
            self.skip()
            char = self.text[self.at : self.at + 1]
            if char in ("", "\n", ";", "|", ")", "}", "&") or re.compile(r"\d?>>?").match(self.text, self.at):
                if re.compile(r"\d>&\d|\*?>&\d").match(self.text, self.at):
                    self.at = re.compile(r"[\d*]?>&\d").match(self.text, self.at).end()  # type: ignore[union-attr]
                    continue
                break
            before = self.at
            if char == ",":
                self.at += 1
                continue
            args.append(self._argument())
            if self.at == before:
                self.at += 1
        head = as_text(name)
        given = as_text(stdin)
        call = Call(head.text, [as_text(one) for one in args], given, offset, head.text, fed)
        function = head.text.lower()
        if function in self.functions and self._depth < 6:
            return self.call_function(function, args, given)
        if head.sources and not head.known:
            self.world.fact(Kind.EXEC, "", offset, "&", head.sources)
            return NOTHING
        return self._run_command(self, head.text, args, call)

    def _argument(self) -> Item:
        """One argument of a command: a word as it stands, or an expression without blanks."""
        char = self.text[self.at : self.at + 1]
        if char == "@" and (match := VARIABLE.match(self.text, self.at)) and name_of(match) not in self.variables:
            self.at += 1  # no table of arguments but a word: curl.exe -d @file
            named = as_text(self._argument())
            return Value("@" + named.text, named.sources, named.known)
        if char in ("$", "(", "'", '"', "@", "{", "["):
            value = self._postfix(self._primary())
            rest = WORD.match(self.text, self.at)
            if rest and isinstance(value, Value) and char in "$'\"":
                self.at = rest.end()
                value = Value(value.text + unescape(rest[0]), value.sources, value.known)
            return value
        word = WORD.match(self.text, self.at)
        if word is None:
            return NOTHING
        self.at = word.end()
        text = unescape(word[0])
        if self.text[self.at : self.at + 1] in ("$", "'", '"') and text and not text.endswith(":"):
            tail = as_text(self._argument())
            return Value(text + tail.text, tail.sources, tail.known)
        return Value(text)
