"""The rare languages: how each is written, and what its calls do."""

from functools import cache
from importlib import import_module

from clawft.scan.languages.rare.manner import Manner

__all__ = ["LANGUAGES", "find_manner"]

# Each language and the file its manner is in.
LANGUAGES = {
    **dict.fromkeys(("vbscript", "autohotkey", "autoit"), "windows_scripts"),
    **dict.fromkeys(("haskell", "ocaml", "erlang", "fsharp", "julia"), "functional"),
    **dict.fromkeys(("clojure", "scheme", "elisp"), "lisps"),
    **dict.fromkeys(("tcl", "awk", "viml", "gnuplot", "cmake", "nix", "jq"), "tools"),
    **dict.fromkeys(("sed", "sql", "latex", "m4", "gdb", "registry", "workflow"), "lines"),
    **dict.fromkeys(("zig", "d", "v", "crystal", "pascal", "gdscript", "scala"), "compiled"),
}


@cache
def find_manner(language: str) -> Manner:
    """The manner of a language."""
    manners: dict[str, Manner] = import_module(f"clawft.scan.languages.rare.{LANGUAGES[language]}").MANNERS
    return manners[language]
