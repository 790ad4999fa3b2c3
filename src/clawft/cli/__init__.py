"""The command line: one file per command, loaded when it is run. `main` translates errors to exit codes."""

import gc
import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from clawft.errors import ClawftError

__all__ = ["main", "restore_gc_thresholds"]

_DURABLE = ("dbos", "psycopg", "sqlalchemy")  # what only runs in the background need
_DEBUG = "CLAWFT_DEBUG"  # the variable that shows bugs as they are
_USUAL = gc.get_threshold()


def restore_gc_thresholds() -> None:
    """For a command that runs for days: garbage is looked for as usual, so that connections that are gone are too."""
    gc.set_threshold(*_USUAL)


def main() -> None:
    """Run `weft`. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused, 130 interrupted."""
    gc.set_threshold(50_000)  # a start makes many objects and leaves no garbage to look for
    import click

    from clawft.cli.root import weft
    from clawft.errors import ClawftError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character still gets the rest
    try:
        code: int = weft.main(standalone_mode=False, prog_name="weft") or 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        _report_json(ClawftError("usage", error.format_message()))
        code = error.exit_code
    except ClawftError as error:
        _report(error)
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort) as stop:
        _tell_stopped(str(stop))
        code = 130
    except (SystemExit, BrokenPipeError):  # the reader has seen enough, as in `weft skills list | head`
        code = 0
    except Exception as error:
        code = _tell_unforeseen(error)
    _leave(code)


def _report(error: "ClawftError") -> None:
    from clawft.cli.output import show_error

    show_error(error)
    _report_json(error)


def _report_json(error: "ClawftError") -> None:
    """Print an error on stdout for a program that asked for JSON, whatever of the command line was understood."""
    words = list(takewhile(lambda word: word != "--", sys.argv[1:]))
    if "--format=json" in words or ("--format", "json") in pairwise(words):
        from clawft.cli.output import print_error_json

        with suppress(OSError):  # the reader is gone
            print_error_json(error)


def _tell_unforeseen(error: Exception) -> int:
    """A part that is not installed, what the system refuses, or a bug: raised as it is if that is asked for."""
    from clawft.errors import ClawftError

    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in _DURABLE:
        from clawft.jobs import missing

        _report(missing())
    elif isinstance(error, OSError):
        from clawft.files import get_hint

        path = str(error.filename or "")
        message = f"The system refused: {error.strerror or error}"
        _report(ClawftError("system", message, path=path, hint=get_hint(error, path)))
    elif os.environ.get(_DEBUG):
        raise error
    else:
        from clawft.cli.bug_report import make_bug_error

        _report(make_bug_error(error, _DEBUG))
    return 1


def _tell_stopped(text: str) -> None:
    """Print why weft stopped, on a new line below the question or ^C that a terminal shows.

    Without a terminal, print only a non-empty text.
    """
    import click

    if sys.stderr is not None and sys.stderr.isatty():
        click.echo(f"\n{text or 'Stopped'}", err=True)
    elif text:
        click.echo(text, err=True)


def _leave(code: int) -> NoReturn:
    """Exit without a word about an output that is gone."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
