"""Statements to marks: names are followed to what they stand for, constants are folded, values flow to where they go."""

from typing import Any

from clawft.scan.documents import Document
from clawft.scan.facts import Kind
from clawft.scan.languages.code.calls import Call
from clawft.scan.languages.code.effects import EFFECTS
from clawft.scan.languages.code.expressions import Node
from clawft.scan.languages.code.folding import characters, concat, fold_method, formatted, joined, operate, slice_of
from clawft.scan.languages.code.syntax import SYNTAXES
from clawft.scan.languages.code.tables import find_spec
from clawft.scan.languages.code.values import HOLE, Function, Mark, Scope, Value, join, merge, text_of

__all__ = ["Evaluator", "Module"]

MAX_STEPS = 150_000  # of evaluation inside called functions; the text itself is always gone through
MAX_CALLS = 6
MAX_DEPTH = 100
MAX_RUNS = 24
SMALL = 4  # statements of a function that is always followed
_ROOTS = ("globalThis", "window", "global", "builtins", "__builtins__", "Kernel", "self", "core", "kotlin.io")
_OWN = frozenset(("self", "this", "$this", "cls"))
_TABLES_OF_NAMES = frozenset(
    (
        "globals()",
        "locals()",
        "vars()",
        "sys.modules",
        "__dict__", "__builtins__",
        "_G",
        "_ENV",
        "$GLOBALS",
    )
)
_VALUE_OF_LAST = frozenset(("ruby", "rust", "perl", "r", "elixir", "kotlin", "groovy", "swift"))
_CLOSED = frozenset(("python", "ruby", "php", "nim", "r"))
_EACH = frozenset(
    "forEach each map flatMap filter reduce some every find each_with_index collect select for_each foreach filterMap filter_map iter into_iter".split()
)


class Module:
    """One text under evaluation."""

    def __init__(self, document: Document, statements: list[Node]) -> None:
        self.document = document
        self.language = document.language
        self.statements = statements
        self.concat = SYNTAXES[self.language].concat | {"+"}
        self.scope = Scope(None)
        self.functions: dict[str, Function] = {}
        self.stars: list[str] = []  # modules all of whose names were brought in
        self.bodies: dict[int, Function] = {}  # every function, also those whose name is taken again
        self.fields: dict[str, Value] = {}  # what was stored in attributes of the text's own objects
        self.children: dict[tuple[str, str, str], int] = {}  # text, language, how it was reached: at which offset


