"""Markdown on a terminal while it streams in: blocks -> inline, code, tables -> layout."""

from clawft.repl.markdown.stream import MarkdownStream

__all__ = ["MarkdownStream"]
