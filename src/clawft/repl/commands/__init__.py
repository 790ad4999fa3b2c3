"""The slash commands: one file each, and this list."""

from clawft.repl.command import SlashCommand
from clawft.repl.commands.exit import EXIT
from clawft.repl.commands.skill import SKILL

__all__ = ["COMMANDS"]

COMMANDS: tuple[SlashCommand, ...] = (SKILL, EXIT)
