"""Analysis of documents, language by language: each analyser turns text into facts and inner documents.

An analyser is loaded when a document of its language turns up.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module

from clawft.scanner.facts import Analysis, Document, Fact, Kind, make_child
from clawft.scanner.intake.language import is_unknown
from clawft.scanner.languages.embedded import analyse_remarks, note_loaded, note_strings
from clawft.scanner.languages.long_texts import WHOLE
from clawft.scanner.languages.places import find_format, find_place, name_of

__all__ = ["ANALYSERS", "PROGRAMS", "analyse"]

# What skills are seldom written in; one reader for all.
_RARE = (
    "vbscript", "autohotkey", "autoit", "haskell", "ocaml", "erlang", "fsharp", "julia", "clojure", "scheme", "elisp",
    "tcl", "awk", "viml", "gnuplot", "cmake", "nix", "jq", "sed", "sql", "latex", "m4", "gdb", "registry", "zig", "d",
    "v", "crystal", "pascal", "gdscript", "scala", "workflow",
)  # fmt: skip
# The module of the analyser of each language, with its function unless that is `analyse`.
ANALYSERS = {
    "python": "code", "javascript": "code", "ruby": "code", "perl": "code", "php": "code", "lua": "code", "go": "code",
    "rust": "code", "r": "code", "java": "code", "swift": "code", "csharp": "code", "kotlin": "code", "groovy": "code",
    "dart": "code", "nim": "code", "elixir": "code", "c": "code", **dict.fromkeys(_RARE, "rare"), "shell": "shell",
    "fish": "shell", "powershell": "powershell", "batch": "batch", "applescript": "applescript",
    "dockerfile": "build_files:analyse_dockerfile", "makefile": "build_files:analyse_makefile", "notebook": "notebook",
    "markdown": "markdown", "text": "markdown", "html": "markup", "json": "config", "yaml": "config", "toml": "config",
    "ini": "config",
}  # fmt: skip
# What runs as it stands; the others are read, or set something up.
PROGRAMS = frozenset(ANALYSERS) - {
    "markdown", "html", "json", "yaml", "toml", "ini", "text", "latex", "registry", "workflow",
}  # fmt: skip

# Analysers that read code or settings: what stands there in words is read by another.
_REMARKED = frozenset({"code", "shell", "powershell", "batch", "applescript", "build_files", "config", "rare"})

# Analysers of command languages: of a long script they read what stands around marked words.
_IN_PARTS = _REMARKED - {"code", "config"}


def analyse(document: Document) -> Analysis:
    """The facts of a document, and the documents inside it."""
    analyser = ANALYSERS.get(document.language, "")
    module = analyser.partition(":")[0]
    path = name_of(document)
    analysis = _load(analyser)(document) if analyser else Analysis([], [])
    if module in _IN_PARTS and len(document.text) > WHOLE:
        analysis.gaps.append("It is long: only its ends and the lines around words that matter were analysed")
    if not path:
        return analysis
    if module != "config" and find_format(path):
        named = _load("config")(document)
        analysis = Analysis(
            [*analysis.facts, *named.facts], [*analysis.children, *named.children], [*analysis.gaps, *named.gaps]
        )
    if document.language == "markdown":
        note_loaded(document, analysis)
    if not document.origin and is_unknown(document.path):
        note_strings(document, analysis)
    if module in _REMARKED:
        analysis.facts.extend(analyse_remarks(document).facts)
    _note_place(document, path, analysis)
    return analysis


def _note_place(document: Document, path: str, analysis: Analysis) -> None:
    """Note that a file runs by itself, when its name says so; and read it in the language that it is run in."""
    place = find_place(path)
    if place is not None and (not place.marks or any(mark in document.text for mark in place.marks)):
        analysis.facts.append(Fact(Kind.HOOK, place.hook, document, document.line, path))
        if document.language != place.language and (document.language == "text" or document.language not in ANALYSERS):
            analysis.children.append(make_child(document, document.text, place.language, "hook", 0, flat=False))


@cache
def _load(analyser: str) -> Callable[[Document], Analysis]:
    """Load an analyser, written `module` or `module:function`."""
    module, _, name = analyser.partition(":")
    function: Callable[[Document], Analysis] = getattr(import_module(f"{__name__}.{module}"), name or "analyse")
    return function
