"""The state of an evaluation: names, files and marks, and what a member of a value is."""

from collections.abc import Callable
from typing import Any

from clawft.scan.documents import Document
from clawft.scan.facts import Kind
from clawft.scan.languages.code.calls import Call
from clawft.scan.languages.code.cursor import Node
from clawft.scan.languages.code.effects import EFFECTS
from clawft.scan.languages.code.folding import concat
from clawft.scan.languages.code.syntax import SYNTAXES
from clawft.scan.languages.code.tables import find_spec
from clawft.scan.languages.code.values import CHARACTER, HOLE, Function, Mark, Scope, Value, join, merge

__all__ = ["OWN", "ROOTS", "Machine", "Module"]

ROOTS = ("globalThis", "window", "global", "builtins", "__builtins__", "Kernel", "self", "core", "kotlin.io")
MAX_MARKS = 4000
MAX_STEPS = 150_000  # of evaluation in functions that are called and in loops; the text itself is gone through beyond
OWN = frozenset(("self", "this", "$this", "cls"))


class Module:
    """One text under evaluation."""

    def __init__(self, document: Document, statements: list[Node], place: Callable[[int], int]) -> None:
        self.document = document
        self.language = document.language
        self.statements = statements
        self.whole = True  # it was read to its end
        self.place = place  # from an offset in what was parsed to one in the document
        self.concat = SYNTAXES[self.language].concat | {"+"}
        self.scope = Scope(None)
        self.functions: dict[str, Function] = {}
        self.stars: list[str] = []  # modules all of whose names were brought in
        self.bodies: dict[int, Function] = {}  # every function, also those whose name is taken again
        self.fields: dict[str, Value] = {}  # what was stored in attributes of the text's own objects
        self.children: dict[tuple[str, str, str], int] = {}  # text, language, how it was reached: at which offset


