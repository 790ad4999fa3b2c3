"""Text to tokens, for every code language, and the values of literals."""

import re
from functools import cache
from typing import Any

from clawft.scanner.languages.code.syntax import StringForm, Syntax, get_syntax
from clawft.scanner.regex import words

_ESCAPE = re.compile(
    r"\\(x[0-9a-fA-F]{1,2}|x\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]+\}|U[0-9a-fA-F]{8}|[0-7]{1,3}|\d{3}|\r?\n|.)",
    re.DOTALL,
)
_DECIMAL = re.compile(r"(?<!\\)\\(\d{1,3})")
_SIMPLE = {
    "n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "\n": "",
}  # fmt: skip


def unescape(body: str, form: StringForm) -> str:
    """The value of the inside of a string."""
    if form.holes == "{":
        body = body.replace("{{", "{").replace("}}", "}")
    if form.raw or "\\" not in body:
        return body
    if form.decimal:
        body = _DECIMAL.sub(lambda found: chr(int(found[1]) % 256), body)
    return _ESCAPE.sub(_escaped, body)


def _escaped(found: "re.Match[str]") -> str:
    code = found[1]
    try:
        if code[0] in "xuU" and len(code) > 1:
            return chr(int(code[1:].strip("{}"), 16))
        if code[0] in "01234567" and code != "0":
            return chr(int(code, 8) if len(code) < 3 or code[0] in "0123" else int(code) % 256)
    except (ValueError, OverflowError):
        return code
    return _SIMPLE.get(code, code.strip("\r\n"))


def read_number(text: str) -> Any:
    """The value of a numeric literal; 0 when it is none."""
    if text[:2].lower() in ("0x", "0o", "0b"):
        return _whole(re.sub(r"[uin]\d*$|_", "", text), 0)
    text = text.replace("_", "").rstrip("LlNnuUfFdD")
    if len(text) > 1 and text[0] == "0" and text.isdigit() and set(text) <= set("01234567"):
        return _whole(text, 8)
    if "." in text:
        try:
            return float(text)
        except ValueError:
            return 0
    digits = re.match(r"\d{0,300}", text)
    return _whole(digits[0] if digits else "", 10)


def _whole(digits: str, base: int) -> int:
    try:
        return int(digits[:300], base)
    except ValueError:
        return 0


END, NAME, NUMBER, STRING, MIXED, OPERATOR, LINE, COMMAND, WORDS = range(9)
MAX_HOLE_DEPTH = 3
PADDING = 6
MAX_WASTED = 2_000_000
MAX_OPEN = 40  # strings that are never closed, before the search for their ends is given up
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_CLOSERS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_NESTED = re.compile(r"[{}()]|\"(?:[^\"\\\n]|\\.){0,2000}\"|'(?:[^'\\\n]|\\.){0,2000}'|`[^`]{0,5000}`")
_FRESH = words("def class import from return function const let var export func fn use my sub local")


class TokenList:
    """The tokens of a text: their kinds, values and offsets, side by side."""

    __slots__ = ("kinds", "match", "offsets", "syntax", "values")

    def __init__(self, syntax: Syntax) -> None:
        self.syntax = syntax
        self.kinds: list[int] = []
        self.values: list[Any] = []
        self.offsets: list[int] = []
        self.match: dict[int, int] = {}  # the index of a bracket to the index of the one that answers it

    def add(self, kind: int, value: Any, offset: int) -> None:
        self.kinds.append(kind)
        self.values.append(value)
        self.offsets.append(offset)


