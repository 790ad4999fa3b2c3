"""The scanner: reads what a skill would do and whether it attacks, and never runs it.

`scan_path` takes a folder, a file or an archive and returns a report. Inside, one direction: `intake` turns files into
documents, `disguises` undoes disguises, `languages` finds facts, `rules` objects to conjunctions of them.
`gate` keeps what was found, so that skills that did not change are not read again.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clawft.scanner.engine import scan_path
    from clawft.scanner.findings import Coverage, Finding, Gap, Power, Report, Severity, Verdict

__all__ = ["Coverage", "Finding", "Gap", "Power", "Report", "Severity", "Verdict", "scan_path"]


def __getattr__(name: str) -> object:
    """All of it is loaded when it is first asked for: what was scanned before needs none of it."""
    if name in __all__:
        return getattr(import_module(f"{__name__}.{'engine' if name == 'scan_path' else 'findings'}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
