"""What a document does, language by language: each analyser turns text into facts and inner documents.

An analyser is loaded when a document of its language turns up.
"""

from functools import cache
from importlib import import_module
from typing import Protocol

from clawft.scan.documents import Document
from clawft.scan.facts import Analysis

__all__ = ["ANALYSERS", "analyse"]

ANALYSERS = {
    "python": "code",
    "javascript": "code",
    "ruby": "code",
    "perl": "code",
    "php": "code",
    "lua": "code",
    "go": "code",
    "rust": "code",
    "r": "code",
    "java": "code",
    "swift": "code",
    "csharp": "code",
    "shell": "shell",
    "fish": "shell",
    "powershell": "powershell",
    "batch": "batch",
    "applescript": "applescript",
    "dockerfile": "dockerfile",
    "makefile": "makefile",
    "notebook": "notebook",
    "markdown": "markdown",
    "html": "markup",
    "json": "config",
    "yaml": "config",
    "toml": "config",
    "ini": "config",
}


class _Analyser(Protocol):
    def analyse(self, document: Document) -> Analysis: ...


def analyse(document: Document) -> Analysis:
    """The facts of a document, and the documents inside it."""
    module = ANALYSERS.get(document.language)
    return _load(module).analyse(document) if module else Analysis([], [])


@cache
def _load(module: str) -> _Analyser:
    analyser: _Analyser = import_module(f"{__name__}.{module}")  # type: ignore[assignment]
    return analyser
