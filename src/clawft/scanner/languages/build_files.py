"""Dockerfiles and Makefiles: what is run while something is built."""

import re

import msgspec

from clawft.scanner.facts import Analysis, Document, Kind
from clawft.scanner.languages.commands import NOTHING, CommandCall, CommandContext, CommandValue, run_call, unknown
from clawft.scanner.languages.long_texts import find_windows
from clawft.scanner.languages.shell.evaluator import ShellEvaluator
from clawft.scanner.languages.shell.parser import ShellParser

_MARKS = ("RUN", "CMD", "ENTRYPOINT", "ADD", "ENV", "run ", "curl", "wget")
_INSTRUCTION = re.compile(
    r"^[ \t]*(?:ONBUILD[ \t]+)?(FROM|RUN|CMD|ENTRYPOINT|ADD|COPY|ENV|ARG|HEALTHCHECK|SHELL|WORKDIR|USER)[ \t]+",
    re.IGNORECASE | re.MULTILINE,
)
_COMMENT = re.compile(r"^[ \t]*#[^\n]*$", re.MULTILINE)
_CONTINUED = re.compile(r"[^\n]*?(?:\\[ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*[^\n]*?)*(?:\n|\Z)")
_HERE = re.compile(r"<<-?[ \t]*['\"]?(\w+)['\"]?")
_FLAG = re.compile(r"--[a-z-]+(?:=\S+)?[ \t]+")
_PAIR = re.compile(r"([A-Za-z_]\w*)=(\"(?:\\.|[^\"\\])*\"|'[^']*'|\S*)")


def analyse_dockerfile(document: Document) -> Analysis:
    """The facts of a Dockerfile."""
    world = CommandContext(document)
    shell = ShellEvaluator(world)
    for begin, end in find_windows(document.text, _MARKS):
        at = begin
        while match := _INSTRUCTION.search(document.text, at, end):
            stop = _find_end(document.text, match.end(), end)
            _instruction(shell, match[1].upper(), document.text[match.end() : stop], match.end())
            at = max(stop, match.end())
    return world.finish()


def _find_end(text: str, at: int, end: int) -> int:
    """Find the end of an instruction, after its continued lines and its here-document."""
    line = _CONTINUED.match(text, at, end)
    stop = line.end() if line and line.end() > at else end
    if here := _HERE.search(text, at, stop):
        close = re.compile(rf"^\t*{re.escape(here[1])}[ \t\r]*$", re.MULTILINE).search(text, stop, end)
        stop = close.end() if close else stop
    return stop


def _instruction(shell: ShellEvaluator, name: str, text: str, offset: int) -> None:
    text = _COMMENT.sub(lambda match: " " * len(match[0]), text)
    while flag := _FLAG.match(text):
        text, offset = text[flag.end() :], offset + flag.end()
    if name == "HEALTHCHECK":
        name, _, text = "CMD", "", re.sub(r"^\s*CMD\s+", "", text)
    if name in ("RUN", "CMD", "ENTRYPOINT"):
        _run(shell, text, offset)
    elif name in ("ENV", "ARG"):
        _set(shell, text, offset)
    elif name in ("ADD", "COPY"):
        _add(shell, name, text.split(), offset)
    elif name == "FROM" and (image := text.split()[:1]) and image[0].lower() != "scratch":
        shell.world.fact(Kind.INSTALL, "docker:" + image[0], offset, "FROM")


def _run(shell: ShellEvaluator, text: str, offset: int) -> None:
    body = text.strip()
    if body.startswith("["):
        try:
            words = msgspec.json.decode(body.partition("]")[0].replace("\\\n", "") + "]", type=list[str])
        except msgspec.DecodeError:
            words = []
        if words:
            run_call(shell.world, [CommandValue(word) for word in words], CommandCall("", [], NOTHING, offset))
            return
    if here := _HERE.match(body):  # RUN <<EOF: the lines are the script
        inner = text[text.find("\n") + 1 :]
        text, offset = inner.rpartition(here[1])[0], offset + text.find("\n") + 1
    shell.run_script(ShellParser(text, base=offset).read())


def _set(shell: ShellEvaluator, text: str, offset: int) -> None:
    pairs = _PAIR.findall(text.replace("\\\n", " "))
    if not pairs and len(parts := text.split(None, 1)) == 2:
        pairs = [(parts[0], parts[1].strip())]
    for name, value in pairs:
        shell.set_variable(name, CommandValue(value.strip("'\"")), CommandCall("ENV", [], NOTHING, offset))


def _add(shell: ShellEvaluator, name: str, words: list[str], offset: int) -> None:
    if len(words) < 2:
        return
    call = CommandCall(name, [], NOTHING, offset)
    for word in words[:-1]:
        if re.match(r"(?:https?|git|ftp)://|git@", word):
            fact = shell.world.fact(Kind.FETCH, word, offset, name)
            target = words[-1] + word.rpartition("/")[2] if words[-1].endswith("/") else words[-1]
            shell.world.write(CommandValue(target), unknown("$(ADD)", (fact,)), call)


MAX_EXPANSIONS = 20_000
MAX_LINE = 60_000
_MAKEFILE_MARKS = ("curl", "wget", "$(shell", "http", "bash", "sh ", "python", "base64", "rm ", "ssh", "nc ")
_LOGICAL = re.compile(r"[^\n]*?(?:\\\r?\n[^\n]*?)*(?:\n|\Z)")
_ASSIGN = re.compile(
    r"^[ ]*(?:export[ \t]+|override[ \t]+)*([A-Za-z_.][\w.-]*)[ \t]*(::?:?=|\?=|\+=|!=|=)[ \t]*(.*)$", re.DOTALL
)
_TARGET = re.compile(r"^[^\s#:=][^#:=\n]*::?(?!=)([^\n;]*)(?:;(.*))?$", re.DOTALL)
_PREFIX = re.compile(r"^[\s@+-]+")


