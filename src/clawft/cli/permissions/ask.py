"""`weft permissions ask PATTERN`: what is asked for, also where it would be done unasked."""

from clawft.cli.permissions._rules import add_command

__all__ = ["command"]

command = add_command("ask", "Ask before what PATTERN means is done, also where the mode would not.")
