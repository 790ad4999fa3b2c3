"""What the messages of a request tell about its turn: what was asked, which tools were used, and what they gave."""

import os
import re
import shlex

import msgspec
from msgspec import Struct

from clawft.discovery.ranking import telling_words
from clawft.messages import Message, ToolCall
from clawft.providers.request import Request

__all__ = ["Loaded", "Match", "Turn", "Used", "read_turn"]

_OPENING = re.compile(r"<skill_content\s+name=[\"']?([^\"'>\n]+)[\"']?[^>\n]*>")
_HOOK, _HOOK_END = '\n\n<hook name="', "</hook>"
_STEM = 5  # letters that words of one stem share
_CLOSING = "</skill_content>"
_BASE = "Base directory for this skill: "
_FILES = "\n\nFiles of this skill"
_NAMED = (
    re.compile(r"(?<!\S)[$/]([A-Za-z0-9][\w:-]*)(?=[\s.,;:!?)]|$)"),
    re.compile(
        r"\b(?:use|with|run|load|apply|try)\s+(?:the\s+|my\s+)?[`'\"]?([A-Za-z0-9][\w-]*)[`'\"]?\s+skill\b", re.I
    ),
    re.compile(r"\bskill\s+[`'\"]([A-Za-z0-9][\w-]*)[`'\"]", re.I),
)
_NOT_NAMES = frozenset({"a", "an", "any", "another", "best", "right", "that", "the", "this", "which"})
_RESULT = re.compile(r"^\s*(?:[-*]|\d+[.)])\s+[`*]*([A-Za-z0-9][\w-]*(?::[\w-]+)*)[`*]*\s*(?:[:-]\s*(.*))?$")
_FAILED = re.compile(r"\[(?:exit code [1-9]|stopped after |ended by signal )")  # the last line of `exec_shell`
_FORKED = re.compile(r"\[(?:what follows came of|it goes on in) a conversation of its own, session \S+")
_REFUSED = re.compile(r"PERMISSION_DENIED|refused|denied|not allowed", re.IGNORECASE)


class Match(Struct, frozen=True):
    """A skill that a search found."""

    name: str
    description: str

    def fits(self, question: str) -> bool:
        """Whether it shares two telling words with the question, or half of them: one in common is an accident."""
        words = telling_words(question)
        about = {word[:_STEM] for word in telling_words(f"{self.name.replace('-', ' ')} {self.description}")}
        shared = sum(word[:_STEM] in about for word in words)
        return shared >= 2 or 2 * shared >= len(words)


class Loaded(Struct, frozen=True):
    """A skill's text as it came, without its wrapper."""

    name: str
    body: str
    folder: str = ""
    files: tuple[str, ...] = ()

    def anchor(self, line: str) -> str:
        """A command in which files of the skill have their whole path: commands run in the project."""
        for file in filter(_looks_like_path, self.files) if self.folder else ():
            path = os.path.join(self.folder, file)
            quoted = shlex.quote(path)
            before = r"[\w./-]" if quoted == path else r"[\w./'\"-]"  # no quotes inside quotes
            pattern = rf"(?<!{before})(?:\./)?{re.escape(file)}(?![\w/-]|\.\w)"
            line = re.sub(pattern, quoted.replace("\\", r"\\"), line)
        return line


class _Problem(Struct, frozen=True):
    message: str


class _Failure(Struct, frozen=True):
    """A tool's error as models read it."""

    error: _Problem


class Used(Struct, frozen=True):
    """A tool call of this turn and its result."""

    call: ToolCall
    text: str
    is_error: bool

    @property
    def told(self) -> str:
        """What there is to tell a person: of an error, its message alone."""
        if not self.is_error:
            return self.text
        try:
            return msgspec.json.decode(self.text, type=_Failure).error.message
        except msgspec.MsgspecError:
            return self.text

    @property
    def failed(self) -> bool:
        return self.is_error or bool(_FAILED.match(self.text.rstrip().rpartition("\n")[2]))

    @property
    def refused(self) -> bool:
        return self.is_error and bool(_REFUSED.search(self.text))


