"""Patterns of tools, as every client writes them: `Bash(git:*)`, `Read(src/**)`, `WebFetch(domain:x)`, `mcp__s__t`.

A pattern is read in two ways. To *allow*, all that a call does must be covered. To forbid or to ask, it is enough that
a part of it is touched. What is not understood allows nothing and forbids the whole tool.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic
from clawft.trust.call import Call
from clawft.trust.command_patterns import Commands, names_path
from clawft.trust.globs import Glob, PatternError, fits, parse_glob
from clawft.trust.hosts import Grant, parse_grant
from clawft.trust.path_patterns import Paths
from clawft.trust.tools import CANONICAL_TOOLS, canonical_tool, tool_matches

__all__ = [
    "PATH_TOOLS",
    "Pattern",
    "allows",
    "check_patterns",
    "describe_left",
    "find_touching",
    "names_tool",
    "parse_pattern",
    "parse_patterns",
    "pattern_folders",
    "takes_tool",
]

_FORM = re.compile(r"(?P<name>[^()\s]+)\s*(?:\((?P<argument>.*)\))?", re.DOTALL)
_ALL = frozenset({"*", "**", ":*"})
_READERS = ("read_file", "list_directory", "glob", "grep")
_WRITERS = ("write_file", "edit_file")
PATH_TOOLS = frozenset((*_READERS, *_WRITERS))
_MAX_PATTERN = 2_000
_SKILL_VARIABLES = ("CLAUDE_SKILL_DIR", "SKILL_DIR", "baseDir")
_ANY_FOLDERS = dict.fromkeys((*_SKILL_VARIABLES, "CLAUDE_PROJECT_DIR"), "/somewhere")


class Hosts(Struct, frozen=True):
    """`domain:docs.example.org`, `domain:*.example.org`: where a page may come from."""

    grant: Grant

    @classmethod
    def parse(cls, argument: str) -> "Hosts":
        """Raises: PatternError."""
        kind, colon, domain = argument.partition(":")
        if kind != "domain" or not colon:
            raise PatternError("only domain:HOST is understood")
        try:
            return cls(parse_grant(domain.strip()))
        except ClawftError as error:
            raise PatternError(str(error)) from error

    def covers(self, call: Call) -> bool:
        return call.target is not None and self.grant.covers(call.target.host, call.target.connect_port)

    def touches(self, call: Call) -> bool:
        """Where no port is named, all of a host's are meant."""
        target = call.target
        return target is None or self.grant.covers(target.host, target.connect_port if self.grant.port else 443)


class Names(Struct, frozen=True):
    """`Skill(research)`, `Task(reviewer)`: an argument by its whole value; `*` may stand in it."""

    glob: Glob
    arguments: tuple[str, ...]

    @classmethod
    def parse(cls, argument: str, arguments: tuple[str, ...]) -> "Names":
        """`Skill(name:*)` and `Skill(name *)` mean the skill with any arguments. Raises: PatternError."""
        plain = argument.removesuffix(":*").removesuffix(" *").strip()
        if not plain.lstrip("$/") or any(char in plain for char in " \t\n(),"):
            raise PatternError("one name is expected")
        return cls(parse_glob(plain.lstrip("$/"), {}), arguments)

    def covers(self, call: Call) -> bool:
        given = next((value for name in self.arguments if (value := call.text(name)) != ""), "")
        return given is not None and fits(self.glob, given.removeprefix("$").removeprefix("/"))

    def touches(self, call: Call) -> bool:
        return any(call.text(name) is None for name in self.arguments) or self.covers(call)


Matcher = Commands | Paths | Hosts | Names


class Pattern(Struct, frozen=True):
    """One pattern. `matcher` None means the whole tool; `problem` tells why an argument is not understood."""

    text: str
    name: str
    matcher: Matcher | None = None
    problem: str = ""

    def names(self, tool: str) -> bool:
        """Whether it speaks of a tool, with whatever arguments. A path in it speaks of all tools of its kind."""
        if tool_matches(tool, (self.name,)):
            return True
        return isinstance(self.matcher, Paths) and tool in _kin(canonical_tool(self.name))

    def allows(self, call: Call) -> bool:
        """Whether it covers all that a call does."""
        return allows((self,), call)

    def touches(self, call: Call) -> bool:
        """Whether anything that a call does is what it means."""
        if not self.names(call.tool):
            if call.tool != "exec_shell" or not isinstance(self.matcher, Paths):
                return False
            return names_path(self.matcher, call, writing=canonical_tool(self.name) in _WRITERS)
        return self.problem != "" or self.matcher is None or self.matcher.touches(call)


def allows(patterns: Iterable[Pattern], call: Call) -> bool:
    """Whether all that a call does is covered; each command of a line may be so by another of the patterns."""
    meant = [one for one in patterns if not one.problem and one.names(call.tool)]
    if any(one.matcher is None for one in meant):
        return True
    if call.tool == "exec_shell":
        return Commands.cover([one.matcher for one in meant if isinstance(one.matcher, Commands)], call)
    return any(one.matcher is not None and one.matcher.covers(call) for one in meant)


