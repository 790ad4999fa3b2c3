"""The turn as `offline` reads it from messages: the question, tools used, skills found, and their shell commands."""

import os
import re
import shlex
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from clawft.agent.providers.request import ModelRequest
from clawft.messages import Message, ToolCall
from clawft.skills.discovery.ranking import find_significant_words

_FENCE = re.compile(r"^(\s*)(?:[-*+>]\s+|\d+[.)]\s+)?(`{3,}|~{3,})\s*\{?\.?([\w+-]*)")
_SHELLS = frozenset({"sh", "bash", "shell", "zsh", "console", "shell-session", "shellsession", "terminal"})
_PROMPT = re.compile(r"^\s*[$%]\s+(\S.*)$")
_PLACEHOLDER = re.compile(
    r"<[A-Za-z](?:[\w ./|:-]*[\w.])?>"  # <file>, but not `<in >out`
    r"|(?<!\$)\{[A-Za-z_][\w .-]*\}"  # {x}, but neither ${x} nor {a,b}
    r"|\.\.\.|…|\bpath/to/|\byour[-_]|\[[A-Z][A-Z_]+\]",
    re.IGNORECASE,
)
_HEREDOC = re.compile(r"(?<!<)<<(?!<)")
_OPENERS = {"for": "done", "while": "done", "until": "done", "select": "done", "if": "fi", "case": "esac"}
_OPEN_END = re.compile(r"(?:[{(]|\b(?:do|then|else))$")
_GOES_ON = re.compile(r"(?:\||&&)$")
# They change the shell they run in, and every command has a shell of its own.
_STATE = re.compile(r"^(?:(?:cd|export|source|\.|unset|alias)(?:\s|$)|[A-Za-z_]\w*=\S*$)")
_SETTING = re.compile(r"^set\s")  # for scripts; it does nothing for a single command
_WHY_MANY = "it goes over several lines"
_WHY_PLACEHOLDER = "it holds a placeholder"
_WHY_BUILDS = "it builds on a line that holds a placeholder"


class FoundCommand(Struct, frozen=True):
    """One command line. `why_left` is set where it cannot be run as it stands."""

    line: str
    why_left: str = ""


def find_commands(text: str) -> tuple[FoundCommand, ...]:
    """Every command of every shell block, in order."""
    return tuple(command for block in _blocks(text) for command in _read_block(block))


def _blocks(text: str) -> Iterator[list[str]]:
    """The lines of each shell block that has an end; in one without, prose would be taken for commands."""
    lines = iter(text.splitlines())
    for line in lines:
        opening = _FENCE.match(line)
        if not opening:
            continue
        indent, fence, language = opening[1], opening[2], opening[3].lower()
        block: list[str] = []
        for inner in lines:
            bare = inner.strip()
            if len(bare) >= len(fence) and set(bare) == {fence[0]}:
                if language in _SHELLS:
                    yield block
                break
            block.append(inner.removeprefix(indent))


def _read_block(block: list[str]) -> Iterator[FoundCommand]:
    prefix, why_left = "", ""
    lines = list(_logical_lines(_without_output(block)))
    for number, line in enumerate(lines):
        plain, is_open = _strip_comment(line)
        if not plain or _SETTING.match(plain):
            continue
        if is_open or _opens_more(plain):
            rest = f" (and {len(lines) - number - 1} more lines)" if number + 1 < len(lines) else ""
            yield FoundCommand(plain + rest, _WHY_MANY)
            return  # what follows is part of it, or builds on it
        if _PLACEHOLDER.search(plain):
            yield FoundCommand(plain, _WHY_PLACEHOLDER)
            why_left = why_left or (_WHY_BUILDS if _STATE.match(plain) else "")
        elif _STATE.match(plain):
            prefix += f"{plain} && "
        else:
            yield FoundCommand(prefix + plain, why_left)


def _without_output(block: list[str]) -> list[str]:
    """Remove what commands printed: where some lines have a prompt, those without one are output."""
    if not any(_PROMPT.match(line) for line in block):
        return block
    commands: list[str] = []
    for line in block:
        prompt = _PROMPT.match(line)
        if prompt:
            commands.append(prompt[1])
        elif commands and commands[-1].endswith("\\"):
            commands[-1] = commands[-1][:-1] + line.strip().removeprefix(">")
    return commands


def _logical_lines(lines: list[str]) -> Iterator[str]:
    """Lines with those joined that end in a backslash, a pipe or `&&`."""
    held = ""
    for line in lines:
        bare = line.strip()
        if bare.endswith("\\") and not bare.endswith("\\\\"):
            held += bare[:-1].rstrip() + " "
        elif _GOES_ON.search(bare) and not bare.startswith("#"):
            held += bare + " "
        else:
            yield held + bare
            held = ""
    if held:
        yield held.rstrip()


def _strip_comment(line: str) -> tuple[str, bool]:
    """A line without its comment, and whether a quote in it stays open."""
    quote, is_escaped, opens_word = "", False, True
    for index, letter in enumerate(line):
        if letter == "#" and opens_word and not quote:
            return line[:index].rstrip(), False
        opens_word = not is_escaped and (letter.isspace() or letter in ";|&(")
        if is_escaped:
            is_escaped = False
        elif letter == "\\" and quote != "'":
            is_escaped = True
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
    return line.strip(), bool(quote)


