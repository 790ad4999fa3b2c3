"""`weft scan PATH…`: skills, folders that are none yet, single files and archives."""

import os
from typing import Any

import click

from clawft.cli.options import open_here
from clawft.cli.scan._options import ScanOptions, scan_options
from clawft.cli.scan._run import run_scan
from clawft.errors import NotFound, find_close
from clawft.scan.targets import Target, find_targets

__all__ = ["command", "path_targets"]


@click.command("path")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@scan_options
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Scan what is there; `weft scan PATH` is short for it.

    Exit code: 0, or 3 when a verdict is `malicious` (see --fail-on), or 1 when something could not be scanned.
    """
    targets = [target for path in paths for target in path_targets(path)]
    return run_scan(targets, ScanOptions(**options), open_here().scan_dir)


def path_targets(path: str) -> list[Target]:
    """What there is to scan at a path. Raises: NotFound."""
    try:
        return find_targets(os.path.expanduser(path))
    except (OSError, ValueError) as error:
        raise NotFound("no-such-path", f"There is no such file or folder: {path}", hint=_hint(path)) from error


def _hint(path: str) -> str:
    """What was probably meant: a command, an entry beside it, or a skill by its name."""
    close = find_close(path, ("rules", "explain"))
    if close:
        return f"did you mean `weft scan {close}`?"
    folder, _, name = path.rstrip("/").rpartition("/")
    try:
        beside = find_close(name, os.listdir(folder or "."))
    except (OSError, ValueError):
        beside = None
    if beside:
        return f"did you mean '{os.path.join(folder, beside)}'?"
    return "A skill by its name is scanned by: weft skills scan NAME" if "/" not in path else ""
