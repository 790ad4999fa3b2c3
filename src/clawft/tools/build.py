"""The one place where the built-in tools of an agent are put together (R158), by the extension that they belong to.

Those of skills, of delegation and of servers know their conversation, so they are made for it."""

from clawft.config import Config
from clawft.contracts import MemoryBackend
from clawft.tools.edit_file import edit_file_tool
from clawft.tools.exec_shell import exec_shell_tool
from clawft.tools.glob import glob_tool
from clawft.tools.grep import grep_tool
from clawft.tools.list_directory import list_directory_tool
from clawft.tools.memory import memory_tools
from clawft.tools.message import message_tool
from clawft.tools.read_file import read_file_tool
from clawft.tools.tool import Tool
from clawft.tools.web_fetch import web_fetch_tool
from clawft.tools.web_search import web_search_tool
from clawft.tools.write_file import write_file_tool
from clawft.trust.commands import CommandPolicy

__all__ = ["build_tools"]


def build_tools(config: Config, memory: MemoryBackend | None) -> dict[str, tuple[Tool, ...]]:
    """Every tool that does not depend on a conversation. Raises: ClawftError for a policy that makes no sense."""
    settings = config.tools
    search = web_search_tool(settings.web)
    return {
        "files": (
            read_file_tool(),
            write_file_tool(),
            edit_file_tool(),
            list_directory_tool(),
            glob_tool(),
            grep_tool(),
        ),
        "shell": (exec_shell_tool(settings.exec, CommandPolicy(settings.exec)),),
        "web": (web_fetch_tool(settings.web), *((search,) if search else ())),
        "memory": memory_tools(memory) if memory else (),
        "message": (message_tool(),),
    }