def _opens_more(line: str) -> bool:
    """Return whether a line begins something that ends on a later one: a heredoc, a loop, a function."""
    words = line.replace(";", " ; ").split()
    closer = _OPENERS.get(words[0])
    return bool(_HEREDOC.search(line) or _OPEN_END.search(line) or (closer and closer not in words))


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


class SkillMatch(Struct, frozen=True):
    """A skill that a search found."""

    name: str
    description: str

    def fits(self, question: str) -> bool:
        """Return whether it shares two telling words with the question, or half of them: one in common is an
        accident."""
        words = find_significant_words(question)
        about = {word[:_STEM] for word in find_significant_words(f"{self.name.replace('-', ' ')} {self.description}")}
        shared = sum(word[:_STEM] in about for word in words)
        return shared >= 2 or 2 * shared >= len(words)


class LoadedText(Struct, frozen=True):
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


class UsedTool(Struct, frozen=True):
    """A tool call of this turn and its result."""

    call: ToolCall
    text: str
    is_error: bool

    @property
    def result_text(self) -> str:
        """The text to show to the user: for an error, its message alone."""
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


class OfflineTurn(Struct, frozen=True):
    """A turn as far as it has come."""

    asked: str
    offered: frozenset[str]
    used: tuple[UsedTool, ...]
    earlier: tuple[str, ...]  # what may hold a skill of an earlier turn, which is not sent again

    def of_tool(self, name: str) -> tuple[UsedTool, ...]:
        return tuple(used_tool for used_tool in self.used if used_tool.call.name == name)

    @property
    def question(self) -> str:
        """The user's message, without the text of a skill it started and without what hooks added to it."""
        return _without_hooks(_outside_skills(self.asked).strip())

    @property
    def named(self) -> tuple[str, ...]:
        """Skills that the person names, as `$name`, `/name` or "use the NAME skill"."""
        found = [match for pattern in _NAMED for match in pattern.findall(self.question)]
        return tuple(name for name in dict.fromkeys(found) if name.lower() not in _NOT_NAMES)

    @property
    def matches(self) -> tuple[SkillMatch, ...]:
        """The results of `skill_search`, best first."""
        return tuple(
            match
            for used_tool in self.of_tool("skill_search")
            if not used_tool.is_error
            for match in _parse(used_tool.text)
        )

    @property
    def forked(self) -> UsedTool | None:
        """A skill that worked in a conversation of its own, with what came of it."""
        skills = self.of_tool("Skill")
        return next((skill for skill in skills if not skill.is_error and _FORKED.match(skill.text)), None)

    @property
    def loaded(self) -> LoadedText | None:
        """The skill whose text this turn follows: the person's, else the last that `Skill` loaded."""
        own = _find_skills(self.asked)
        if own:
            return own[-1]
        for used in reversed(self.of_tool("Skill")):
            name = str(used.call.arguments.get("name", ""))
            texts = () if used.is_error else (used.text, *reversed(self.earlier))
            found = [skill for text in texts for skill in _find_skills(text) if skill.name == name]
            if found:
                return found[0]
        return None


def _looks_like_path(file: str) -> bool:
    return "/" in file or "." in file  # a file called `ls` is not what `ls` means


def read_turn(request: ModelRequest) -> OfflineTurn:
    """The turn that the last message of the user began."""
    messages = request.messages
    last = max((index for index, message in enumerate(messages) if message.role == "user"), default=-1)
    since = messages[last + 1 :] if last >= 0 else ()
    results = {reply.tool_call_id: reply for reply in since if reply.role == "tool"}
    calls = [call for reply in since for call in reply.tool_calls]
    used = [
        UsedTool(call, results[call.id].content or "", results[call.id].is_error)
        for call in calls
        if call.id in results
    ]
    asked = messages[last].content or "" if last >= 0 else ""
    return OfflineTurn(asked, frozenset(tool.name for tool in request.tools), tuple(used), _earlier(messages))


def _earlier(messages: tuple[Message, ...]) -> tuple[str, ...]:
    """Texts in which a skill may stand. What other tools gave is not trusted to be one."""
    loads = {call.id for message in messages for call in message.tool_calls if call.name == "Skill"}
    return tuple(
        message.content
        for message in messages
        if message.content
        and (message.role in ("system", "user") or (message.role == "tool" and message.tool_call_id in loads))
    )


def _find_skills(text: str) -> list[LoadedText]:
    found: list[LoadedText] = []
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
    """Remove what hooks added, which comes last."""
    return text.partition(_HOOK)[0] if text.endswith(_HOOK_END) else text


def _unwrap(name: str, inner: str) -> LoadedText:
    body, _, listed = inner.strip("\n").rpartition(_FILES) if _FILES in inner else (inner.strip("\n"), "", "")
    files = tuple(line[2:] for line in listed.splitlines() if line.startswith("- "))
    first, _, rest = body.partition("\n")
    if not first.startswith(_BASE):
        return LoadedText(name, body, files=files)
    return LoadedText(name, rest.strip("\n"), first.removeprefix(_BASE).strip(), files)


def _parse(text: str) -> list[SkillMatch]:
    """Names from `- name: description` lines, or from JSON."""
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        lines = map(_RESULT.match, text.splitlines())
        return [SkillMatch(line[1], line[2] or "") for line in lines if line]
    rows = value.get("results") if isinstance(value, dict) else value
    return [
        SkillMatch(row["name"], str(row.get("description") or ""))
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and isinstance(row.get("name"), str)
    ]
