"""The commands of a shell text, however it is written: loops, pipes, here-documents, substitutions, functions.

tree-sitter's grammar of bash reads it. Rules, limits and questions need the commands; they are no barrier to a program,
which the sandbox is.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from clawft.skills.render.shell import Command, Redirect, Word, blank_out

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_TEXT = 200_000  # bytes; a longer one is not read
_MAX_COMMANDS = 5_000
_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_SPLIT_WORD = re.compile(r"[^\s\\]\\\n\S")  # the grammar takes it for two words, the shell for one
_QUOTED_ESCAPE = re.compile(r'\\([$`"\\]|\n)')
_TILDE = re.compile(r"(?:^|[=:])~")
_OPERATORS = frozenset({"|", "|&", "&&", "||", ";", "&", "\n"})
_GLOB, _BRACES = re.compile(r"(?<!\\)[*?\[]"), re.compile(r"[{}]")
# Nodes that the shell replaces by text nobody knows before it runs.
_UNKNOWN = frozenset({
    "simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion",
    "ansi_c_string", "translated_string",
})  # fmt: skip
_WORDS = _UNKNOWN | frozenset({
    "word", "string", "raw_string", "concatenation", "number", "brace_expression", "extglob_pattern", "regex",
    "variable_assignment", "variable_name", "array", "test_operator",
})  # fmt: skip
_DECLARES = frozenset({"declaration_command", "unset_command"})
_SUBSTITUTIONS = frozenset({"command_substitution", "arithmetic_expansion", "expansion"})
_STARTS = re.compile(r"(?<!\\)(?:\\\\)*(?:\$\(|`)")  # of a substitution, where nothing is quoted
# An index that the shell may evaluate, whose commands are quoted here.
_LATER = {"raw_string": re.compile(r"\[[^\]]*(?:\$\(|`)"), "string": re.compile(r"\[[^\]]*\\(?:\$\(|`)")}


class ShellText(Struct, frozen=True):
    """The simple commands of a text in the order of writing, those of substitutions and functions included; `unread`
    says why there may be others, '' where there are none."""

    commands: tuple[Command, ...] = ()
    unread: str = ""
    functions: frozenset[str] = frozenset()  # that the text surely defines before it calls them
    assigned: frozenset[str] = frozenset()  # the variables that it sets
    normal: str = ""  # the text without its quoting and with one blank between words, to be searched


@lru_cache(maxsize=64)  # what judges a text, asks about it and runs it reads the same one
def read_shell_text(text: str) -> ShellText:
    """Read the commands of a shell text. Nothing is run or looked up."""
    written = text.encode("utf-8", "surrogatepass")
    if len(written) > MAX_TEXT:
        return ShellText(unread=f"it is longer than {MAX_TEXT} bytes")
    root = _parser().parse(written).root_node
    reader = _Reader()
    shown = text.replace("\n", " ")
    if blank_out(shown) != shown.replace("\t", " "):
        reader.unread = "it holds characters that do not show"
    elif _SPLIT_WORD.search(text):
        reader.unread = "a word in it is split over two lines"
    elif root.has_error:
        reader.unread = "not all of it is shell that weft can read"
    reader.read(root)
    return ShellText(
        tuple(reader.commands),
        reader.unread,
        reader.list_functions(),
        frozenset(reader.assigned),
        " ".join(reader.parts),
    )


@cache
def _parser() -> "Parser":
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


class _Reader:
    def __init__(self) -> None:
        self.commands: list[Command] = []
        self._functions: set[str] = set()
        self._called: set[str] = set()  # before there was a function of that name
        self.assigned: set[str] = set()
        self.parts: list[str] = []
        self.unread = ""

    def read(self, root: "Node") -> None:
        """Collect the commands below a node; without recursion, since a text may nest deeply."""
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if len(self.commands) >= _MAX_COMMANDS:
                self.unread = f"it has more than {_MAX_COMMANDS} commands"
                return
            if node.type == "command" or node.type in _DECLARES:
                self._add(tuple(_list_words(node)))
            elif node.type == "file_redirect" and (redirect := _read_redirect(node)):
                # A command of its own, which opens the file and does nothing: it may be of a whole loop.
                self._add((Word(":"),), redirect)
            elif node.type in _OPERATORS:
                self.parts.append(node.type.strip() or ";")
            elif node.type == "function_definition" and (name := node.child_by_field_name("name")):
                self._add_function(_text(name), node)
            elif objection := _object_to_node(node):
                self.unread = self.unread or objection
            elif node.type == "variable_assignment" and (name := node.child_by_field_name("name")):
                self.assigned.add(_text(name).partition("[")[0])
            waiting += reversed(node.children)

    def list_functions(self) -> frozenset[str]:
        """List the functions by whose names no program is called."""
        is_stable = all(command.words[0].text != "unset" for command in self.commands)
        return frozenset(self._functions - self._called) if is_stable else frozenset()

    def _add_function(self, name: str, node: "Node") -> None:
        """Note a function, unless it may never be defined, or only in a subshell."""
        if node.parent is not None and node.parent.type == "program":
            self._functions.add(name)

    def _add(self, words: tuple[Word, ...], *redirects: Redirect) -> None:
        if not words:  # an assignment alone
            return
        if words[0].variable or words[0].glob:
            self.unread = self.unread or f"which program '{words[0].text[:60]}' is, is known only when it runs"
        if words[0].text not in self._functions:
            self._called.add(words[0].text)
        self.commands.append(Command(words, redirects))
        self.parts += [part for redirect in redirects for part in (redirect.kind, redirect.target.text)] or [
            word.text for word in words
        ]


def _object_to_node(node: "Node") -> str:
    """Return why commands may stand in a node that the grammar does not find there, or ''."""
    if node.type == "heredoc_redirect":
        parts = {child.type: child for child in node.children}
        start, body = parts.get("heredoc_start"), parts.get("heredoc_body")
        is_quoted = start is not None and any(mark in _text(start) for mark in "'\"\\")
        if body is not None and not is_quoted and len(_STARTS.findall(_text(body))) > _count_substitutions(body):
            return "a here-document in it runs commands"
    elif node.type == "expansion" and ("`" in _text(node) or "@P}" in _text(node)):
        return f"what '{_text(node)[:60]}' runs is not known"
    elif node.type == "command_substitution" and "\\`" in _text(node):
        return "it holds backticks within backticks"
    elif (pattern := _LATER.get(node.type)) and pattern.search(_text(node)):
        return f"the shell may run what stands in {_text(node)[:60]}"
    return ""


def _count_substitutions(body: "Node") -> int:
    return sum(
        child.type in _SUBSTITUTIONS and _text(child)[:1] in "$" and "(" in _text(child) for child in body.children
    )


def _list_words(node: "Node") -> Iterator[Word]:
    for index, child in enumerate(node.children):
        if child.type == "command_name":
            yield _read_word(child.children[0]) if child.children else Word(_text(child))
        elif node.type in _DECLARES and not index:
            yield Word(_text(child))
        elif child.type == "variable_assignment" and node.type == "command":
            continue
        elif child.type in _WORDS:
            yield _read_word(child)


def _read_redirect(node: "Node") -> Redirect | None:
    target = node.child_by_field_name("destination")
    sign = next((_text(part) for part in node.children if part.type[:1] in "<>&"), ">")
    word = _read_word(target) if target else None
    if word is None or (sign in ("<&", ">&") and re.fullmatch(r"\d+-?|-", word.text)):
        return None  # another name for an open file
    return Redirect(">>" if ">>" in sign else "<" if sign == "<" else ">", word)


def _read_word(node: "Node") -> Word:
    """Read one word as the shell would pass it; what it replaces is left as written, and marked."""
    text, unknown, quoted, glob = _read_part(node)
    return Word(text, quoted=quoted, glob=glob, tilde=not quoted and bool(_TILDE.search(text)), variable=unknown)


def _read_part(node: "Node") -> tuple[str, bool, bool, bool]:
    """Return the text of a part of a word, and whether it is unknown, quoted, a glob."""
    raw = _text(node)
    if node.type in _UNKNOWN:
        return raw, True, False, False
    if node.type == "raw_string":
        return raw[1:-1], False, True, False
    if node.type == "string":
        unknown = any(child.type in _UNKNOWN for child in node.children)
        return _QUOTED_ESCAPE.sub(_keep, raw[1:-1]), unknown, True, False
    if node.type in ("concatenation", "variable_assignment"):
        parts = [_read_part(child) for child in node.children]
        return (
            "".join(part[0] for part in parts), any(part[1] for part in parts), bool(parts) and parts[0][2],
            any(part[3] for part in parts),
        )  # fmt: skip
    if node.type in ("array", "extglob_pattern", "regex", "brace_expression"):
        return raw, node.type == "array", False, node.type != "array"
    glob = bool(_GLOB.search(raw) or _BRACES.fullmatch(raw))
    return _ESCAPED.sub(_keep, raw), False, "\\" in raw, glob


def _keep(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "surrogateescape")
