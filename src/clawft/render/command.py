"""A command of a template with its tokens filled in: whatever stands in a value, to the shell it is one word (D21)."""

import os

from msgspec import Struct, structs

from clawft.errors import Refused
from clawft.format.model import Skill
from clawft.render.template import Arguments, Variables, find_token
from clawft.trust.shell import blank_out

__all__ = ["Filled", "complete_variables", "fill_command"]


class Filled(Struct, frozen=True):
    """A command line as the shell gets it; and the same to be judged, where values have blanks for what no line may
    hold, such as line breaks: inside of quotes they mean nothing to a shell."""

    line: str
    judged: str


def complete_variables(skill: Skill, variables: Variables) -> Variables:
    """The variables with what the skill itself says of its arguments."""
    return structs.replace(variables, names=skill.arguments or skill.variables, numbered=skill.format == "command")


def fill_command(command: str, arguments: Arguments, variables: Variables) -> Filled:
    """Put values in place of tokens, quoted for where they stand: outside of quotes, or in either kind.

    After a backslash a token stays as it is written. Raises: Refused for a value that no command can be given.
    """
    line: list[str] = []
    judged: list[str] = []
    quote, at = "", 0
    while at < len(command):
        char = command[at]
        taken, value = char, None
        if char == "\\" and (quote != "'" or command[at + 1 : at + 2] in ("$", "{")):
            taken = command[at : at + 2]
        elif char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        elif char in "${" and (found := find_token(command, at, arguments, variables)):
            taken, value = command[at : found[0]], _check(found[1], command)
        at += len(taken)
        line.append(taken if value is None else f"{quote}{_quote(value)}{quote}")
        judged.append(taken if value is None else f"{quote}{_quote(blank_out(value))}{quote}")
    return Filled("".join(line), "".join(judged))


def _quote(value: str) -> str:
    """A value in single quotes, in which a shell knows no other sign than their end."""
    return "'" + value.replace("'", "'\"'\"'") + "'"


def _check(value: str, command: str) -> str:
    try:
        encoded = os.fsencode(value)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        message = f"The arguments have a character that no command can be given: {command[:60]}"
        raise Refused("command-argument", message, hint="Leave it out")
    return value
