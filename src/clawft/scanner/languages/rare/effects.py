"""What a call of a rare language does: each effect takes its arguments, notes facts and says what the call gives."""

import base64
import binascii
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from clawft.scan.facts import Kind
from clawft.scan.languages.commands import NOTHING, Call, Value, join_sources
from clawft.scan.languages.commands.texts import decode_bytes

if TYPE_CHECKING:
    from clawft.scan.languages.rare.reader import Reader

__all__ = ["EFFECTS"]

Effect = Callable[["Reader", Call, str], Value]
EFFECTS: dict[str, Effect] = {}
_ADDRESS = re.compile(r"(?:https?|ftp|wss?|tcp)://", re.IGNORECASE)
_SENDING = re.compile(r"^:?(?:post|put|patch|upload)$|--data|-query", re.IGNORECASE)


def _effect(name: str) -> Callable[[Effect], Effect]:
    def add(effect: Effect) -> Effect:
        EFFECTS[name] = effect
        return effect

    return add


def _told(call: Call) -> list[Value]:
    return [one for one in call.args if one.text or one.sources]


def _sources(values: list[Value]) -> Value:
    return Value("", join_sources(*[one.sources for one in values]), known=False)


@_effect("exec")
def _exec(reader: "Reader", call: Call, how: str) -> Value:
    """A command line: the first argument (`how` is first), all as they are (line), or a program and its words."""
    args = _told(call)
    if not args:
        return NOTHING
    if how == "first":
        args = args[:1]
    line = (
        reader.merge(args)
        if how != "line"
        else reader.world.make(
            " ".join(one.text for one in args), _sources(args).sources, known=all(one.known for one in args)
        )
    )
    for name in (line.text, args[0].text):
        content = reader.world.content_of(name.strip("\"' "))
        if content is not None:
            fact = reader.world.fact(Kind.EXEC, line.text, call.offset, call.name, content.sources)
            return Value(f"$({call.name})", (reader.world.output(fact),), known=False)
    return reader.world.run_code(line, reader.manner.shell, call)


@_effect("eval")
def _eval(reader: "Reader", call: Call, _: str) -> Value:
    args = _told(call)
    if not args:
        return NOTHING
    code = next((one for one in args if one.known), args[0])
    if not code.known and not code.sources:
        return NOTHING
    return reader.world.run_code(code, reader.language, call, kind=Kind.EVAL)


@_effect("pipe")
def _pipe(reader: "Reader", call: Call, _: str) -> Value:
    """Commands one after another, joined by pipes."""
    args = _told(call)
    text = " | ".join(one.text for one in args)
    return reader.world.make(text, _sources(args).sources, known=all(one.known for one in args))


@_effect("http")
def _http(reader: "Reader", call: Call, method: str) -> Value:
    """An address is asked; what else is given goes along."""
    args = _told(call)
    address = next((one for one in args if _ADDRESS.match(one.text)), None)
    if address is None:
        address = next((one for one in args if _ADDRESS.search(one.text)), None)
        where = re.search(r"(?:https?|ftp|wss?|tcp)://[^\s\"'<>]+", address.text) if address else None
        target = where[0] if where else ""
    else:
        target = address.text.split()[0]
    others = _sources([one for one in args if one is not address]).sources
    own = address.sources if address else ()
    if not target and not others:
        return NOTHING
    sends = bool(method) or any(_SENDING.search(one.text) for one in args if one is not address)
    kind = Kind.SEND if sends or others else Kind.FETCH
    fact = reader.world.fact(kind, target, call.offset, call.name, join_sources(own, others))
    return Value(f"$({call.name})", (reader.world.output(fact),), known=False)


@_effect("download")
def _download(reader: "Reader", call: Call, _: str) -> Value:
    """An address and the file that what it answers goes to."""
    args = _told(call)
    received = _http(reader, Call(call.name, args[:1], NOTHING, call.offset), "")
    if len(args) > 1 and received.sources:
        reader.world.write(args[1], received, call)
        return Value(args[1].text, received.sources)
    return received


