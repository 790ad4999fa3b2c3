"""Skills that are scanned where they are offered: downloaded into a folder that is gone afterwards, never installed."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import anyio
from msgspec import Struct

from clawft.app import App
from clawft.cli._progress import is_watched
from clawft.cli.output import one_line, say, show_diagnostic
from clawft.discovery.digest import compute_digest
from clawft.sources.model import Resolved
from clawft.sources.reference import parse_reference
from clawft.supplying import open_sources

__all__ = ["Brought", "bring", "tell_brought"]


class Brought(Struct, frozen=True):
    """A skill that was downloaded to be looked at."""

    folder: str
    resolved: Resolved
    digest: str


@contextmanager
def bring(app: App, references: Sequence[str]) -> Iterator[list[Brought]]:
    """Download what the references mean; all of it where one means several. Raises: ClawftError."""
    with tempfile.TemporaryDirectory(prefix="weft-scan-") as parent:
        yield anyio.run(_download, app, references, parent)


async def _download(app: App, references: Sequence[str], parent: str) -> list[Brought]:
    brought = []
    async with open_sources(app) as sources:
        for text in references:
            reference = parse_reference(text, sources.registries, app.workspace.cwd, app.workspace.home)
            source = sources.find(reference)
            if is_watched():
                say(one_line(f"Fetching {text}"))
            for one in await source.resolve(reference):
                folder = os.path.join(tempfile.mkdtemp(dir=parent), os.path.basename(one.name) or "skill")
                os.mkdir(folder, 0o700)
                came = await source.download(one, folder)
                brought.append(Brought(folder, came, compute_digest(folder).value))
    return brought


def tell_brought(brought: Sequence[Brought]) -> bool:
    """Where each came from, its digest and what its registry says; whether a registry calls one malicious."""
    for one in brought:
        resolved = one.resolved
        version = f" {resolved.version}" if resolved.version else ""
        commit = f" (commit {resolved.commit[:12]})" if resolved.commit else ""
        say(one_line(f"{resolved.name}{version}{commit}, {one.digest}, from {resolved.origin.line}"))
        for note in resolved.notes:
            show_diagnostic(note, where="")
        if (said := resolved.verdict) is not None and said.status != "clean":
            why = ", ".join((*said.reasons, said.summary) if said.summary else said.reasons)
            say(one_line(f"  its registry says: {said.status}{f' ({why})' if why else ''}"))
    return any(one.resolved.verdict is not None and one.resolved.verdict.status == "malicious" for one in brought)