class _Lexer:
    def __init__(self, text: str, language: str, base: int, depth: int) -> None:
        self.text, self.base, self.depth = text, base, depth
        self.syntax, self.pattern, self.forms = get_syntax(language)
        self.tokens = TokenList(self.syntax)
        self.brackets: list[int] = []  # indices of open brackets
        self.dead: set[str] = set()  # closings that no longer occur
        self.missing: dict[str, int] = {}  # closings that do not occur before a place
        self.wasted = 0  # characters searched without success for the ends of strings with expressions in them
        self.waiting: list[tuple[int, str, bool]] = []  # heredocs whose body begins on the next line: token, tag, holes

    def run(self) -> TokenList:
        text, tokens, base, brackets = self.text, self.tokens, self.base, self.brackets
        add_kind, add_value, add_offset = tokens.kinds.append, tokens.values.append, tokens.offsets.append
        length = len(text)
        start = text.index("<?") if self.syntax.name == "php" and "<?" in text else 0
        step = self.pattern.scanner(text, start).match  # type: ignore[attr-defined]
        index = self.pattern.groupindex
        names, common = (index.get("m", 0), index["n"]), index.get("q", 0)
        while (found := step()) is not None:
            which = found.lastindex
            if which in names:
                value = found[which]
                add_kind(NAME)
                add_value(value)
                add_offset(base + found.end() - len(value))
                continue
            kind = found.lastgroup
            if which == common or kind == "o":
                value = found[which]
                if value in _OPENING:
                    brackets.append(len(tokens.kinds))
                elif value in _CLOSING:
                    self._close(value)
                add_kind(OPERATOR)
            elif kind == "t":
                value = found["t"]
                add_kind(STRING)
                add_value(value[1:-1])
                add_offset(base + found.end() - len(value))
                continue
            elif kind is None or kind == "c":
                continue
            else:
                end = self._other(found, kind)
                if end != found.end():
                    step = self.pattern.scanner(text, end).match  # type: ignore[attr-defined]
                continue
            add_value(value)
            add_offset(base + found.end() - len(value))
        tokens.add(LINE, 0, base + length)
        for _ in range(PADDING):  # a look ahead never leaves the list
            tokens.add(END, "", base + length)
        return tokens

    def _other(self, found: "re.Match[str]", kind: str) -> int:
        """A token of the rarer kinds; gives where the next one begins."""
        if kind == "l":
            return self._line(found.end()) if self.syntax.name != "python" else self._margin(found["l"], found.end())
        if kind == "d":
            self.tokens.add(NUMBER, read_number(found["d"]), self.base + found.start("d"))
        elif kind == "p":
            self.tokens.add(STRING, "", self.base + found.start())
        else:
            return self._string(found, kind)
        return found.end()

    def _close(self, value: str) -> None:
        """Pair a closing bracket with the nearest open one of its kind; those left open in between stay unpaired."""
        brackets, values = self.brackets, self.tokens.values
        for back in range(1, min(len(brackets), 6) + 1):
            if _CLOSERS[values[brackets[-back]]] == value:
                self.tokens.match[brackets[-back]] = len(self.tokens.kinds)
                del brackets[-back:]
                return

    def _margin(self, lines: str, end: int) -> int:
        """A line break of Python, and all empty lines after it up to the first word of a line."""
        tokens = self.tokens
        margin = lines[lines.rfind("\n") + 1 :]
        if self.brackets:
            if margin or not self._starts_over(end):
                return end
            self.brackets.clear()
        indent = len(margin.expandtabs(8)) if margin else 0
        if self.text.startswith("#", end) or end == len(self.text):
            indent = -1
        if tokens.kinds and tokens.kinds[-1] == LINE:
            tokens.values[-1] = indent
        else:
            tokens.add(LINE, indent, self.base + end)
        return end

    def _line(self, position: int) -> int:
        """A line break: a token where it may end a statement; the bodies of heredocs follow it."""
        tokens = self.tokens
        if self.waiting:
            for index, tag, holes in self.waiting[:MAX_OPEN]:
                position = self._heredoc(index, tag, holes, position)
            self.waiting.clear()
        if self.syntax.newlines:
            indent = 0
            if self.syntax.blocks == "indent":
                indent = _indent(self.text, position)
            if (self.brackets and tokens.values[self.brackets[-1]] != "{") or (
                self.brackets and self.syntax.blocks == "indent"
            ):
                if not self._starts_over(position):
                    return position
                self.brackets.clear()
            if tokens.kinds and tokens.kinds[-1] == LINE:
                tokens.values[-1] = indent
            else:
                tokens.add(LINE, indent, self.base + position)
        return position

    def _starts_over(self, position: int) -> bool:
        """Return whether a line begins a new statement though a bracket is open: it was left open by mistake."""
        word = _WORD.match(self.text, position)
        return word is not None and word[0] in _FRESH and self.syntax.blocks == "indent"

    def _heredoc(self, index: int, tag: str, holes: bool, position: int) -> int:
        end = re.compile(rf"^[ \t]*{re.escape(tag)}\b", re.MULTILINE).search(self.text, position)
        if end is None:
            self.dead.add(tag)
            return position
        body = self.text[position : end.start()]
        style = ("#{" if self.syntax.name == "ruby" else "$") if holes else ""
        self._fill(index, body, position, StringForm("", raw=not holes, holes=style))
        return end.end()

    def _fill(self, index: int, body: str, start: int, form: StringForm) -> None:
        value = self._parts(body, start, form)
        self.tokens.kinds[index] = MIXED if isinstance(value, list) else STRING
        self.tokens.values[index] = value

    def _string(self, found: "re.Match[str]", key: str) -> int:
        form, start, offset = self.forms[key], found.end(), self.base + found.start(key)
        tokens = self.tokens
        if form.kind == "heredoc":
            groups = found.groupdict()
            tag = groups.get(f"tag1{key}") or groups.get(f"tag2{key}") or ""
            if tag not in self.dead and len(self.dead) < MAX_OPEN:
                self.waiting.append((len(tokens.kinds), tag, bool(form.holes)))
            tokens.add(STRING, "", offset)
            return start
        opener = self.text[start - 1]
        close = form.close or _CLOSERS.get(opener, opener)
        end = self._find_end(start, close, form, nested=not form.close and opener in _CLOSERS)
        if end < 0:
            return found.start(key) + 1
        if form.kind == "pattern2":
            second = _SPACE.sub("", self.text[end + 1 : end + 100], count=1)[:1] if opener in _CLOSERS else ""
            start2 = self.text.find(second, end + 1) + 1 if second in _CLOSERS and second else end + 1
            end2 = self._find_end(start2, _CLOSERS.get(second, close), form, nested=bool(second))
            tokens.add(STRING, "", offset)
            return max(end2, end) + 1
        if form.kind == "pattern":
            tokens.add(STRING, "", offset)
        elif form.kind == "words":
            tokens.add(WORDS, self.text[start:end].split(), offset)
        else:
            value = self._parts(self.text[start:end], start, form)
            kind = COMMAND if form.kind == "command" else MIXED if isinstance(value, list) else STRING
            if "b" in found[key].lower() and isinstance(value, str) and self.syntax.name == "python":
                value = value.encode("utf-8" if any(ord(part) > 255 for part in value) else "latin-1")
            tokens.add(kind, value, offset)
        return end + len(close)

    def _find_end(self, start: int, close: str, form: StringForm, *, nested: bool = False) -> int:
        """Find the end of a string; -1 if it has none."""
        key = f"{close}{form.lines}"
        if key in self.dead or start < self.missing.get(key, 0):
            return -1
        if nested:
            return self._find_nested(start, close)
        if form.holes and self.wasted <= MAX_WASTED and self.text.find(form.holes[0], start, start + 4000) >= 0:
            end = self._find_holed(start, close, form)
            if end >= 0:
                return end
            if form.holes == "${":
                self.dead.add(key)
                return -1
        found = _body(close, form.raw and self.syntax.name not in ("ruby", "perl", "php"), form.lines).match(
            self.text, start
        )
        if found is None:
            if form.lines:
                self.dead.add(key)
            else:
                line = self.text.find("\n", start)
                self.missing[key] = line if line >= 0 else len(self.text)
            return -1
        return found.end() - len(close)

    def _find_holed(self, start: int, close: str, form: StringForm) -> int:
        """Find the end of a string with expressions in it: a quote inside an expression does not close it."""
        opener = "${" if form.holes == "$" else form.holes
        depth = 0
        last = start
        for found in _holed(close, opener, form.lines, form.raw).finditer(self.text, start):
            mark, last = found[0], found.end()
            if mark == close:
                if depth == 0:
                    return found.start()
            elif mark == opener:
                depth += 1
            elif mark == "\n":
                break
            elif depth and mark in "{(":
                depth += 1
            elif depth and mark in "})":
                depth -= 1
        self.wasted += last - start
        return -1

    def _find_nested(self, start: int, close: str) -> int:
        opener, depth = {")": "(", "]": "[", "}": "{", ">": "<"}[close], 1
        for found in re.compile(rf"\\.|[{re.escape(opener)}{re.escape(close)}]", re.DOTALL).finditer(self.text, start):
            depth += {opener: 1, close: -1}.get(found[0], 0)
            if not depth:
                return found.start()
        self.dead.add(f"{close}True")
        return -1

    def _parts(self, body: str, start: int, form: StringForm) -> Any:
        """The value of a string: plain text, or a list of texts and of tokens where expressions stand in it."""
        if form.holes and form.holes[0] in body and self.depth < MAX_HOLE_DEPTH:
            return self._split(body, start, form)
        return body if form.raw and form.holes != "{" else unescape(body, form)

    def _split(self, body: str, start: int, form: StringForm) -> Any:
        parts: list[Any] = []
        last = 0
        for found in _holes(form.holes).finditer(body):
            if found.start() < last:
                continue
            if found.lastgroup == "name":
                hole, end, at = found["name"], found.end(), found.start("name")
            elif found.lastgroup == "open":
                at = found.end()
                end = _hole_end(body, at, ")" if form.holes == "\\(" else "}")
                hole = body[at:end]
                end += 1
            else:  # an escape, or a doubled brace
                continue
            parts.append(unescape(body[last : found.start()], form))
            if form.holes == "{" and len(hole) < 2000:
                hole = re.sub(r"![rsa]?(?::[^\"'\[\]()]*)?$|:[^\"'\[\]()]*$|=$", "", hole)
            if form.holes == "$" and found.lastgroup == "open" and not hole.startswith(("$", "@", "\\")):
                hole = "$" + hole if self.syntax.name in ("php", "perl") else hole
            parts.append(_Lexer(hole, self.syntax.name, self.base + start + at, self.depth + 1).run())
            last = end
        if not parts:
            return unescape(body, form)
        parts.append(unescape(body[last:], form))
        return parts


