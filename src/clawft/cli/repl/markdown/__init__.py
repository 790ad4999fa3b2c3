"""Markdown on a terminal while it streams in: blocks -> inline, code, tables -> layout."""

from clawft.cli.repl.markdown.layout import MarkdownStream

__all__ = ["MarkdownStream"]
