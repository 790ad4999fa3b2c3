"""Methods of .NET that PowerShell scripts call: what they fetch, send, decode, read and start."""

import base64
import binascii
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from clawft.scan.facts import Kind
from clawft.scan.languages.commands import NOTHING, Call, Value, World
from clawft.scan.languages.commands.texts import decode_bytes
from clawft.scan.languages.powershell.operators import apply_operator, as_text, flatten
from clawft.scan.languages.powershell.values import Item, sources_in

if TYPE_CHECKING:
    from clawft.scan.languages.powershell.expressions import ExpressionReader

__all__ = ["call_member", "decode_base64"]

_FETCHES = frozenset(
    (
        "downloadstring",
        "downloaddata",
        "openread",
        "getstringasync",
        "getasync",
        "getbytearrayasync",
        "getstreamasync",
        "downloadstringtaskasync",
    )
)
_SENDS = frozenset(("uploadstring", "uploadfile", "uploaddata", "uploadvalues", "postasync", "putasync", "openwrite"))
_STARTS = frozenset(("start", "shellexecute", "run", "exec", "create"))


def decode_base64(text: str) -> bytes | None:
    kept = re.sub(r"[^A-Za-z0-9+/]", "", text)
    try:
        return base64.b64decode(kept + "=" * (-len(kept) % 4))
    except (ValueError, binascii.Error):
        return None


def call_member(reader: "ExpressionReader", base: Item, name: str, args: list[Item], offset: int) -> Item:
    """What `base.name(args)` or `[type]::name(args)` gives; a name that begins with a dot is a property."""
    low = name.lower()
    world = reader.world
    owner = as_text(base)
    given = [as_text(one) for one in args]
    if low in _FETCHES and given:
        fact = world.fact(
            Kind.FETCH,
            given[0].text,
            offset,
            name,
            sources_in((given[0], *[one for one in flatten(base) if one.text.startswith("$")])),
        )
        return Value(f"$({name})", (world.output(fact),), known=False)
    if low in ("downloadfile", "downloadfileasync", "downloadfiletaskasync") and len(given) > 1:
        fact = world.fact(Kind.FETCH, given[0].text, offset, name, given[0].sources)
        world.write(given[1], Value("$(download)", (world.output(fact),), known=False), Call(name, [], NOTHING, offset))
        return NOTHING
    if low in _SENDS and given:
        data = [world.read(given[-1], Call(name, [], NOTHING, offset))] if low == "uploadfile" else given[1:]
        fact = world.fact(Kind.SEND, given[0].text, offset, name, sources_in((given[0], *data)))
        return Value(f"$({name})", (world.output(fact),), known=False)
    handler = _MEMBERS.get(low)
    if handler is not None:
        return handler(world, base, given, Call(name, given, NOTHING, offset, name))
    return _other(world, owner, low, given, offset)


def _other(world: World, owner: Value, low: str, given: list[Value], offset: int) -> Item:
    if (
        low in _STARTS
        and re.search(r"process|shell|scriptblock|wscript|win32_process", owner.text, re.IGNORECASE)
        and given
    ):
        if "scriptblock" in owner.text:
            if given[0].known:  # code that is made is code that is run
                world.run_code(given[0], "powershell", Call(low, given, NOTHING, offset, low), kind=Kind.EVAL)
            return given[0]
        line = Value(" ".join(one.text for one in given), sources_in(given), all(one.known for one in given))
        return world.run_code(line, "batch", Call(low, given, NOTHING, offset, low))
    if low == "new":
        return _construct(world, owner.text, given, offset)
    if low.startswith("."):
        encoding = re.search(r"encoding", owner.text)
        return Value(
            f"{owner.text}::{low[1:]}" if encoding else owner.text,
            owner.sources,
            known=owner.known and low in (".content", ".value", ".text"),
        )
    return Value(
        owner.text if low in ("tostring", "trim", "trimend", "trimstart") else f"$({low})",
        sources_in((owner, *given)),
        owner.known and low in ("tostring", "trim", "trimend", "trimstart"),
    )


def _construct(world: World, name: str, given: list[Value], offset: int) -> Value:
    """A new object: a socket connects."""
    low = name.lower().strip("[]")
    if low.endswith(("tcpclient", "socket", "udpclient")) and given:
        address = ":".join(one.text for one in given[:2])
        fact = world.fact(Kind.CONNECT, address, offset, name, sources_in(given))
        return Value("$(socket)", (world.output(fact),), known=False)
    if low.endswith(
        ("streamreader", "streamwriter", "memorystream", "gzipstream", "deflatestream", "sslstream", "filestream")
    ):
        return Value(f"$({low})", sources_in(given), known=False)
    return Value(f"[{low}]", sources_in(given), known=False)


def _from_base64(world: World, _base: Item, given: list[Value], call: Call) -> Item:
    value = given[0] if given else NOTHING
    fact = world.fact(Kind.DECODE, "base64", call.offset, call.name, value.sources)
    data = decode_base64(value.text) if value.known else None
    if data is None:
        return Value("$(base64)", (fact, *value.sources), known=False)
    return world.make(data.decode("latin-1"), (fact, *value.sources))


def _get_string(world: World, base: Item, given: list[Value], _call: Call) -> Item:
    value = given[0] if given else NOTHING
    if not value.known:
        return Value(value.text, sources_in(given), known=False)
    numbers = value.text.split()
    if len(numbers) > 3 and all(one.isdigit() and int(one[:4]) < 256 for one in numbers[:MAX_BYTES]):
        data = bytes(int(one) for one in numbers[:MAX_BYTES])
    else:
        data = value.text.encode("latin-1", "replace")
    wide = "unicode" in as_text(base).text.lower()
    return world.make(data.decode("utf-16-le", "replace") if wide else decode_bytes(data), value.sources)