def find_touching(patterns: Iterable[Pattern], call: Call) -> Pattern | None:
    """The first pattern that any part of a call is meant by."""
    return next((one for one in patterns if one.touches(call)), None)


def names_tool(texts: Sequence[str], tool: str) -> bool:
    """Whether one of the patterns speaks of a tool, with whatever arguments."""
    return any(one.names(tool) and not one.problem for one in parse_patterns(texts))


def takes_tool(texts: Sequence[str], tool: str) -> bool:
    """Whether one of the patterns, as something forbidden, leaves nothing of a tool."""
    return any(one.names(tool) and (one.problem or one.matcher is None) for one in parse_patterns(texts))


def describe_left(allowed: Sequence[str], denied: Sequence[str]) -> tuple[str, ...]:
    """What two lists leave of all tools, each with the limits that hold for it."""
    left = []
    for tool in (*CANONICAL_TOOLS, *_named_servers(allowed)):
        if takes_tool(denied, tool) or (allowed and not names_tool(allowed, tool)):
            continue
        meant = [one for one in parse_patterns(allowed, _ANY_FOLDERS) if one.names(tool) and not one.problem]
        only = [one.text for one in meant] if meant and all(one.matcher is not None for one in meant) else []
        never = [f"not {one.text}" for one in parse_patterns(denied, _ANY_FOLDERS) if one.names(tool)]
        limits = ", ".join((*only, *never))
        left.append(f"{tool} ({limits})" if limits else tool)
    return tuple(left)


def _named_servers(allowed: Sequence[str]) -> list[str]:
    """What of MCP servers is meant, by our names of it."""
    plain = (one.name.removeprefix("mcp__") for one in parse_patterns(allowed) if "__" in one.name)
    return [name if "__" in name else f"{name}__*" for name in dict.fromkeys(plain)]


def check_patterns(allowed: Iterable[str], denied: Iterable[str], path: str) -> Iterator[Diagnostic]:
    """What of the patterns of a skill or an agent is not understood, and what becomes of it."""
    for texts, said in ((allowed, "it allows nothing"), (denied, "the whole tool is forbidden")):
        for one in parse_patterns(tuple(dict.fromkeys(texts)), _ANY_FOLDERS):
            if one.problem:
                message = f"'{one.text[:80]}' is not understood: {one.problem}; {said}"
                yield Diagnostic("tool-pattern", "warning", message, path, 0, "Run: weft help permissions")


def parse_patterns(texts: Sequence[str], folders: Mapping[str, str] | None = None) -> tuple[Pattern, ...]:
    """Many patterns; `folders` as for `parse_pattern`."""
    return tuple(parse_pattern(text, folders) for text in texts)


def pattern_folders(project: str, skill_dir: str = "") -> dict[str, str]:
    """What the variables of a pattern stand for: `project`, and the folder of the skill that holds it."""
    return {"CLAUDE_PROJECT_DIR": project} | (dict.fromkeys(_SKILL_VARIABLES, skill_dir) if skill_dir else {})


def parse_pattern(text: str, folders: Mapping[str, str] | None = None) -> Pattern:
    """A pattern as written. `folders` are the values of variables that it may hold: see `pattern_folders`."""
    return _parse(text.strip(), tuple(sorted(folders.items())) if folders else ())


@lru_cache(512)
def _parse(text: str, folders: tuple[tuple[str, str], ...]) -> Pattern:
    form = _FORM.fullmatch(text) if len(text) <= _MAX_PATTERN else None
    if form is None:
        name = text.partition("(")[0].strip()[:_MAX_PATTERN]
        return Pattern(text[:_MAX_PATTERN], name, problem="its brackets do not close" if "(" in text else "no name")
    name, argument = form["name"], form["argument"]
    if argument is None or (argument.strip() in _ALL and not _kin(canonical_tool(name))):
        return Pattern(text, name)
    try:
        return Pattern(text, name, _read_argument(canonical_tool(name), argument.strip(), dict(folders)))
    except PatternError as error:
        return Pattern(text, name, problem=str(error))


def _read_argument(tool: str, argument: str, folders: Mapping[str, str]) -> Matcher:
    """Raises: PatternError."""
    if not argument:
        raise PatternError("there is nothing in its brackets")
    if tool == "exec_shell":
        return Commands.parse(argument, folders)
    if tool in _READERS or tool in _WRITERS:
        return Paths.parse(argument, folders)
    if tool == "web_fetch":
        return Hosts.parse(argument)
    if tool in ("Skill", "skill_read", "skill_run_script"):
        return Names.parse(argument, ("name",))
    if tool == "delegate":
        return Names.parse(argument, ("agent", "target"))
    raise PatternError(f"nothing is known to stand in the brackets of '{tool[:60]}'")


def _kin(tool: str) -> tuple[str, ...]:
    """The tools that a path speaks of: what may read a file may look at its folder, and writing is editing."""
    return _READERS if tool in _READERS else _WRITERS if tool in _WRITERS else ()
