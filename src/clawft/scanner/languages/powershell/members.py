"""Methods of .NET that PowerShell scripts call: what they fetch, send, decode, read and start."""

import re
from collections.abc import Callable

from clawft.scanner.facts import Kind
from clawft.scanner.languages.commands import (
    NOTHING,
    CommandCall,
    CommandContext,
    CommandValue,
    join_words,
    sources_of,
    unknown,
)
from clawft.scanner.languages.commands.texts import decode_base64, decode_bytes
from clawft.scanner.languages.powershell.operators import Item, apply_operator, as_text, flatten
from clawft.scanner.languages.powershell.reader import PowerShellReader
from clawft.scanner.regex import words

_FETCHES = words(
    "downloadstring downloaddata openread getstringasync getasync getbytearrayasync getstreamasync"
    " downloadstringtaskasync"
)
_SENDS = frozenset(("uploadstring", "uploadfile", "uploaddata", "uploadvalues", "postasync", "putasync", "openwrite"))
_STARTS = frozenset(("start", "shellexecute", "run", "exec", "create"))


def call_member(reader: PowerShellReader, base: Item, name: str, args: list[Item], offset: int) -> Item:
    """Evaluate `base.name(args)` or `[type]::name(args)`; a name that begins with a dot is a property."""
    low = name.lower()
    world = reader.world
    owner = as_text(base)
    arguments = [as_text(argument) for argument in args]
    if low in _FETCHES and arguments:
        sources = sources_of((arguments[0], *[element for element in flatten(base) if element.text.startswith("$")]))
        fact = world.fact(Kind.FETCH, arguments[0].text, offset, name, sources)
        return unknown(f"$({name})", (world.output(fact),))
    if low in ("downloadfile", "downloadfileasync", "downloadfiletaskasync") and len(arguments) > 1:
        fact = world.fact(Kind.FETCH, arguments[0].text, offset, name, arguments[0].sources)
        received = unknown("$(download)", (world.output(fact),))
        world.write(arguments[1], received, CommandCall(name, [], NOTHING, offset))
        return NOTHING
    if low in _SENDS and arguments:
        data = (
            [world.read(arguments[-1], CommandCall(name, [], NOTHING, offset))]
            if low == "uploadfile"
            else arguments[1:]
        )
        fact = world.fact(Kind.SEND, arguments[0].text, offset, name, sources_of((arguments[0], *data)))
        return unknown(f"$({name})", (world.output(fact),))
    handler = _MEMBERS.get(low)
    if handler is not None:
        return handler(world, base, arguments, CommandCall(name, arguments, NOTHING, offset, name))
    return _other(world, owner, low, arguments, offset)


def _other(world: CommandContext, owner: CommandValue, low: str, arguments: list[CommandValue], offset: int) -> Item:
    if (
        low in _STARTS
        and re.search(r"process|shell|scriptblock|wscript|win32_process", owner.text, re.IGNORECASE)
        and arguments
    ):
        if "scriptblock" in owner.text:
            if arguments[0].known:  # code that is made is code that is run
                world.run_code(
                    arguments[0], "powershell", CommandCall(low, arguments, NOTHING, offset, low), kind=Kind.EVAL
                )
            return arguments[0]
        line = join_words(arguments)
        return world.run_code(line, "batch", CommandCall(low, arguments, NOTHING, offset, low))
    if low == "new":
        return _construct(world, owner.text, arguments, offset)
    if low.startswith("."):
        encoding = re.search(r"encoding", owner.text)
        return CommandValue(
            f"{owner.text}::{low[1:]}" if encoding else owner.text,
            owner.sources,
            known=owner.known and low in (".content", ".value", ".text"),
        )
    return CommandValue(
        owner.text if low in ("tostring", "trim", "trimend", "trimstart") else f"$({low})",
        sources_of((owner, *arguments)),
        owner.known and low in ("tostring", "trim", "trimend", "trimstart"),
    )


def _construct(world: CommandContext, name: str, arguments: list[CommandValue], offset: int) -> CommandValue:
    """A new object: a socket connects."""
    low = name.lower().strip("[]")
    if low.endswith(("tcpclient", "socket", "udpclient")) and arguments:
        address = ":".join(argument.text for argument in arguments[:2])
        fact = world.fact(Kind.CONNECT, address, offset, name, sources_of(arguments))
        return unknown("$(socket)", (world.output(fact),))
    if low.endswith(
        ("streamreader", "streamwriter", "memorystream", "gzipstream", "deflatestream", "sslstream", "filestream")
    ):
        return unknown(f"$({low})", sources_of(arguments))
    return unknown(f"[{low}]", sources_of(arguments))


def _from_base64(world: CommandContext, _base: Item, arguments: list[CommandValue], call: CommandCall) -> Item:
    value = arguments[0] if arguments else NOTHING
    fact = world.note(call, Kind.DECODE, "base64", value.sources)
    data = decode_base64(value.text) if value.known else None
    if data is None:
        return unknown("$(base64)", (fact, *value.sources))
    return world.make(data.decode("latin-1"), (fact, *value.sources))


def _get_string(world: CommandContext, base: Item, arguments: list[CommandValue], _call: CommandCall) -> Item:
    value = arguments[0] if arguments else NOTHING
    if not value.known:
        return unknown(value.text, sources_of(arguments))
    numbers = value.text.split()
    if len(numbers) > 3 and all(number.isdigit() and int(number[:4]) < 256 for number in numbers[:MAX_BYTES]):
        data = bytes(int(number) for number in numbers[:MAX_BYTES])
    else:
        data = value.text.encode("latin-1", "replace")
    wide = "unicode" in as_text(base).text.lower()
    return world.make(data.decode("utf-16-le", "replace") if wide else decode_bytes(data), value.sources)


