"""How the code languages are written: comments, strings, blocks and operators, one row per language."""

import re
from functools import cache

from msgspec import Struct

__all__ = ["DEFINERS", "SYNTAXES", "Form", "Syntax", "get_syntax"]


class Form(Struct, frozen=True):
    """One way to write a string."""

    open: str  # a pattern
    close: str = ""  # literal; "" for the bracket that answers the last character of the opening
    raw: bool = False  # a backslash is a backslash
    holes: str = ""  # how an expression stands inside: "{", "${", "#{", "$", "@", "\\("
    kind: str = "text"  # text, command (it is run), words (a list), pattern (never a value), heredoc
    lines: bool = False  # it may go over several lines
    decimal: bool = False  # digits after a backslash are a decimal number


class Syntax(Struct, frozen=True):
    """The shape of a language, as far as the analysis needs it."""

    name: str
    comments: str  # a pattern
    forms: tuple[Form, ...]
    blocks: str = "braces"  # braces, indent, end
    newlines: bool = True  # a line break may end a statement
    names: str = r"[A-Za-z_]\w*"
    attrs: frozenset[str] = frozenset((".", "?.", "::", "->"))
    concat: frozenset[str] = frozenset(("+",))
    commands: bool = False  # a call may do without parentheses
    typed: bool = False  # a declaration writes its type before the name
    patterns: bool = False  # a slash may open a pattern


_HASH = r"\#[^\n]*"
_SLASHES = r"//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)"
_POD = r"(?:(?<=\n)|\A)=[a-z]\w*[^\n]*(?:\n(?!=(?:cut|end))[^\n]*)*(?:\n=(?:cut|end)[^\n]*)?"
_DOUBLE, _SINGLE = Form('"', '"'), Form("'", "'")
_CHAR = Form(r"'(?=(?:[^'\\\n]|\\[^\n]{1,8})')", "'")
_TRIPLE = (Form('"""', '"""', lines=True), Form("'''", "'''", lines=True))
_PAIRS = r"[({\[<|/!#~^,]"


def _c_like(name: str, *forms: Form, typed: bool = True, newlines: bool = False) -> Syntax:
    comments = _SLASHES if name == "java" else _SLASHES + r"|\#[^\n]*"  # lines for the preprocessor
    return Syntax(name, comments, (*forms, _DOUBLE, _CHAR), newlines=newlines, typed=typed)