class Turn(Struct, frozen=True):
    """A turn as far as it has come."""

    asked: str
    offered: frozenset[str]
    used: tuple[Used, ...]
    earlier: tuple[str, ...]  # what may hold a skill of an earlier turn, which is not sent again

    def of_tool(self, name: str) -> tuple[Used, ...]:
        return tuple(one for one in self.used if one.call.name == name)

    @property
    def question(self) -> str:
        """What the person wrote, without the text of a skill they started, and without what hooks added to it."""
        return _without_hooks(_outside_skills(self.asked).strip())

    @property
    def named(self) -> tuple[str, ...]:
        """Skills that the person names, as `$name`, `/name` or "use the NAME skill"."""
        found = [match for pattern in _NAMED for match in pattern.findall(self.question)]
        return tuple(name for name in dict.fromkeys(found) if name.lower() not in _NOT_NAMES)

    @property
    def matches(self) -> tuple[Match, ...]:
        """What `skill_search` found, best first."""
        return tuple(match for one in self.of_tool("skill_search") if not one.is_error for match in _parse(one.text))

    @property
    def forked(self) -> Used | None:
        """A skill that worked in a conversation of its own, with what came of it."""
        skills = self.of_tool("Skill")
        return next((one for one in skills if not one.is_error and _FORKED.match(one.text)), None)

    @property
    def loaded(self) -> Loaded | None:
        """The skill whose text this turn follows: the person's, else the last that `Skill` loaded."""
        own = _find_skills(self.asked)
        if own:
            return own[-1]
        for used in reversed(self.of_tool("Skill")):
            name = str(used.call.arguments.get("name", ""))
            texts = () if used.is_error else (used.text, *reversed(self.earlier))
            found = [one for text in texts for one in _find_skills(text) if one.name == name]
            if found:
                return found[0]
        return None


def _looks_like_path(file: str) -> bool:
    return "/" in file or "." in file  # a file called `ls` is not what `ls` means


def read_turn(request: Request) -> Turn:
    """The turn that the last message of the user began."""
    messages = request.messages
    last = max((index for index, one in enumerate(messages) if one.role == "user"), default=-1)
    since = messages[last + 1 :] if last >= 0 else ()
    results = {one.tool_call_id: one for one in since if one.role == "tool"}
    calls = [call for one in since for call in one.tool_calls]
    used = [
        Used(call, results[call.id].content or "", results[call.id].is_error) for call in calls if call.id in results
    ]
    asked = messages[last].content or "" if last >= 0 else ""
    return Turn(asked, frozenset(tool.name for tool in request.tools), tuple(used), _earlier(messages))


def _earlier(messages: tuple[Message, ...]) -> tuple[str, ...]:
    """Texts in which a skill may stand. What other tools gave is not trusted to be one."""
    loads = {call.id for message in messages for call in message.tool_calls if call.name == "Skill"}
    return tuple(
        one.content
        for one in messages
        if one.content and (one.role in ("system", "user") or (one.role == "tool" and one.tool_call_id in loads))
    )


def _find_skills(text: str) -> list[Loaded]:
    found: list[Loaded] = []
    position = 0
    while (opening := _OPENING.search(text, position)) and (end := text.find(_CLOSING, opening.end())) >= 0:
        found.append(_unwrap(opening[1].strip(), text[opening.end() : end]))
        position = end + len(_CLOSING)
    return found


def _outside_skills(text: str) -> str:
    opening = _OPENING.search(text)
    end = text.rfind(_CLOSING)
    return text[: opening.start()] + text[end + len(_CLOSING) :] if opening and end > opening.end() else text


def _without_hooks(text: str) -> str:
    """What hooks add comes last."""
    return text.partition(_HOOK)[0] if text.endswith(_HOOK_END) else text


def _unwrap(name: str, inner: str) -> Loaded:
    body, _, listed = inner.strip("\n").rpartition(_FILES) if _FILES in inner else (inner.strip("\n"), "", "")
    files = tuple(line[2:] for line in listed.splitlines() if line.startswith("- "))
    first, _, rest = body.partition("\n")
    if not first.startswith(_BASE):
        return Loaded(name, body, files=files)
    return Loaded(name, rest.strip("\n"), first.removeprefix(_BASE).strip(), files)


def _parse(text: str) -> list[Match]:
    """Names from `- name: description` lines, or from JSON."""
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        lines = map(_RESULT.match, text.splitlines())
        return [Match(line[1], line[2] or "") for line in lines if line]
    rows = value.get("results") if isinstance(value, dict) else value
    return [
        Match(row["name"], str(row.get("description") or ""))
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and isinstance(row.get("name"), str)
    ]