@_effect("read")
def _read(reader: "Reader", call: Call, _: str) -> Value:
    args = [one for one in _told(call) if len(one.text) > 2]
    if not args:
        return _sources(call.args)
    path = args[0]
    if _ADDRESS.match(path.text):
        return _http(reader, call, "")
    return reader.world.read(Value(_home(path.text), path.sources, path.known), call)


def _home(path: str) -> str:
    return re.sub(r"^(?:\$\{?HOME\}?|%USERPROFILE%|\$::?env\(HOME\)|\$env\(HOME\))", "~", path)


@_effect("write")
def _write(reader: "Reader", call: Call, how: str) -> Value:
    """A path and what goes into it, in this order unless `how` is last."""
    args = _told(call)
    if len(args) < 2:
        return NOTHING
    path, content = (args[-1], args[0]) if how == "last" else (args[0], args[1])
    if how == "known":
        path = next((one for one in args if one.known), args[0])
        content = next((one for one in args if one is not path), NOTHING)
    reader.world.write(path, content, call)
    return NOTHING


@_effect("env")
def _env(reader: "Reader", call: Call, _: str) -> Value:
    args = _told(call)
    name = args[0].text.strip("%$") if args else "*"
    if name.upper() in ("HOME", "USERPROFILE"):
        return Value("~")
    fact = reader.world.fact(Kind.ENV, name, call.offset, call.name)
    return Value("$" + name, (fact,), known=False)


@_effect("home")
def _as_home(_reader: "Reader", call: Call, _: str) -> Value:
    """The home folder, with what follows in the same call below it."""
    rest = "/".join(one.text for one in call.args if one.known)
    return Value("~/" + rest.lstrip("~/") if rest else "~")


@_effect("path")
def _path(reader: "Reader", call: Call, _: str) -> Value:
    args = _told(call)
    text = "/".join(one.text.strip("/") if at else one.text.rstrip("/") for at, one in enumerate(args))
    return reader.world.make(text, _sources(args).sources, known=all(one.known for one in args))


@_effect("concat")
def _concat(reader: "Reader", call: Call, glue: str) -> Value:
    args = _told(call)
    text = glue.join(one.text for one in args)
    return reader.world.make(text, _sources(args).sources, known=all(one.known for one in args))


@_effect("wrap")
def _wrap(reader: "Reader", call: Call, _: str) -> Value:
    args = _told(call)
    if len(args) == 1:
        return args[0]
    return reader.world.make(" ".join(one.text for one in args), _sources(args).sources, known=False)


@_effect("chars")
def _chars(reader: "Reader", call: Call, _: str) -> Value:
    numbers = [one.text for one in call.args]
    if numbers and all(re.fullmatch(r"\d{1,6}", one) for one in numbers):
        return reader.world.make("".join(chr(int(one)) for one in numbers))
    return _sources(call.args)


@_effect("reverse")
def _reverse(reader: "Reader", call: Call, _: str) -> Value:
    args = _told(call)
    if len(args) != 1 or not args[0].known:
        return _sources(args)
    fact = reader.world.fact(Kind.DECODE, "reversed", call.offset, call.name, args[0].sources)
    return reader.world.make(args[0].text[::-1], (fact,))


@_effect("decode")
def _decode(reader: "Reader", call: Call, how: str) -> Value:
    args = _told(call)
    given = max(args, key=lambda one: len(one.text), default=NOTHING)
    fact = reader.world.fact(Kind.DECODE, how, call.offset, call.name, _sources(args).sources)
    sources = join_sources((fact,), given.sources)
    try:
        data = bytes.fromhex(given.text) if how == "hex" else base64.b64decode(given.text + "==")
    except (binascii.Error, ValueError):
        data = b""
    known = given.known and bool(data)
    return reader.world.make(decode_bytes(data) if known else given.text, sources, known=known)


@_effect("delete")
def _delete(reader: "Reader", call: Call, _: str) -> Value:
    for one in _told(call)[:1]:
        reader.world.fact(Kind.DELETE, _home(one.text), call.offset, call.name, one.sources)
    return NOTHING