_ALL = (
    Syntax(
        "python",
        _HASH,
        (
            Form('(?:[fF][rR]|[rR][fF])"""', '"""', raw=True, holes="{", lines=True),
            Form("(?:[fF][rR]|[rR][fF])'''", "'''", raw=True, holes="{", lines=True),
            Form('[fFtT]"""', '"""', holes="{", lines=True),
            Form("[fFtT]'''", "'''", holes="{", lines=True),
            Form('(?:[rR][bB]?|[bB][rR])"""', '"""', raw=True, lines=True),
            Form("(?:[rR][bB]?|[bB][rR])'''", "'''", raw=True, lines=True),
            Form('[bBuU]?"""', '"""', lines=True),
            Form("[bBuU]?'''", "'''", lines=True),
            Form('(?:[fF][rR]|[rR][fF])"', '"', raw=True, holes="{"),
            Form("(?:[fF][rR]|[rR][fF])'", "'", raw=True, holes="{"),
            Form('[fFtT]"', '"', holes="{"),
            Form("[fFtT]'", "'", holes="{"),
            Form('(?:[rR][bB]?|[bB][rR])"', '"', raw=True),
            Form("(?:[rR][bB]?|[bB][rR])'", "'", raw=True),
            Form('[bBuU]?"', '"'),
            Form("[bBuU]?'", "'"),
        ),
        blocks="indent",
        attrs=frozenset((".",)),
    ),
    Syntax(
        "javascript",
        _SLASHES + r"|\#![^\n]*|<!--[^\n]*",
        (_DOUBLE, _SINGLE, Form("`", "`", holes="${", lines=True)),
        names=r"[A-Za-z_$#][\w$]*",
        attrs=frozenset((".", "?.")),
        patterns=True,
    ),
    Syntax(
        "ruby",
        _HASH + "|" + _POD,
        (
            Form(r"<<[~-]?(?P<tag1>[A-Z]\w*)\b", kind="heredoc", holes="#{"),
            Form(r"<<[~-]?(?P<quote1>['\"])(?P<tag2>[^'\"\n]+)(?P=quote1)", kind="heredoc"),
            Form(rf"%[wWiI]{_PAIRS}", raw=True, kind="words", lines=True),
            Form(rf"%x{_PAIRS}", holes="#{", kind="command", lines=True),
            Form(rf"%r{_PAIRS}", kind="pattern", lines=True),
            Form(rf"%q{_PAIRS}", lines=True),
            Form(rf"%Q?(?<=[(,=\s%Q])(?<!\w\s%){_PAIRS}(?<![<,/])", holes="#{", lines=True),
            Form('"', '"', holes="#{", lines=True),
            Form("'", "'", raw=True, lines=True),
            Form("`", "`", holes="#{", kind="command"),
        ),
        blocks="end",
        names=r"@{0,2}[A-Za-z_]\w*[?!]?(?![=~]=?)|@{0,2}[A-Za-z_]\w*|\$[\w!?0]\w*",
        attrs=frozenset((".", "&.", "::")),
        concat=frozenset(("+", "<<")),
        commands=True,
        patterns=True,
    ),
    Syntax(
        "perl",
        _HASH + "|" + _POD + r"|(?<=\n)__(?:END|DATA)__\b[\s\S]*",
        (
            Form(r"<<~?(?P<tag1>[A-Z_]\w*)\b", kind="heredoc", holes="$"),
            Form(r"<<~?(?P<quote1>['\"])(?P<tag2>[^'\"\n]+)(?P=quote1)", kind="heredoc"),
            Form(rf"\bq{_PAIRS}(?<!,)(?!>)", lines=True),
            Form(rf"\bqq{_PAIRS}(?<!,)", holes="$", lines=True),
            Form(rf"\bqw\s?{_PAIRS}", raw=True, kind="words", lines=True),
            Form(rf"\bqx{_PAIRS}", holes="$", kind="command", lines=True),
            Form(rf"\b(?:qr|m){_PAIRS}(?<!,)", kind="pattern", lines=True),
            Form(rf"\b(?:s|tr|y){_PAIRS}(?<!,)", kind="pattern2", lines=True),
            Form('"', '"', holes="$", lines=True),
            Form("'", "'", raw=True, lines=True),
            Form("`", "`", holes="$", kind="command"),
        ),
        newlines=False,
        names=r"\$\#?\$*(?:[A-Za-z_]\w*|\d+|[!@&/\\,;.0_](?!\w))|\$\#?\{\^?\w+\}|@\$*[A-Za-z_]\w*|[A-Za-z_]\w*",
        attrs=frozenset(("->", "::")),
        concat=frozenset((".",)),
        commands=True,
        patterns=True,
    ),
    Syntax(
        "php",
        r"\#(?!\[)(?:[^\n?]|\?(?!>))*|//(?:[^\n?]|\?(?!>))*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)|\?>(?:[^<]|<(?!\?))*(?:<\?(?:php|=)?|\Z)|<\?(?:php|=)?",
        (
            Form(r"<<<[ \t]*(?P<tag1>[A-Za-z_]\w*)", kind="heredoc", holes="$"),
            Form(r"<<<[ \t]*(?P<quote1>['\"])(?P<tag2>[^'\"\n]+)(?P=quote1)", kind="heredoc"),
            Form('"', '"', holes="$", lines=True),
            Form("'", "'", raw=True, lines=True),
            Form("`", "`", holes="$", kind="command"),
        ),
        newlines=False,
        names=r"\$+[A-Za-z_]\w*|\\?[A-Za-z_]\w*(?:\\[A-Za-z_]\w*)*",
        attrs=frozenset(("->", "?->", "::")),
        concat=frozenset((".",)),
        commands=True,
    ),
    Syntax(
        "lua",
        r"--\[(?P<level0>=*)\[[\s\S]*?(?:\](?P=level0)\]|\Z)|--[^\n]*|\A\#![^\n]*",
        (
            Form(r"\[\[", "]]", raw=True, lines=True),
            Form(r"\[=\[", "]=]", raw=True, lines=True),
            Form('"', '"', decimal=True),
            Form("'", "'", decimal=True),
        ),
        blocks="end",
        attrs=frozenset((".", ":")),
        concat=frozenset(("..",)),
        commands=True,
    ),
    Syntax("go", _SLASHES, (Form("`", "`", raw=True, lines=True), _DOUBLE, _CHAR), attrs=frozenset((".",))),
    Syntax(
        "rust",
        _SLASHES,
        (
            Form('b?r"', '"', raw=True, lines=True),
            Form('b?r#"', '"#', raw=True, lines=True),
            Form('b?r##"', '"##', raw=True, lines=True),
            Form('[bc]?"', '"', lines=True),
            Form(r"b?'(?=(?:[^'\\\n]|\\[^\n]{1,8})')", "'"),
        ),
        newlines=False,
        names=r"[A-Za-z_]\w*!(?=\s?[(\[{])|(?:r\#)?[A-Za-z_]\w*",
        attrs=frozenset((".", "::")),
    ),
    Syntax(
        "r",
        _HASH,
        (Form(r"[rR]['\"]-*\(", ")", raw=True), Form('"', '"', lines=True), Form("'", "'", lines=True)),
        names=r"[A-Za-z.][\w.]*",
        attrs=frozenset(("$", "@", "::", ":::")),
    ),
    _c_like("java", _TRIPLE[0]),
    Syntax(
        "kotlin",
        _SLASHES,
        (Form('"""', '"""', raw=True, holes="$", lines=True), Form('"', '"', holes="$"), _CHAR),
        attrs=frozenset((".", "?.", "::", "!!.")),
    ),
    Syntax(
        "groovy",
        _SLASHES + r"|\#![^\n]*",
        (*_TRIPLE, Form('"', '"', holes="$"), _SINGLE),
        typed=True,
        commands=True,
    ),
    Syntax(
        "swift",
        _SLASHES + r"|\#![^\n]*",
        (Form('"""', '"""', holes="\\(", lines=True), Form('"', '"', holes="\\(")),
        attrs=frozenset((".", "?.", "!.")),
    ),
    _c_like(
        "csharp",
        Form('(?:\\$@|@\\$)"', '"', raw=True, holes="{", lines=True),
        Form('@"', '"', raw=True, lines=True),
        Form('\\$"', '"', holes="{"),
    ),
    _c_like("c"),
    Syntax(
        "dart", _SLASHES, (*_TRIPLE, Form('"', '"', holes="$"), Form("'", "'", holes="$")), newlines=False, typed=True
    ),
    Syntax(
        "nim",
        _HASH,
        (Form('(?:fmt|&)?"""', '"""', holes="{", lines=True), Form('(?:fmt|&)"', '"', holes="{"), _DOUBLE, _CHAR),
        blocks="indent",
        concat=frozenset(("&",)),
        commands=True,
    ),
    Syntax(
        "elixir",
        _HASH,
        (*_TRIPLE, Form('(?:~[a-zA-Z])?"', '"', holes="#{", lines=True), _SINGLE),
        blocks="end",
        names=r"[@:]?[A-Za-z_]\w*[?!]?",
        attrs=frozenset((".",)),
        concat=frozenset(("<>", "++")),
        commands=True,
    ),
)
SYNTAXES = {one.name: one for one in _ALL}
# The words that begin a function; elsewhere they are names like any other.
DEFINERS = {
    "python": frozenset(("def", "lambda")),
    "javascript": frozenset(("function",)),
    "ruby": frozenset(("def", "lambda", "proc")),
    "perl": frozenset(("sub",)),
    "php": frozenset(("function", "fn")),
    "lua": frozenset(("function",)),
    "go": frozenset(("func",)),
    "rust": frozenset(("fn",)),
    "r": frozenset(("function",)),
    "java": frozenset(("def",)),
    "kotlin": frozenset(("fun", "init")),
    "groovy": frozenset(("def",)),
    "swift": frozenset(("func", "init")),
    "csharp": frozenset(),
    "c": frozenset(),
    "dart": frozenset(),
    "nim": frozenset(("proc", "func", "method")),
    "elixir": frozenset(("def", "defp", "defmacro", "fn")),
}

