"""Dockerfiles: what is run while an image is built and when it starts, and what is fetched for it."""

import re

import msgspec

from clawft.scan.documents import Document
from clawft.scan.facts import Analysis, Kind
from clawft.scan.languages.commands import NOTHING, Call, Value, World, run_call
from clawft.scan.languages.shell.evaluate import Evaluator
from clawft.scan.languages.shell.parse import Parser
from clawft.scan.languages.windows import find_windows

__all__ = ["analyse"]

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


def analyse(document: Document) -> Analysis:
    """The facts of a Dockerfile."""
    world = World(document)
    shell = Evaluator(world)
    for begin, end in find_windows(document.text, _MARKS):
        at = begin
        while match := _INSTRUCTION.search(document.text, at, end):
            stop = _find_end(document.text, match.end(), end)
            _instruction(shell, match[1].upper(), document.text[match.end() : stop], match.end())
            at = max(stop, match.end())
    return world.finish()


def _find_end(text: str, at: int, end: int) -> int:
    """Where an instruction ends: after its continued lines and its here-document."""
    line = _CONTINUED.match(text, at, end)
    stop = line.end() if line and line.end() > at else end
    if here := _HERE.search(text, at, stop):
        close = re.compile(rf"^\t*{re.escape(here[1])}[ \t\r]*$", re.MULTILINE).search(text, stop, end)
        stop = close.end() if close else stop
    return stop


def _instruction(shell: Evaluator, name: str, text: str, offset: int) -> None:
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


def _run(shell: Evaluator, text: str, offset: int) -> None:
    body = text.strip()
    if body.startswith("["):
        try:
            words = msgspec.json.decode(body.partition("]")[0].replace("\\\n", "") + "]", type=list[str])
        except msgspec.DecodeError:
            words = []
        if words:
            run_call(shell.world, [Value(one) for one in words], Call("", [], NOTHING, offset))
            return
    if here := _HERE.match(body):  # RUN <<EOF: the lines are the script
        inner = text[text.find("\n") + 1 :]
        text, offset = inner.rpartition(here[1])[0], offset + text.find("\n") + 1
    shell.run_script(Parser(text, base=offset).read())


def _set(shell: Evaluator, text: str, offset: int) -> None:
    pairs = _PAIR.findall(text.replace("\\\n", " "))
    if not pairs and len(parts := text.split(None, 1)) == 2:
        pairs = [(parts[0], parts[1].strip())]
    for name, value in pairs:
        shell.set_variable(name, Value(value.strip("'\"")), Call("ENV", [], NOTHING, offset))


def _add(shell: Evaluator, name: str, words: list[str], offset: int) -> None:
    if len(words) < 2:
        return
    call = Call(name, [], NOTHING, offset)
    for one in words[:-1]:
        if re.match(r"(?:https?|git|ftp)://|git@", one):
            fact = shell.world.fact(Kind.FETCH, one, offset, name)
            target = words[-1] + one.rpartition("/")[2] if words[-1].endswith("/") else words[-1]
            shell.world.write(Value(target), Value("$(ADD)", (fact,), known=False), call)
