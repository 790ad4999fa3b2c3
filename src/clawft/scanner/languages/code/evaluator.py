"""Calls and statements evaluated: functions are followed with their arguments, statements bind, store and return."""

from collections.abc import Callable, Mapping
from typing import Any

from clawft.scanner.facts import Kind
from clawft.scanner.languages.code.constants import fold_method, formatted, joined
from clawft.scanner.languages.code.expressions import Node
from clawft.scanner.languages.code.machine import OWN, ROOTS, Machine, Module
from clawft.scanner.languages.code.tables import find_spec
from clawft.scanner.languages.code.values import (
    DraftFact,
    Effect,
    ProgramCall,
    ProgramFunction,
    ProgramScope,
    ProgramValue,
    join_values,
    make_list,
    merge_marks,
    text_of,
)
from clawft.scanner.regex import words

MAX_CALLS = 6
MAX_RUNS = 24
SMALL = 4  # statements of a function that is always followed
_VALUE_OF_LAST = frozenset(("ruby", "rust", "perl", "r", "elixir", "kotlin", "groovy", "swift"))
_CLOSED = frozenset(("python", "ruby", "php", "nim", "r"))
_EACH = words(
    "forEach each map flatMap filter reduce some every find each_with_index collect select for_each foreach"
    " filterMap filter_map iter into_iter"
)