_OPERATORS = (
    r"\*\*=|>>>=|===|!==|<=>|\.\.\.|\.\.[=<]|<<=|>>=|&&=|\|\|=|\?\?=|:::|\?->|//=|=>|->|::|\.\.|==|!=|<=|>=|&&|\|\|"
    r"|\?\?|\?\.|\?:|:=|<-|<<|>>|\*\*|//|[-+*/%&|^.~]=|=~|!~|\+\+|--|<>|\|>|&\.|%>%|[^\w\s]|."
)

_BREAK = r"\r?\n"
# Where nothing but code begins on the next line: with the lines that are empty, and the margin where that matters.
_BREAKS = {
    "python": r"\r?\n(?:[ \t]*+(?:\#[^\n]*+)?\r?\n)*+[ \t]*+",
    "javascript": r"\r?\n(?:[ \t]*+\r?\n)*+",
}
# What most tokens are, tried first where strings begin with a quote or a letter before one, and have no expressions in
# them unless a letter says so: names, brackets, and strings without an escape.
_PLAIN = frozenset(("python", "javascript", "java", "go", "c"))
_COMMON = (
    r"(?P<m>[A-Za-z_]\w*+(?![\"'`$]))|(?P<q>[()\[\]{},;])"
    r"|(?P<t>\"(?!\"\")[^\"\\\n]*\"|'(?!'')[^'\\\n]*')"
)


