"""Code that is made or fetched at run time, and functions reached by their name."""

from typing import TYPE_CHECKING

from clawft.scan.facts import Kind
from clawft.scan.languages.code import commands
from clawft.scan.languages.code.calls import Call, Effect
from clawft.scan.languages.code.imports import module_name
from clawft.scan.languages.code.network import request
from clawft.scan.languages.code.paths import paths_of
from clawft.scan.languages.code.values import Value, merge, text_of

if TYPE_CHECKING:
    from clawft.scan.languages.code.machine import Machine

__all__ = ["EFFECTS"]


def _eval(machine: "Machine", call: Call, _: str) -> Value:
    values = call.arguments[-1:] if call.ref.endswith(("Function", "constructor")) else call.arguments[:1]
    value = values[0] if values else call.first("text", "expr", "code", "source")
    if value.function is not None:
        return Value((), value.marks)  # setTimeout and the like with a function
    if call.ref in ("setTimeout", "setInterval") and not value.consts:
        return Value()
    text = value.const
    known = isinstance(text, str | bytes)
    mark = machine.mark(Kind.EVAL, text_of(text)[:400] if known else "", call.offset, call.ref, value.marks)
    if known and text_of(text).strip():
        machine.child(text_of(text), machine.module.language, "eval", call.offset)
    if call.ref.endswith(("Function", "constructor", "compile")):
        return Value((), (mark,), "code()")
    return Value((), (mark,))


def _import(machine: "Machine", call: Call, _: str) -> Value:
    name = (
        call.arguments[-1]
        if call.ref.endswith(("load_source", "SourceFileLoader", "spec_from_file_location")) and call.arguments
        else call.first("name")
    )
    if isinstance(name.const, str):
        written = [mark for path, mark in machine.files.items() if _same_module(path, name.const)]
        if written:
            machine.mark(Kind.EXEC, name.const, call.offset, call.ref, tuple(written))
        return machine.linked(f"{name.const}.x") or Value((), (), name.const)
    if name.marks:
        machine.mark(Kind.EXEC, "", call.offset, call.ref, name.marks)
    return Value((), name.marks)


def _same_module(path: str, name: str) -> bool:
    stem = path.rpartition("/")[2].removesuffix(".py").removesuffix(".js")
    return len(stem) > 1 and (path == name or stem == name.rpartition("/")[2].removesuffix(".js"))


def _require(machine: "Machine", call: Call, _: str) -> Value:

    name = call.first()
    text = name.const
    if not isinstance(text, str):
        if name.marks:
            machine.mark(Kind.EXEC, "", call.offset, call.ref, name.marks)
        return Value((), name.marks)
    written = [mark for path, mark in machine.files.items() if _same_module(path, text)]
    if written:
        machine.mark(Kind.EXEC, text, call.offset, call.ref, tuple(written))
    return Value((), (), module_name(text))


def _getattr(machine: "Machine", call: Call, _: str) -> Value:
    owner, name = call.first(), call.second()
    if isinstance(name.const, str):
        return machine.member(owner, name.const, call.offset)
    return Value((), merge(owner.marks, name.marks), owner.ref + "[]" if owner.ref else "")


def _load(machine: "Machine", call: Call, _: str) -> Value:
    value = call.first()
    if call.ref.endswith("yaml.load") and any("afe" in one.ref for one in (*call.arguments[1:], *call.named.values())):
        return Value((), value.marks)
    marks = value.marks
    if not marks and value.consts:
        marks = tuple(machine.files[one] for one in paths_of(value) if one in machine.files)
    mark = machine.mark(Kind.LOAD, value.texts()[0] if value.texts() else "", call.offset, call.ref, marks)
    return Value((), (mark,))


def _partial(machine: "Machine", call: Call, _: str) -> Value:
    value = call.first()
    if not value.ref:
        return value
    if len(call.arguments) > 1:
        machine.apply(value, Call(call.offset, value.ref, call.arguments[1:], call.named))
        return Value((), call.marks())
    return Value((), call.marks(), value.ref)


def _thread(machine: "Machine", call: Call, _: str) -> Value:
    target = call.named.get("target") or call.first()
    arguments = call.named.get("args")
    given = [one for _, one in arguments.items] if arguments is not None and arguments.items else call.arguments[1:]
    if target.function is not None or target.ref:
        return machine.apply(target, Call(call.offset, target.ref, given, {}))
    return Value((), call.marks())


def _privilege(machine: "Machine", call: Call, _: str) -> Value:
    machine.mark(Kind.PRIVILEGE, call.ref, call.offset, call.ref)
    return Value()


def _persist(machine: "Machine", call: Call, what: str) -> Value:
    return Value((), (machine.mark(Kind.PERSIST, what, call.offset, call.ref, call.marks()),))


def _install(machine: "Machine", call: Call, manager: str) -> Value:
    words = [text for _, one in (call.first().items or []) for text in one.texts()]
    for package in words[1:] or [""]:
        machine.mark(Kind.INSTALL, f"{manager}:{package}", call.offset, call.ref)
    return Value()