@_effect("connect")
def _connect(reader: "Reader", call: Call, _: str) -> Value:
    args = _told(call)
    host = next((one for one in args if "." in one.text or one.text == "localhost"), None)
    port = next((one.text for one in args if re.fullmatch(r"\d{1,5}", one.text)), "")
    if host is None:
        return NOTHING
    fact = reader.world.fact(Kind.CONNECT, f"{host.text}:{port}" if port else host.text, call.offset, call.name)
    return Value("$(socket)", (fact,), known=False)


@_effect("send")
def _send(reader: "Reader", call: Call, _: str) -> Value:
    """Something goes into what is connected already."""
    reached = [one for value in call.args for one in value.sources if one.kind in (Kind.CONNECT, Kind.FETCH)]
    others = [one for value in call.args for one in value.sources if one.kind not in (Kind.CONNECT, Kind.FETCH)]
    if reached and others:
        reader.world.fact(Kind.SEND, reached[0].target, call.offset, call.name, others)
    return NOTHING


@_effect("source")
def _source(reader: "Reader", call: Call, what: str) -> Value:
    fact = reader.world.fact(Kind.READ, what, call.offset, call.name)
    return Value(f"$({what})", (fact,), known=False)


@_effect("load")
def _load(reader: "Reader", call: Call, _: str) -> Value:
    for one in _told(call)[:1]:
        content = reader.world.content_of(one.text)
        reader.world.fact(
            Kind.LOAD, one.text, call.offset, call.name, join_sources(one.sources, content.sources if content else ())
        )
    return NOTHING


@_effect("persist")
def _persist(reader: "Reader", call: Call, _: str) -> Value:
    args = _told(call)
    if args and re.search(r"currentversion\\run|startup|winlogon", args[0].text, re.IGNORECASE):
        reader.world.fact(Kind.PERSIST, args[0].text, call.offset, call.name, _sources(args).sources)
        for one in args[1:]:
            if one.known and " " in one.text:
                reader.world.child(one.text, reader.manner.shell, "exec", call.offset)
    return NOTHING


# Objects that are set up in steps: a request, a stream.


def _owner(reader: "Reader", call: Call) -> str:
    return reader.plain(call.name).rpartition(".")[0]


@_effect("request-open")
def _request_open(reader: "Reader", call: Call, _: str) -> Value:
    """`x.Open "GET", address`: the object holds the address from now on."""
    address = next((one for one in call.args if _ADDRESS.match(one.text) or one.sources), None)
    if address is not None:
        sends = any(_SENDING.match(one.text) for one in call.args)
        reader.requests[_owner(reader, call)] = (address, sends)
    return NOTHING


@_effect("request-send")
def _request_send(reader: "Reader", call: Call, _: str) -> Value:
    owner = _owner(reader, call)
    if owner not in reader.requests:
        return NOTHING
    address, sends = reader.requests[owner]
    received = _http(reader, Call(call.name, [address, *call.args], NOTHING, call.offset), "POST" if sends else "")
    reader.keep(owner, received)
    return received


@_effect("stream-write")
def _stream_write(reader: "Reader", call: Call, _: str) -> Value:
    """What is written to an object: into the file that it stands for, or kept until it is saved."""
    owner = _owner(reader, call)
    held = reader.variables.get(owner, NOTHING)
    content = _told(call)[0] if _told(call) else NOTHING
    if held.known and held.text and not held.sources:
        reader.world.write(held, content, call, append=True)
    elif content.sources or content.text:
        reader.keep(owner, Value(content.text, join_sources(held.sources, content.sources), known=content.known))
    return NOTHING


@_effect("stream-save")
def _stream_save(reader: "Reader", call: Call, _: str) -> Value:
    args = _told(call)
    if args:
        reader.world.write(args[0], reader.variables.get(_owner(reader, call), NOTHING), call)
    return NOTHING


@_effect("stream-load")
def _stream_load(reader: "Reader", call: Call, _: str) -> Value:
    reader.keep(_owner(reader, call), _read(reader, call, ""))
    return NOTHING


@_effect("none")
def _none(_reader: "Reader", _call: Call, _: str) -> Value:
    """A call whose arguments go nowhere."""
    return NOTHING