_WORD = re.compile(r"[a-z]+")
_SPACE = re.compile(r"\A\s+")


def tokenize(text: str, language: str) -> TokenList:
    """The tokens of a text in a language of the table."""
    return _Lexer(text, language, 0, 0).run()


@cache
def _body(close: str, raw: bool, lines: bool) -> re.Pattern[str]:
    """The rest of a string with its closing."""
    first = re.escape(close[0])
    line = "" if lines else r"\n"
    more = rf"|{first}(?!{re.escape(close[1:])})" if len(close) > 1 else ""
    if raw and close != '"""' and close != "'''" and len(close) == 1 and close not in "\"'":
        return re.compile(rf"[^{first}{line}]*{re.escape(close)}")
    return re.compile(rf"[^{first}\\{line}]*(?:(?:\\[\s\S]{more})[^{first}\\{line}]*)*{re.escape(close)}")


@cache
def _holed(close: str, opener: str, lines: bool, raw: bool) -> re.Pattern[str]:
    brackets = r"[()]" if opener == "\\(" else r"[{}]"
    escape = r"" if raw else r"\\[^(]|" if opener == "\\(" else r"\\.|"
    doubled = r"\{\{|\}\}(?!\})|" if opener == "{" else ""
    return re.compile(
        rf"{escape}{doubled}{re.escape(close)}|{re.escape(opener)}|{brackets}" + ("" if lines else r"|\n"), re.DOTALL
    )


