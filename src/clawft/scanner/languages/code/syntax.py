"""The syntax of the code languages: comments, strings, blocks and operators, one row per language."""

import re
from functools import cache

from msgspec import Struct

from clawft.scanner.regex import words


class StringForm(Struct, frozen=True):
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
    forms: tuple[StringForm, ...]
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
_DOUBLE, _SINGLE = StringForm('"', '"'), StringForm("'", "'")
_CHAR = StringForm(r"'(?=(?:[^'\\\n]|\\[^\n]{1,8})')", "'")
_TRIPLE = (StringForm('"""', '"""', lines=True), StringForm("'''", "'''", lines=True))
_PAIRS = r"[({\[<|/!#~^,]"


def _c_like(name: str, *forms: StringForm) -> Syntax:
    comments = _SLASHES if name == "java" else _SLASHES + r"|\#[^\n]*"  # lines for the preprocessor
    return Syntax(name, comments, (*forms, _DOUBLE, _CHAR), newlines=False, typed=True)


_ALL = (
    Syntax(
        "python",
        _HASH,
        (
            StringForm('(?:[fF][rR]|[rR][fF])"""', '"""', raw=True, holes="{", lines=True),
            StringForm("(?:[fF][rR]|[rR][fF])'''", "'''", raw=True, holes="{", lines=True),
            StringForm('[fFtT]"""', '"""', holes="{", lines=True),
            StringForm("[fFtT]'''", "'''", holes="{", lines=True),
            StringForm('(?:[rR][bB]?|[bB][rR])"""', '"""', raw=True, lines=True),
            StringForm("(?:[rR][bB]?|[bB][rR])'''", "'''", raw=True, lines=True),
            StringForm('[bBuU]?"""', '"""', lines=True),
            StringForm("[bBuU]?'''", "'''", lines=True),
            StringForm('(?:[fF][rR]|[rR][fF])"', '"', raw=True, holes="{"),
            StringForm("(?:[fF][rR]|[rR][fF])'", "'", raw=True, holes="{"),
            StringForm('[fFtT]"', '"', holes="{"),
            StringForm("[fFtT]'", "'", holes="{"),
            StringForm('(?:[rR][bB]?|[bB][rR])"', '"', raw=True),
            StringForm("(?:[rR][bB]?|[bB][rR])'", "'", raw=True),
            StringForm('[bBuU]?"', '"'),
            StringForm("[bBuU]?'", "'"),
        ),
        blocks="indent",
        attrs=frozenset((".",)),
    ),
    Syntax(
        "javascript",
        _SLASHES + r"|\#![^\n]*|<!--[^\n]*",
        (_DOUBLE, _SINGLE, StringForm("`", "`", holes="${", lines=True)),
        names=r"[A-Za-z_$#][\w$]*",
        attrs=frozenset((".", "?.")),
        patterns=True,
    ),
    Syntax(
        "ruby",
        _HASH + "|" + _POD,
        (
            StringForm(r"<<[~-]?(?P<tag1>[A-Z]\w*)\b", kind="heredoc", holes="#{"),
            StringForm(r"<<[~-]?(?P<quote1>['\"])(?P<tag2>[^'\"\n]+)(?P=quote1)", kind="heredoc"),
            StringForm(rf"%[wWiI]{_PAIRS}", raw=True, kind="words", lines=True),
            StringForm(rf"%x{_PAIRS}", holes="#{", kind="command", lines=True),
            StringForm(rf"%r{_PAIRS}", kind="pattern", lines=True),
            StringForm(rf"%q{_PAIRS}", lines=True),
            StringForm(rf"%Q?(?<=[(,=\s%Q])(?<!\w\s%){_PAIRS}(?<![<,/])", holes="#{", lines=True),
            StringForm('"', '"', holes="#{", lines=True),
            StringForm("'", "'", raw=True, lines=True),
            StringForm("`", "`", holes="#{", kind="command"),
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
            StringForm(r"<<~?(?P<tag1>[A-Z_]\w*)\b", kind="heredoc", holes="$"),
            StringForm(r"<<~?(?P<quote1>['\"])(?P<tag2>[^'\"\n]+)(?P=quote1)", kind="heredoc"),
            StringForm(rf"\bq{_PAIRS}(?<!,)(?!>)", lines=True),
            StringForm(rf"\bqq{_PAIRS}(?<!,)", holes="$", lines=True),
            StringForm(rf"\bqw\s?{_PAIRS}", raw=True, kind="words", lines=True),
            StringForm(rf"\bqx{_PAIRS}", holes="$", kind="command", lines=True),
            StringForm(rf"\b(?:qr|m){_PAIRS}(?<!,)", kind="pattern", lines=True),
            StringForm(rf"\b(?:s|tr|y){_PAIRS}(?<!,)", kind="pattern2", lines=True),
            StringForm('"', '"', holes="$", lines=True),
            StringForm("'", "'", raw=True, lines=True),
            StringForm("`", "`", holes="$", kind="command"),
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
            StringForm(r"<<<[ \t]*(?P<tag1>[A-Za-z_]\w*)", kind="heredoc", holes="$"),
            StringForm(r"<<<[ \t]*(?P<quote1>['\"])(?P<tag2>[^'\"\n]+)(?P=quote1)", kind="heredoc"),
            StringForm('"', '"', holes="$", lines=True),
            StringForm("'", "'", raw=True, lines=True),
            StringForm("`", "`", holes="$", kind="command"),
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
            StringForm(r"\[\[", "]]", raw=True, lines=True),
            StringForm(r"\[=\[", "]=]", raw=True, lines=True),
            StringForm('"', '"', decimal=True),
            StringForm("'", "'", decimal=True),
        ),
        blocks="end",
        attrs=frozenset((".", ":")),
        concat=frozenset(("..",)),
        commands=True,
    ),
    Syntax("go", _SLASHES, (StringForm("`", "`", raw=True, lines=True), _DOUBLE, _CHAR), attrs=frozenset((".",))),
    Syntax(
        "rust",
        _SLASHES,
        (
            StringForm('b?r"', '"', raw=True, lines=True),
            StringForm('b?r#"', '"#', raw=True, lines=True),
            StringForm('b?r##"', '"##', raw=True, lines=True),
            StringForm('[bc]?"', '"', lines=True),
            StringForm(r"b?'(?=(?:[^'\\\n]|\\[^\n]{1,8})')", "'"),
        ),
        newlines=False,
        names=r"[A-Za-z_]\w*!(?=\s?[(\[{])|(?:r\#)?[A-Za-z_]\w*",
        attrs=frozenset((".", "::")),
    ),
    Syntax(
        "r",
        _HASH,
        (
            StringForm(r"[rR]['\"]-*\(", ")", raw=True),
            StringForm('"', '"', lines=True),
            StringForm("'", "'", lines=True),
        ),
        names=r"[A-Za-z.][\w.]*",
        attrs=frozenset(("$", "@", "::", ":::")),
    ),
    _c_like("java", _TRIPLE[0]),
    Syntax(
        "kotlin",
        _SLASHES,
        (StringForm('"""', '"""', raw=True, holes="$", lines=True), StringForm('"', '"', holes="$"), _CHAR),
        attrs=frozenset((".", "?.", "::", "!!.")),
    ),
    Syntax(
        "groovy",
        _SLASHES + r"|\#![^\n]*",
        (*_TRIPLE, StringForm('"', '"', holes="$"), _SINGLE),
        typed=True,
        commands=True,
    ),
    Syntax(
        "swift",
        _SLASHES + r"|\#![^\n]*",
        (StringForm('"""', '"""', holes="\\(", lines=True), StringForm('"', '"', holes="\\(")),
        attrs=frozenset((".", "?.", "!.")),
    ),
    _c_like(
        "csharp",
        StringForm('(?:\\$@|@\\$)"', '"', raw=True, holes="{", lines=True),
        StringForm('@"', '"', raw=True, lines=True),
        StringForm('\\$"', '"', holes="{"),
    ),
    _c_like("c"),
    Syntax(
        "dart",
        _SLASHES,
        (*_TRIPLE, StringForm('"', '"', holes="$"), StringForm("'", "'", holes="$")),
        newlines=False,
        typed=True,
    ),
    Syntax(
        "nim",
        _HASH,
        (
            StringForm('(?:fmt|&)?"""', '"""', holes="{", lines=True),
            StringForm('(?:fmt|&)"', '"', holes="{"),
            _DOUBLE,
            _CHAR,
        ),
        blocks="indent",
        concat=frozenset(("&",)),
        commands=True,
    ),
    Syntax(
        "elixir",
        _HASH,
        (*_TRIPLE, StringForm('(?:~[a-zA-Z])?"', '"', holes="#{", lines=True), _SINGLE),
        blocks="end",
        names=r"[@:]?[A-Za-z_]\w*[?!]?",
        attrs=frozenset((".",)),
        concat=frozenset(("<>", "++")),
        commands=True,
    ),
)
SYNTAXES = {syntax.name: syntax for syntax in _ALL}
# The words that begin a function; elsewhere they are names like any other.
DEFINERS = {
    "python": frozenset(("def", "lambda")), "javascript": frozenset(("function",)),
    "ruby": frozenset(("def", "lambda", "proc")), "perl": frozenset(("sub",)), "php": frozenset(("function", "fn")),
    "lua": frozenset(("function",)), "go": frozenset(("func",)), "rust": frozenset(("fn",)),
    "r": frozenset(("function",)), "java": frozenset(("def",)), "kotlin": frozenset(("fun", "init")),
    "groovy": frozenset(("def",)), "swift": frozenset(("func", "init")), "csharp": frozenset(), "c": frozenset(),
    "dart": frozenset(), "nim": frozenset(("proc", "func", "method")),
    "elixir": frozenset(("def", "defp", "defmacro", "fn")),
}  # fmt: skip

