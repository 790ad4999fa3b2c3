"""The slash commands: one file each, and this list, which `/help` shows in its order."""

from clawft.repl.command import SlashCommand
from clawft.repl.commands.agent import AGENT
from clawft.repl.commands.agents import AGENTS
from clawft.repl.commands.clear import CLEAR, RESET
from clawft.repl.commands.compact import COMPACT
from clawft.repl.commands.config import CONFIG
from clawft.repl.commands.cost import COST
from clawft.repl.commands.exit import EXIT
from clawft.repl.commands.export import EXPORT
from clawft.repl.commands.help import HELP
from clawft.repl.commands.hooks import HOOKS
from clawft.repl.commands.memory import MEMORY
from clawft.repl.commands.mode import MODE
from clawft.repl.commands.model import MODEL
from clawft.repl.commands.permissions import PERMISSIONS
from clawft.repl.commands.plugins import PLUGINS
from clawft.repl.commands.reload import RELOAD
from clawft.repl.commands.resume import RESUME
from clawft.repl.commands.runs import RUNS
from clawft.repl.commands.session import SESSION
from clawft.repl.commands.skill import SKILL
from clawft.repl.commands.skills import SKILLS
from clawft.repl.commands.tools import TOOLS
from clawft.repl.commands.trust import TRUST
from clawft.repl.commands.undo import UNDO
from clawft.repl.commands.why import WHY
from clawft.repl.commands.workspace import WORKSPACE

__all__ = ["COMMANDS"]

COMMANDS: tuple[SlashCommand, ...] = (
    HELP,
    SKILLS,
    SKILL,
    WHY,
    TRUST,
    AGENTS,
    AGENT,
    HOOKS,
    PLUGINS,
    TOOLS,
    MEMORY,
    CONFIG,
    MODEL,
    MODE,
    PERMISSIONS,
    SESSION,
    COST,
    RUNS,
    WORKSPACE,
    RELOAD,
    COMPACT,
    RESUME,
    EXPORT,
    UNDO,
    CLEAR,
    RESET,
    EXIT,
)
