"""Patterns of tools, as every client writes them: `Bash(git:*)`, `Read(src/**)`, `WebFetch(domain:x)`, `mcp__s__t`.

A pattern is read in two ways. To *allow*, all that a call does must be covered. To forbid or to ask, it is enough that
a part of it is touched. What is not understood allows nothing and forbids the whole tool.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic
from clawft.trust.command_patterns import CommandPatterns, names_path
from clawft.trust.network import HostGrant, parse_grant
from clawft.trust.path_patterns import CheckedCall, Glob, PathPattern, PatternError, matches_glob, parse_glob
from clawft.trust.tools import CANONICAL_TOOLS, SKILL_TOOL, STARTED_BY, canonical_tool, tool_matches

_FORM = re.compile(r"(?P<name>[^()\s]+)\s*(?:\((?P<argument>.*)\))?", re.DOTALL)
_ALL = frozenset({"*", "**", ":*"})
READERS = ("read_file", "list_directory", "glob", "grep")
_WRITERS = ("write_file", "edit_file")
PATH_TOOLS = frozenset((*READERS, *_WRITERS))
_MAX_PATTERN = 2_000
_SKILL_VARIABLES = ("CLAUDE_SKILL_DIR", "SKILL_DIR", "baseDir")
_ANY_FOLDERS = dict.fromkeys((*_SKILL_VARIABLES, "CLAUDE_PROJECT_DIR"), "/somewhere")


class HostPattern(Struct, frozen=True):
    """`domain:docs.example.org`, `domain:*.example.org`: where a page may come from."""

    grant: HostGrant

    @classmethod
    def parse(cls, argument: str) -> "HostPattern":
        """Raises: PatternError."""
        kind, colon, domain = argument.partition(":")
        if kind != "domain" or not colon:
            raise PatternError("only domain:HOST is understood")
        try:
            return cls(parse_grant(domain.strip()))
        except ClawftError as error:
            raise PatternError(str(error)) from error

    def covers(self, call: CheckedCall) -> bool:
        return call.target is not None and self.grant.covers(call.target.host, call.target.connect_port)

    def touches(self, call: CheckedCall) -> bool:
        """Return whether the call's target is in this grant. Where no port is named, all of a host's are meant."""
        target = call.target
        return target is None or self.grant.covers(target.host, target.connect_port if self.grant.port else 443)


class ArgumentPattern(Struct, frozen=True):
    """`Skill(research)`, `Task(reviewer)`: an argument by its whole value; `*` may stand in it."""

    glob: Glob
    arguments: tuple[str, ...]

    @classmethod
    def parse(cls, argument: str, arguments: tuple[str, ...]) -> "ArgumentPattern":
        """`Skill(name:*)` and `Skill(name *)` mean the skill with any arguments. Raises: PatternError."""
        plain = argument.removesuffix(":*").removesuffix(" *").strip()
        if not plain.lstrip("$/") or any(char in plain for char in " \t\n(),"):
            raise PatternError("one name is expected")
        return cls(parse_glob(plain.lstrip("$/"), {}), arguments)

    def covers(self, call: CheckedCall) -> bool:
        argument = next((value for name in self.arguments if (value := call.text(name)) != ""), "")
        return argument is not None and matches_glob(self.glob, argument.removeprefix("$").removeprefix("/"))

    def touches(self, call: CheckedCall) -> bool:
        return any(call.text(name) is None for name in self.arguments) or self.covers(call)


Matcher = CommandPatterns | PathPattern | HostPattern | ArgumentPattern


class ToolPattern(Struct, frozen=True):
    """One pattern. `matcher` None means the whole tool; `problem` tells why an argument is not understood."""

    text: str
    name: str
    matcher: Matcher | None = None
    problem: str = ""

    def names(self, tool: str) -> bool:
        """Return whether it speaks of a tool, with whatever arguments. A path in it speaks of all tools of its kind."""
        if tool_matches(tool, (self.name,)):
            return True
        return isinstance(self.matcher, PathPattern) and tool in _kin(canonical_tool(self.name))

    def allows(self, call: CheckedCall) -> bool:
        """Return whether it covers all that a call does."""
        return allows((self,), call)

    def touches(self, call: CheckedCall) -> bool:
        """Return whether anything that a call does is what it means."""
        if not self.names(call.tool):
            if call.tool != "exec_shell" or not isinstance(self.matcher, PathPattern):
                return False
            return names_path(self.matcher, call, writing=canonical_tool(self.name) in _WRITERS)
        if call.tool in STARTED_BY and self.matcher is not None:
            return False  # what was started was judged then
        return self.problem != "" or self.matcher is None or self.matcher.touches(call)


def allows(patterns: Iterable[ToolPattern], call: CheckedCall) -> bool:
    """Return whether all that a call does is covered; each command of a line may be so by another of the patterns."""
    meant = [pattern for pattern in patterns if not pattern.problem and pattern.names(call.tool)]
    if any(meant_pattern.matcher is None for meant_pattern in meant) or (meant and call.tool in STARTED_BY):
        return True
    if call.tool == "exec_shell":
        return CommandPatterns.cover(
            [meant_pattern.matcher for meant_pattern in meant if isinstance(meant_pattern.matcher, CommandPatterns)],
            call,
        )
    return any(meant_pattern.matcher is not None and meant_pattern.matcher.covers(call) for meant_pattern in meant)


def find_touching(patterns: Iterable[ToolPattern], call: CheckedCall) -> ToolPattern | None:
    """The first pattern that any part of a call is meant by."""
    return next((pattern for pattern in patterns if pattern.touches(call)), None)


def names_tool(texts: Sequence[str], tool: str) -> bool:
    """Return whether one of the patterns speaks of a tool, with whatever arguments."""
    return any(pattern.names(tool) and not pattern.problem for pattern in parse_patterns(texts))


def denies_whole_tool(texts: Sequence[str], tool: str) -> bool:
    """Return whether one of the patterns, as something forbidden, leaves nothing of a tool."""
    return any(
        pattern.names(tool) and (pattern.problem or pattern.matcher is None) for pattern in parse_patterns(texts)
    )


def select_tools(tools: Iterable[str], allowed: Sequence[str] | None, denied: Sequence[str]) -> list[str]:
    """Return the tools that `allowed` names (None: all), without those that `denied` takes away as a whole."""
    return [
        tool for tool in tools if (allowed is None or names_tool(allowed, tool)) and not denies_whole_tool(denied, tool)
    ]


def list_remaining_tools(allowed: Sequence[str], denied: Sequence[str]) -> tuple[str, ...]:
    """List the tools that remain by two lists, each with the limits that hold for it."""
    left = []
    for tool in (*CANONICAL_TOOLS, *_named_servers(allowed)):
        if tool in STARTED_BY or denies_whole_tool(denied, tool) or (allowed and not names_tool(allowed, tool)):
            continue
        meant = [
            pattern for pattern in parse_patterns(allowed, _ANY_FOLDERS) if pattern.names(tool) and not pattern.problem
        ]
        only = (
            [meant_pattern.text for meant_pattern in meant]
            if meant and all(meant_pattern.matcher is not None for meant_pattern in meant)
            else []
        )
        never = [f"not {pattern.text}" for pattern in parse_patterns(denied, _ANY_FOLDERS) if pattern.names(tool)]
        limits = ", ".join((*only, *never))
        left.append(f"{tool} ({limits})" if limits else tool)
    return tuple(left)


def _named_servers(allowed: Sequence[str]) -> list[str]:
    """Return the tools of MCP servers that a list names, by weft's names for them."""
    plain = (pattern.name.removeprefix("mcp__") for pattern in parse_patterns(allowed) if "__" in pattern.name)
    return [name if "__" in name else f"{name}__*" for name in dict.fromkeys(plain)]


