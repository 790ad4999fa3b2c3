"""The blocks of a text: Markdown split into prose, code and comments; hidden elements, and remarks in code."""

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from clawft.scanner.regex import words

MAX_HEADING = 200
MAX_LEAD = 600


class MarkdownPart(Struct):
    """A block of a Markdown text: offsets, and the titles above it but for the document's own."""

    kind: str  # "prose", "quote", "table", "heading", "code", "comment", "frontmatter"
    start: int
    end: int
    headings: tuple[str, ...] = ()
    info: str = ""  # the info string of a fence
    lead: str = ""  # for code: the prose right before it


_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})([^`\n]*)$")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")


def split_markdown(text: str, limit: int | None = None) -> list[MarkdownPart]:
    """Every block of a text, in order, or so many. Text that is no Markdown is one or more blocks of prose."""
    return list(islice(_Splitter(text).split(), limit))


class _Splitter:
    """The state of one reading: where it is, the headings above, the block that is open."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.titles: list[tuple[int, str]] = []
        self.titled = False  # the first heading names the document: it says nothing of a place in it
        self.headings: tuple[str, ...] = ()
        self.kind = ""
        self.start = 0
        self.end = 0
        self.lead = (0, 0)
        self.in_list = False

    def split(self) -> Iterator[MarkdownPart]:
        text, size = self.text, len(self.text)
        yield from self._frontmatter()
        while self.at < size:
            stop = text.find("\n", self.at)
            stop = size if stop < 0 else stop
            line = text[self.at : stop]
            bare = line.strip()
            if not bare:
                yield from self._close()
                self.at = stop + 1
            else:
                yield from self._line(line, bare, stop)
        yield from self._close()

    def _frontmatter(self) -> Iterator[MarkdownPart]:
        match = re.match(r"\ufeff?\s{0,20}---[ \t]*\r?\n", self.text)
        if match is None:
            return
        end = re.compile(r"^(?:---|\.\.\.)[ \t\r]*$", re.MULTILINE).search(self.text, match.end())
        if end is not None:
            yield MarkdownPart("frontmatter", match.end(), end.start())
            self.at = min(len(self.text), end.end() + 1)

    def _line(self, line: str, bare: str, stop: int) -> Iterator[MarkdownPart]:
        first = bare[0]
        if ("```" in line or "~~~" in line) and (match := _FENCE.match(line)):
            yield from self._fence(match, stop)
        elif "<!--" in line and (comment := self._find_comment(line)):
            yield from self._comment(*comment)
        elif first == "#" and (match := _HEADING.match(line)):
            yield from self._close()
            yield from self._heading(len(match[1]), match[2].strip(" \t#\r"), stop)
        elif first in "=-" and self.kind == "prose" and _UNDERLINE.match(line):
            title = self.text[self.start : self.end].strip()
            self.kind = ""
            if title.count("\n") == 0:
                yield from self._heading(1 if first == "=" else 2, title, stop)
            else:
                yield MarkdownPart("prose", self.start, self.end, self.headings)
                self.at = stop + 1
        elif not self.kind and not self.in_list and line[:1] in " \t" and (line[:1] == "\t" or line[:4] == "    "):
            yield from self._indented()
        else:
            yield from self._add(first, line, stop)

    def _add(self, first: str, line: str, stop: int) -> Iterator[MarkdownPart]:
        kind = "quote" if first == ">" else "table" if first == "|" else "prose"
        if kind != self.kind:
            yield from self._close()
            self.kind, self.start = kind, self.at
        if line[:1] not in " \t" or self.kind != "prose":
            self.in_list = False
        if _MARKER.match(line):
            self.in_list = True
        self.end = stop
        self.at = stop + 1

    def _close(self) -> Iterator[MarkdownPart]:
        if self.kind:
            yield MarkdownPart(self.kind, self.start, self.end, self.headings)
            self.lead = (self.start, self.end)
            self.kind = ""

    def _heading(self, level: int, title: str, stop: int) -> Iterator[MarkdownPart]:
        while self.titles and self.titles[-1][0] >= level:
            self.titles.pop()
        self.titles.append((level, title[:MAX_HEADING] if self.titled or level > 1 else ""))
        self.titled = True
        self.headings = tuple(title for _, title in self.titles if title)
        self.lead = (0, 0)
        self.in_list = False
        yield MarkdownPart("heading", self.at, stop, self.headings)
        self.at = stop + 1

    def _fence(self, match: re.Match[str], stop: int) -> Iterator[MarkdownPart]:
        yield from self._close()
        mark, start = match[1], stop + 1
        at = start
        close = re.compile(rf"^[ \t>]*{mark[0]}{{{len(mark)},}}[ \t\r]*$", re.MULTILINE).search(self.text, at)
        end = close.start() if close else len(self.text)
        yield MarkdownPart("code", min(start, end), end, self.headings, match[2].strip(), self._lead())
        self.at = close.end() + 1 if close else end

    def _find_comment(self, line: str) -> tuple[int, int] | None:
        """Find the span of a comment; None when it is shown as code or never ends (then it is read as prose)."""
        at = line.find("<!--")
        if line[:at].count("`") % 2:
            return None
        at += self.at
        end = self.text.find("-->", at + 4)
        return None if end < 0 else (at, end)

    def _comment(self, at: int, end: int) -> Iterator[MarkdownPart]:
        if self.text[self.at : at].strip():
            self.kind = self.kind or "prose"
            self.start = self.start if self.end >= self.at - 1 and self.end else self.at
            self.end = at
        yield from self._close()
        yield MarkdownPart("comment", at + 4, end, self.headings)
        self.at = min(len(self.text), end + 3)
        if self.text[self.at : self.at + 1] == "\n":
            self.at += 1

    def _indented(self) -> Iterator[MarkdownPart]:
        match = re.compile(r"(?:(?: {4}|\t)[^\n]*(?:\n|\Z)|[ \t]*\n)+").match(self.text, self.at)
        end = match.end() if match else self.text.find("\n", self.at) + 1 or len(self.text)
        end = max(end, self.at + 1)
        yield MarkdownPart("code", self.at, end, self.headings, "", self._lead())
        self.at = end

    def _lead(self) -> str:
        start, end = self.lead
        return self.text[max(start, end - MAX_LEAD) : end].strip()


_NAMES = {
    "bash": "shell", "sh": "shell", "shell": "shell", "zsh": "shell", "console": "shell", "terminal": "shell",
    "shell-session": "shell", "shellsession": "shell", "sh-session": "shell", "ksh": "shell", "dash": "shell",
    "bash-session": "shell", "command": "shell", "cmdline": "shell", "fish": "fish", "powershell": "powershell",
    "ps1": "powershell", "pwsh": "powershell", "ps": "powershell", "posh": "powershell", "bat": "batch",
    "batch": "batch", "cmd": "batch", "dos": "batch", "python": "python", "py": "python", "python3": "python",
    "pycon": "python", "ipython": "python", "javascript": "javascript", "js": "javascript", "typescript": "javascript",
    "ts": "javascript", "jsx": "javascript", "tsx": "javascript", "mjs": "javascript", "node": "javascript",
    "nodejs": "javascript", "ruby": "ruby", "rb": "ruby", "perl": "perl", "pl": "perl", "php": "php", "lua": "lua",
    "go": "go", "golang": "go", "rust": "rust", "rs": "rust", "r": "r", "java": "java", "kotlin": "java",
    "swift": "swift", "csharp": "csharp", "cs": "csharp", "c#": "csharp", "applescript": "applescript",
    "osascript": "applescript", "dockerfile": "dockerfile", "docker": "dockerfile", "makefile": "makefile",
    "make": "makefile", "yaml": "yaml", "yml": "yaml", "json": "json", "jsonc": "json", "json5": "json", "toml": "toml",
    "ini": "ini", "vbscript": "vbscript", "vbs": "vbscript", "vb": "vbscript", "autohotkey": "autohotkey",
    "ahk": "autohotkey", "autoit": "autoit", "haskell": "haskell", "hs": "haskell", "ocaml": "ocaml",
    "erlang": "erlang", "fsharp": "fsharp", "f#": "fsharp", "julia": "julia", "jl": "julia", "clojure": "clojure",
    "clj": "clojure", "scheme": "scheme", "racket": "scheme", "elisp": "elisp", "emacs-lisp": "elisp", "lisp": "elisp",
    "tcl": "tcl", "expect": "tcl", "awk": "awk", "sed": "sed", "vim": "viml", "viml": "viml", "gnuplot": "gnuplot",
    "cmake": "cmake", "nix": "nix", "sql": "sql", "postgresql": "sql", "psql": "sql", "tsql": "sql", "latex": "latex",
    "tex": "latex", "zig": "zig", "d": "d", "crystal": "crystal", "elixir": "elixir", "nim": "nim", "dart": "dart",
    "groovy": "groovy", "c": "c", "cpp": "c", "c++": "c", "scala": "java", "reg": "registry", "gdscript": "gdscript",
    "gdb": "gdb", "html": "html", "xml": "html", "svg": "html", "vue": "html", "markdown": "markdown", "md": "markdown",
}  # fmt: skip
_COMMANDS = words(
    """
    apk apt apt-get awk base64 bash brew bun bunx busybox cargo cat cd chmod chown claude clawdhub clawhub cp
    crontab curl cut dd deno dig doas docker echo env eval exec export find gem gh git go grep gunzip head
    host iwr kill kubectl launchctl ln ls make mkdir mv nano nc ncat netcat node nohup npm npx openclaw
    openssl osascript perl php pip pip3 pipx pnpm powershell printenv printf pwsh python python3 rm rsync ruby
    scp sed sh sleep socat source ssh sudo systemctl tar tee telnet touch unzip uv uvx wget xargs xxd yarn zip
    zsh
    """
)
_WINDOWS = words(
    """
    bitsadmin certutil cmd cscript forfiles installutil msbuild mshta msiexec regasm regsvr32 rundll32 schtasks start
    wmic wscript
    """
)
_POWERSHELL = re.compile(r"\$env:|\b(?:iex|iwr)\b|\b(?:invoke|new|set|get|start|add)-[a-z]{3,}", re.IGNORECASE)
_STARTS_POWERSHELL = re.compile(r"(?:powershell|pwsh)(?:\.exe)?[ \t]+-[^\n]*$", re.IGNORECASE)
_PROMPT = re.compile(
    r"^([ \t>]*)(?:\$|%|>>>|PS(?: [^>\n]{0,80})?>|[\w.-]{1,40}@[\w.-]{1,40}[:~ ][^\n$#]{0,80}[$#])[ \t]+", re.MULTILINE
)
MAX_GUESSED_LINES = 60


def find_code_language(info: str, code: str) -> str:
    """The language of a block of code: a key of `languages.ANALYSERS`, or "text"."""
    name = info.lower().strip("{}. ").split(" ", 1)[0].split(",", 1)[0].split("{", 1)[0].split(":", 1)[0]
    if name in _NAMES:
        return _NAMES[name]
    if name and name not in ("text", "txt", "plaintext", "plain", "output", "log", "none", "copy", "sh-output"):
        return "text"
    return _guess(code)


def _guess(code: str) -> str:
    """Shell or PowerShell when lines begin with commands, Python or JavaScript when they begin so, else plain text."""
    start = code[:400].lstrip()
    if start.startswith(("#!/usr/bin/env python", "#!/usr/bin/python", "import ", "from ", "def ")) and "\n" in start:
        return "python" if re.match(r"#!|import [\w., ]+\n|from [\w.]+ import|def \w+\(", start) else "text"
    if start.startswith(("const ", "let ", "require(", "function ", "#!/usr/bin/env node")):
        return "javascript"
    if start.startswith("{") or start.startswith("["):
        return "json" if code.rstrip().endswith(("}", "]")) else "text"
    if start.startswith("#!"):
        return "shell"
    if _is_of_windows(start) or (_STARTS_POWERSHELL.match(start) and ("|" not in start or '"' in start)):
        return "batch"
    lines = code.split("\n", MAX_GUESSED_LINES)[:MAX_GUESSED_LINES]
    if any(is_command(line) for line in lines):
        return "powershell" if _POWERSHELL.search(code[:4000]) and "curl " not in code[:4000] else "shell"
    return (
        "powershell"
        if re.search(r"\b(?:iex|iwr|invoke-(?:expression|webrequest))\b", code[:4000], re.IGNORECASE)
        else "text"
    )


def is_command(line: str) -> bool:
    """Return whether a line begins like a command: a prompt, a variable set for one, a path to run, or a program
    known."""
    line = line.lstrip(" \t>")
    if line.startswith(("$ ", "% ", "./", "sudo ")):
        return True
    word, _, rest = line.partition(" ")
    if word.rstrip(";") not in _COMMANDS or not rest:
        return _is_of_windows(line)
    # "Find the file." and "make sure that" are sentences, not commands.
    return (
        word not in ("find", "make", "go", "head", "host", "cut", "touch", "kill", "source", "sleep", "node")
        or rest[:1] in "-./~$*"
        or " -" in rest
    )


def _is_of_windows(line: str) -> bool:
    """Return whether a line begins with a program of Windows that is given a switch or an address."""
    word, _, rest = line.partition(" ")
    return word.lower().removesuffix(".exe") in _WINDOWS and re.search(r"(?:^| )[/-]\w|://|,", rest[:400]) is not None


def strip_prompts(code: str) -> str:
    """Commands without the prompts before them; every offset stays."""
    return _PROMPT.sub(lambda match: " " * len(match[0]), code) if _PROMPT.search(code) else code


MAX_ELEMENTS = 200
MAX_TEXT = 20_000
MAX_TAG = 800
_TAG = re.compile(rf"<([a-z][a-z0-9]{{0,10}})(?=[\s/\"'])([^<>]{{4,{MAX_TAG}}})>", re.IGNORECASE)
_UNSEEN = re.compile(
    r"\shidden\b|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])"
    r"|opacity\s*:\s*0(?![.\d]*[1-9])|(?:max-)?height\s*:\s*0(?![.\d]*[1-9])|[\s;\"']width\s*:\s*0(?![.\d]*[1-9])"
    r"|left\s*:\s*-\d{3,}|color\s*:\s*(?:white|#fff(?:fff)?|transparent)\b|aria-hidden\s*=\s*[\"']?true|clip\s*:\s*rect"
    r"|fill\s*=\s*[\"'](?:none|transparent|white|#fff(?:fff)?)[\"']",
    re.IGNORECASE,
)


def find_hidden_elements(text: str) -> Iterator[tuple[int, int]]:
    """Find the spans of elements that are marked not to be seen."""
    lower = text.lower()
    if len(lower) != len(text) or not ("hidden" in lower or "style" in lower or "fill" in lower):
        return
    count = 0
    for match in _TAG.finditer(text):
        if not _UNSEEN.search(match[2]):
            continue
        count += 1
        if count > MAX_ELEMENTS:
            return
        end = lower.find("</" + match[1].lower(), match.end(), match.end() + MAX_TEXT)
        yield match.end(), end if end >= 0 else min(len(text), match.end() + MAX_TEXT)


MIN_BLANKS = 5
MAX_REMARKS = 4_000
_REMARK = re.compile(
    r"(?:^[ \t]*(?:#+|//+|--|;+|\*|<!--|rem\b)[ \t]+[^\n]*(?:\n|\Z))+"  # lines of comment
    r'|"""[^"\\]{20,8000}"""'
    r"|/\*[^*]{20,8000}\*/"
    r'|"[^"\n\\]{30,4000}"'
    r"|'[^'\n\\]{30,4000}'"
    r"|^[ \t-]*[\w-]{2,40}:[ \t]+[^\"'\n{\[][^\n]{30,4000}$",  # a value of YAML
    re.MULTILINE | re.IGNORECASE,
)


def find_remarks(text: str) -> Iterator[MarkdownPart]:
    """Each comment or text of several words, as a block of prose."""
    for count, match in enumerate(_REMARK.finditer(text)):
        if count >= MAX_REMARKS:
            return
        if match[0].count(" ") >= MIN_BLANKS:
            yield MarkdownPart("remark", match.start(), match.end())