MAX_BYTES = 200_000


def _get_bytes(_world: World, _base: Item, given: list[Value], _call: Call) -> Item:
    return given[0] if given else NOTHING


def _to_base64(_world: World, _base: Item, given: list[Value], _call: Call) -> Item:
    return Value("$(base64)", sources_in(given), known=False)


def _environment(world: World, _base: Item, given: list[Value], call: Call) -> Item:
    name = given[0].text.upper() if given and call.name.lower() == "getenvironmentvariable" else "*"
    return Value("$env:" + name, (world.fact(Kind.ENV, name, call.offset, call.name),), known=False)


def _read_all(world: World, _base: Item, given: list[Value], call: Call) -> Item:
    return world.read(given[0], call) if given else NOTHING


def _write_all(world: World, _base: Item, given: list[Value], call: Call) -> Item:
    if len(given) > 1:
        world.write(given[0], given[1], call, append="append" in call.name.lower())
    return NOTHING


def _text_replace(world: World, base: Item, given: list[Value], _call: Call) -> Item:
    text = as_text(base)
    if len(given) < 2 or not given[0].text:
        return text
    return world.make(
        text.text.replace(given[0].text, given[1].text),
        sources_in((text, given[1])),
        known=text.known and given[0].known and given[1].known,
    )


def _substring(world: World, base: Item, given: list[Value], _call: Call) -> Item:
    text = as_text(base)
    numbers = [int(one.text) for one in given if one.text.isdigit() and len(one.text) < 8]
    begin = numbers[0] if numbers else 0
    return world.make(
        text.text[begin : begin + numbers[1]] if len(numbers) > 1 else text.text[begin:],
        text.sources,
        known=text.known and bool(numbers),
    )


def _chars(_world: World, base: Item, _given: list[Value], _call: Call) -> Item:
    text = as_text(base)
    return [Value(char, text.sources, text.known) for char in text.text[:20_000]]


def _split(world: World, base: Item, given: list[Value], _call: Call) -> Item:
    return apply_operator(world, "split", base, given[0] if given else NOTHING)


def _join(world: World, _base: Item, given: list[Value], _call: Call) -> Item:
    return apply_operator(world, "join", given[1:], given[0]) if given else NOTHING


def _concat(world: World, _base: Item, given: list[Value], _call: Call) -> Item:
    return apply_operator(world, "join", given, NOTHING)


def _load(world: World, base: Item, given: list[Value], call: Call) -> Item:
    if re.search(r"assembly|appdomain", as_text(base).text, re.IGNORECASE) or sources_in(given):
        fact = world.fact(Kind.LOAD, as_text(base).text, call.offset, call.name, sources_in(given))
        return Value("[assembly]", (fact,), known=False)
    return NOTHING


def _invoke(world: World, base: Item, given: list[Value], call: Call) -> Item:
    value = as_text(base)
    if value.sources or (value.known and len(value.text) > 3):
        code = given[0] if given and call.name.lower() == "invokescript" else value
        return world.run_code(code, "powershell", call)
    return NOTHING


def _clipboard(world: World, base: Item, _given: list[Value], call: Call) -> Item:
    if "clipboard" in as_text(base).text.lower():
        return Value("$(clipboard)", (world.fact(Kind.READ, "clipboard", call.offset, call.name),), known=False)
    return NOTHING


def _copy_screen(world: World, _base: Item, _given: list[Value], call: Call) -> Item:
    return Value("$(screen)", (world.fact(Kind.READ, "screen", call.offset, call.name),), known=False)


def _connect(world: World, base: Item, given: list[Value], call: Call) -> Item:
    if given and re.search(r"socket|client|ftp|smtp", as_text(base).text, re.IGNORECASE):
        world.fact(Kind.CONNECT, ":".join(one.text for one in given[:2]), call.offset, call.name, sources_in(given))
    return NOTHING


def _write(world: World, base: Item, given: list[Value], call: Call) -> Item:
    """Something is written to a stream that came from a socket."""
    for one in as_text(base).sources:
        if one.kind is Kind.CONNECT and sources_in(given):
            world.fact(Kind.SEND, one.target, call.offset, call.name, sources_in(given))
    return NOTHING


_MEMBERS: dict[str, Callable[[World, Item, list[Value], Call], Item]] = {
    "frombase64string": _from_base64, "getstring": _get_string, "getbytes": _get_bytes, "tobase64string": _to_base64,
    "getenvironmentvariable": _environment, "getenvironmentvariables": _environment, "readalltext": _read_all,
    "readallbytes": _read_all,
    "readalllines": _read_all, "opentext": _read_all, "writealltext": _write_all, "writeallbytes": _write_all,
    "writealllines": _write_all,
    "appendalltext": _write_all, "replace": _text_replace, "substring": _substring, "tochararray": _chars,
    "split": _split, "join": _join,
    "concat": _concat, "load": _load, "loadfrom": _load, "loadfile": _load, "invoke": _invoke, "invokescript": _invoke,
    "invokereturnasis": _invoke, "gettext": _clipboard, "copyfromscreen": _copy_screen, "connect": _connect,
    "write": _write,
    "writeline": _write, "addscript": lambda world, _base, given, call: world.run_code(given[0], "powershell",
    call) if given else NOTHING,
}  # fmt: skip