def check_patterns(allowed: Iterable[str], denied: Iterable[str], path: str) -> Iterator[Diagnostic]:
    """Check the patterns of a skill or an agent: report what is not understood, and the effect of that."""
    for texts, effect in ((allowed, "it allows nothing"), (denied, "the whole tool is forbidden")):
        for pattern in parse_patterns(tuple(dict.fromkeys(texts)), _ANY_FOLDERS):
            if pattern.problem:
                message = f"'{pattern.text[:80]}' is not understood: {pattern.problem}; {effect}"
                yield Diagnostic("tool-pattern", "warning", message, path, 0, "Run: weft help permissions")


def parse_patterns(texts: Sequence[str], folders: Mapping[str, str] | None = None) -> tuple[ToolPattern, ...]:
    """Many patterns; `folders` as for `parse_pattern`."""
    return tuple(parse_pattern(text, folders) for text in texts)


def pattern_folders(project: str, skill_dir: str = "") -> dict[str, str]:
    """Return the values of a pattern's variables: `project`, and the folder of the skill that holds it."""
    return {"CLAUDE_PROJECT_DIR": project} | (dict.fromkeys(_SKILL_VARIABLES, skill_dir) if skill_dir else {})


def parse_pattern(text: str, folders: Mapping[str, str] | None = None) -> ToolPattern:
    """A pattern as written. `folders` are the values of variables that it may hold: see `pattern_folders`."""
    return _parse(text.strip(), tuple(sorted(folders.items())) if folders else ())


@lru_cache(512)
def _parse(text: str, folders: tuple[tuple[str, str], ...]) -> ToolPattern:
    form = _FORM.fullmatch(text) if len(text) <= _MAX_PATTERN else None
    if form is None:
        name = text.partition("(")[0].strip()[:_MAX_PATTERN]
        return ToolPattern(text[:_MAX_PATTERN], name, problem="its brackets do not close" if "(" in text else "no name")
    name, argument = form["name"], form["argument"]
    if argument is None or (argument.strip() in _ALL and not _kin(canonical_tool(name))):
        return ToolPattern(text, name)
    try:
        return ToolPattern(text, name, _read_argument(canonical_tool(name), argument.strip(), dict(folders)))
    except PatternError as error:
        return ToolPattern(text, name, problem=str(error))


def _read_argument(tool: str, argument: str, folders: Mapping[str, str]) -> Matcher:
    """Raises: PatternError."""
    if not argument:
        raise PatternError("there is nothing in its brackets")
    if tool == "exec_shell":
        return CommandPatterns.parse(argument, folders)
    if tool in READERS or tool in _WRITERS:
        return PathPattern.parse(argument, folders)
    if tool == "web_fetch":
        return HostPattern.parse(argument)
    if tool in (SKILL_TOOL, "skill_read", "skill_run_script"):
        return ArgumentPattern.parse(argument, ("name",))
    if tool == "delegate":
        return ArgumentPattern.parse(argument, ("agent", "target"))
    raise PatternError(f"nothing is known to stand in the brackets of '{tool[:60]}'")


def _kin(tool: str) -> tuple[str, ...]:
    """The tools that a path speaks of: what may read a file may look at its folder, and writing is editing."""
    return READERS if tool in READERS else _WRITERS if tool in _WRITERS else ()