STOP_WORDS = words(
    "if else elif elsif elseif unless while until for then do end rescue ensure except finally catch and or in of"
    " is as from import instanceof isa eq ne xor x div mod to when with use where foreach bxor not"
)
BINARY_OPERATORS = {
    "or": 1, "||": 1, "??": 1, "?:": 1, "and": 2, "&&": 2, "in": 4, "is": 4, "==": 4, "!=": 4, "===": 4, "!==": 4,
    "<": 4, ">": 4, "<=": 4, ">=": 4, "=~": 4, "!~": 4, "<=>": 4, "instanceof": 4, "|>": 4, "%>%": 4, "isa": 4, "eq": 4,
    "ne": 4, "|": 5, "^": 6, "xor": 6, "bxor": 6, "^^^": 6, "&": 7, "<<": 8, ">>": 8, "..": 9, "...": 9, "..<": 9,
    "..=": 9, "<>": 9, "++": 9, "to": 9, "+": 10, "-": 10, ".": 10, "*": 11, "/": 11, "%": 11, "//": 11, "@": 11,
    "x": 11, "div": 11, "mod": 11, "as": 12, "**": 13,
}  # fmt: skip
PREFIX_OPERATORS = frozenset(
    ("-", "+", "!", "~", "&", "*", "**", "...", "@", "\\", "&&", "++", "--", "%", "$", "#", "<-", "^", "..")
)
PREFIX_WORDS = words(
    "not await new yield async typeof void delete mut ref move unsafe try throw defined raise return local my our"
    " let const var val lazy static final inout out go defer co_await box dyn"
)

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
_COMMON = r"(?P<m>[A-Za-z_]\w*+(?![\"'`$]))|(?P<q>[()\[\]{},;])|(?P<t>\"(?!\"\")[^\"\\\n]*\"|'(?!'')[^'\\\n]*')"


@cache
def get_syntax(name: str) -> tuple[Syntax, re.Pattern[str], dict[str, StringForm]]:
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
