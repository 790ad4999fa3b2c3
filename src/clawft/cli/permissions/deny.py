"""`weft permissions deny PATTERN`: what is never done."""

from clawft.cli.permissions._rules import add_command

__all__ = ["command"]

command = add_command("deny", "Never do what PATTERN means. This beats every other rule, of any file.")