class ProgramEvaluator(Machine):
    """Follows the values of one text, or of a few that import each other."""

    def __init__(self, modules: dict[str, Module], effects: Mapping[str, Effect]) -> None:
        super().__init__(modules, effects)
        self.kinds = {
            "name": self._name, "attr": self._attr, "call": self._call, "index": self._index,
            "seq": self._seq, "bin": self._bin, "mixed": self._mixed, "any": self._any, "lambda": self._lambda,
            "comp": self._comp, "set": self._set, "slice": self._slice, "value": self._value,
        }  # fmt: skip
        self.actions = {
            "expr": self._do_expr, "assign": self._do_assign, "def": self._do_def, "for": self._do_for,
            "block": self._do_block, "return": self._do_return, "import": self._do_import,
        }  # fmt: skip

    def run(self) -> None:
        """Evaluate every module; twice when something flowed, for what was stored after it was used."""
        for module in self.modules.values():
            self.module, self.scope = module, module.scope
            self._hoist(module.statements)
        for _ in range(2):
            for module in self.modules.values():
                self._run_module(module)
            if len(self.marks) < 2 or not self._stored():
                return

    def _stored(self) -> bool:
        """Return whether something was put where code that ran before may read it."""
        stored = any(value.marks for module in self.modules.values() for value in module.fields.values())
        return stored or len(self.modules) > 1 or any(file.sources for file in self.files.values())

    def _run_module(self, module: Module) -> None:
        self.module, self.scope, self.maybe = module, module.scope, 0
        before = _shape(module) if module.bodies else {}
        for statement in module.statements:
            self._guarded(self.actions[statement[0]], statement)
            if not before:
                self.stored += _binds(statement)
        if before and before != _shape(module):
            self.stored += 1
        for function in list(module.bodies.values()):
            if function.summary is not None and function.seen == self.stored:
                continue  # it was gone through with all that is known now
            function.summary = None
            self.module = module
            self._guarded(self.summarise, function)

    def _guarded(self, action: Callable[[Any], Any], one: Any) -> None:
        """Do one thing; when it is nested too deep to be followed, go on with the next."""
        module, scope = self.module, self.scope
        try:
            action(one)
        except RecursionError:
            self.overflow = True
            self.module, self.scope = module, scope
        self.depth = self.calls = self.maybe = 0

    def _hoist(self, statements: list[Node]) -> None:
        for statement in statements:
            if statement[0] == "def":
                self._do_def(statement)
            elif statement[0] == "block":
                self._hoist(statement[2])

    def _run(self, statements: list[Node]) -> ProgramValue | None:
        last = None
        for statement in statements:
            last = self.actions[statement[0]](statement)
        return last

    def _do_expr(self, one: Node) -> ProgramValue | None:
        return self.eval(one[2])

    def _do_assign(self, one: Node) -> ProgramValue | None:
        value = self.eval(one[3])
        operator = one[4]
        for target in one[2]:
            if operator not in ("=", ":=", "<-", "<<-", "~="):
                old = self._peek(target)
                value = self.charge(self._augment(operator, old, value))
            self.assign(target, value)
        return value

    def _do_def(self, one: Node) -> None:
        _, _, name, parameters, body = one
        known = self.module.bodies.get(id(body))
        if known is not None:
            if known.scope is not self.module.scope:
                known.scope = self.scope
            return
        function = ProgramFunction(name, parameters, body, self.scope, self.module)
        self.module.functions[name] = self.module.bodies[id(body)] = function
        value = ProgramValue()
        value.function = function
        if name not in OWN:
            self.scope.names.setdefault(name, value)

    def _do_for(self, one: Node) -> None:
        _, _, names, source, body = one
        whole = self.eval(source)
        parts = self.each(whole) if _gathers(body) else None
        if parts is not None and len(parts) <= 3000 and self.steps < self.max_steps and len(names) == 1:
            for part in parts:
                self.scope.names[names[0]] = part
                self._run(body)
                if self.steps > self.max_steps:
                    break
            return
        value = self.element(whole)
        for index, name in enumerate(names):
            part = value
            if len(names) > 1 and value.items is not None and len(value.items) == len(names):
                part = value.items[index][1]
            self.scope.names[name] = part
        self.maybe += 1
        self._run(body)
        self.maybe -= 1

    def _do_block(self, one: Node) -> None:
        self.maybe += 1
        self._run(one[2])
        self.maybe -= 1

    def _do_return(self, one: Node) -> None:
        self.returns.append(self.eval(one[2]))

    def _do_import(self, one: Node) -> None:
        for name, ref in one[2]:
            if name.endswith("*"):
                self.module.stars.append(ref.removesuffix("*").strip("."))
            self.scope.names[name] = self.linked(ref) or ProgramValue(ref=ref)

    def _call(self, node: Node) -> ProgramValue:
        _, offset, callee, items = node
        owner: ProgramValue | None = None
        self.offset = offset
        if callee[0] == "attr":
            owner = self.eval(callee[2])
            function = self._method(callee, owner)
        else:
            function = self.eval(callee)
        arguments: list[ProgramValue] = []
        named: dict[str, ProgramValue] = {}
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
            function = ProgramValue(
                (), function.marks, function.const
            )  # a function called by a variable that holds its name
        call = ProgramCall(offset, function.ref, arguments, named, owner, callee, items)
        result = self.apply(function, call)
        if result.consts or result.items is not None:
            self.charge(result)
        for argument in (*arguments, *named.values()):
            if argument.function is not None or argument.ref:
                self._call_back(call, result)
                break
        return result

    def _method(self, callee: Node, owner: ProgramValue) -> ProgramValue:
        name = callee[3]
        if callee[2][0] == "name" and callee[2][2] in OWN:
            value = self.module.fields.get(name) or ProgramValue(ref=f"{callee[2][2]}.{name}")
            value.function = value.function or self.module.functions.get(name)
            return value
        ref = f"{owner.ref}.{name}"
        root, _, rest = ref.partition(".")
        if root in ROOTS and rest:
            ref = rest
        value = ProgramValue((), owner.marks, ref)
        item = owner.get(name) if owner.items is not None else None
        if item is not None and (item.function or item.ref):
            return item
        linked = self.linked(ref)
        if linked is not None:
            return linked
        if owner.ref.endswith(")") or not owner.ref or owner.ref[:1].isupper():
            value.function = self._method_function(owner, name)
        return value

    def _method_function(self, owner: ProgramValue, name: str) -> ProgramFunction | None:
        """A method of a class of this text, or of one it imports."""
        if len(self.modules) > 1 and owner.ref:
            module = self.modules.get(owner.ref.partition("(")[0].rpartition(".")[0].rpartition(".")[2])
            if module is not None and name in module.functions:
                return module.functions[name]
        return self.module.functions.get(name)

    def apply(self, function: ProgramValue, call: ProgramCall) -> ProgramValue:
        spec = find_spec(self.module.language, call.ref)
        if spec is None and function.function is not None:
            return self.invoke(function.function, call)
        if spec is not None:
            if spec[0] == "environment":
                return self._environment_call(call)
            return self.effects[spec[0]](self, call, spec[1])
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
                    inner = [value for _, value in inner[0].items]
                return self.apply(ProgramValue(ref=owner.ref), ProgramCall(call.offset, owner.ref, inner, call.named))
        return self.effects["unknown"](self, call, method)

    def _environment_call(self, call: ProgramCall, method: str = "") -> ProgramValue:
        if method in ("get", "pop", "setdefault", "fetch", "__getitem__", "getOrDefault", "dig") or (
            not method and call.arguments
        ):
            return self.effects["env"](self, call, "")
        if method in ("update", "setdefault", "delete", "__setitem__", "putenv"):
            return ProgramValue()
        return ProgramValue((), (self.note(call, Kind.ENV, "*"),), "environment()")

    def _fold(self, owner: ProgramValue, method: str, call: ProgramCall) -> ProgramValue | None:
        """A method of a constant."""
        self.charge(owner)
        marks = merge_marks(owner.marks, call.marks())
        if method == "join" and call.arguments:
            if (
                owner.consts
                and isinstance(owner.consts[0], str | bytes)
                and owner.items is None
                and owner.const is not None
            ):
                return ProgramValue(joined(text_of(owner.const), self._listed(call.arguments[0])), marks)
            if owner.items is not None:
                return ProgramValue(joined(text_of(call.arguments[0].const or ""), owner), marks)
        if method == "join" and owner.items is not None:
            return ProgramValue(joined("" if self.module.language == "ruby" else ",", owner), marks)
        if method == "format" and owner.texts():
            return ProgramValue(formatted(owner.texts()[0], call.arguments, call.named), marks)
        if method in ("reverse", "reversed", "reverse!") and owner.items is not None:
            reverse = ProgramValue((), marks, "", owner.items[::-1])
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
        arguments = [argument.const for argument in call.arguments]
        found = [fold_method(method, const, arguments) for const in owner.consts]
        if all(const is None for const in found):
            return None
        return ProgramValue(tuple(const for const in found if const is not None), marks)

    def _split(self, text: str, method: str, call: ProgramCall, marks: tuple[DraftFact, ...]) -> ProgramValue:
        separator = call.arguments[0].const if call.arguments else None
        if method == "bytes":
            return make_list([ProgramValue((byte,)) for byte in text.encode()], marks)
        parts = (
            list(text)
            if method != "split" or separator == ""
            else text.split(separator if isinstance(separator, str) else None)
        )
        return make_list([ProgramValue((part,)) for part in parts], marks)

    def _map_call(self, owner: ProgramValue, method: str, call: ProgramCall) -> ProgramValue:
        """A function applied to each element of a list that is known."""
        function = call.arguments[-1].function
        call.arguments[-1] = ProgramValue()
        items: list[tuple[Any, ProgramValue]] = []
        for _, element in (owner.items or [])[:2000]:
            if self.steps > self.max_steps and len(items) > 3:
                break
            result = self.invoke(function, ProgramCall(call.offset, "", [element], {})) if function else element
            items.append(
                (None, result if method in ("map", "flatMap", "collect", "filterMap", "filter_map") else element)
            )
        found = ProgramValue((), owner.marks, "", items)
        return found.with_marks(mark for _, value in items for mark in value.marks)

    def _listed(self, value: ProgramValue) -> ProgramValue:
        if value.items is None and value.consts and isinstance(value.consts[0], str):
            return make_list([ProgramValue((const,)) for const in value.consts[0]], value.marks)
        return value

    def _call_back(self, call: ProgramCall, result: ProgramValue) -> None:
        """Functions given to a call get what it gives."""
        for value in (*call.arguments, *call.named.values()):
            if value.function is None and value.ref and result.marks and call.ref.endswith(".then"):
                spec = find_spec(self.module.language, value.ref)
                if spec is not None and spec[0] in ("eval", "exec"):
                    self.effects[spec[0]](
                        self, ProgramCall(call.offset, value.ref, [ProgramValue((), result.marks)], {}), spec[1]
                    )
            if value.function is not None and not value.function.active:
                owner = call.owner
                marks = merge_marks(result.marks, owner.marks if owner is not None else ())
                argument = ProgramValue(
                    result.consts
                    if result.consts
                    else owner.consts
                    if owner is not None and owner.ref == "each"
                    else (),
                    marks,
                    result.ref,
                )
                argument.items = result.items
                if owner is not None and call.ref.endswith(".then"):
                    argument.ref = owner.ref
                returned = self.invoke(
                    value.function,
                    ProgramCall(call.offset, "", [argument] * max(1, len(value.function.parameters)), {}),
                )
                if returned.marks:
                    result.marks = merge_marks(result.marks, returned.marks)

    def invoke(self, function: ProgramFunction, call: ProgramCall) -> ProgramValue:
        """Follow a function of the text with these arguments and return its result."""
        arguments = (*call.arguments, *call.named.values())
        marked = any(argument.marks for argument in arguments)
        if function.active or self.calls >= MAX_CALLS:
            return ProgramValue((), call.marks())
        if function.summary is None:
            self.summarise(function)
        known = marked or any(
            argument.consts or argument.items or argument.function or _names(argument.ref) for argument in arguments
        )
        worth = marked or function.effects or len(function.body) <= SMALL
        size = len(function.body)
        runs = MAX_RUNS // 4 if size > 12 else MAX_RUNS if size > 2 else MAX_RUNS * 20
        if not known or not worth or function.runs > runs or self.steps > self.max_steps:
            return self.summarise(function).with_marks(call.marks() if marked else ())
        return self._enter(function, call)

    def summarise(self, function: ProgramFunction) -> ProgramValue:
        """Evaluate a function once without knowing its arguments; return its result."""
        if function.summary is None:
            if function.active:
                return ProgramValue()
            function.summary, function.seen = ProgramValue(), self.stored
            before = len(self.marks)
            function.summary = self._enter(function, ProgramCall(0, "", [], {}))
            function.effects = function.effects or len(self.marks) > before or bool(function.summary.marks)
        return function.summary

    def _enter(self, function: ProgramFunction, call: ProgramCall) -> ProgramValue:
        outer = (self.module, self.scope, self.maybe, self.returns)
        self.module = function.module
        self.scope = ProgramScope(function.scope, closed=bool(function.name) and function.module.language in _CLOSED)
        self.maybe, self.returns = 0, []
        function.active = True
        function.runs += 1
        self.calls += 1
        try:
            self._bind_parameters(function, call)
            last = self._run(function.body)
            if last is not None and self.module.language in _VALUE_OF_LAST:
                self.returns.append(last)
            return join_values(self.returns) if self.returns else ProgramValue()
        finally:
            self.calls -= 1
            function.active = False
            self.module, self.scope, self.maybe, self.returns = outer

    def _bind_parameters(self, function: ProgramFunction, call: ProgramCall) -> None:
        parameters = function.parameters
        if parameters and parameters[0][0] in OWN:
            parameters = parameters[1:]
        names = self.scope.names
        names["@_"] = make_list(call.arguments, call.marks())
        for index, (name, default) in enumerate(parameters):
            value = call.arguments[index] if index < len(call.arguments) else call.named.get(name)
            if value is None and default is not None:
                value = self.eval(default)
            if value is not None and index < len(call.arguments):
                value = self.whole(value, call.offset)
            names[name] = value if value is not None else ProgramValue()


def _names(ref: str) -> bool:
    """Return whether a reference names a module or a function, rather than what some call gave."""
    return ref != "" and ref[-1] != ")"


def _shape(module: Module) -> dict[str, tuple[Any, ...]]:
    """Return the values of a text's names, so that a second evaluation can be compared with the first."""
    names = module.scope.names.items()
    return {
        name: (value.consts, value.marks, value.ref, len(value.items or ()))
        for name, value in names
        if not value.function
    }


def _binds(one: Node) -> bool:
    """Return whether a statement may give a name to something that functions read."""
    return one[0] not in ("expr", "def", "block") or (one[0] == "block" and any(map(_binds, one[2])))


def _gathers(body: list[Node]) -> bool:
    """Return whether a loop puts a text together piece by piece, so that its order matters."""
    return any(
        (statement[0] == "assign" and statement[4] in ("+=", ".="))
        or (statement[0] == "block" and _gathers(statement[2]))
        for statement in body
    )
