"""Where the parser stands in the tokens, and what a node is.

A node is a tuple: its kind, its offset in the text, and what belongs to the kind:
const value · name name · attr object name · call function items · index object items · seq items · bin operator left
right · mixed parts · any nodes condition · lambda parameters body · comp node loops · set target value · slice nodes.
Items are pairs of a key (a node, a text or None) and a node; parameters are pairs of a name and a default or None.
"""

from typing import Any

from clawft.scan.languages.code.lexer import (
    LINE,
    PADDING,
    Tokens,
)

__all__ = ["Cursor", "Item", "Node", "Unreadable"]

STEPS_PER_TOKEN = 40  # of the parser; sound text takes about three

Node = tuple[Any, ...]
Item = tuple[Any, Any]


class Unreadable(Exception):
    """The parser took far more steps than a text of this size can need."""


class Cursor:
    """A place in the tokens; the parts of the parser build on it."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.kinds, self.values, self.offsets, self.match = tokens.kinds, tokens.values, tokens.offsets, tokens.match
        self.syntax = tokens.syntax
        self.language = tokens.syntax.name
        self.plain = self.language in ("python", "javascript")  # a name is a name there, whatever follows
        self.attrs, self.commands = tokens.syntax.attrs, tokens.syntax.commands
        self.at = 0
        self.limit = self.last = len(tokens.kinds) - PADDING
        self.depth = 0
        self.room = STEPS_PER_TOKEN * len(tokens.kinds)  # steps that are left: no text may hold the parser up
        self.header = False  # in the head of a control statement: an open brace begins its block

    def step(self) -> None:
        """Count a step. Every loop that does not move on by itself comes through here."""
        self.room -= 1
        if self.room < 0:
            raise Unreadable

    # Each of these belongs to a part of the parser that builds on this one.
    def expression(self, level: int = 0) -> Node:
        raise NotImplementedError

    def block(self, stop: int = -1) -> list[Node]:
        raise NotImplementedError

    def end_block(self, *, opened: bool = False) -> list[Node]:
        raise NotImplementedError

    def parameters(self) -> list[Item]:
        raise NotImplementedError

    def skip_lines(self) -> None:
        while self.kinds[self.at] == LINE and self.at < self.limit:
            self.at += 1

    def skip_lines_before(self, value: str) -> None:
        """Step over line breaks if the given token comes after them."""
        ahead = self.at
        while self.kinds[ahead] == LINE:
            ahead += 1
        if self.values[ahead] == value:
            self.at = ahead
