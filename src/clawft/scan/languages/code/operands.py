"""Expressions to values: names are looked up, constants folded, lists gone through."""

from typing import Any

from clawft.scan.languages.code.calls import Call
from clawft.scan.languages.code.cursor import Node
from clawft.scan.languages.code.effects import EFFECTS
from clawft.scan.languages.code.folding import concat, formatted, joined, operate, slice_of
from clawft.scan.languages.code.machine import OWN, Machine
from clawft.scan.languages.code.tables import find_spec
from clawft.scan.languages.code.values import HOLE, Function, Mark, Scope, Value, join, merge, text_of

__all__ = ["Operands"]

MAX_DEPTH = 100
_TABLES_OF_NAMES = frozenset(
    ("globals()", "locals()", "vars()", "sys.modules", "__dict__", "__builtins__", "_G", "_ENV", "$GLOBALS")
)
_COMPARISONS = frozenset(
    ["==", "!=", "===", "!==", "<", ">", "<=", ">=", "in", "is", "=~", "!~", "<=>", "instanceof", "eq", "ne"]
)


class Operands(Machine):
    """The part of the evaluation that takes expressions apart."""

    kinds: dict[str, Any]

    def _call(self, node: Node) -> Value:
        raise NotImplementedError

    def eval(self, node: Node) -> Value:
        kind = node[0]
        if kind == "const":
            return Value(() if node[2] is None else (node[2],))
        self.steps += 1
        if self.depth > MAX_DEPTH or self.steps > self.last_step:
            self.overflow = self.overflow or self.steps > self.last_step
            return Value()
        self.depth += 1
        value: Value = self.kinds[kind](node)
        self.depth -= 1
        return value

    def _value(self, node: Node) -> Value:
        found: Value = node[2]
        return found

    def _const(self, node: Node) -> Value:
        return Value(() if node[2] is None else (node[2],))

    def _name(self, node: Node) -> Value:
        name = node[2]
        scope: Scope | None = self.scope
        while scope is not None:  # as Scope.find, but names are looked up more often than anything else is done
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.parent
        function = self.module.functions.get(name)
        value = Value(ref=name)
        value.function = function
        if function:
            return value
        if self.module.language == "perl" and name in ("shift", "pop"):
            return EFFECTS["arguments"](self, Call(node[1], name, [], {}), "")
        for star in self.module.stars:
            if find_spec(self.module.language, f"{star}.{name}"):
                value.ref = f"{star}.{name}"
            elif (linked := self.linked(f"{star}.{name}")) is not None:
                return linked
        return self._property(value, node[1])

    def _attr(self, node: Node) -> Value:
        owner, name = node[2], node[3]
        if owner[0] == "name" and owner[2] in OWN:
            found = self.module.fields.get(name) or self.module.scope.names.get(name)
            if found is not None:
                return found
        if self.module.language in ("ruby", "perl") and name[:1].islower():
            return self._call(("call", node[1], node, []))  # a method needs no parentheses
        return self.member(self.eval(owner), name, node[1])

    def _index(self, node: Node) -> Value:
        owner = self.eval(node[2])
        if not node[3]:
            return owner
        selector = node[3][0][1]
        if selector[0] == "slice":
            bounds = [self.eval(one).const for one in selector[2]]
            if owner.items is not None:
                return Value((), owner.marks, "", slice_of(owner.items, bounds))
            return Value(
                tuple(
                    one
                    for one in (slice_of(const, bounds) for const in owner.consts if isinstance(const, str | bytes))
                    if one is not None
                ),
                owner.marks,
            )
        key = self.eval(selector)
        spec = find_spec(self.module.language, owner.ref) if owner.ref else None
        if spec is not None and spec[0] == "environment":
            return EFFECTS["env"](self, Call(node[1], owner.ref, [key], {}), "")
        name = key.const
        if name is None:
            return (
                Value((), merge(owner.marks, key.marks), f"{owner.ref}[]" if owner.ref else "", None)
                if owner.items is None
                else self.element(owner)
            )
        if owner.items is not None or isinstance(name, int):
            return self._element_at(owner, name)
        if owner.ref in _TABLES_OF_NAMES:
            return self._name(("name", node[1], text_of(name)))
        return self.member(owner, text_of(name), node[1])

    def _element_at(self, owner: Value, name: Any) -> Value:
        if isinstance(name, int) and self.module.language in ("lua", "r"):
            name -= 1
        found = owner.get(name)
        if found is not None:
            return found
        if isinstance(name, int) and owner.consts and owner.items is None:
            one = owner.consts[0]
            if isinstance(one, str | bytes) and -len(one) <= name < len(one):
                return Value((one[name],), owner.marks)
        return Value((), owner.marks, owner.ref if isinstance(name, int) else "")

    def _seq(self, node: Node) -> Value:
        items: list[tuple[Any, Value]] = []
        marks: dict[Mark, None] = {}
        for key, inner in node[2][:20_000]:
            value = self.whole(self.eval(inner), inner[1])
            if isinstance(key, tuple):
                found = self.eval(key)
                marks.update(dict.fromkeys(found.marks))
                items.append((found.const if isinstance(found.const, str) else None, value))
            else:
                items.append((key, value))
            marks.update(dict.fromkeys(value.marks))
        return Value((), tuple(marks)[:64], "", items)

    def _bin(self, node: Node) -> Value:
        """A chain of operators, from its first operand on: it may have thousands of them."""
        chain: list[Node] = []
        while node[0] == "bin":
            chain.append(node)
            node = node[3]
        value = self.eval(node)
        for one in reversed(chain):
            value = self.charge(self._operate(one, value))
        return value

    def _operate(self, node: Node, left: Value) -> Value:
        operator = node[2]
        if operator in ("|>", "%>%") and node[4][0] == "call":
            call = node[4]
            return self._call(("call", call[1], call[2], [(None, ("value", node[1], left)), *call[3]]))
        right = self.eval(node[4])
        left, right = self.whole(left, node[1]), self.whole(right, node[1])
        marks = merge(left.marks, right.marks)
        if operator in ("or", "||", "??", "and", "&&", "?:"):
            return join([left, right])
        if operator in (
            "==",
            "!=",
            "===",
            "!==",
            "<",
            ">",
            "<=",
            ">=",
            "in",
            "is",
            "=~",
            "!~",
            "<=>",
            "instanceof",
            "eq",
            "ne",
        ):
            return Value()
        if operator == "/" and any(isinstance(one, str) for one in (*left.consts, *right.consts)):
            return Value(concat(Value(concat(left, Value(("/",)))), right), marks)
        if operator == "%" and any(isinstance(one, str) for one in left.consts):
            return Value(
                formatted(
                    left.texts()[0],
                    [one for _, one in right.items] if right.items else [right],
                    dict(right.items or []),
                ),
                marks,
            )
        if operator in self.module.concat:
            if left.items is not None and right.items is not None:
                return Value((), marks, "", [*left.items, *right.items][:20_000])
            if operator == "<<" and left.items is not None:
                self.taint(node[3], right)
            return Value(concat(left, right), marks)
        if operator == "|" and left.items is not None and right.items is not None:
            return Value((), marks, "", [*left.items, *right.items])
        if left.const is not None and right.const is not None:
            result = operate("^" if operator in ("xor", "bxor", "~") else operator, left.const, right.const)
            return Value((result,) if result is not None else (), marks)
        return Value((), marks)

    def _mixed(self, node: Node) -> Value:
        """A text with expressions in it: one text, unless a part of it may be several."""
        result = Value(("",))
        texts: list[str] = []
        for part in node[2]:
            if isinstance(part, str):
                texts.append(part)
                continue
            value = self.whole(self.eval(part), part[1])
            if value.marks:
                result.marks = merge(result.marks, value.marks)
            consts = value.consts or (joined(" ", value) if value.items is not None else ()) or (HOLE,)
            if len(consts) == 1:
                texts.append(text_of(consts[0]))
            else:
                before = Value(concat(result, Value(("".join(texts),))))
                result.consts = self.charge(Value(concat(before, Value(consts)))).consts
                texts = []
        if texts:
            result.consts = concat(result, Value(("".join(texts),)))
        return self.charge(result)

    def _any(self, node: Node) -> Value:
        self.eval(node[3])
        return join([self.eval(one) for one in node[2]]) if node[2] else Value()

    def _lambda(self, node: Node) -> Value:
        value = Value()
        value.function = Function("", node[2], node[3], self.scope, self.module)
        self.module.bodies.setdefault(
            id(node[3]), value.function
        )  # it may be called from elsewhere: an export, a handler
        return value

    def _comp(self, node: Node) -> Value:
        """A comprehension: element by element over a short constant list, as one element otherwise."""
        _, _, inner, loops = node
        scope, self.scope = self.scope, Scope(self.scope)
        try:
            if len(loops) == 1:
                names, source = loops[0]
                value = self.eval(source)
                parts = self.each(value)
                if parts is not None and len(names) <= 2 and self.steps < self.max_steps:
                    return self._map(names, parts, inner, value)
            for names, source in loops:
                element = self.element(self.eval(source))
                for index, name in enumerate(names):
                    self.scope.names[name] = (
                        element.items[index][1] if element.items and len(element.items) == len(names) else element
                    )
            found = self.eval(inner)
            return Value((), found.marks, "", [(None, found)])
        finally:
            self.scope = scope

    def _map(self, names: list[str], parts: list[Value], inner: Node, source: Value) -> Value:
        items: list[tuple[Any, Value]] = []
        marks: dict[Mark, None] = dict.fromkeys(source.marks)
        for part in parts:
            for index, name in enumerate(names):
                self.scope.names[name] = part.items[index][1] if part.items and len(part.items) == len(names) else part
            found = self.eval(inner)
            items.append((None, found))
            marks.update(dict.fromkeys(found.marks))
        return Value((), tuple(marks)[:64], "", items)

    def _set(self, node: Node) -> Value:
        value = self.eval(node[3])
        if len(node) > 4:
            value = self.charge(self._augment(node[4], self._peek(node[2]), value))
        self.assign(node[2], value)
        return value

    def _slice(self, _: Node) -> Value:
        return Value()
