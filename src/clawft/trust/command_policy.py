"""The command policy: whether a command line may run, must be asked about or is denied, in each mode."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol

import re2  # type: ignore[import-untyped]
from msgspec import Struct, structs

from clawft.config.tools import CommandPolicyMode, ExecSettings
from clawft.errors import ClawftError
from clawft.skills.render.shell import Command, Redirect, Word, is_command_runner
from clawft.trust.modes import Mode
from clawft.trust.readonly import ReadOnlyArguments, find_read_only, read_arguments, shorten
from clawft.trust.shell_text import ShellText, read_shell_text

_LISTED = "tools.exec.allowed_commands"
# Files that never end, or that hold the secrets of processes.
_QUIET = frozenset({":", "true", "false"})
_MAX_FOLDERS = 16
_PSEUDO = re.compile(r"/(dev|proc|sys)/|/[^/]*[*?\[]")


class CommandPaths(Protocol):
    """The facts about paths on a command line: relative, absolute, or after `~/`."""

    def is_inside(self, path: str) -> bool:
        """Return whether it stays in the workspace, and is no place for secrets."""
        ...

    def is_open(self, path: str) -> bool:
        """Return whether that is so for all below it, too."""
        ...

    def expand(self, pattern: str) -> Sequence[str] | None:
        """List all that a glob may match; None if that is not known."""
        ...


class CommandVerdict(Struct, frozen=True):
    """`commands` holds the words of each simple command as far as they were understood."""

    decision: Literal["allow", "ask", "deny"]
    reason: str
    commands: tuple[tuple[str, ...], ...] = ()


class CommandPolicy:
    """`[tools.exec]`, ready to judge."""

    def __init__(self, settings: ExecSettings, listed: str = _LISTED) -> None:
        """`listed` is the setting that the entries are from. Raises: ClawftError for one that says nothing."""
        self._mode = settings.mode
        self._listed = listed
        entries = (*settings.allowed_commands, *settings.also_allowed)
        self._entries = tuple(_read_entry(entry, listed) for entry in entries)
        self._patterns = tuple((pattern, _compile(pattern)) for pattern in settings.denied_patterns)

    def judge(self, text: str, places: CommandPaths | None = None) -> CommandVerdict:
        """Judge a shell text by what its commands say. With `places`, a listed command that is led outside the
        workspace asks."""
        verdict, shell = self._judge_settings(text)
        if verdict.decision == "deny" or self._mode is not CommandPolicyMode.ALLOWLIST:
            return verdict
        if objection := self._object_to_text(shell, places):
            return structs.replace(verdict, decision="ask", reason=objection)
        return structs.replace(verdict, reason="every command in it is on the allow-list")

    def judge_confined(self, text: str) -> CommandVerdict:
        """Judge a shell text that runs in the sandbox, which bounds what it can do: all runs but what is denied."""
        verdict, _ = self._judge_settings(text)
        return verdict

    def _judge_settings(self, text: str) -> tuple[CommandVerdict, ShellText]:
        shell = read_shell_text(text)
        commands = tuple(command.texts for command in shell.commands if not command.redirects)
        if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            return CommandVerdict("deny", "it is no text: it holds half characters", commands), shell
        if pattern := self._find_denied(text, shell):
            return CommandVerdict("deny", f"it matches '{pattern}' (tools.exec.denied_patterns)", commands), shell
        if self._mode is CommandPolicyMode.ALLOWLIST and not self._entries:
            return CommandVerdict("deny", f"the allow-list is empty ({self._listed})", commands), shell
        return CommandVerdict("allow", f"no policy forbids it ({self._mode.value})", commands), shell

    def object_to(self, words: Sequence[str]) -> str:
        """Return why a program may not be started with these words, which no shell reads; '' if a person may be
        asked."""
        texts = (" ".join(words), *words)
        pattern = next((name for name, regex in self._patterns if any(regex.search(text) for text in texts)), "")
        if pattern:
            return f"it matches '{pattern}' (tools.exec.denied_patterns)"
        listing = self._mode is CommandPolicyMode.ALLOWLIST
        return f"the allow-list is empty ({self._listed})" if listing and not self._entries else ""

    def _find_denied(self, line: str, parsed: ShellText) -> str | None:
        """The first denied pattern found in the line as written, or in what is left of it without the quoting."""
        if not self._patterns:
            return None
        texts = [line, parsed.normal]
        for command in parsed.commands:
            targets = (redirect.target.text for redirect in command.redirects)
            texts += (" ".join(command.texts), *command.texts, *targets)
        return next((name for name, regex in self._patterns if any(regex.search(text) for text in texts)), None)

    def _object_to_text(self, shell: ShellText, places: CommandPaths | None) -> str:
        """Return why a text must be asked for, or ''."""
        if shell.unread or not shell.commands:
            return shell.unread or "there is no command in it"
        if shell.assigned:
            return f"'{min(shell.assigned)}=' may change what the commands do"
        bases = [""]  # where relative paths may start: each `cd` adds a folder
        for command in shell.commands:
            if objection := self._object(command, places, bases):
                return objection
            if command.words[0].text == "cd" and len(command.words) == 2:
                bases += [posixpath.join(base, command.words[1].text) for base in bases]
                if len(bases) > _MAX_FOLDERS:
                    return "it changes the folder too often"
        return ""

    def _object(self, command: Command, places: CommandPaths | None, bases: Sequence[str]) -> str:
        """Return why a command must be asked for, or ''."""
        name = command.words[0].text
        if redirect := next((redirect for redirect in command.redirects if not _is_null(redirect)), None):
            return f"'{redirect.kind} {shorten(redirect.target.text)}' opens a file"
        variable = next((word.text for word in command.words if word.variable), "")
        unknown = variable and f"the value of '{shorten(variable)}' is not known"
        if name == "cd" and len(command.words) == 2:
            return unknown or _object_to_paths(ReadOnlyArguments(paths=command.words[1:]), places, bases)
        if name in _QUIET or (name == ":" and command.redirects):
            return ""
        entry = self._find_entry(command)
        if entry is None:
            return self._say_unlisted(command)
        if entry == (name,) and is_command_runner(name):
            return f"'{name}' runs other commands or code: list it with its arguments, not alone ({self._listed})"
        if unknown:
            return unknown
        arguments = _read_known(command, len(entry))
        if arguments.objection:
            return f"{name}: {arguments.objection}"
        return _object_to_paths(arguments, places, bases)

    def _find_entry(self, command: Command) -> tuple[str, ...] | None:
        """The longest entry that the command begins with, word by word."""
        texts = tuple(None if word.glob or word.tilde or word.variable else word.text for word in command.words)
        fitting = [entry for entry in self._entries if texts[: len(entry)] == entry]
        return max(fitting, key=len, default=None)

    def _say_unlisted(self, command: Command) -> str:
        name = command.words[0].text
        partly = any(entry[0] == name for entry in self._entries)
        shown = " ".join(command.texts[:2]) if partly else name
        return f"'{shorten(shown)}' is not on the allow-list ({self._listed})"


def _read_entry(entry: str, listed: str) -> tuple[str, ...]:
    words = tuple(entry.split())
    if not words:
        raise ClawftError("policy-command", f"An entry of {listed} is empty", hint="Write a command, or remove it")
    return words


def _compile(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeError) as error:
        raise ClawftError(
            "policy-pattern",
            f"tools.exec.denied_patterns: {pattern!r} is no regular expression ({_say(error)})",
            hint="Patterns are RE2: neither look-around nor back-references",
        ) from error


def _say(error: Exception) -> str:
    message = error.args[0] if isinstance(error, re2.error) else str(error)
    return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)


def _is_null(redirect: Redirect) -> bool:
    return redirect.target.text == "/dev/null"


def _read_known(command: Command, listed: int) -> ReadOnlyArguments:
    """The arguments of a command we know, beyond those that the entry itself names; of any other, what looks like
    a path to somewhere else."""
    known = find_read_only(command.texts)
    if known is None:
        return ReadOnlyArguments(paths=tuple(path for word in command.words[1:] for path in _guess_paths(word)))
    length, usage = known
    return read_arguments(usage, command.words[max(listed, length) :])


def _guess_paths(word: Word) -> Iterator[Word]:
    """A word, the value after its `=`, and the value in the word of a short option, where they lead elsewhere."""
    text = word.text
    values = [text, text.partition("=")[2]]
    if text.startswith("-") and not text.startswith("--"):
        values.append(text[2:])
    for value in values:
        if value.startswith("/") or ".." in value.split("/") or (word.tilde and value.startswith("~")):
            yield Word(value, glob=word.glob, tilde=word.tilde)


def _object_to_paths(arguments: ReadOnlyArguments, places: CommandPaths | None, bases: Sequence[str]) -> str:
    for word in arguments.paths:
        shown = shorten(word.text)
        absolute = "/" + posixpath.normpath(word.text).lstrip("/") if word.text.startswith("/") else ""
        if absolute != "/dev/null" and _PSEUDO.match(absolute):
            return f"'{shown}' may be no ordinary file"
        if places is None or absolute == "/dev/null":
            continue
        for base in bases:
            meant = _read_places(word, places, base)
            if meant is None or not all(map(places.is_inside, meant)):
                return f"'{shown}' leads outside the workspace"
            if arguments.deep and not all(map(places.is_open, meant)):
                return f"below '{shown}' may be what is not to be read"
    return ""


def _read_places(word: Word, places: CommandPaths, base: str) -> Sequence[str] | None:
    """Read the paths that a word refers to in a folder; None if that is not known."""
    text = word.text if word.tilde else posixpath.join(base, word.text)
    if word.tilde and not (text == "~" or text.startswith("~/")):
        return None  # another user's home, or one in the middle of a word
    if text.startswith("~") and not word.tilde:
        text = "./" + text
    if not word.glob:
        return (text,)
    parts = text.split("/")
    if ".." in parts:
        return None  # what a glob matches may be a link, so the way back from it is not known
    globs = (index for index, part in enumerate(parts) if any(char in part for char in "*?["))
    first = next(globs, len(parts))
    start = "/".join(parts[:first]) or ("/" if text.startswith("/") else ".")
    found = places.expand(text) if places.is_inside(start) else None
    return None if found is None else (start, *found)


_WORST = ("allow", "ask", "deny")


class CommandJudge:
    """Judges shell texts by the mode of a session and by whether a sandbox confines them."""

    def __init__(self, settings: ExecSettings, policy: CommandPolicy) -> None:
        """`policy` is made of the same settings."""
        self._policy = self._listed = policy
        if settings.mode is not CommandPolicyMode.ALLOWLIST:
            self._listed = CommandPolicy(structs.replace(settings, mode=CommandPolicyMode.ALLOWLIST))
        # The list that a user wrote may hold more than what reads.
        self._reading = CommandPolicy(ExecSettings())

    def judge(self, text: str, places: CommandPaths | None, mode: Mode, sandbox: str) -> CommandVerdict:
        """Judge a text; `sandbox` is its kind: off where the user wants none, none where there is none to be had. A
        mode and a missing sandbox only make it stricter than the settings."""
        confined = sandbox not in ("off", "none")
        if confined and mode is not Mode.ASK:
            return self._policy.judge_confined(text)
        policies = [self._policy]
        if mode is Mode.ASK or (mode is Mode.AUTO_EDIT and sandbox == "none"):
            policies = [self._policy, self._listed]
        elif mode is Mode.PLAN:
            policies = [self._listed, self._reading]
        verdict = max((policy.judge(text, places) for policy in policies), key=lambda one: _WORST.index(one.decision))
        if mode is Mode.ASK and not confined and verdict.decision == "allow":
            return structs.replace(verdict, decision="ask", reason="there is no sandbox")
        return verdict
