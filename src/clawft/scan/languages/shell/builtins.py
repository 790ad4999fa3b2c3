"""Commands that change what is known while a script is read: folders, variables, aliases, input."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from clawft.scan.facts import Kind
from clawft.scan.languages.commands import NOTHING, Call, Value, is_program, run_call

if TYPE_CHECKING:
    from clawft.scan.languages.shell.evaluate import Evaluator

__all__ = ["BUILTINS"]

_DECLARES = frozenset(("export", "local", "declare", "readonly", "typeset"))


def _cd(evaluator: "Evaluator", call: Call) -> Value:
    world = evaluator.world
    where = next((one for one in call.args if not one.text.startswith("-")), Value("~"))
    if "$" in where.text or not where.text:
        world.cwd = ""
    else:
        world.cwd = world.resolve(where.text.rstrip("/") or "/")
        world.cwd = "" if world.cwd in (".", "./") else world.cwd
    return NOTHING


def _declare(evaluator: "Evaluator", call: Call) -> Value | None:
    """`export a=b` and its kin: the words are assignments."""
    assigned = False
    for one in call.args:
        name, equals, text = one.text.partition("=")
        if equals and not name.startswith("-"):
            evaluator.set_variable(
                name.rstrip("+"), Value(text, one.sources, one.known), call, append=name.endswith("+")
            )
            assigned = True
    return NOTHING if assigned else None


def _alias(evaluator: "Evaluator", call: Call) -> Value:
    for one in call.args:
        name, equals, text = one.text.partition("=")
        if equals:
            evaluator.aliases[name] = Value(text, one.sources)
            if not is_program(text.partition(" ")[0]) or is_program(name):
                evaluator.run_inner(text, Call("alias", [], NOTHING, call.offset))
    return NOTHING


def _read(evaluator: "Evaluator", call: Call) -> Value:
    """`read name`: from the input, or from whoever sits at the keyboard."""
    texts = call.texts
    hidden = any(one.startswith("-") and "s" in one for one in texts)
    value = Value("$(read)", call.stdin.sources, known=False)
    if call.stdin.known and call.fed:
        value = Value(call.stdin.text.partition("\n")[0], call.stdin.sources)
    elif hidden and not call.fed:
        value = Value("$(read)", (evaluator.world.fact(Kind.READ, "keyboard", call.offset, "read -s"),), known=False)
    names = [one for one in texts if one.isidentifier()] or ["REPLY"]
    for name in names:
        evaluator.variables[name] = value
    return NOTHING


def _mapfile(evaluator: "Evaluator", call: Call) -> Value:
    names = [one for one in call.texts if one.isidentifier()] or ["MAPFILE"]
    words = (
        [Value(one, call.stdin.sources) for one in call.stdin.text.split("\n")[:64]]
        if call.stdin.known
        else [call.stdin]
    )
    evaluator.variables[names[-1]] = words
    return NOTHING


def _unset(evaluator: "Evaluator", call: Call) -> Value:
    for one in call.texts:
        evaluator.variables.pop(one, None)
        if one.startswith("HIST"):
            evaluator.world.fact(Kind.DELETE, "history", call.offset, f"unset {one}")
    return NOTHING


def _set_words(evaluator: "Evaluator", call: Call) -> Value | None:
    """`set -- a b` sets `$1 $2`; fish sets a variable."""
    texts = call.texts
    if evaluator.fish:
        rest = [one for one in call.args if not one.text.startswith("-")]
        if rest:
            evaluator.variables[rest[0].text] = rest[1] if len(rest) == 2 else rest[1:]
            return NOTHING
        return None
    if texts[:1] == ["--"]:
        for index, one in enumerate(call.args[1:10], 1):
            evaluator.variables[str(index)] = one
        evaluator.variables["@"] = evaluator.variables["*"] = call.args[1:]
        return NOTHING
    return None


def _trap(evaluator: "Evaluator", call: Call) -> Value:
    if call.args and call.args[0].known and call.args[0].text not in ("-", ""):
        evaluator.run_inner(call.args[0].text, Call("trap", [], NOTHING, call.offset))
    return NOTHING


def _printf(evaluator: "Evaluator", call: Call) -> Value | None:
    """`printf -v name …` writes to a variable."""
    if call.texts[:1] == ["-v"] and len(call.args) > 2:
        words = [Value("printf"), *call.args[2:]]
        evaluator.variables[call.args[1].text] = run_call(evaluator.world, words, Call("", [], call.stdin, call.offset))
        return NOTHING
    return None


BUILTINS: dict[str, Callable[["Evaluator", Call], Value | None]] = {
    "cd": _cd, "pushd": _cd, "alias": _alias, "read": _read, "mapfile": _mapfile, "readarray": _mapfile,
    "unset": _unset,
    "set": _set_words, "trap": _trap, "printf": _printf, **dict.fromkeys(_DECLARES, _declare),
}  # fmt: skip
