"""Calls: what is called, what it does, and functions of the text itself followed with their arguments."""

from typing import Any

from clawft.scan.facts import Kind
from clawft.scan.languages.code.calls import Call
from clawft.scan.languages.code.cursor import Node
from clawft.scan.languages.code.effects import EFFECTS
from clawft.scan.languages.code.folding import fold_method, formatted, joined
from clawft.scan.languages.code.machine import OWN, ROOTS
from clawft.scan.languages.code.operands import Operands
from clawft.scan.languages.code.tables import find_spec
from clawft.scan.languages.code.values import Function, Mark, Scope, Value, join, merge, text_of

__all__ = ["Invoking"]

MAX_CALLS = 6
MAX_RUNS = 24
SMALL = 4  # statements of a function that is always followed
_VALUE_OF_LAST = frozenset(("ruby", "rust", "perl", "r", "elixir", "kotlin", "groovy", "swift"))
_CLOSED = frozenset(("python", "ruby", "php", "nim", "r"))
_EACH = frozenset(
    [
        "forEach",
        "each",
        "map",
        "flatMap",
        "filter",
        "reduce",
        "some",
        "every",
        "find",
        "each_with_index",
        "collect",
        "select",
        "for_each",
        "foreach",
        "filterMap",
        "filter_map",
        "iter",
        "into_iter",
    ]
)