def _dispatch(machine: "Machine", call: Call, how: str) -> Value:
    """A function called by a name that is itself a value."""
    name, rest = call.first(), call.arguments[1:]
    listed = (
        [inner for _, inner in rest[0].items]
        if rest and rest[0].items is not None and not call.ref.endswith("send")
        else None
    )
    if name.function is not None:
        return machine.invoke(name.function, Call(call.offset, "", listed if listed is not None else rest, {}))
    ref = name.const if isinstance(name.const, str) else name.ref
    if not ref:
        return Value((), call.marks())
    owner = (
        call.owner.ref
        if how == "own" and call.owner is not None and call.owner.ref not in ("Kernel", "Object", "self")
        else ""
    )
    if owner:
        ref = f"{owner}.{ref}"
    arguments = listed if listed is not None else rest
    return machine.apply(Value(ref=ref), Call(call.offset, ref, arguments, {}, call.owner if owner else None))


def _dispatch_own(machine: "Machine", call: Call, _: str) -> Value:
    return _dispatch(machine, call, "own")


def _named(_machine: "Machine", call: Call, _: str) -> Value:
    name = call.first("x").const
    return Value(ref=name) if isinstance(name, str) else Value((), call.marks())


def _include(machine: "Machine", call: Call, _: str) -> Value:
    """A file is run as code: one from the network, or one that was written before."""
    value = call.first("file")
    marks = value.marks
    texts = paths_of(value)
    if any("://" in one and not one.startswith("php:") for one in texts):
        marks = merge(marks, request(machine, call, "GET", value, []).marks)
    marks = merge(marks, [machine.files[one] for one in texts if one in machine.files])
    if marks:
        machine.mark(Kind.EVAL, texts[0], call.offset, call.ref, marks)
    return Value((), marks)


def _install_first(machine: "Machine", call: Call, manager: str) -> Value:
    value = call.first()
    for one in ([text for _, inner in value.items for text in inner.texts()] if value.items else value.texts()) or [""]:
        machine.mark(Kind.INSTALL, f"{manager}:{one}", call.offset, call.ref, value.marks)
    return Value()


def _command_new(_machine: "Machine", call: Call, _: str) -> Value:
    """A command put together piece by piece."""
    return Value((), call.marks(), "command()", [(None, one) for one in call.arguments])


def _command_add(machine: "Machine", call: Call, _: str) -> Value:
    owner = call.owner or Value()
    if not call.ref.endswith((".arg", ".args")):
        return owner
    more = [
        inner
        for one in call.arguments
        for inner in ([item for _, item in one.items] if one.items is not None else [one])
    ]
    found = Value(
        (), merge(owner.marks, call.marks()), "command()", [*(owner.items or []), *((None, one) for one in more)]
    )
    if call.callee is not None and call.callee[2][0] == "name":
        machine.bind(call.callee[2][2], found)
    return found


def _command_run(machine: "Machine", call: Call, _: str) -> Value:
    return commands.run_command(machine, call, call.owner or Value())


def _process_run(machine: "Machine", call: Call, _: str) -> Value:
    """A process whose program and arguments were set as properties."""
    owner = call.first() if call.arguments else call.owner or Value()
    for wrapper in ("StartInfo", "startInfo"):
        owner = owner.get(wrapper) or owner
    program = next(
        (one for name in ("launchPath", "executableURL", "FileName") if (one := owner.get(name)) is not None), None
    )
    given = next((one for name in ("arguments", "Arguments") if (one := owner.get(name)) is not None), None)
    if program is None:
        return Value((), owner.marks)
    words = [program] if given is None else [program, *([one for _, one in given.items] if given.items else [given])]
    if given is not None and given.items is None:
        line = Value(
            tuple(f"{text_of(program.consts[0])} {text}" for text in given.texts()) if program.consts else (),
            merge(program.marks, given.marks),
        )
        return commands.run_command(machine, call, line)
    return commands.run_command(machine, call, Value((), owner.marks, "", [(None, one) for one in words]))


def _execute_own(machine: "Machine", call: Call, _: str) -> Value:
    """Groovy runs a string by a method of it."""
    owner = call.owner or Value()
    if machine.module.language in ("java", "groovy") and not call.arguments and (owner.consts or owner.items):
        return commands.run_command(machine, call, owner)
    return Value((), merge(owner.marks, call.marks()), f"{call.ref}()")


EFFECTS: dict[str, Effect] = {
    "eval": _eval,
    "import": _import,
    "require": _require,
    "getattr": _getattr,
    "reflect": _getattr,
    "load": _load,
    "load-path": _load,
    "partial": _partial,
    "promisify": _partial,
    "thread": _thread,
    "privilege": _privilege,
    "persist": _persist,
    "persist-args": _persist,
    "install": _install,
    "install-first": _install_first,
    "dispatch": _dispatch_own,
    "dispatch-first": _dispatch,
    "named": _named,
    "reflect-class": _named,
    "include": _include,
    "source-code": _include,
    "command-new": _command_new,
    "command-add": _command_add,
    "command-run": _command_run,
    "process-run": _process_run,
    "execute-own": _execute_own,
}