class Evaluator:
    """Follows the values of one text, or of a few that import each other."""

    def __init__(self, modules: dict[str, Module]) -> None:
        self.modules = modules
        self.module = next(iter(modules.values()))
        self.marks: dict[tuple[Any, ...], Mark] = {}
        self.files: dict[str, Mark] = {}  # paths that were written
        self.scope = self.module.scope
        self.maybe = 0
        self.calls = 0
        self.steps = 0
        self.depth = 0
        self.returns: list[Value] = []
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
        self._run(module.statements)
        for function in list(module.bodies.values()):
            function.summary = None
            self.module = module
            self.summarise(function)

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

    # Marks

    def mark(self, kind: Kind, target: str, offset: int, via: str, sources: tuple[Mark, ...] = ()) -> Mark:
        """The mark of something done here; done again, it only gains sources."""
        target = target.replace(HOLE, "{}")[:4000]
        key = (kind, target, offset, via, id(self.module))
        found = self.marks.get(key)
        if found is None:
            found = self.marks[key] = Mark(kind, target, offset, via, self.module)
        for one in sources:
            if one is not found:
                found.sources[one] = None
        return found

    def child(self, text: str, language: str, how: str, offset: int) -> None:
        self.module.children.setdefault((text, language, how), offset)

    # Statements

    def _do_expr(self, one: Node) -> Value | None:
        return self.eval(one[2])

    def _do_assign(self, one: Node) -> Value | None:
        value = self.eval(one[3])
        operator = one[4]
        for target in one[2]:
            if operator not in ("=", ":=", "<-", "<<-", "~="):
                old = self._peek(target)
                value = self._augment(operator, old, value)
            self.assign(target, value)
        return value

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
        scope.names[name] = value

    def _destructure(self, items: list[Any], value: Value) -> None:
        for index, (key, target) in enumerate(items):
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
        if owner[0] == "name" and owner[2] in _OWN and isinstance(key, str):
            old = self.module.fields.get(key)
            self.module.fields[key] = value if old is None or not old.marks else join([value, old])
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
            if node[0] == "attr" and node[2][0] == "name" and node[2][2] in _OWN:
                old = self.module.fields.get(node[3], Value())
                self.module.fields[node[3]] = old.with_marks(value.marks)
                return
            node = node[2]
        if node[0] == "name":
            old_value = self.scope.find(node[2])
            if old_value is not None and not (
                old_value.ref and not old_value.ref.endswith(")") and not old_value.marks and not old_value.items
            ):
                self.scope.holder(node[2]).names[node[2]] = old_value.with_marks(value.marks)

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
        if name not in _OWN:
            self.scope.names.setdefault(name, value)

    def _do_for(self, one: Node) -> None:
        _, _, names, source, body = one
        whole = self.eval(source)
        parts = self._each(whole) if _gathers(body) else None
        if parts is not None and len(parts) <= 3000 and self.steps < MAX_STEPS and len(names) == 1:
            for part in parts:
                self.scope.names[names[0]] = part
                self._run(body)
                if self.steps > MAX_STEPS:
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
            self.scope.names[name] = self._linked(ref) or Value(ref=ref)

    def _linked(self, ref: str) -> Value | None:
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

    # Expressions

    def eval(self, node: Node) -> Value:
        self.steps += 1
        if self.depth > MAX_DEPTH:
            return Value()
        self.depth += 1
        value = self.kinds[node[0]](node)
        self.depth -= 1
        return value

    def _value(self, node: Node) -> Value:
        found: Value = node[2]
        return found

    def _const(self, node: Node) -> Value:
        return Value(() if node[2] is None else (node[2],))

    def _name(self, node: Node) -> Value:
        name = node[2]
        found = self.scope.find(name)
        if found is not None:
            return found
        function = self.module.functions.get(name)
        value = Value(ref=name)
        value.function = function
        if function:
            return value
        for star in self.module.stars:
            if find_spec(self.module.language, f"{star}.{name}"):
                value.ref = f"{star}.{name}"
            elif (linked := self._linked(f"{star}.{name}")) is not None:
                return linked
        return self._property(value, node[1])

    def _attr(self, node: Node) -> Value:
        owner, name = node[2], node[3]
        if owner[0] == "name" and owner[2] in _OWN:
            found = self.module.fields.get(name) or self.module.scope.names.get(name)
            if found is not None:
                return found
        if self.module.language in ("ruby", "perl") and name[:1].islower():
            return self._call(("call", node[1], node, []))  # a method needs no parentheses
        return self.member(self.eval(owner), name, node[1])

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
        if root in _ROOTS and rest and root != "self":
            ref = rest
        value = Value((), owner.marks, ref)
        if owner.consts and name in ("length", "size", "parent", "name", "href", "hostname"):
            value.consts = owner.consts if name in ("href",) else ()
        linked = self._linked(ref)
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

    offset = 0

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
            if key is None and inner[0] == "name":
                key = inner[2]  # { a, b } is { a: a, b: b }
                items.append((key, value))
            elif isinstance(key, tuple):
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
            value = self._operate(one, value)
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
        result = Value(("",))
        for part in node[2]:
            if isinstance(part, str):
                value = Value((part,))
            else:
                value = self.whole(self.eval(part), part[1])
                if not value.consts:
                    value = (
                        Value((HOLE,), value.marks)
                        if value.items is None
                        else Value(joined(" ", value) or (HOLE,), value.marks)
                    )
            result = Value(concat(result, value), merge(result.marks, value.marks))
        return result

    def _any(self, node: Node) -> Value:
        self.eval(node[3])
        return join([self.eval(one) for one in node[2]]) if node[2] else Value()

    def _lambda(self, node: Node) -> Value:
        value = Value()
        value.function = Function("", node[2], node[3], self.scope, self.module)
        return value

    def _comp(self, node: Node) -> Value:
        """A comprehension: element by element over a short constant list, as one element otherwise."""
        _, _, inner, loops = node
        scope, self.scope = self.scope, Scope(self.scope)
        try:
            if len(loops) == 1:
                names, source = loops[0]
                value = self.eval(source)
                parts = self._each(value)
                if parts is not None and len(names) <= 2 and self.steps < MAX_STEPS:
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

    def _each(self, value: Value) -> list[Value] | None:
        const = value.const
        if isinstance(const, bytes | str) and len(const) <= 20_000:
            return [Value((one,)) for one in const]
        if value.items is not None and len(value.items) <= 5000 and value.items:
            return [one for _, one in value.items]
        return None

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
            value = self._augment(node[4], self._peek(node[2]), value)
        self.assign(node[2], value)
        return value

    def _slice(self, node: Node) -> Value:
        return Value()

    # Calls

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
        for key, inner in items[:2000]:
            value = self.eval(inner)
            if isinstance(key, tuple):
                key = self.eval(key).const
            if isinstance(key, str):
                named[key] = value
            else:
                arguments.append(value)
        if function.function is None and isinstance(function.const, str) and self.module.language in ("php", "perl"):
            function = Value((), function.marks, function.const)  # a function called by a variable that holds its name
        call = Call(offset, function.ref, arguments, named, owner, callee, items)
        result = self._apply(function, call)
        self._call_back(call, result)
        return result

    def _method(self, callee: Node, owner: Value) -> Value:
        name = callee[3]
        if callee[2][0] == "name" and callee[2][2] in _OWN:
            value = self.module.fields.get(name) or Value(ref=f"{callee[2][2]}.{name}")
            value.function = value.function or self.module.functions.get(name)
            return value
        ref = f"{owner.ref}.{name}"
        root, _, rest = ref.partition(".")
        if root in _ROOTS and rest:
            ref = rest
        value = Value((), owner.marks, ref)
        item = owner.get(name) if owner.items is not None else None
        if item is not None and (item.function or item.ref):
            return item
        linked = self._linked(ref)
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

    def _apply(self, function: Value, call: "Call") -> Value:
        if function.function is not None and find_spec(self.module.language, call.ref) is None:
            return self.invoke(function.function, call)
        spec = find_spec(self.module.language, call.ref)
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
                return self._apply(Value(ref=owner.ref), Call(call.offset, owner.ref, inner, call.named))
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
            if self.steps > MAX_STEPS and len(items) > 3:
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

    # Functions

    def invoke(self, function: Function, call: "Call") -> Value:
        """What a function of the text gives for these arguments."""
        given = (*call.arguments, *call.named.values())
        marked = any(one.marks for one in given)
        if function.active or self.calls >= MAX_CALLS:
            return Value((), call.marks())
        if function.summary is None:
            self.summarise(function)
        known = marked or any(one.consts or one.items or one.function or one.ref for one in given)
        worth = marked or function.effects or len(function.body) <= SMALL
        runs = MAX_RUNS if len(function.body) > 2 else MAX_RUNS * 20
        if not known or not worth or function.runs > runs or self.steps > MAX_STEPS:
            return self.summarise(function).with_marks(call.marks() if marked else ())
        return self._enter(function, call)

    def summarise(self, function: Function) -> Value:
        """What a function gives, and what it does, when nothing is known of its arguments."""
        if function.summary is None:
            if function.active:
                return Value()
            function.summary = Value()
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
        if parameters and parameters[0][0] in _OWN:
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

    def characters(self, values: list[Value]) -> tuple[Any, ...]:
        return characters(values)


def _gathers(body: list[Node]) -> bool:
    """Whether a loop puts a text together piece by piece, so that its order matters."""
    return any(one[0] == "assign" and one[4] in ("+=", ".=") or (one[0] == "block" and _gathers(one[2])) for one in body)
