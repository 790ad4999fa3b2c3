"""The parts of a shell script, as the parser leaves them: commands, words, and what is put into words."""

from msgspec import Struct

__all__ = [
    "Function",
    "Group",
    "Node",
    "Param",
    "Part",
    "Pipe",
    "Process",
    "Quoted",
    "Redirect",
    "Simple",
    "Subst",
    "Word",
]


class Quoted(Struct, gc=False):
    """Text in quotes: no braces, no splitting."""

    text: str


class Param(Struct):
    """`$name` or `${name…}`."""

    name: str
    quoted: bool = False
    op: str = ""  # what stands after the name: ":-", "%%", "/", "^^", …; "!" and "length" for a mark before it
    arg: "Word | str" = ""
    index: str = ""  # "[@]", "[0]"


class Subst(Struct):
    """`$(…)` or backticks."""

    body: "list[Node]"
    text: str
    quoted: bool = False


class Process(Struct):
    """`<(…)`, or `>(…)` when it takes what is written."""

    body: "list[Node]"
    into: bool


Part = str | Quoted | Param | Subst | Process


class Word(Struct):
    """A word that has to be expanded; a plain one is a `str`."""

    parts: list[Part]
    braces: bool = False


class Redirect(Struct):
    """One redirect; `target` is the text itself for a here-document or a here-string."""

    fd: str
    op: str
    target: Word | str
    quoted: bool = False  # a here-document that is taken as written
    strip: bool = False  # a here-document whose leading tabs are dropped


class Simple(Struct):
    """A command with its words."""

    offset: int
    words: list[Word | str]
    assigns: list[tuple[str, bool, Word | str | list[Word | str]]]  # name, whether it is appended, value
    redirects: list[Redirect]


class Group(Struct):
    """Commands that share their input and output: `( )`, `{ }`, the body of a loop or a condition."""

    offset: int
    body: "list[Node]"
    redirects: list[Redirect]
    subshell: bool = False
    variable: str = ""  # of a for loop
    values: list[Word | str] = []


class Pipe(Struct):
    """Commands of which each reads what the one before wrote."""

    commands: "list[Node]"


class Function(Struct):
    """A function is defined."""

    name: str
    body: "Node | None"


Node = Simple | Group | Pipe | Function
