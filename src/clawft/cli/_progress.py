"""A line on a terminal while something takes long, as to scan skills that are new; elsewhere nothing."""

import os
import sys
import time

import click

__all__ = ["ScanProgress", "is_watched", "scan_progress"]

LONG_S = 2.0  # then seconds are counted
SILENT_S = 0.5  # what is done sooner needs no progress
_EVERY_S = 0.1
_SCANNING = "Scanning skills that are new or changed"


class ScanProgress:
    """Told how many of how many are done, as `App.tell_scan` is."""

    def __init__(self, doing: str = _SCANNING) -> None:
        self.doing = doing
        self.due = 0.0
        self.began = 0.0
        self.shown = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done == total:
            if self.shown:
                click.echo("\r\x1b[K", nl=False, err=True)
            self.due, self.shown = 0.0, False
        elif not self.due:
            self.began, self.due = now, now + SILENT_S
        elif now >= self.due:
            self.due = now + _EVERY_S
            self.shown = True
            took = f" ({now - self.began:.0f} s)" if now - self.began >= LONG_S else ""  # that it goes on is seen
            click.echo(f"\r\x1b[K{self.doing}: {done} of {total}{took}", nl=False, err=True)


def scan_progress(doing: str = _SCANNING) -> ScanProgress | None:
    """How to tell, where there is a terminal to tell it on."""
    return ScanProgress(doing) if is_watched() else None


def is_watched() -> bool:
    """Whether somebody sees what is said meanwhile."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
