"""PowerShell, read in one pass: commands, pipelines and expressions, with constants folded. Nothing is refused."""

import re
from collections.abc import Callable

from clawft.scanner.facts import Kind
from clawft.scanner.languages.commands import NOTHING, CommandCall, CommandContext, CommandValue, sources_of, unknown
from clawft.scanner.languages.commands.system import check_assignment
from clawft.scanner.languages.powershell.operators import (
    MAX_ITEMS,
    MEMBER,
    NUMBER,
    OPERATOR,
    SPACE,
    TYPE,
    VARIABLE,
    WORD,
    Item,
    apply_operator,
    as_text,
    flatten,
    name_of,
    unescape,
)
from clawft.scanner.regex import words

MAX_DEPTH = 16
_PROMPT = re.compile(r"PS [^>\n]{0,80}>[ \t]*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "", "a": "", "b": ""}
CallMember = Callable[["PowerShellReader", Item, str, list[Item], int], Item]
MAX_STEPS = 60_000
_ASSIGN = re.compile(r"[ \t]*(\+?=)(?!=)[ \t]*")
_KEY = re.compile(r"(?:[A-Za-z][\w-]*|'[^'\n]*'|\"[^\"\n$]*\")[ \t]*=(?!=)[ \t]*")
_KEYWORD = re.compile(r"[A-Za-z]{2,12}(?![\w-])")
_KEYWORDS = words(
    "if elseif else while for foreach do until try catch finally switch param return begin process end trap throw"
    " break continue exit using class in data workflow filter"
)
RunCommand = Callable[["PowerShellReader", str, list[Item], CommandCall], Item]


_PLAIN_VARIABLES = words(
    "env:temp env:tmp env:userprofile env:home env:appdata env:localappdata env:windir env:comspec env:public"
)


class PowerShellReader:
    """Reads a script and notes what it does in a world."""

    def __init__(self, text: str, world: CommandContext, run: RunCommand, member: CallMember) -> None:
        self.text = text
        self.at = 0
        self.world = world
        self.variables: dict[str, Item] = {}
        self.functions: dict[str, tuple[int, int]] = {}
        self._run_command = run
        self._call_member = member
        self._depth = 0
        self._steps = 0
        self._called: set[str] = set()

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

    def read_script(self, begin: int, end: int) -> None:
        """A span of the text, functions that nobody calls included."""
        whole = self.text
        self.at, self.text = begin, whole if end >= len(whole) else whole[:end]
        self.read_until("")
        self.text = whole
        for name in [function for function in self.functions if function not in self._called]:
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
        """`foreach ($x in values)`: the variable holds all of them."""
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
        self.variables[name_of(match)] = CommandValue(first.text, sources_of(values), known)

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

    def call_function(self, name: str, args: list[Item], stdin: CommandValue) -> Item:
        """The body of a function with its arguments."""
        span = self.functions[name]
        self._called.add(name)
        if self._depth >= 6:
            return NOTHING
        before, saved = self.at, self.text
        names = re.findall(r"\$(\w+)", re.split(r"\)\s*\n", self.text[span[0] : span[1]], maxsplit=1)[0][:600])
        plain = [
            argument
            for argument in args
            if not (isinstance(argument, CommandValue) and argument.text.startswith("-") and argument.known)
        ]
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
            self.world.write(target, as_text(value), CommandCall(">", [], NOTHING, before), append=match[1] == ">>")
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
        return self._command(CommandValue(unescape(word[0])), stdin, fed=fed, offset=offset)

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
        arguments = as_text(stdin)
        call = CommandCall(head.text, [as_text(argument) for argument in args], arguments, offset, head.text, fed)
        function = head.text.lower()
        if function in self.functions and self._depth < 6:
            return self.call_function(function, args, arguments)
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
            return named.with_text("@" + named.text)
        if char in ("$", "(", "'", '"', "@", "{", "["):
            value = self._postfix(self._primary())
            rest = WORD.match(self.text, self.at)
            if rest and isinstance(value, CommandValue) and char in "$'\"":
                self.at = rest.end()
                value = value.with_text(value.text + unescape(rest[0]))
            return value
        word = WORD.match(self.text, self.at)
        if word is None:
            return NOTHING
        self.at = word.end()
        text = unescape(word[0])
        if self.text[self.at : self.at + 1] in ("$", "'", '"') and text and not text.endswith(":"):
            tail = as_text(self._argument())
            return tail.with_text(text + tail.text)
        return CommandValue(text)

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

    def _list(self, first: Item) -> list[CommandValue]:
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
            return CommandValue(
                str(int(number[0], 16)) if number[0][:2].lower() == "0x" and len(number[0]) < 20 else number[0]
            )
        if word := WORD.match(text, at):
            self.at = word.end()
            return CommandValue(unescape(word[0]))
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
            return CommandValue(
                self.text[begin : max(begin, self.at - 1)][:20_000], sources_of(flatten(outputs)), known=True
            )
        if char == "@" or len(outputs) > 1:
            return flatten(outputs)
        return outputs[0] if outputs else NOTHING

    def _variable(self, name: str, at: int) -> Item:
        if name in self.variables:
            return self.variables[name]
        if name.startswith("env:"):
            if name in _PLAIN_VARIABLES:
                return CommandValue({"env:userprofile": "~", "env:home": "~"}.get(name, "$" + name))
            fact = self.world.fact(Kind.ENV, name[4:].upper(), at, "$" + name)
            return unknown("$" + name, (fact,))
        if name == "home":
            return CommandValue("~")
        return CommandValue("$" + name, known=name == "profile")

    def _type(self) -> Item:
        match = TYPE.match(self.text, self.at)
        if match is None:
            self.at += 1
            return NOTHING
        self.at = match.end()
        name = match[1].lower().removeprefix("system.")
        if self.text.startswith("::", self.at):
            return CommandValue(f"[{name}]", known=False)
        self.skip()
        following = self.text[self.at : self.at + 1]
        if following and (following in "$('\"@[" or following.isdigit()) and self._depth < MAX_DEPTH:
            self._depth += 1
            value = apply_operator(self.world, f"[{name}]", self._postfix(self._primary()), NOTHING)
            self._depth -= 1
            return value
        return CommandValue(f"[{name}]", known=False)

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
                    outputs = self.read_until(")")
                    args = [*outputs[0]] if len(outputs) == 1 and isinstance(outputs[0], list) else outputs
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

    def _single(self) -> CommandValue:
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
        return CommandValue("".join(pieces))

    def _here_string(self) -> CommandValue:
        quote = self.text[self.at + 1]
        end = self.text.find("\n" + quote + "@", self.at)
        body = self.text[self.at + 2 : end if end >= 0 else len(self.text)].strip("\r\n")
        self.at = end + 3 if end >= 0 else len(self.text)
        return CommandValue(body) if quote == "'" else self.expand_string(body)

    def _double(self) -> CommandValue:
        match = re.compile(r"\"((?:`.|\"\"|[^\"`])*)(?:\"|\Z)", re.DOTALL).match(self.text, self.at)
        if match is None:
            self.at += 1
            return NOTHING
        self.at = match.end()
        return self.expand_string(match[1].replace('""', '"'))

    def expand_string(self, body: str) -> CommandValue:
        """A string in double quotes with its variables and `$( )` filled in."""
        if "$" not in body and "`" not in body:
            return CommandValue(body)
        pieces: list[CommandValue] = []
        at = 0
        for match in re.compile(
            r"`(.)|\$\(([^()]*(?:\([^()]*\)[^()]*)*)\)|\$(?:\{([^}\n]{1,80})\}|([A-Za-z_]\w*(?::[A-Za-z_]\w*)?))",
            re.DOTALL,
        ).finditer(body):
            pieces.append(CommandValue(body[at : match.start()]))
            at = match.end()
            if match[1] is not None:
                pieces.append(CommandValue(_ESCAPES.get(match[1], match[1])))
            elif match[2] is not None:
                pieces.append(self._inner(match[2]))
            else:
                pieces.append(as_text(self._variable((match[3] or match[4]).lower(), self.at - 1)))
        pieces.append(CommandValue(body[at:]))
        return self.world.join(pieces)

    def _inner(self, text: str) -> CommandValue:
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
