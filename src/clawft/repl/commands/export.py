"""`/export [FILE]`: this session as a document."""

import os
from typing import TYPE_CHECKING

from clawft.cli.output import one_line
from clawft.errors import Refused
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_diagnostics
from clawft.workspace import resolve_path

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["EXPORT"]

_HELP = """\
Markdown, or a page for browsers where FILE ends in .html, or the lines as they are on disk where it ends in .jsonl.
Without FILE it is named after the session, in this folder. A file that is there is not overwritten."""
_KINDS = {".html": "html", ".htm": "html", ".jsonl": "jsonl"}


async def _run(repl: "Repl", rest: str) -> None:
    from clawft.cli.sessions.export import export_session, write_export
    from clawft.sessions import encode_key

    store, at = repl.app.sessions, repl.app.workspace
    if repl.key not in store:
        repl.screen.print("There is nothing to export yet: the session begins with your first message")
        return
    path = resolve_path(rest or f"{encode_key(repl.key)}.md", at.cwd, at.home)
    if os.path.lexists(path):
        raise Refused("file-exists", "The file is there already", path=path, hint="Choose another name: /export <file>")
    kind = _KINDS.get(os.path.splitext(path)[1].lower(), "md")
    data, said = export_session(store, repl.key, kind)
    write_export(path, data, force=False)
    print_diagnostics(repl, said)
    repl.screen.print(f"Written to {one_line(at.shorten(path))}")


EXPORT = SlashCommand("export", "/export [file]", "Write the session to a file", _run, _HELP)
