"""The names of tools: ours, and what other clients call them (D53)."""

__all__ = ["CANONICAL_TOOLS", "TOOL_ALIASES", "known_tool_names"]

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
