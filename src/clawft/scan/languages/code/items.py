"""What stands between brackets: elements, arguments, keys, slices, comprehensions."""

from clawft.scan.languages.code.cursor import Cursor, Item, Node
from clawft.scan.languages.code.lexer import (
    LINE,
    NAME,
    OPERATOR,
    STRING,
)

__all__ = ["Items"]


class Items(Cursor):
    """The part of the parser that reads lists of things."""

    def items(self) -> list[Item]:
        """What stands between two brackets, from the opening one on to behind the closing one."""
        stop = self.match.get(self.at, -1)
        limit = stop if stop >= 0 else self.limit
        header, self.header = self.header, False
        outer, self.limit = self.limit, limit
        self.at += 1
        start = self.at
        found: list[Item] = []
        while self.at < limit:
            kind = self.kinds[self.at]
            if kind == LINE or (kind == OPERATOR and self.values[self.at] in (",", ";")):
                self.at += 1
                continue
            if stop < 0 and kind == OPERATOR and self.values[self.at] in (")", "]", "}"):
                break
            before = self.at
            found.append(self.item())
            if self.at <= before:
                self.at = before + 1
        self.at = min(limit + 1, self.last) if stop >= 0 else max(start, min(self.at + 1, outer))
        self.limit, self.header = outer, header
        return found

    def item(self) -> Item:
        """One element of a list, a map or an argument list, with its key if it has one."""
        kind, at = self.kinds[self.at], self.at
        after = self.values[at + 1] if self.kinds[at + 1] == OPERATOR else ""
        if (
            kind in (NAME, STRING)
            and (after in (":", "=>") or (after == "=" and kind == NAME))
            and not (after == "=>" and kind == NAME and self._arrow_ahead(self.values[at]))
            and not (after == ":" and self.language == "python")  # a key is an expression there
        ):
            self.at += 2
            self.skip_lines()
            return (str(self.values[at]), self.expression())
        node = self.expression()
        if self.kinds[self.at] == NAME and self.values[self.at] in ("for", "async") and self.syntax.blocks == "indent":
            node = self._comprehension(node)
        value = self.values[self.at] if self.kinds[self.at] == OPERATOR else ""
        if value in ("=>", ":", "->") and self.at < self.limit:
            self.at += 1
            self.skip_lines()
            second = self.expression()
            if self.kinds[self.at] == NAME and self.values[self.at] == "for":
                second = self._comprehension(second)
                return (None, ("comp", second[1], ("seq", node[1], [(None, node), (None, second[2])]), second[3]))
            return (node, second)
        if value == "{" and node[0] == "call" and self.language == "javascript" and node[2][0] == "name":
            return (
                node[2][2],
                ("lambda", node[1], [(one[1][2], None) for one in node[3] if one[1][0] == "name"], self.block()),
            )
        return (None, node)

    def _python_index(self, node: Node) -> Node:
        """An index or a slice."""
        stop = self.match.get(self.at, -1)
        if stop < 0:
            return ("index", node[1], node, self.items())
        outer, self.limit = self.limit, stop
        self.at += 1
        parts: list[Node] = []
        empty: Node = ("const", node[1], None)
        slot, sliced = empty, False
        while self.at < stop:
            value, before = self.values[self.at], self.at
            if self.kinds[self.at] == OPERATOR and value in (":", "::", ","):
                sliced = sliced or value != ","
                parts += [slot] if value != "::" else [slot, empty]
                slot = empty
                self.at += 1
            else:
                slot = self.expression()
                self.at = max(self.at, before + 1)
        parts.append(slot)
        self.at, self.limit = stop + 1, outer
        if sliced:
            return ("index", node[1], node, [(None, ("slice", node[1], parts))])
        return ("index", node[1], node, [(None, one) for one in parts])

    def _comprehension(self, node: Node) -> Node:
        loops: list[tuple[list[str], Node]] = []
        while self.at < self.limit and self.kinds[self.at] == NAME and self.values[self.at] in ("for", "async"):
            self.at += 1 if self.values[self.at] == "for" else 2
            names = []
            while self.at < self.limit and self.values[self.at] != "in":
                if self.kinds[self.at] == NAME:
                    names.append(self.values[self.at])
                self.at += 1
            self.at += 1
            loops.append((names, self.expression(1)))
            while self.at < self.limit and self.values[self.at] == "if":
                self.at += 1
                self.expression(1)
        return ("comp", node[1], node, loops)

    def _arrow_ahead(self, value: str) -> bool:
        if self.values[self.at + 1] == "->":
            return self.language in ("java", "kotlin", "groovy", "elixir")
        return self.language in ("javascript", "csharp", "dart", "java") and value not in ("default",)