class Invoking(Operands):
    """The part of the evaluation that follows calls."""

    def _run(self, statements: list[Node]) -> Value | None:
        raise NotImplementedError

    def _call(self, node: Node) -> Value:
        _, offset, callee, items = node
        owner: Value | None = None
        self.offset = offset
        if callee[0] == "attr":
            owner = self.eval(callee[2])
            function = self._method(callee, owner)
        else:
            function = self.eval(callee)
        arguments: list[Value] = []
        named: dict[str, Value] = {}
        for key, inner in items if len(items) <= 2000 else items[:2000]:
            value = self.eval(inner)
            if key is None:
                arguments.append(value)
                continue
            if isinstance(key, tuple):
                key = self.eval(key).const
            if isinstance(key, str):
                named[key] = value
            else:
                arguments.append(value)
        if function.function is None and isinstance(function.const, str) and self.module.language in ("php", "perl"):
            function = Value((), function.marks, function.const)  # a function called by a variable that holds its name
        call = Call(offset, function.ref, arguments, named, owner, callee, items)
        result = self.apply(function, call)
        if result.consts or result.items is not None:
            self.charge(result)
        for one in (*arguments, *named.values()):
            if one.function is not None or one.ref:
                self._call_back(call, result)
                break
        return result

    def _method(self, callee: Node, owner: Value) -> Value:
        name = callee[3]
        if callee[2][0] == "name" and callee[2][2] in OWN:
            value = self.module.fields.get(name) or Value(ref=f"{callee[2][2]}.{name}")
            value.function = value.function or self.module.functions.get(name)
            return value
        ref = f"{owner.ref}.{name}"
        root, _, rest = ref.partition(".")
        if root in ROOTS and rest:
            ref = rest
        value = Value((), owner.marks, ref)
        item = owner.get(name) if owner.items is not None else None
        if item is not None and (item.function or item.ref):
            return item
        linked = self.linked(ref)
        if linked is not None:
            return linked
        if owner.ref.endswith(")") or not owner.ref or owner.ref[:1].isupper():
            value.function = self._method_function(owner, name)
        return value

    def _method_function(self, owner: Value, name: str) -> Function | None:
        """A method of a class of this text, or of one it imports."""
        if len(self.modules) > 1 and owner.ref:
            module = self.modules.get(owner.ref.partition("(")[0].rpartition(".")[0].rpartition(".")[2])
            if module is not None and name in module.functions:
                return module.functions[name]
        return self.module.functions.get(name)

    def apply(self, function: Value, call: "Call") -> Value:
        spec = find_spec(self.module.language, call.ref)
        if spec is None and function.function is not None:
            return self.invoke(function.function, call)
        if spec is not None:
            if spec[0] == "environment":
                return self._environment_call(call)
            return EFFECTS[spec[0]](self, call, spec[1])
        method = call.ref.rpartition(".")[2]
        owner = call.owner
        if owner is not None:
            spec = find_spec(self.module.language, owner.ref) if owner.ref else None
            if spec is not None and spec[0] == "environment":
                call.ref = owner.ref
                return self._environment_call(call, method)
            folded = self._fold(owner, method, call)
            if folded is not None:
                return folded
            if owner.function is not None and method in ("call", "apply", "bind", "()"):
                return self.invoke(owner.function, call)
            if (
                owner.ref
                and method in ("call", "apply", "bind", "__call__", "invoke")
                and find_spec(self.module.language, owner.ref)
            ):
                inner = (
                    call.arguments[1:]
                    if method in ("call", "apply") and self.module.language == "javascript"
                    else call.arguments
                )
                if method == "apply" and inner and inner[0].items is not None:
                    inner = [one for _, one in inner[0].items]
                return self.apply(Value(ref=owner.ref), Call(call.offset, owner.ref, inner, call.named))
        return EFFECTS["unknown"](self, call, method)

    def _environment_call(self, call: "Call", method: str = "") -> Value:
        if method in ("get", "pop", "setdefault", "fetch", "__getitem__", "getOrDefault", "dig") or (
            not method and call.arguments
        ):
            return EFFECTS["env"](self, call, "")
        if method in ("update", "setdefault", "delete", "__setitem__", "putenv"):
            return Value()
        return Value((), (self.mark(Kind.ENV, "*", call.offset, call.ref),), "environment()")

    def _fold(self, owner: Value, method: str, call: "Call") -> Value | None:
        """A method of a constant."""
        self.charge(owner)
        marks = merge(owner.marks, call.marks())
        if method == "join" and call.arguments:
            if (
                owner.consts
                and isinstance(owner.consts[0], str | bytes)
                and owner.items is None
                and owner.const is not None
            ):
                return Value(joined(text_of(owner.const), self._listed(call.arguments[0])), marks)
            if owner.items is not None:
                return Value(joined(text_of(call.arguments[0].const or ""), owner), marks)
        if method == "join" and owner.items is not None:
            return Value(joined("" if self.module.language == "ruby" else ",", owner), marks)
        if method == "format" and owner.texts():
            return Value(formatted(owner.texts()[0], call.arguments, call.named), marks)
        if method in ("reverse", "reversed", "reverse!") and owner.items is not None:
            reverse = Value((), marks, "", owner.items[::-1])
            if call.callee is not None and call.callee[0] == "attr" and call.callee[2][0] == "name":
                self.bind(call.callee[2][2], reverse)
            return reverse
        if (
            method in ("split", "chars", "toCharArray", "bytes")
            and isinstance(owner.const, str)
            and len(owner.const) < 50_000
        ):
            return self._split(owner.const, method, call, marks)
        if method in _EACH and owner.items is not None and call.arguments and call.arguments[-1].function is not None:
            return self._map_call(owner, method, call)
        if not owner.consts or owner.items is not None:
            return None
        arguments = [one.const for one in call.arguments]
        found = [fold_method(method, const, arguments) for const in owner.consts]
        if all(one is None for one in found):
            return None
        return Value(tuple(one for one in found if one is not None), marks)

    def _split(self, text: str, method: str, call: "Call", marks: tuple[Mark, ...]) -> Value:
        separator = call.arguments[0].const if call.arguments else None
        if method == "bytes":
            return Value((), marks, "", [(None, Value((one,))) for one in text.encode()])
        parts = (
            list(text)
            if method != "split" or separator == ""
            else text.split(separator if isinstance(separator, str) else None)
        )
        return Value((), marks, "", [(None, Value((one,))) for one in parts])

    def _map_call(self, owner: Value, method: str, call: "Call") -> Value:
        """A function applied to each element of a list that is known."""
        function = call.arguments[-1].function
        call.arguments[-1] = Value()
        items: list[tuple[Any, Value]] = []
        for _, element in (owner.items or [])[:2000]:
            if self.steps > self.max_steps and len(items) > 3:
                break
            result = self.invoke(function, Call(call.offset, "", [element], {})) if function else element
            items.append(
                (None, result if method in ("map", "flatMap", "collect", "filterMap", "filter_map") else element)
            )
        found = Value((), owner.marks, "", items)
        return found.with_marks(mark for _, one in items for mark in one.marks)

    def _listed(self, value: Value) -> Value:
        if value.items is None and value.consts and isinstance(value.consts[0], str):
            return Value((), value.marks, "", [(None, Value((one,))) for one in value.consts[0]])
        return value

    def _call_back(self, call: "Call", result: Value) -> None:
        """Functions given to a call get what it gives."""
        for value in (*call.arguments, *call.named.values()):
            if value.function is None and value.ref and result.marks and call.ref.endswith(".then"):
                spec = find_spec(self.module.language, value.ref)
                if spec is not None and spec[0] in ("eval", "exec"):
                    EFFECTS[spec[0]](self, Call(call.offset, value.ref, [Value((), result.marks)], {}), spec[1])
            if value.function is not None and not value.function.active:
                owner = call.owner
                marks = merge(result.marks, owner.marks if owner is not None else ())
                given = Value(
                    result.consts
                    if result.consts
                    else owner.consts
                    if owner is not None and owner.ref == "each"
                    else (),
                    marks,
                    result.ref,
                )
                given.items = result.items
                if owner is not None and call.ref.endswith(".then"):
                    given.ref = owner.ref
                returned = self.invoke(
                    value.function, Call(call.offset, "", [given] * max(1, len(value.function.parameters)), {})
                )
                if returned.marks:
                    result.marks = merge(result.marks, returned.marks)

    def invoke(self, function: Function, call: "Call") -> Value:
        """What a function of the text gives for these arguments."""
        given = (*call.arguments, *call.named.values())
        marked = any(one.marks for one in given)
        if function.active or self.calls >= MAX_CALLS:
            return Value((), call.marks())
        if function.summary is None:
            self.summarise(function)
        known = marked or any(one.consts or one.items or one.function or _names(one.ref) for one in given)
        worth = marked or function.effects or len(function.body) <= SMALL
        size = len(function.body)
        runs = MAX_RUNS // 4 if size > 12 else MAX_RUNS if size > 2 else MAX_RUNS * 20
        if not known or not worth or function.runs > runs or self.steps > self.max_steps:
            return self.summarise(function).with_marks(call.marks() if marked else ())
        return self._enter(function, call)

    def summarise(self, function: Function) -> Value:
        """What a function gives, and what it does, when nothing is known of its arguments."""
        if function.summary is None:
            if function.active:
                return Value()
            function.summary, function.seen = Value(), self.stored
            before = len(self.marks)
            function.summary = self._enter(function, Call(0, "", [], {}))
            function.effects = function.effects or len(self.marks) > before or bool(function.summary.marks)
        return function.summary

    def _enter(self, function: Function, call: "Call") -> Value:
        outer = (self.module, self.scope, self.maybe, self.returns)
        self.module = function.module
        self.scope = Scope(function.scope, closed=bool(function.name) and function.module.language in _CLOSED)
        self.maybe, self.returns = 0, []
        function.active = True
        function.runs += 1
        self.calls += 1
        try:
            self._bind_parameters(function, call)
            last = self._run(function.body)
            if last is not None and self.module.language in _VALUE_OF_LAST:
                self.returns.append(last)
            return join(self.returns) if self.returns else Value()
        finally:
            self.calls -= 1
            function.active = False
            self.module, self.scope, self.maybe, self.returns = outer

    def _bind_parameters(self, function: Function, call: "Call") -> None:
        parameters = function.parameters
        if parameters and parameters[0][0] in OWN:
            parameters = parameters[1:]
        names = self.scope.names
        names["@_"] = Value((), call.marks(), "", [(None, one) for one in call.arguments])
        for index, (name, default) in enumerate(parameters):
            value = call.arguments[index] if index < len(call.arguments) else call.named.get(name)
            if value is None and default is not None:
                value = self.eval(default)
            if value is not None and index < len(call.arguments):
                value = self.whole(value, call.offset)
            names[name] = value if value is not None else Value()


def _names(ref: str) -> bool:
    """Whether a reference names a module or a function, rather than what some call gave."""
    return ref != "" and ref[-1] != ")"
