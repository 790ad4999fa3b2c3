"""`weft permissions allow PATTERN`: what is done without a question."""

from clawft.cli.permissions._rules import add_command

__all__ = ["command"]

command = add_command(
    "allow", "Do what PATTERN means without a question. What a policy refuses, or a rule denies, stays so."
)
