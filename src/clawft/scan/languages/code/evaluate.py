"""Statements to marks: what each one binds, stores, calls and gives back."""

from collections.abc import Callable
from typing import Any

from clawft.scan.languages.code.cursor import Node
from clawft.scan.languages.code.invoking import Invoking
from clawft.scan.languages.code.machine import OWN, Module
from clawft.scan.languages.code.values import Function, Value

__all__ = ["Evaluator", "Module"]


class Evaluator(Invoking):
    """Follows the values of one text, or of a few that import each other."""

    def __init__(self, modules: dict[str, Module]) -> None:
        super().__init__(modules)
        self.kinds = {
            "const": self._const, "name": self._name, "attr": self._attr, "call": self._call, "index": self._index,
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
        """Whether something was put where code that ran before may read it."""
        kept = any(value.marks for module in self.modules.values() for value in module.fields.values())
        return kept or len(self.modules) > 1 or any(one.sources for one in self.files.values())

    def _run_module(self, module: Module) -> None:
        self.module, self.scope, self.maybe = module, module.scope, 0
        before = _shape(module) if module.bodies else {}
        for one in module.statements:
            self._guarded(self.actions[one[0]], one)
            if not before:
                self.stored += _binds(one)
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
        for one in statements:
            if one[0] == "def":
                self._do_def(one)
            elif one[0] == "block":
                self._hoist(one[2])

    def _run(self, statements: list[Node]) -> Value | None:
        last = None
        for one in statements:
            last = self.actions[one[0]](one)
        return last

    def _do_expr(self, one: Node) -> Value | None:
        return self.eval(one[2])

    def _do_assign(self, one: Node) -> Value | None:
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
        function = Function(name, parameters, body, self.scope, self.module)
        self.module.functions[name] = self.module.bodies[id(body)] = function
        value = Value()
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
            self.scope.names[name] = self.linked(ref) or Value(ref=ref)


def _shape(module: Module) -> dict[str, tuple[Any, ...]]:
    """What the names of a text stand for, so that it can be seen whether a second look changed any of them."""
    names = module.scope.names.items()
    return {name: (one.consts, one.marks, one.ref, len(one.items or ())) for name, one in names if not one.function}


def _binds(one: Node) -> bool:
    """Whether a statement may give a name to something that functions read."""
    return one[0] not in ("expr", "def", "block") or (one[0] == "block" and any(map(_binds, one[2])))


def _gathers(body: list[Node]) -> bool:
    """Whether a loop puts a text together piece by piece, so that its order matters."""
    return any(
        (one[0] == "assign" and one[4] in ("+=", ".=")) or (one[0] == "block" and _gathers(one[2])) for one in body
    )
