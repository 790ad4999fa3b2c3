"""`weft sessions export KEY`: a conversation as a document."""

import os
import sys

import click

from clawft.cli._complete import complete_sessions
from clawft.cli.output import clean, say
from clawft.cli.sessions._store import open_store, show_all
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.sessions import SessionStore
from clawft.sessions.export import render_markdown
from clawft.sessions.page import render_html
from clawft.workspace import resolve_path

__all__ = ["command", "export_session", "write_export"]


@click.command("export")
@click.argument("key", shell_complete=complete_sessions)
@click.option(
    "--to", "kind", type=click.Choice(["md", "html", "jsonl"]), default="md", show_default=True, help="As what."
)
@click.option("--output", "-o", metavar="FILE", help="Where to; stdout if not given.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
def command(key: str, kind: str, output: str | None, force: bool) -> None:
    """Export one conversation: Markdown, a page for browsers, or the lines as they are on disk."""
    app, store = open_store()
    name = store.resolve(key)
    data, said = export_session(store, name, kind)
    show_all(app, (*store.diagnostics, *said))
    if output is None or output == "-":
        _print(data)
        return
    path = resolve_path(output, app.workspace.cwd, app.workspace.home)
    write_export(path, data, force=force)
    say(f"Written to {clean(app.workspace.shorten(path))}")


def export_session(store: SessionStore, key: str, kind: str) -> tuple[bytes, tuple[Diagnostic, ...]]:
    """A session as `md`, `html` or `jsonl`, and what there is to say of it. Raises: ClawftError."""
    if kind == "jsonl":
        return store.read_bytes(key), ()
    transcript = store.read(key)
    render = render_html if kind == "html" else render_markdown
    return render(transcript).encode("utf-8", errors="replace"), transcript.diagnostics


def _print(data: bytes) -> None:
    if sys.stdout.isatty():  # a program gets the bytes, a terminal only what cannot harm it
        click.echo(clean(data.decode("utf-8", errors="replace")), nl=False)
    else:
        click.echo(data, nl=False)


def write_export(path: str, data: bytes, *, force: bool) -> None:
    """Write a file that only its owner can read, since it holds all that was said. Raises: ClawftError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if force else os.O_EXCL)
    try:
        with open(os.open(path, flags, 0o600), "wb") as file:
            file.write(data)
    except FileExistsError as error:
        raise Refused(
            "file-exists", "The file is there already", path=path, hint="Overwrite it with --force"
        ) from error
    except OSError as error:
        raise ClawftError("not-written", f"The file was not written: {error.strerror}", path=path) from error