MAX_BYTES = 200_000


def _environment(world: CommandContext, _base: Item, arguments: list[CommandValue], call: CommandCall) -> Item:
    name = arguments[0].text.upper() if arguments and call.name.lower() == "getenvironmentvariable" else "*"
    return unknown("$env:" + name, (world.note(call, Kind.ENV, name),))


def _read_all(world: CommandContext, _base: Item, arguments: list[CommandValue], call: CommandCall) -> Item:
    return world.read(arguments[0], call) if arguments else NOTHING


def _write_all(world: CommandContext, _base: Item, arguments: list[CommandValue], call: CommandCall) -> Item:
    if len(arguments) > 1:
        world.write(arguments[0], arguments[1], call, append="append" in call.name.lower())
    return NOTHING


def _text_replace(world: CommandContext, base: Item, arguments: list[CommandValue], _call: CommandCall) -> Item:
    text = as_text(base)
    if len(arguments) < 2 or not arguments[0].text:
        return text
    return world.make(
        text.text.replace(arguments[0].text, arguments[1].text),
        sources_of((text, arguments[1])),
        known=text.known and arguments[0].known and arguments[1].known,
    )


def _substring(world: CommandContext, base: Item, arguments: list[CommandValue], _call: CommandCall) -> Item:
    text = as_text(base)
    numbers = [int(argument.text) for argument in arguments if argument.text.isdigit() and len(argument.text) < 8]
    begin = numbers[0] if numbers else 0
    return world.make(
        text.text[begin : begin + numbers[1]] if len(numbers) > 1 else text.text[begin:],
        text.sources,
        known=text.known and bool(numbers),
    )


def _chars(_world: CommandContext, base: Item, _arguments: list[CommandValue], _call: CommandCall) -> Item:
    text = as_text(base)
    return [text.with_text(char) for char in text.text[:20_000]]


def _load(world: CommandContext, base: Item, arguments: list[CommandValue], call: CommandCall) -> Item:
    if re.search(r"assembly|appdomain", as_text(base).text, re.IGNORECASE) or sources_of(arguments):
        fact = world.note(call, Kind.LOAD, as_text(base).text, sources_of(arguments))
        return unknown("[assembly]", (fact,))
    return NOTHING


def _invoke(world: CommandContext, base: Item, arguments: list[CommandValue], call: CommandCall) -> Item:
    value = as_text(base)
    if value.sources or (value.known and len(value.text) > 3):
        code = arguments[0] if arguments and call.name.lower() == "invokescript" else value
        return world.run_code(code, "powershell", call)
    return NOTHING


def _clipboard(world: CommandContext, base: Item, _arguments: list[CommandValue], call: CommandCall) -> Item:
    if "clipboard" in as_text(base).text.lower():
        return unknown("$(clipboard)", (world.note(call, Kind.READ, "clipboard"),))
    return NOTHING


def _connect(world: CommandContext, base: Item, arguments: list[CommandValue], call: CommandCall) -> Item:
    if arguments and re.search(r"socket|client|ftp|smtp", as_text(base).text, re.IGNORECASE):
        world.note(call, Kind.CONNECT, ":".join(argument.text for argument in arguments[:2]), sources_of(arguments))
    return NOTHING


def _write(world: CommandContext, base: Item, arguments: list[CommandValue], call: CommandCall) -> Item:
    """Something is written to a stream that came from a socket."""
    for source in as_text(base).sources:
        if source.kind is Kind.CONNECT and sources_of(arguments):
            world.note(call, Kind.SEND, source.target, sources_of(arguments))
    return NOTHING


_MEMBERS: dict[str, Callable[[CommandContext, Item, list[CommandValue], CommandCall], Item]] = {
    "frombase64string": _from_base64, "getstring": _get_string, "getenvironmentvariable": _environment,
    "getenvironmentvariables": _environment, "readalltext": _read_all, "readallbytes": _read_all,
    "readalllines": _read_all, "opentext": _read_all, "writealltext": _write_all, "writeallbytes": _write_all,
    "writealllines": _write_all, "appendalltext": _write_all, "replace": _text_replace, "substring": _substring,
    "tochararray": _chars, "load": _load, "loadfrom": _load, "loadfile": _load, "invoke": _invoke,
    "invokescript": _invoke, "invokereturnasis": _invoke, "gettext": _clipboard, "connect": _connect, "write": _write,
    "writeline": _write,
    "getbytes": lambda _world, _base, arguments, _call: arguments[0] if arguments else NOTHING,
    "tobase64string": lambda _world, _base, arguments, _call: unknown("$(base64)", sources_of(arguments)),
    "split": lambda world, base, arguments, _call: apply_operator(world, "split", base, (arguments or [NOTHING])[0]),
    "join": lambda world, _base, arguments, _call: (
        apply_operator(world, "join", arguments[1:], arguments[0]) if arguments else NOTHING
    ),
    "concat": lambda world, _base, arguments, _call: apply_operator(world, "join", arguments, NOTHING),
    "copyfromscreen": lambda world, _base, _arguments, call: unknown(
        "$(screen)", (world.note(call, Kind.READ, "screen"),)
    ),
    "addscript": lambda world, _base, arguments, call: (
        world.run_code(arguments[0], "powershell", call) if arguments else NOTHING
    ),
}  # fmt: skip
