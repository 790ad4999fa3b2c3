"""The list of slash commands, in the order of `/help`. The modules of this folder define them, by subject."""

from clawft.cli.repl.command import SlashCommand
from clawft.cli.repl.commands.agent import AGENT, AGENTS, MODE, MODEL, PERMISSIONS, TOOLS
from clawft.cli.repl.commands.runs import RUNS
from clawft.cli.repl.commands.session import CLEAR, COMPACT, COST, EXIT, EXPORT, RESET, RESUME, SESSION
from clawft.cli.repl.commands.settings import CONFIG, HELP, HOOKS, PLUGINS, RELOAD
from clawft.cli.repl.commands.skills import SKILL, SKILLS, TRUST, WHY
from clawft.cli.repl.commands.workspace import MEMORY, UNDO, WORKSPACE

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
