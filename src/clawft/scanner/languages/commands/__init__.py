"""The effects of programs: one table for shell scripts, PowerShell, batch files, Dockerfiles and Makefiles.

`run_call` takes the words of a command and says what it would do, in facts; nothing is run.
"""

import re
from collections.abc import Callable

from clawft.scanner.facts import Kind
from clawft.scanner.languages.commands.files import FILE_PROGRAMS
from clawft.scanner.languages.commands.interpreters import INTERPRETER_PROGRAMS, WRAPPER_PROGRAMS
from clawft.scanner.languages.commands.network import NETWORK_PROGRAMS, TRANSFER_PROGRAMS
from clawft.scanner.languages.commands.packages import GIT_PROGRAMS, INSTALLER_PROGRAMS
from clawft.scanner.languages.commands.system import SYSTEM_PROGRAMS, WINDOWS_PROGRAMS
from clawft.scanner.languages.commands.texts import TEXT_PROGRAMS
from clawft.scanner.languages.commands.world import (
    NOTHING,
    CommandCall,
    CommandContext,
    CommandValue,
    join_sources,
    join_words,
    sources_of,
    unknown,
)
from clawft.scanner.regex import words

__all__ = [
    "NOTHING", "CommandCall", "CommandContext", "CommandValue", "is_program", "join_sources", "join_words", "run_call",
    "sources_of", "unknown",
]  # fmt: skip

Program = Callable[[CommandContext, CommandCall], CommandValue]

# Where two rows name the same program, the later one counts.
_PROGRAMS: dict[str, Program] = {
    **INTERPRETER_PROGRAMS, **TEXT_PROGRAMS, **FILE_PROGRAMS, **SYSTEM_PROGRAMS, **INSTALLER_PROGRAMS,
    **WRAPPER_PROGRAMS, **NETWORK_PROGRAMS, **TRANSFER_PROGRAMS, **GIT_PROGRAMS, **WINDOWS_PROGRAMS,
}  # fmt: skip
# What changes nothing and tells nothing.
_QUIET = words(
    "true false : test [ [[ return exit break continue shift local readonly unset shopt setopt umask ulimit wait"
    " sleep kill pkill killall trap let getopts hash pushd popd dirs jobs fg bg disown alias unalias bind complete"
    " compgen type which whereis date mkdir touch diff cmp md5sum sha1sum sha256sum shasum cksum clear tput stty"
    " reset yes nproc sync cal bc du file if then else elif fi for do done while until case esac in function select"
    " coproc end begin"
)
_WORD = re.compile(r"[a-z_][\w.+-]*$")
_GLOB = re.compile(r"[?*\[]")
_STARS = re.compile(r"\*+")
MAX_STARS = 5  # each one more makes the search for the program many times longer
_VERSIONED = re.compile(r"^(python|pypy|pip|ruby|perl|php|lua|node)-?\d[\d.]*$")


def is_program(name: str) -> bool:
    """Return whether a name is one of a program that we know."""
    return name in _PROGRAMS or name in _QUIET


def run_call(world: CommandContext, words: list[CommandValue], call: CommandCall) -> CommandValue:
    """Simulate a command. `call` brings its input and place; its name and arguments are set from the words."""
    head = words[0]
    call.path, call.args = head.text, words[1:]
    name = head.text.rstrip("/").rpartition("/")[2] if "/" in head.text else head.text
    call.name = name = name.removesuffix(".exe")
    program = _PROGRAMS.get(name)
    if program is None:
        if name in _QUIET:
            return NOTHING
        program = _find_program(call)
    written = world.files and (head.text in world.files or world.content_of(head.text))
    if program is not None and not (written and "/" in head.text):
        return program(world, call)
    return _run_unknown(world, head, call)


def _find_program(call: CommandCall) -> Program | None:
    """A program behind a version, a backslash of Windows, or a pattern such as `/???/c?rl`."""
    name = call.name
    if match := _VERSIONED.match(name):
        return _PROGRAMS.get(match[1])
    if "\\" in name:
        call.name = name = name.rpartition("\\")[2].lower().removesuffix(".exe")
        return _PROGRAMS.get(name)
    name = _STARS.sub("*", name)
    if _GLOB.search(name) and len(name) < 40 and name.count("*") <= MAX_STARS:
        pattern = re.compile(
            "".join("." if char == "?" else "[^/]{0,20}" if char == "*" else re.escape(char) for char in name) + "$"
        )
        for known in ("cat", "curl", "bash", "sh", "nc", "wget", "python", "base64", *_PROGRAMS):
            if pattern.match(known):
                call.name = known
                return _PROGRAMS[known]
    return None


def _run_unknown(world: CommandContext, head: CommandValue, call: CommandCall) -> CommandValue:
    """A program that we know nothing of, or a file that is started."""
    content = world.content_of(head.text) if ("/" in head.text or head.text in world.files) else None
    sources = join_sources(head.sources, content.sources if content else ())
    if content or sources or "/" in head.text or _WORD.match(head.text):
        named = head.known or "/" in head.text
        fact = world.note(call, Kind.EXEC, call.line if named else "", sources)
        if content and content.known and not content.sources:
            world.child(content.text, "shell", "exec", call.offset)
        sources = (world.output(fact),) if sources else ()
    return unknown(f"$({call.name})"[:80], join_sources(sources, call.stdin.sources))
