"""The commands that a skill's own text may run: `skills.security.allowed_command_prefixes`.

An entry allows the lines that begin with its words, word by word. `commands` judges them fully, with options and
patterns; this module decides what can be decided at once.
"""

import re
import shlex
from collections.abc import Sequence

import msgspec

from clawft.skills.render.shell import Command, NotUnderstood, is_command_runner, parse_line

_SUBCOMMAND = re.compile(r"[A-Za-z][A-Za-z-]*")
_FILE = re.compile(r"[\w./][\w./-]*")
SETTING = "skills.security.allowed_command_prefixes"


def find_unlisted(line: str, prefixes: Sequence[str]) -> str:
    """The start of the first command in a line that no entry allows; '' if all are allowed. Raises: NotUnderstood."""
    entries = [tuple(entry.split()) for entry in prefixes]
    for command in parse_line(line).commands:
        plain = tuple(None if word.glob or word.tilde or word.variable else word.text for word in command.words)
        if not any(entry and plain[: len(entry)] == entry for entry in entries):
            return _start_of(command)
    return ""


def suggest_setting(lines: Sequence[str], prefixes: Sequence[str]) -> str:
    """The command that would allow these lines, beside what is allowed; '' where no entry could."""
    wanted = [*prefixes]
    for line in lines:
        try:
            commands = parse_line(line).commands
        except NotUnderstood:
            continue
        starts = [_start_of(command) for command in commands if find_unlisted(shlex.join(command.texts), wanted)]
        wanted += [start for start in starts if not is_command_runner(start)]  # alone they would allow nothing
    if len(wanted) == len(prefixes):
        return ""
    value = msgspec.json.encode(list(dict.fromkeys(wanted))).decode()
    return f"weft config set {SETTING} {shlex.quote(value)}"


def _start_of(command: Command) -> str:
    """Return the name of a command, with its subcommand or file where that is a plain word after it: `git log`, `sh
    go.sh`."""
    texts = command.texts
    second = texts[1] if len(texts) > 1 else ""
    pattern = _FILE if is_command_runner(texts[0]) else _SUBCOMMAND
    return " ".join(texts[: 2 if pattern.fullmatch(second) else 1])