class Machine:
    """What every part of the evaluation works on."""

    def __init__(self, modules: dict[str, Module]) -> None:
        self.modules = modules
        self.module = next(iter(modules.values()))
        self.marks: dict[tuple[Any, ...], Mark] = {}
        self.files: dict[str, Mark] = {}  # paths that were written
        self.scope = self.module.scope
        self.maybe = 0  # how many conditions the current statement stands under
        self.calls = 0
        self.steps = 0
        self.stored = 0  # how often something was put where functions may read it
        size = sum(len(one.document.text) for one in modules.values())
        self.max_steps = min(MAX_STEPS, 50_000 + 4 * size)
        self.last_step = self.max_steps + 2 * size  # after it nothing is followed any more
        self.depth = 0
        self.offset = 0
        self.returns: list[Value] = []
        self.overflow = False  # more was done than is kept

    # Expressions and calls belong to the parts that build on this one.
    def eval(self, node: Node) -> Value:
        raise NotImplementedError

    def apply(self, function: Value, call: Call) -> Value:
        raise NotImplementedError

    def invoke(self, function: Function, call: Call) -> Value:
        raise NotImplementedError

    def charge(self, value: Value) -> Value:
        """Count the making of a large value as the steps that it is worth."""
        for one in value.consts:
            if isinstance(one, str | bytes) and len(one) > 500:
                self.steps += len(one) // 200
        if value.items is not None and len(value.items) > 100:
            self.steps += len(value.items) // 100
        return value

    def mark(self, kind: Kind, target: str, offset: int, via: str, sources: tuple[Mark, ...] = ()) -> Mark:
        """The mark of something done here; done again, it only gains sources."""
        target = target.replace(HOLE, "{}")[:4000]
        key = (kind, target, offset, via, id(self.module))
        found = self.marks.get(key)
        if found is None:
            if len(self.marks) >= MAX_MARKS:
                self.overflow = True
                return Mark(kind, target, offset, via, self.module)
            found = self.marks[key] = Mark(kind, target, offset, via, self.module)
        for one in sources:
            if one is not found:
                found.sources[one] = None
        return found

    def child(self, text: str, language: str, how: str, offset: int) -> None:
        self.module.children.setdefault((text, language, how), offset)

    def _augment(self, operator: str, old: Value | None, value: Value) -> Value:
        if old is None:
            return value
        if operator in ("+=", ".=", "<<=", "~=", "&="):
            if old.items is not None:
                more = value.items if value.items is not None else [(None, value)]
                return Value((), merge(old.marks, value.marks), old.ref, [*old.items, *more][:5000])
            return Value(concat(old, value), merge(old.marks, value.marks))
        if operator in ("||=", "??=", "&&="):
            return join([old, value])
        return Value((), merge(old.marks, value.marks))

    def _peek(self, target: Node) -> Value | None:
        if target[0] == "name":
            return self.scope.find(target[2])
        return self.eval(target) if target[0] == "attr" else None

    def assign(self, target: Node, value: Value) -> None:
        """Store a value under a name, in an attribute or in an element."""
        kind = target[0]
        if kind == "name":
            self.bind(target[2], value)
        elif kind == "seq":
            self._destructure(target[2], value)
        elif kind == "attr":
            self._store(target, target[3], value)
        elif kind == "index":
            key = self.eval(target[3][0][1]).const if target[3] else None
            self._store(target, key, value)
        elif kind == "bin":
            self.assign(target[4], value)
        elif kind == "call" and target[3]:
            self.taint(target[2], value)

    def bind(self, name: str, value: Value) -> None:
        scope = self.scope.holder(name)
        old = scope.names.get(name)
        if self.maybe and old is not None and (old.marks or old.consts) and old is not value:
            value = join([value, old])
        if scope.parent is None and self.calls:
            self.stored += 1  # a function sets what all may read
        scope.names[name] = value

    def _destructure(self, items: list[Any], value: Value) -> None:
        for index, (key, target) in enumerate(items):
            if isinstance(key, tuple):  # `{[name]: target}`: the name is put together
                inner = key[2][0][1] if key[0] == "seq" and len(key[2]) == 1 else key
                key = self.eval(inner).const
            name = (
                key
                if isinstance(key, str)
                else target[2]
                if target[0] == "name" and value.ref and value.items is None
                else None
            )
            part = (
                self.member(value, name, target[1])
                if isinstance(name, str) and (value.ref or value.items)
                else value.get(index)
            )
            if part is None and isinstance(key, str):
                part = value.get(key)
            if target[0] == "name" and part is None and value.items is not None:
                part = value.get(target[2])
            if part is None and index == 0 and value.items is None:
                part = value  # the first of several results; the others tell of errors
            self.assign(target, part if part is not None else Value((), value.marks))

    def _store(self, target: Node, key: Any, value: Value) -> None:
        owner = target[2]
        if owner[0] == "name" and owner[2] in OWN and isinstance(key, str):
            old = self.module.fields.get(key)
            new = self.module.fields[key] = value if old is None or not old.marks else join([value, old])
            if old is None or (old.consts, old.marks, old.ref) != (new.consts, new.marks, new.ref):
                self.stored += 1
            return
        base = self.eval(owner)
        if owner[0] == "name" and isinstance(key, str):
            items = [pair for pair in base.items or [] if pair[0] != key][:500]
            stored = base.with_marks(value.marks)
            stored.items = [*items, (key, value)]
            self.scope.holder(owner[2]).names[owner[2]] = stored
        else:
            self.taint(owner, value)
        if isinstance(key, str) and base.ref:
            self._property_effect(base, key, value, target[1])

    def _property_effect(self, owner: Value, key: str, value: Value, offset: int) -> None:
        """What setting a property does: `location.href = …`, `image.src = …`."""
        spec = find_spec(self.module.language, f"{owner.ref}.{key}=")
        if spec:
            EFFECTS[spec[0]](self, Call(offset, f"{owner.ref}.{key}", [value], {}), spec[1])

    def taint(self, node: Node, value: Value) -> None:
        """What flows into an object flows into the name that holds it."""
        if not value.marks:
            return
        while node[0] in ("attr", "index", "call"):
            if node[0] == "attr" and node[2][0] == "name" and node[2][2] in OWN:
                old = self.module.fields.get(node[3], Value())
                new = self.module.fields[node[3]] = old.with_marks(value.marks)
                self.stored += new.marks != old.marks
                return
            node = node[2]
        if node[0] == "name":
            old_value = self.scope.find(node[2])
            if old_value is not None and not (
                old_value.ref and not old_value.ref.endswith(")") and not old_value.marks and not old_value.items
            ):
                holder = self.scope.holder(node[2])
                new = holder.names[node[2]] = old_value.with_marks(value.marks)
                self.stored += holder.parent is None and new.marks != old_value.marks

    def element(self, value: Value) -> Value:
        """Any element of a value that is gone through."""
        value = self.whole(value, 0)
        if value.items:
            found = join(one for _, one in value.items[:200])
            keys = [key for key, _ in value.items[:200] if isinstance(key, str)]
            if keys:
                found = join([found, Value(tuple(keys[:32]))])
            return found.with_marks(value.marks)
        return Value(value.consts if value.ref == "each" else (), value.marks)

    def linked(self, ref: str) -> Value | None:
        """A function or a name of another text of the same skill."""
        if len(self.modules) < 2:
            return None
        owner, _, name = ref.rpartition(".")
        for part in reversed(owner.split(".")):
            module = self.modules.get(part)
            if module is not None and module is not self.module:
                return self._exported(module, name, ref)
        return None

    def _exported(self, module: Module, name: str, ref: str) -> Value | None:
        if name in module.functions:
            value = Value(ref=ref)
            value.function = module.functions[name]
            return value
        names = module.scope.names
        whole = names.get("module")
        exports = (whole.get("exports") if whole is not None else None) or names.get("exports")
        return names.get(name) or (exports.get(name) if exports is not None else None)

    def member(self, owner: Value, name: str, offset: int) -> Value:
        """An attribute of a value: an element, a part of a module, or something unknown that carries its marks."""
        if owner.items is not None:
            found = owner.get(name)
            if found is not None:
                return found
        if owner.ref and self._is_environment(owner.ref):
            return EFFECTS["env"](self, Call(offset, owner.ref, [Value((name,))], {}), "")
        ref = f"{owner.ref}.{name}"
        root, _, rest = ref.partition(".")
        if root in ROOTS and rest and root != "self":
            ref = rest
        value = Value((), owner.marks, ref)
        if owner.consts and name in ("length", "size", "parent", "name", "href", "hostname"):
            value.consts = owner.consts if name in ("href",) else ()
        linked = self.linked(ref)
        if linked is not None:
            return linked
        return self._property(value, offset)

    def _is_environment(self, ref: str) -> bool:
        spec = find_spec(self.module.language, ref)
        return spec is not None and spec[0] == "environment"

    def _property(self, value: Value, offset: int) -> Value:
        """What naming something alone does: the clipboard, the home folder, the cookies of a page."""
        spec = find_spec(self.module.language, value.ref)
        if spec is None or not spec[0].startswith("is-"):
            return value
        return EFFECTS[spec[0]](self, Call(offset, value.ref, [], {}), spec[1])

    def whole(self, value: Value, offset: int) -> Value:
        """A value as a whole: the environment, not one of its variables."""
        if value.ref and not value.consts:
            spec = find_spec(self.module.language, value.ref)
            if spec is not None and spec[0] == "environment":
                return value.with_marks((self.mark(Kind.ENV, "*", offset or self.offset, value.ref),))
        return value

    def each(self, value: Value) -> list[Value] | None:
        """The elements of a list, or the characters of a text, where they are known one by one."""
        const = value.const
        if value.ref == "each":
            return None  # what a folder holds is not written in its name
        if isinstance(const, bytes | str) and len(const) <= 20_000:
            return [Value((one,), (), CHARACTER) for one in const]
        if value.items is not None and len(value.items) <= 5000 and value.items:
            return [one for _, one in value.items]
        return None
