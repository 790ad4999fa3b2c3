"""Questions to a person at a terminal: confirmations, choices, and secrets that are typed without being shown."""

import getpass
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import click

from clawft.cli.output import one_line, say, say_lines
from clawft.config.redaction import looks_secret
from clawft.errors import Refused

T = TypeVar("T")


def confirm(question: str, what: str, hint: str = "Pass --yes", lines: Iterable[str] = ()) -> bool:
    """Return whether a person agrees to `what`, having seen the lines. Raises: Refused where there is nobody to ask."""
    return _ask_person(lambda: click.confirm(one_line(question), err=True), what, hint, lines)


def ask_choice(question: str, answers: Sequence[str], default: str, what: str, hint: str = "Pass --yes") -> str:
    """Return which of some letters a person answers, or whose word of them they type. Raises: Refused where there is
    nobody to ask."""
    choice = click.Choice(answers, case_sensitive=False)

    def ask() -> str:
        return str(
            click.prompt(
                one_line(question),
                type=choice,
                default=default,
                show_choices=False,
                err=True,
                value_proc=lambda text: choice.convert(text.strip()[:1], None, None),
            )
        )

    return _ask_person(ask, what, hint, ())


def _ask_person(ask: Callable[[], T], what: str, hint: str, lines: Iterable[str]) -> T:
    """Ask, and note for the audit log who answered. Raises: Refused where there is nobody to ask."""
    from clawft.trust.audit.log import AT_TERMINAL, LEFT, note_answer  # most commands ask nothing

    context = click.get_current_context(silent=True)
    if context is not None:
        context.call_on_close(lambda: note_answer(""))
    if sys.stdin is None or not sys.stdin.isatty():
        note_answer("nobody to ask")
        raise Refused("needs-yes", f"{what} needs a yes, and there is no terminal to ask on", hint=hint)
    say_lines(lines)
    note_answer(LEFT)
    answer = ask()
    note_answer(AT_TERMINAL)
    return answer


@contextmanager
def report_interrupt(what: str, is_begun: Callable[[], bool]) -> Iterator[None]:
    """Report an interrupted command: nothing was `what`, or, if the work had begun, how it will be finished.

    Raises: click.Abort.
    """
    try:
        yield
    except (KeyboardInterrupt, click.Abort) as error:
        begun = "It was begun, and the next command of weft finishes it"
        raise click.Abort(begun if is_begun() else f"Nothing was {what}") from error


def check_terminal() -> None:
    """Raises: Refused where nobody can answer."""
    if any(stream is None or not stream.isatty() for stream in (sys.stdin, sys.stderr)):
        hint = "Pass --yes to take the defaults, and --model PROVIDER/MODEL to choose what answers"
        raise Refused("needs-yes", "onboard asks questions, and there is no terminal to answer at", hint=hint)


class OnboardPrompts:
    """Asks, or with `yes` takes the default of every question."""

    def __init__(self, *, yes: bool) -> None:
        self.yes = yes

    def ask(self, question: str, default: str = "") -> str:
        """A line of text. Raises: click.Abort at the end of the input."""
        if self.yes:
            return default
        while True:
            click.echo(f"{question}{f' [{one_line(default)}]' if default else ''}: ", nl=False, err=True)
            line = sys.stdin.buffer.readline().decode(errors="replace")
            if not line:
                say()
                raise click.Abort
            text = one_line(line)
            if not looks_secret(text):
                return text or default
            say("That looks like a key, so it is not taken here. A key is asked for without showing it.")

    def confirm(self, question: str, *, default: bool) -> bool:
        answer = self.ask(f"{question} {'[Y/n]' if default else '[y/N]'}").lower()
        return answer in ("y", "yes") if answer else default

    def choose(self, question: str, names: Sequence[str], default: str = "", *, other: bool = False) -> str:
        """One of the names, typed as it is or as its number; with `other` any text will do."""
        while True:
            answer = self.ask(question, default)
            if answer.isdecimal() and 1 <= int(answer) <= len(names):
                return names[int(answer) - 1]
            if answer in names or (other and answer) or self.yes:
                return answer
            say(f"Type a number from 1 to {len(names)}, or a name." if names else "Type a name.")

    def ask_secret(self, question: str) -> str:
        """Ask for a secret without showing what is typed; '' for nothing. Raises: click.Abort, Refused."""
        if self.yes:
            return ""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", getpass.GetPassWarning)
                return getpass.getpass(f"{question}: ").strip().strip("'\"")
        except EOFError:
            say()
            raise click.Abort from None
        except getpass.GetPassWarning:
            hint = "Put the key into a variable, and run this again"
            raise Refused(
                "no-terminal", "This terminal would show the key, so it was not asked for", hint=hint
            ) from None
