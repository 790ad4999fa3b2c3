"""The state of an evaluation, and expressions to values: names, constants, lists, members; effects of calls."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from clawft.scanner.facts import Document, Kind
from clawft.scanner.languages.code.constants import concat, formatted, joined, operate, slice_of
from clawft.scanner.languages.code.expressions import Node
from clawft.scanner.languages.code.syntax import SYNTAXES
from clawft.scanner.languages.code.tables import find_spec
from clawft.scanner.languages.code.values import (
    CHARACTER,
    HOLE,
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

ROOTS = ("globalThis", "window", "global", "builtins", "__builtins__", "Kernel", "self", "core", "kotlin.io")
MAX_MARKS = 4000
MAX_STEPS = 150_000  # of evaluation in functions that are called and in loops; the text itself is gone through beyond
OWN = frozenset(("self", "this", "$this", "cls"))
MAX_DEPTH = 100
_TABLES_OF_NAMES = frozenset(
    ("globals()", "locals()", "vars()", "sys.modules", "__dict__", "__builtins__", "_G", "_ENV", "$GLOBALS")
)
_COMPARISONS = words("== != === !== < > <= >= in is =~ !~ <=> instanceof eq ne")


class Module:
    """One text under evaluation."""

    def __init__(self, document: Document, statements: list[Node], place: Callable[[int], int]) -> None:
        self.document = document
        self.language = document.language
        self.statements = statements
        self.whole = True  # it was read to its end
        self.place = place  # from an offset in what was parsed to one in the document
        self.concat = SYNTAXES[self.language].concat | {"+"}
        self.scope = ProgramScope(None)
        self.functions: dict[str, ProgramFunction] = {}
        self.stars: list[str] = []  # modules all of whose names were brought in
        self.bodies: dict[int, ProgramFunction] = {}  # every function, also those whose name is taken again
        self.fields: dict[str, ProgramValue] = {}  # what was stored in attributes of the text's own objects
        self.children: dict[tuple[str, str, str], int] = {}  # text, language, how it was reached: at which offset


class Machine(ABC):
    """The state of an evaluation, and the value of each expression; calls are followed by the class that extends it."""

    def __init__(self, modules: dict[str, Module], effects: Mapping[str, Effect]) -> None:
        self.modules = modules
        self.effects = effects
        self.module = next(iter(modules.values()))
        self.marks: dict[tuple[Any, ...], DraftFact] = {}
        self.files: dict[str, DraftFact] = {}  # paths that were written
        self.scope = self.module.scope
        self.maybe = 0  # how many conditions the current statement stands under
        self.calls = 0
        self.steps = 0
        self.stored = 0  # how often something was put where functions may read it
        size = sum(len(module.document.text) for module in modules.values())
        self.max_steps = min(MAX_STEPS, 50_000 + 4 * size)
        self.last_step = self.max_steps + 2 * size  # after it nothing is followed any more
        self.depth = 0
        self.offset = 0
        self.returns: list[ProgramValue] = []
        self.overflow = False  # more was done than is kept
        self.kinds: dict[str, Callable[[Node], ProgramValue]] = {}  # how each kind of expression is evaluated

    @abstractmethod
    def apply(self, function: ProgramValue, call: ProgramCall) -> ProgramValue:
        """Call a value, which names a function or holds one."""

    @abstractmethod
    def invoke(self, function: ProgramFunction, call: ProgramCall) -> ProgramValue:
        """Follow a function of the text with the arguments of a call."""

    @abstractmethod
    def _call(self, node: Node) -> ProgramValue:
        """Evaluate a call."""

    def charge(self, value: ProgramValue) -> ProgramValue:
        """Count the making of a large value as the steps that it is worth."""
        for const in value.consts:
            if isinstance(const, str | bytes) and len(const) > 500:
                self.steps += len(const) // 200
        if value.items is not None and len(value.items) > 100:
            self.steps += len(value.items) // 100
        return value

    def mark(self, kind: Kind, target: str, offset: int, via: str, sources: tuple[DraftFact, ...] = ()) -> DraftFact:
        """The mark of something done here; done again, it only gains sources."""
        target = target.replace(HOLE, "{}")[:4000]
        key = (kind, target, offset, via, id(self.module))
        found = self.marks.get(key)
        if found is None:
            if len(self.marks) >= MAX_MARKS:
                self.overflow = True
                return DraftFact(kind, target, offset, via, self.module)
            found = self.marks[key] = DraftFact(kind, target, offset, via, self.module)
        for source in sources:
            if source is not found:
                found.sources[source] = None
        return found

    def note(self, call: ProgramCall, kind: Kind, target: str, sources: tuple[DraftFact, ...] = ()) -> DraftFact:
        """The mark of something that a call does."""
        return self.mark(kind, target, call.offset, call.ref, sources)

    def child(self, text: str, language: str, how: str, offset: int) -> None:
        self.module.children.setdefault((text, language, how), offset)

    def _augment(self, operator: str, old: ProgramValue | None, value: ProgramValue) -> ProgramValue:
        if old is None:
            return value
        if operator in ("+=", ".=", "<<=", "~=", "&="):
            if old.items is not None:
                more = value.items if value.items is not None else [(None, value)]
                return ProgramValue((), merge_marks(old.marks, value.marks), old.ref, [*old.items, *more][:5000])
            return ProgramValue(concat(old, value), merge_marks(old.marks, value.marks))
        if operator in ("||=", "??=", "&&="):
            return join_values([old, value])
        return ProgramValue((), merge_marks(old.marks, value.marks))

    def _peek(self, target: Node) -> ProgramValue | None:
        if target[0] == "name":
            return self.scope.find(target[2])
        return self.eval(target) if target[0] == "attr" else None

    def assign(self, target: Node, value: ProgramValue) -> None:
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

    def bind(self, name: str, value: ProgramValue) -> None:
        scope = self.scope.holder(name)
        old = scope.names.get(name)
        if self.maybe and old is not None and (old.marks or old.consts) and old is not value:
            value = join_values([value, old])
        if scope.parent is None and self.calls:
            self.stored += 1  # a function sets what all may read
        scope.names[name] = value

    def _destructure(self, items: list[Any], value: ProgramValue) -> None:
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
            self.assign(target, part if part is not None else ProgramValue((), value.marks))

    def _store(self, target: Node, key: Any, value: ProgramValue) -> None:
        owner = target[2]
        if owner[0] == "name" and owner[2] in OWN and isinstance(key, str):
            old = self.module.fields.get(key)
            new = self.module.fields[key] = value if old is None or not old.marks else join_values([value, old])
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

    def _property_effect(self, owner: ProgramValue, key: str, value: ProgramValue, offset: int) -> None:
        """Note the effect of setting a property: `location.href = …`, `image.src = …`."""
        spec = find_spec(self.module.language, f"{owner.ref}.{key}=")
        if spec:
            self.effects[spec[0]](self, ProgramCall(offset, f"{owner.ref}.{key}", [value], {}), spec[1])

    def taint(self, node: Node, value: ProgramValue) -> None:
        """Let what flows into an object flow into the name that holds it."""
        if not value.marks:
            return
        while node[0] in ("attr", "index", "call"):
            if node[0] == "attr" and node[2][0] == "name" and node[2][2] in OWN:
                old = self.module.fields.get(node[3], ProgramValue())
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

    def element(self, value: ProgramValue) -> ProgramValue:
        """Any element of a value that is gone through."""
        value = self.whole(value, 0)
        if value.items:
            found = join_values(item for _, item in value.items[:200])
            keys = [key for key, _ in value.items[:200] if isinstance(key, str)]
            if keys:
                found = join_values([found, ProgramValue(tuple(keys[:32]))])
            return found.with_marks(value.marks)
        return ProgramValue(value.consts if value.ref == "each" else (), value.marks)

    def linked(self, ref: str) -> ProgramValue | None:
        """A function or a name of another text of the same skill."""
        if len(self.modules) < 2:
            return None
        owner, _, name = ref.rpartition(".")
        for part in reversed(owner.split(".")):
            module = self.modules.get(part)
            if module is not None and module is not self.module:
                return self._exported(module, name, ref)
        return None

    def _exported(self, module: Module, name: str, ref: str) -> ProgramValue | None:
        if name in module.functions:
            value = ProgramValue(ref=ref)
            value.function = module.functions[name]
            return value
        names = module.scope.names
        whole = names.get("module")
        exports = (whole.get("exports") if whole is not None else None) or names.get("exports")
        return names.get(name) or (exports.get(name) if exports is not None else None)

    def member(self, owner: ProgramValue, name: str, offset: int) -> ProgramValue:
        """An attribute of a value: an element, a part of a module, or something unknown that carries its marks."""
        if owner.items is not None:
            found = owner.get(name)
            if found is not None:
                return found
        if owner.ref and self._is_environment(owner.ref):
            return self.effects["env"](self, ProgramCall(offset, owner.ref, [ProgramValue((name,))], {}), "")
        ref = f"{owner.ref}.{name}"
        root, _, rest = ref.partition(".")
        if root in ROOTS and rest and root != "self":
            ref = rest
        value = ProgramValue((), owner.marks, ref)
        if owner.consts and name in ("length", "size", "parent", "name", "href", "hostname"):
            value.consts = owner.consts if name in ("href",) else ()
        linked = self.linked(ref)
        if linked is not None:
            return linked
        return self._property(value, offset)

    def _is_environment(self, ref: str) -> bool:
        spec = find_spec(self.module.language, ref)
        return spec is not None and spec[0] == "environment"

    def _property(self, value: ProgramValue, offset: int) -> ProgramValue:
        """Evaluate a name that has an effect by itself: the clipboard, the home folder, the cookies of a page."""
        spec = find_spec(self.module.language, value.ref)
        if spec is None or not spec[0].startswith("is-"):
            return value
        return self.effects[spec[0]](self, ProgramCall(offset, value.ref, [], {}), spec[1])

    def whole(self, value: ProgramValue, offset: int) -> ProgramValue:
        """A value as a whole: the environment, not one of its variables."""
        if value.ref and not value.consts:
            spec = find_spec(self.module.language, value.ref)
            if spec is not None and spec[0] == "environment":
                return value.with_marks((self.mark(Kind.ENV, "*", offset or self.offset, value.ref),))
        return value

    def each(self, value: ProgramValue) -> list[ProgramValue] | None:
        """The elements of a list, or the characters of a text, where they are known one by one."""
        const = value.const
        if value.ref == "each":
            return None  # what a folder holds is not written in its name
        if isinstance(const, bytes | str) and len(const) <= 20_000:
            return [ProgramValue((element,), (), CHARACTER) for element in const]
        if value.items is not None and len(value.items) <= 5000 and value.items:
            return [element for _, element in value.items]
        return None

    def eval(self, node: Node) -> ProgramValue:
        kind = node[0]
        if kind == "const":
            return ProgramValue(() if node[2] is None else (node[2],))
        self.steps += 1
        if self.depth > MAX_DEPTH or self.steps > self.last_step:
            self.overflow = self.overflow or self.steps > self.last_step
            return ProgramValue()
        self.depth += 1
        value: ProgramValue = self.kinds[kind](node)
        self.depth -= 1
        return value

    def _value(self, node: Node) -> ProgramValue:
        found: ProgramValue = node[2]
        return found

    def _name(self, node: Node) -> ProgramValue:
        name = node[2]
        scope: ProgramScope | None = self.scope
        while scope is not None:  # as Scope.find, but names are looked up more often than anything else is done
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.parent
        function = self.module.functions.get(name)
        value = ProgramValue(ref=name)
        value.function = function
        if function:
            return value
        if self.module.language == "perl" and name in ("shift", "pop"):
            return self.effects["arguments"](self, ProgramCall(node[1], name, [], {}), "")
        for star in self.module.stars:
            if find_spec(self.module.language, f"{star}.{name}"):
                value.ref = f"{star}.{name}"
            elif (linked := self.linked(f"{star}.{name}")) is not None:
                return linked
        return self._property(value, node[1])

    def _attr(self, node: Node) -> ProgramValue:
        owner, name = node[2], node[3]
        if owner[0] == "name" and owner[2] in OWN:
            found = self.module.fields.get(name) or self.module.scope.names.get(name)
            if found is not None:
                return found
        if self.module.language in ("ruby", "perl") and name[:1].islower():
            return self._call(("call", node[1], node, []))  # a method needs no parentheses
        return self.member(self.eval(owner), name, node[1])

    def _index(self, node: Node) -> ProgramValue:
        owner = self.eval(node[2])
        if not node[3]:
            return owner
        selector = node[3][0][1]
        if selector[0] == "slice":
            bounds = [self.eval(bound).const for bound in selector[2]]
            if owner.items is not None:
                return ProgramValue((), owner.marks, "", slice_of(owner.items, bounds))
            return ProgramValue(
                tuple(
                    part
                    for part in (slice_of(const, bounds) for const in owner.consts if isinstance(const, str | bytes))
                    if part is not None
                ),
                owner.marks,
            )
        key = self.eval(selector)
        spec = find_spec(self.module.language, owner.ref) if owner.ref else None
        if spec is not None and spec[0] == "environment":
            return self.effects["env"](self, ProgramCall(node[1], owner.ref, [key], {}), "")
        name = key.const
        if name is None:
            return (
                ProgramValue((), merge_marks(owner.marks, key.marks), f"{owner.ref}[]" if owner.ref else "", None)
                if owner.items is None
                else self.element(owner)
            )
        if owner.items is not None or isinstance(name, int):
            return self._element_at(owner, name)
        if owner.ref in _TABLES_OF_NAMES:
            return self._name(("name", node[1], text_of(name)))
        return self.member(owner, text_of(name), node[1])

    def _element_at(self, owner: ProgramValue, name: Any) -> ProgramValue:
        if isinstance(name, int) and self.module.language in ("lua", "r"):
            name -= 1
        found = owner.get(name)
        if found is not None:
            return found
        if isinstance(name, int) and owner.consts and owner.items is None:
            one = owner.consts[0]
            if isinstance(one, str | bytes) and -len(one) <= name < len(one):
                return ProgramValue((one[name],), owner.marks)
        return ProgramValue((), owner.marks, owner.ref if isinstance(name, int) else "")

    def _seq(self, node: Node) -> ProgramValue:
        items: list[tuple[Any, ProgramValue]] = []
        marks: dict[DraftFact, None] = {}
        for key, inner in node[2][:20_000]:
            value = self.whole(self.eval(inner), inner[1])
            if isinstance(key, tuple):
                found = self.eval(key)
                marks.update(dict.fromkeys(found.marks))
                items.append((found.const if isinstance(found.const, str) else None, value))
            else:
                items.append((key, value))
            marks.update(dict.fromkeys(value.marks))
        return ProgramValue((), tuple(marks)[:64], "", items)

    def _bin(self, node: Node) -> ProgramValue:
        """A chain of operators, from its first operand on: it may have thousands of them."""
        chain: list[Node] = []
        while node[0] == "bin":
            chain.append(node)
            node = node[3]
        value = self.eval(node)
        for scope in reversed(chain):
            value = self.charge(self._operate(scope, value))
        return value

    def _operate(self, node: Node, left: ProgramValue) -> ProgramValue:
        operator = node[2]
        if operator in ("|>", "%>%") and node[4][0] == "call":
            call = node[4]
            return self._call(("call", call[1], call[2], [(None, ("value", node[1], left)), *call[3]]))
        right = self.eval(node[4])
        left, right = self.whole(left, node[1]), self.whole(right, node[1])
        marks = merge_marks(left.marks, right.marks)
        if operator in ("or", "||", "??", "and", "&&", "?:"):
            return join_values([left, right])
        if operator in _COMPARISONS:
            return ProgramValue()
        if operator == "/" and any(isinstance(const, str) for const in (*left.consts, *right.consts)):
            return ProgramValue(concat(ProgramValue(concat(left, ProgramValue(("/",)))), right), marks)
        if operator == "%" and any(isinstance(const, str) for const in left.consts):
            parts = [value for _, value in right.items] if right.items else [right]
            return ProgramValue(formatted(left.texts()[0], parts, dict(right.items or [])), marks)
        if operator in self.module.concat:
            if left.items is not None and right.items is not None:
                return ProgramValue((), marks, "", [*left.items, *right.items][:20_000])
            if operator == "<<" and left.items is not None:
                self.taint(node[3], right)
            return ProgramValue(concat(left, right), marks)
        if operator == "|" and left.items is not None and right.items is not None:
            return ProgramValue((), marks, "", [*left.items, *right.items])
        if left.const is not None and right.const is not None:
            result = operate("^" if operator in ("xor", "bxor", "~") else operator, left.const, right.const)
            return ProgramValue((result,) if result is not None else (), marks)
        return ProgramValue((), marks)

    def _mixed(self, node: Node) -> ProgramValue:
        """A text with expressions in it: one text, unless a part of it may be several."""
        result = ProgramValue(("",))
        texts: list[str] = []
        for part in node[2]:
            if isinstance(part, str):
                texts.append(part)
                continue
            value = self.whole(self.eval(part), part[1])
            if value.marks:
                result.marks = merge_marks(result.marks, value.marks)
            consts = value.consts or (joined(" ", value) if value.items is not None else ()) or (HOLE,)
            if len(consts) == 1:
                texts.append(text_of(consts[0]))
            else:
                before = ProgramValue(concat(result, ProgramValue(("".join(texts),))))
                result.consts = self.charge(ProgramValue(concat(before, ProgramValue(consts)))).consts
                texts = []
        if texts:
            result.consts = concat(result, ProgramValue(("".join(texts),)))
        return self.charge(result)

    def _any(self, node: Node) -> ProgramValue:
        self.eval(node[3])
        return join_values([self.eval(part) for part in node[2]]) if node[2] else ProgramValue()

    def _lambda(self, node: Node) -> ProgramValue:
        value = ProgramValue()
        value.function = ProgramFunction("", node[2], node[3], self.scope, self.module)
        self.module.bodies.setdefault(
            id(node[3]), value.function
        )  # it may be called from elsewhere: an export, a handler
        return value

    def _comp(self, node: Node) -> ProgramValue:
        """A comprehension: element by element over a short constant list, as one element otherwise."""
        _, _, inner, loops = node
        scope, self.scope = self.scope, ProgramScope(self.scope)
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
            return make_list([found], found.marks)
        finally:
            self.scope = scope

    def _map(self, names: list[str], parts: list[ProgramValue], inner: Node, source: ProgramValue) -> ProgramValue:
        items: list[tuple[Any, ProgramValue]] = []
        marks: dict[DraftFact, None] = dict.fromkeys(source.marks)
        for part in parts:
            for index, name in enumerate(names):
                self.scope.names[name] = part.items[index][1] if part.items and len(part.items) == len(names) else part
            found = self.eval(inner)
            items.append((None, found))
            marks.update(dict.fromkeys(found.marks))
        return ProgramValue((), tuple(marks)[:64], "", items)

    def _set(self, node: Node) -> ProgramValue:
        value = self.eval(node[3])
        if len(node) > 4:
            value = self.charge(self._augment(node[4], self._peek(node[2]), value))
        self.assign(node[2], value)
        return value

    def _slice(self, _: Node) -> ProgramValue:
        return ProgramValue()
