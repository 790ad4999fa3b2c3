"""The rare languages: how each is written, and what its calls do."""

import re
from functools import cache
from importlib import import_module

from msgspec import Struct

# What is never closed goes to the end of the text: to look for its end at every quote would take time without bounds.
DOUBLE = r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)'
SINGLE = r"'(?:[^'\\]|\\.)*(?:'|\\?\Z)"
BACK = r"`(?:[^`\\]|\\.)*(?:`|\\?\Z)"
SLASHES = r"//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)"
STARS = r"\(\*(?:[^*]|\*(?!\)))*(?:\*\)|\Z)"
CHARACTER = r"(?<!\w)'(?:[^'\\\n]|\\[^'\n]{1,8})'"
BASIC = r'"(?:[^"\n]|"")*"'  # a quote is written twice
DOTTED = r"[A-Za-z_]\w*(?:(?:::|\.|->|:)[A-Za-z_]\w*)*[!?]?"
SYMBOL = r"[A-Za-z_*+!?<>=:-][\w*+!?<>=./:$-]*"
WORD = r"[^\s\[\]{}\";]+"


class RareLanguage(Struct, frozen=True, eq=False):
    """A language, as far as the reader needs it."""

    calls: dict[str, str]  # effect → names; one that begins with a dot is a method of any object
    comments: str = r"\#[^\n]*"
    strings: str = DOUBLE
    names: str = DOTTED
    joins: str = "+"  # operators that put texts together, apart by spaces; "" also means side by side
    sides: bool = False  # texts side by side are one text
    spaced: bool = False  # a call is written `name argument argument`, brackets only hold things together
    heads: bool = False  # a call is written (name …) or `name …`: only what comes first is called
    bare: bool = False  # a word is a text, unless a dollar stands before it
    words: bool = False  # a name that nothing was given to is a text
    preset: dict[str, str] = {}  # what some names hold from the start
    holes: str = ""  # a pattern of names in strings, its first group the name
    folded: bool = False  # upper and lower case are the same
    escapes: bool = True  # a backslash in a string has a meaning
    shell: str = "shell"  # the language that its commands are in
    commands: str = ""  # a pattern of command lines that stand in the text as they are, its named groups the commands
    assigns: str = "= := <- ?="
    ends: str = ";"
    pipes: bool = False  # a bar leads to a command


@cache
def compile_rare_language(manner: RareLanguage) -> re.Pattern[str]:
    parts = (
        ("c", manner.comments),
        ("s", manner.strings),
        ("n", r"[$@%]?" + manner.names if not manner.bare else manner.names),
        ("d", r"\d[\w.]*"),
        ("l", r"\r?\n"),
        ("o", r"<-|->|:=|<>|\+\+|\|>|\.\.|==|!=|<=|>=|=>|=<<|>>=|</>|\?=|[^\s\w]"),
    )
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in parts if pattern), re.DOTALL)


@cache
def _names(manner: RareLanguage) -> dict[str, tuple[str, str]]:
    table: dict[str, tuple[str, str]] = {}
    for effect, names in manner.calls.items():
        kind, _, argument = effect.partition(":")
        for name in names.split():
            table[name.lower() if manner.folded else name] = (kind, argument)
    return table


_PARTS = re.compile(r"::|\.|->|:|/")


def find_effect(manner: RareLanguage, name: str) -> tuple[str, str] | None:
    """Find the effect of a call: by its whole name, or as a method by the last part of it."""
    table = _names(manner)
    if manner.folded:
        name = name.lower()
    if name in table:
        return table[name]
    parts = _PARTS.split(name)
    return table.get("." + parts[-1]) if len(parts) > 1 or name.startswith(".") else None


# Each language, and where it is described.
LANGUAGES = {
    **dict.fromkeys(("vbscript", "autohotkey", "autoit"), "tools:WINDOWS_SCRIPT_LANGUAGES"),
    **dict.fromkeys(("haskell", "ocaml", "erlang", "fsharp", "julia"), "functional:FUNCTIONAL_LANGUAGES"),
    **dict.fromkeys(("clojure", "scheme", "elisp"), "functional:LISP_LANGUAGES"),
    **dict.fromkeys(("tcl", "awk", "viml", "gnuplot", "cmake", "nix", "jq"), "tools:TOOL_LANGUAGES"),
    **dict.fromkeys(("sed", "sql", "latex", "m4", "gdb", "registry", "workflow"), "tools:LINE_LANGUAGES"),
    **dict.fromkeys(("zig", "d", "v", "crystal", "pascal", "gdscript", "scala"), "compiled:COMPILED_LANGUAGES"),
}


@cache
def get_rare_language(language: str) -> RareLanguage:
    """Return the description of a language."""
    module, _, table = LANGUAGES[language].partition(":")
    languages: dict[str, RareLanguage] = getattr(import_module(f"clawft.scanner.languages.rare.{module}"), table)
    return languages[language]