def analyse_makefile(document: Document) -> Analysis:
    """The facts of a Makefile."""
    reader = _Reader(CommandContext(document))
    for begin, end in find_windows(document.text, _MAKEFILE_MARKS):
        reader.read(document.text[begin:end], begin)
    return reader.world.finish()


class _Reader:
    def __init__(self, world: CommandContext) -> None:
        self.world = world
        self._shell = ShellEvaluator(world)
        self._variables: dict[str, str] = {"MAKE": "make", "HOME": "$$HOME", "SHELL": "sh", "CURDIR": "."}
        self._final: set[str] = set()  # set by `:=`: filled in already
        self._expansions = 0

    def read(self, text: str, base: int) -> None:
        recipes: list[tuple[str, int]] = []
        for match in _LOGICAL.finditer(text):
            line, offset = match[0].rstrip("\r\n"), base + match.start()
            if line.startswith("\t") or (line.startswith("    ") and recipes and not _ASSIGN.match(line)):
                recipes.append((line, offset))
            elif not line or line.lstrip().startswith("#"):
                continue
            elif assign := _ASSIGN.match(line):
                self._assign(assign[1], assign[2], assign[3].replace("\\\n", " ").strip(), offset)
            elif (target := _TARGET.match(line)) and not line.startswith("$("):
                recipes.append((target[2] or "", offset))
                self._expand(target[1] or "", offset)
            else:
                self._expand(line, offset)  # $(shell …) and $(eval …) on their own
        # A variable may be set after the recipe that uses it.
        for line, offset in recipes:
            self._recipe(line, offset)

    def _recipe(self, line: str, offset: int) -> None:
        prefix = _PREFIX.match(line)
        body = line[prefix.end() :] if prefix else line
        if body and not body.startswith("#"):
            self._run(self._expand(body, offset), offset)

    def _run(self, command: str, offset: int) -> CommandValue:
        before, self.world.anchor = self.world.anchor, offset
        value = self._shell.run_nodes(ShellParser(command[:MAX_LINE]).read())
        self.world.anchor = before
        self.world.cwd = ""
        return value

    def _assign(self, name: str, mark: str, value: str, offset: int) -> None:
        if mark == "?=" and name in self._variables:
            return
        if mark == "!=":
            value = self._output(self._run(self._expand(value, offset), offset))
            self._final.add(name)
        elif "shell" in value or mark in (":=", "::="):
            value = self._expand(value, offset)
            self._final.add(name)
        else:
            self._final.discard(name)
        self._variables[name] = f"{self._variables.get(name, '')} {value}".strip() if mark == "+=" else value

    def _output(self, value: CommandValue) -> str:
        """Return the output of a command; a variable of the shell when it is only known at run time."""
        if value.known:
            return value.text
        name = f"make_{len(self._shell.variables)}"
        self._shell.variables[name] = value
        return f"${{{name}}}"

    def _expand(self, text: str, offset: int, depth: int = 0) -> str:
        """The text with `$(NAME)` filled in and `$$` as `$`, which is then the shell's."""
        if "$" not in text:
            return text
        pieces: list[str] = []
        at = 0
        while (dollar := text.find("$", at)) >= 0 and self._expansions < MAX_EXPANSIONS:
            self._expansions += 1
            pieces.append(text[at:dollar])
            following = text[dollar + 1 : dollar + 2]
            if following == "$":
                pieces.append("$")
                at = dollar + 2
            elif following and following in "({":
                end = _find_close(text, dollar + 1)
                pieces.append(self._reference(text[dollar + 2 : end], offset, depth))
                at = end + 1
            else:
                pieces.append("" if following in ("@", "<", "^", "*", "?", "") else self._variables.get(following, ""))
                at = dollar + 2
        pieces.append(text[at:])
        return "".join(pieces)[:MAX_LINE]

    def _reference(self, inner: str, offset: int, depth: int) -> str:
        if depth > 8:
            return ""
        word, _, rest = inner.partition(" ")
        if word == "shell":
            return self._output(self._run(self._expand(rest, offset, depth + 1), offset))
        if rest:
            return self._function(word, rest, offset, depth)
        name, colon, _ = inner.partition(":")
        name = name.strip() if colon else inner.strip()
        held = self._variables.get(name)
        if held is None:
            return "${" + name + "}"
        return held if name in self._final else self._expand(held, offset, depth + 1)

    def _function(self, name: str, rest: str, offset: int, depth: int) -> str:
        """The text functions that hide words: subst, strip, join, addsuffix, addprefix, eval, info."""
        args = [self._expand(part, offset, depth + 1) for part in rest.split(",")]
        if name == "subst" and len(args) == 3 and args[0]:
            return args[2].replace(args[0], args[1])
        if name == "join" and len(args) == 2:
            return " ".join(name + two for name, two in zip(args[0].split(), args[1].split(), strict=False))
        if name == "addsuffix" and len(args) == 2:
            return " ".join(word + args[0] for word in args[1].split())
        if name == "addprefix" and len(args) == 2:
            return " ".join(args[0] + word for word in args[1].split())
        return (
            args[-1].strip() if name in ("strip", "firstword", "lastword", "sort", "if", "or", "eval", "value") else ""
        )


def _find_close(text: str, at: int) -> int:
    """The bracket that closes the one at a place, or the end."""
    opening, depth = text[at], 0
    closing = ")" if opening == "(" else "}"
    for index in range(at, min(len(text), at + 4000)):
        depth += (text[index] == opening) - (text[index] == closing)
        if depth == 0:
            return index
    return min(len(text), at + 4000)
