"""The names of tools: weft's own, and those of other clients."""

from collections.abc import Collection, Iterable

from clawft.errors import Diagnostic
from clawft.skills.parse.model import Agent, Skill

SKILL_TOOL = "Skill"
CANONICAL_TOOLS = (
    "read_file",
    "write_file",
    "edit_file",
    "list_directory",
    "glob",
    "grep",
    "exec_shell",
    "process_output",
    "process_end",
    "web_fetch",
    "web_search",
    "memory_read",
    "memory_write",
    "message",
    "delegate",
    SKILL_TOOL,
    "skill_search",
    "skill_read",
    "skill_run_script",
    "TodoWrite",
    "AskUserQuestion",
)

TOOL_ALIASES = {
    "Read": "read_file",
    "Write": "write_file",
    "Edit": "edit_file",
    "MultiEdit": "edit_file",
    "text_editor": "edit_file",
    "LS": "list_directory",
    "Glob": "glob",
    "Grep": "grep",
    "Bash": "exec_shell",
    "BashOutput": "process_output",
    "KillBash": "process_end",
    "KillShell": "process_end",
    "Shell": "exec_shell",
    "exec": "exec_shell",
    "code_execution": "exec_shell",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
    "web_search_preview": "web_search",
    "Task": "delegate",
    "Agent": "delegate",
    "run_shell_command": "exec_shell",
    "run_terminal_cmd": "exec_shell",
    "apply_patch": "edit_file",
    "str_replace_editor": "edit_file",
    "str_replace_based_edit_tool": "edit_file",
    "search_file_content": "grep",
    "grep_search": "grep",
    "google_web_search": "web_search",
    "save_memory": "memory_write",
}
# Tools for what another one started: to allow or deny that is to allow or deny these, whatever its arguments.
STARTED_BY = {"process_output": "exec_shell", "process_end": "exec_shell"}
_CLAUDE_MCP = "mcp__"
_LOWER = {name.lower(): name for name in CANONICAL_TOOLS} | {name.lower(): ours for name, ours in TOOL_ALIASES.items()}


def canonical_tool(name: str) -> str:
    """Our name of a tool that a skill or agent names in any client's way; `Bash(git:*)` is `exec_shell`."""
    plain = name.partition("(")[0].strip()
    return TOOL_ALIASES.get(plain) or _LOWER.get(plain.lower(), plain)


def tool_matches(name: str, allowed: Iterable[str]) -> bool:
    """Return whether a tool is meant by one of the patterns: its name under any client's, or the start of it and `*`.

    `!*` matches nothing: it marks a list that could not be read, or none.
    """
    for pattern in allowed:
        plain = pattern.partition("(")[0].strip()
        if plain.endswith("*"):
            if not plain.startswith("!") and name.startswith(plain[:-1]):
                return True
        elif canonical_tool(plain) in (name, STARTED_BY.get(name)):
            return True
        if plain.startswith(_CLAUDE_MCP) and _is_servers(name, plain.removeprefix(_CLAUDE_MCP)):
            return True
    return False


def _is_servers(name: str, meant: str) -> bool:
    """Return whether a tool is the server's that Claude calls `mcp__server__tool`; `mcp__server` is all of that
    server."""
    if "__" not in name:
        return False
    return name.startswith(meant[:-1]) if meant.endswith("*") else name == meant or name.startswith(f"{meant}__")


def known_tool_names() -> frozenset[str]:
    """Every name under which one of our tools may be required, in lower case too."""
    names = {*CANONICAL_TOOLS, *TOOL_ALIASES}
    return frozenset(names | {name.lower() for name in names})


def check_tools(skill: Skill, path: str) -> tuple[Diagnostic, ...]:
    """Tools a skill allows or forbids under names that mean none of ours; MCP tools and patterns may be any."""
    known = known_tool_names() | {tool.name.lower() for tool in skill.provided_tools}
    named = {tool.partition("(")[0] for tool in (*skill.allowed_tools, *skill.disallowed_tools)}
    unknown = sorted(
        tool for tool in named if tool.lower() not in known and "__" not in tool and not tool.endswith("*")
    )
    diagnostics = tuple(Diagnostic("unknown-tool", "warning", _UNKNOWN.format(tool), path) for tool in unknown)
    return (*diagnostics, *_check_arguments(skill.allowed_tools, skill.disallowed_tools, path))


def _check_arguments(allowed: Iterable[str], denied: Iterable[str], path: str) -> Iterable[Diagnostic]:
    """Check the patterns in brackets and return diagnostics for those not understood."""
    if not any("(" in pattern for pattern in (*allowed, *denied)):
        return ()
    from clawft.trust.patterns import check_patterns  # a list of skills needs none of it

    return check_patterns(allowed, denied, path)


_UNKNOWN = "'{}' is no tool that is known here: it allows and forbids nothing"


def check_agent_tools(agent: Agent, path: str, servers: Collection[str]) -> tuple[Diagnostic, ...]:
    """Names and patterns of an agent that mean none of our tools, nor one of the configured MCP servers."""
    named = dict.fromkeys((*(agent.tools or ()), *agent.disallowed_tools))
    unknown = [tool for tool in named if not matches_any_tool(tool, servers)]
    diagnostics = tuple(Diagnostic("unknown-tool", "warning", _UNKNOWN.format(tool), path) for tool in unknown)
    return (*diagnostics, *_check_arguments(agent.tools or (), agent.disallowed_tools, path))


def matches_any_tool(pattern: str, servers: Collection[str]) -> bool:
    """Return whether a pattern means a tool there may be: servers tell theirs only when they run, so any of one
    counts."""
    server = pattern.partition("(")[0].strip().removeprefix(_CLAUDE_MCP).partition("__")[0]
    names = (*CANONICAL_TOOLS, *(f"{server}__" for server in servers))
    return (server in servers and "__" in pattern) or any(tool_matches(name, (pattern,)) for name in names)