@cache
def _holes(style: str) -> re.Pattern[str]:
    if style == "{":
        return re.compile(r"\{\{|\}\}|(?P<open>\{)")
    if style == "$":
        return re.compile(
            r"\\[\s\S]|(?P<open>[$@]\{|\{(?=\$))|(?P<name>\$[A-Za-z_]\w*(?:(?:->)?(?:\[[^\]\n]{1,60}\]|\{\w{1,40}\})|->\w+)?)"
        )
    if style == "#{":
        return re.compile(r"\\[\s\S]|(?P<open>#\{)")
    return re.compile(r"(?P<open>\\\()" if style == "\\(" else r"\\[\s\S]|(?P<open>\$\{)")


def _hole_end(body: str, start: int, close: str) -> int:
    opener, depth = "{" if close == "}" else "(", 1
    for found in _NESTED.finditer(body, start):
        depth += {opener: 1, close: -1}.get(found[0], 0)
        if not depth:
            return found.start()
    return len(body)


def _indent(text: str, position: int) -> int:
    """The column of the first word of a line; blank and comment lines have none (-1)."""
    found = _MARGIN.match(text, position)
    if found is None or found[2]:
        return -1
    return len(found[1].expandtabs(8))


_MARGIN = re.compile(r"([ \t]*)(\r?\n|#|\Z)?")
