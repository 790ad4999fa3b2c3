"""The names of tools: ours, and what other clients call them (D53)."""

from clawft.errors import Diagnostic
from clawft.format.model import Skill

__all__ = ["CANONICAL_TOOLS", "TOOL_ALIASES", "check_tools", "known_tool_names"]

CANONICAL_TOOLS = (
    "read_file",
    "write_file",
    "edit_file",
    "list_directory",
    "glob",
    "grep",
    "exec_shell",
    "web_fetch",
    "web_search",
    "memory_read",
    "memory_write",
    "message",
    "delegate",
    "Skill",
    "skill_search",
    "skill_read",
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
    "Shell": "exec_shell",
    "exec": "exec_shell",
    "code_execution": "exec_shell",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
    "web_search_preview": "web_search",
    "Task": "delegate",
}


def known_tool_names() -> frozenset[str]:
    """Every name under which one of our tools may be required, in lower case too."""
    names = {*CANONICAL_TOOLS, *TOOL_ALIASES}
    return frozenset(names | {name.lower() for name in names})


def check_tools(skill: Skill, path: str) -> tuple[Diagnostic, ...]:
    """Tools a skill allows or forbids under names that mean none of ours; MCP tools and patterns may be any."""
    known = known_tool_names()
    named = {tool.partition("(")[0] for tool in (*skill.allowed_tools, *skill.disallowed_tools)}
    unknown = sorted(
        tool for tool in named if tool.lower() not in known and "__" not in tool and not tool.endswith("*")
    )
    message = "'{}' is no tool that is known here: it allows and forbids nothing"
    return tuple(Diagnostic("unknown-tool", "warning", message.format(tool), path) for tool in unknown)
