"""Colours for code, line by line: a line that is printed never changes, and no colour reaches into the next."""

from typing import Any

from clawft.repl.markdown.inline import DIM, Span

__all__ = ["Highlighter"]

# Each lexer is a set of regular expressions that a hostile text could aim at: only well-known ones, on short lines.
_LANGUAGES = (
    " bash c c++ cpp cs csharp css diff docker dockerfile go graphql haskell hcl html ini java javascript js json jsx "
    "kotlin lua make makefile nix perl php powershell proto protobuf ps1 py python r rb rs ruby rust scala sh "
    "shell sql swift terraform toml ts tsx typescript xml yaml yml zsh "
)
_COMMENTS = (("/*", "*/"), ("<!--", "-->"))
_MAX_LINE = 400
_STRING = "32"
_STYLES = {
    "Comment": DIM,
    "Keyword": "35",
    "Literal.String": _STRING,
    "Literal.Number": "36",
    "Name.Function": "34",
    "Name.Class": "34",
    "Name.Builtin": "36",
    "Name.Decorator": "33",
    "Name.Tag": "34",
    "Name.Attribute": "36",
    "Generic.Inserted": "32",
    "Generic.Deleted": "31",
    "Generic.Heading": "1",
    "Generic.Subheading": "1",
}


class Highlighter:
    """The colours of one code block."""

    def __init__(self, language: str) -> None:
        self._lexer = _find_lexer(language.lower())
        self._opening = ""  # the line in which the string or comment opened that is not closed yet
        self._inside: Any = None

    def line(self, text: str) -> list[Span]:
        """The spans of the next line."""
        if self._lexer is None or len(text) > _MAX_LINE:
            return [Span(text)]
        for begin, end in _COMMENTS:
            source = self._opening + text
            if source.rfind(begin) > source.rfind(end):
                # Lexers know a comment by its end: lend it one, and see whether they agree.
                spans, inside = self._lex(text, end)
                if inside is not None and _style_of(inside) == DIM:
                    self._opening, self._inside = begin, inside
                    return spans
        spans, inside = self._lex(text, "\nx")
        self._go_on(text, inside)
        return spans

    def _lex(self, text: str, probe: str) -> tuple[list[Span], Any]:
        """The spans of a line, and the string or comment that the end of the probe after it belongs to."""
        start, stop = len(self._opening), len(self._opening) + len(text)
        last = stop + len(probe) - 1
        spans: list[Span] = []
        inside = None
        for offset, kind, value in self._lexer.get_tokens_unprocessed(f"{self._opening}{text}{probe}\n"):
            shown = value[max(0, start - offset) : max(0, stop - offset)]
            if shown:
                spans.append(Span(shown, _style_of(kind)))
            if offset <= last < offset + len(value) and _style_of(kind) in (_STRING, DIM):
                inside = kind
        if "".join(span.text for span in spans) != text:  # HCL's lexer says an open heredoc twice
            return [Span(text)], inside
        return spans, inside

    def _go_on(self, text: str, inside: Any) -> None:
        """Keep what the next line needs: only the opening line, so that a long string costs no more than its lines."""
        if inside is None:
            self._opening = ""
        elif inside is not self._inside:
            self._opening = f"{text}\n"
        self._inside = inside


def _find_lexer(language: str) -> Any:
    if f" {language} " not in _LANGUAGES:
        return None
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        return get_lexer_by_name(language, startinline=True)  # PHP without `<?php`
    except ClassNotFound:  # older releases know fewer
        return None


def _style_of(kind: Any) -> str:
    while kind.parent is not None:
        style = _STYLES.get(str(kind).removeprefix("Token."))
        if style is not None:
            return style
        kind = kind.parent
    return ""
