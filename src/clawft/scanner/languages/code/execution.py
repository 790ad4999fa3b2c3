"""Calls that run code which is made or fetched at run time, and functions reached by name."""

from clawft.scanner.facts import Kind
from clawft.scanner.languages.code.commands import run_command
from clawft.scanner.languages.code.flow import find_paths
from clawft.scanner.languages.code.imports import module_name
from clawft.scanner.languages.code.machine import Machine
from clawft.scanner.languages.code.network import mark_request
from clawft.scanner.languages.code.values import Effect, ProgramCall, ProgramValue, make_list, merge_marks, text_of


def _eval(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    values = call.arguments[-1:] if call.ref.endswith(("Function", "constructor")) else call.arguments[:1]
    value = values[0] if values else call.first("text", "expr", "code", "source")
    if value.function is not None:
        return ProgramValue((), value.marks)  # setTimeout and the like with a function
    if call.ref in ("setTimeout", "setInterval") and not value.consts:
        return ProgramValue()
    text = value.const
    known = isinstance(text, str | bytes)
    mark = machine.note(call, Kind.EVAL, text_of(text)[:400] if known else "", value.marks)
    if known and text_of(text).strip():
        machine.child(text_of(text), machine.module.language, "eval", call.offset)
    if call.ref.endswith(("Function", "constructor", "compile")):
        return ProgramValue((), (mark,), "code()")
    return ProgramValue((), (mark,))


def _import(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    name = (
        call.arguments[-1]
        if call.ref.endswith(("load_source", "SourceFileLoader", "spec_from_file_location")) and call.arguments
        else call.first("name")
    )
    if isinstance(name.const, str):
        written = [mark for path, mark in machine.files.items() if _same_module(path, name.const)]
        if written:
            machine.note(call, Kind.EXEC, name.const, tuple(written))
        return machine.linked(f"{name.const}.x") or ProgramValue((), (), name.const)
    if name.marks:
        machine.note(call, Kind.EXEC, "", name.marks)
    return ProgramValue((), name.marks)


def _same_module(path: str, name: str) -> bool:
    stem = path.rpartition("/")[2].removesuffix(".py").removesuffix(".js")
    return len(stem) > 1 and (path == name or stem == name.rpartition("/")[2].removesuffix(".js"))


def _require(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:

    name = call.first()
    text = name.const
    if not isinstance(text, str):
        if name.marks:
            machine.note(call, Kind.EXEC, "", name.marks)
        return ProgramValue((), name.marks)
    written = [mark for path, mark in machine.files.items() if _same_module(path, text)]
    if written:
        machine.note(call, Kind.EXEC, text, tuple(written))
    return ProgramValue((), (), module_name(text))


def _getattr(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    owner, name = call.first(), call.second()
    if isinstance(name.const, str):
        return machine.member(owner, name.const, call.offset)
    return ProgramValue((), merge_marks(owner.marks, name.marks), owner.ref + "[]" if owner.ref else "")


def _load(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    value = call.first()
    if call.ref.endswith("yaml.load") and any(
        "afe" in argument.ref for argument in (*call.arguments[1:], *call.named.values())
    ):
        return ProgramValue((), value.marks)
    marks = value.marks
    if not marks and value.consts:
        marks = tuple(machine.files[path] for path in find_paths(value) if path in machine.files)
    mark = machine.note(call, Kind.LOAD, value.texts()[0] if value.texts() else "", marks)
    return ProgramValue((), (mark,))


def _partial(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    value = call.first()
    if not value.ref:
        return value
    if len(call.arguments) > 1:
        machine.apply(value, ProgramCall(call.offset, value.ref, call.arguments[1:], call.named))
        return ProgramValue((), call.marks())
    return ProgramValue((), call.marks(), value.ref)


def _thread(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    target = call.named.get("target") or call.first()
    arguments = call.named.get("args")
    passed = (
        [value for _, value in arguments.items] if arguments is not None and arguments.items else call.arguments[1:]
    )
    if target.function is not None or target.ref:
        return machine.apply(target, ProgramCall(call.offset, target.ref, passed, {}))
    return ProgramValue((), call.marks())


def _privilege(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    machine.note(call, Kind.PRIVILEGE, call.ref)
    return ProgramValue()


def _persist(machine: Machine, call: ProgramCall, what: str) -> ProgramValue:
    return ProgramValue((), (machine.note(call, Kind.PERSIST, what, call.marks()),))


def _install(machine: Machine, call: ProgramCall, installer: str) -> ProgramValue:
    words = [text for _, argument in (call.first().items or []) for text in argument.texts()]
    for package in words[1:] or [""]:
        machine.note(call, Kind.INSTALL, f"{installer}:{package}")
    return ProgramValue()


def _dispatch(machine: Machine, call: ProgramCall, how: str) -> ProgramValue:
    """A function called by a name that is itself a value."""
    name, rest = call.first(), call.arguments[1:]
    listed = (
        [inner for _, inner in rest[0].items]
        if rest and rest[0].items is not None and not call.ref.endswith("send")
        else None
    )
    if name.function is not None:
        return machine.invoke(name.function, ProgramCall(call.offset, "", listed if listed is not None else rest, {}))
    ref = name.const if isinstance(name.const, str) else name.ref
    if not ref:
        return ProgramValue((), call.marks())
    owner = (
        call.owner.ref
        if how == "own" and call.owner is not None and call.owner.ref not in ("Kernel", "Object", "self")
        else ""
    )
    if owner:
        ref = f"{owner}.{ref}"
    arguments = listed if listed is not None else rest
    return machine.apply(
        ProgramValue(ref=ref), ProgramCall(call.offset, ref, arguments, {}, call.owner if owner else None)
    )


def _named(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    name = call.first("x").const
    return ProgramValue(ref=name) if isinstance(name, str) else ProgramValue((), call.marks())


def _include(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """A file is run as code: one from the network, or one that was written before."""
    value = call.first("file")
    marks = value.marks
    texts = find_paths(value)
    if any("://" in text and not text.startswith("php:") for text in texts):
        marks = merge_marks(marks, mark_request(machine, call, "GET", value, []).marks)
    marks = merge_marks(marks, [machine.files[text] for text in texts if text in machine.files])
    if marks:
        machine.note(call, Kind.EVAL, texts[0], marks)
    return ProgramValue((), marks)


def _install_first(machine: Machine, call: ProgramCall, installer: str) -> ProgramValue:
    value = call.first()
    for word in ([text for _, inner in value.items for text in inner.texts()] if value.items else value.texts()) or [
        ""
    ]:
        machine.note(call, Kind.INSTALL, f"{installer}:{word}", value.marks)
    return ProgramValue()


def _command_new(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """A command put together piece by piece."""
    return ProgramValue((), call.marks(), "command()", [(None, argument) for argument in call.arguments])


def _command_add(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    owner = call.receiver
    if not call.ref.endswith((".arg", ".args")):
        return owner
    more = [
        inner
        for argument in call.arguments
        for inner in ([item for _, item in argument.items] if argument.items is not None else [argument])
    ]
    found = ProgramValue(
        (),
        merge_marks(owner.marks, call.marks()),
        "command()",
        [*(owner.items or []), *((None, argument) for argument in more)],
    )
    if call.callee is not None and call.callee[2][0] == "name":
        machine.bind(call.callee[2][2], found)
    return found


def _process_run(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """A process whose program and arguments were set as properties."""
    owner = call.first() if call.arguments else call.receiver
    for wrapper in ("StartInfo", "startInfo"):
        owner = owner.get(wrapper) or owner
    program = next(
        (one for name in ("launchPath", "executableURL", "FileName") if (one := owner.get(name)) is not None), None
    )
    arguments = next((one for name in ("arguments", "Arguments") if (one := owner.get(name)) is not None), None)
    if program is None:
        return ProgramValue((), owner.marks)
    words = (
        [program]
        if arguments is None
        else [program, *([value for _, value in arguments.items] if arguments.items else [arguments])]
    )
    if arguments is not None and arguments.items is None:
        line = ProgramValue(
            tuple(f"{text_of(program.consts[0])} {text}" for text in arguments.texts()) if program.consts else (),
            merge_marks(program.marks, arguments.marks),
        )
        return run_command(machine, call, line)
    return run_command(machine, call, make_list(words, owner.marks))


def _execute_own(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """Groovy runs a string by a method of it."""
    owner = call.receiver
    if machine.module.language in ("java", "groovy") and not call.arguments and (owner.consts or owner.items):
        return run_command(machine, call, owner)
    return ProgramValue((), merge_marks(owner.marks, call.marks()), f"{call.ref}()")


EXECUTION_EFFECTS: dict[str, Effect] = {
    "eval": _eval, "import": _import, "require": _require, "getattr": _getattr, "reflect": _getattr, "load": _load,
    "load-path": _load, "partial": _partial, "promisify": _partial, "thread": _thread, "privilege": _privilege,
    "persist": _persist, "persist-args": _persist, "install": _install, "install-first": _install_first,
    "dispatch-first": _dispatch, "named": _named, "reflect-class": _named,
    "include": _include, "source-code": _include, "command-new": _command_new, "command-add": _command_add,
    "process-run": _process_run, "execute-own": _execute_own,
    "dispatch": lambda machine, call, _: _dispatch(machine, call, "own"),
    "command-run": lambda machine, call, _: run_command(machine, call, call.receiver),
}  # fmt: skip