@cache
def get_syntax(name: str) -> tuple[Syntax, re.Pattern[str], dict[str, Form]]:
    """A syntax, the pattern that finds its next token, and the string forms by the name of their group."""
    syntax = SYNTAXES[name]
    forms = {f"s{index}": form for index, form in enumerate(syntax.forms)}
    parts = [_COMMON] if name in _PLAIN else []
    parts.append(f"(?P<l>{_BREAKS.get(name, _BREAK)})|(?P<c>{syntax.comments})")
    before = ""
    if syntax.patterns:  # a slash is no division after what cannot end a value
        body = r"/(?![*/ =])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.){0,400}\]){1,1500}/[a-z]*"
        before = rf"(?P<p>(?=[ \t]*/)(?:(?<=[(,=:\[!&|?{{;~\n])|(?<=return)|(?<= if)|(?<=when))[ \t]*{body})|"
    parts += [f"(?P<{key}>{_unique(form.open, key)})" for key, form in forms.items()]
    parts.append(rf"(?P<n>{syntax.names})|(?P<d>0[xXoObB][\da-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][-+]?\d+)?\w*)")
    parts.append(f"(?P<o>{_OPERATORS})")
    return (
        syntax,
        re.compile(before + r"[ \t\f\v\u00a0]*(?:" + "|".join(parts) + r")|[ \t\f\v\r\u00a0]+|\\\r?\n"),
        forms,
    )


def _unique(pattern: str, key: str) -> str:
    """A pattern whose inner groups carry the name of its form, so that several forms may stand in one pattern."""
    return re.sub(r"\?P(<|=)((?:tag|quote)\d)", lambda match: f"?P{match[1]}{match[2]}{key}", pattern)
