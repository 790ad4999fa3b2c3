"""The effects of calls in rare languages: each takes the arguments, notes facts and returns the result."""

import base64
import binascii
import re

from clawft.scanner.facts import Kind
from clawft.scanner.languages.commands import NOTHING, CommandCall, CommandValue, join_sources, sources_of, unknown
from clawft.scanner.languages.commands.texts import decode_bytes
from clawft.scanner.languages.rare.reader import RareEffect, RareLanguageReader

_ADDRESS = re.compile(r"(?:https?|ftp|wss?|tcp)://", re.IGNORECASE)
_SENDING = re.compile(r"^:?(?:post|put|patch|upload)$|--data|-query", re.IGNORECASE)


def _known_arguments(call: CommandCall) -> list[CommandValue]:
    return [argument for argument in call.args if argument.text or argument.sources]


def _sources(values: list[CommandValue]) -> CommandValue:
    return unknown("", sources_of(values))


def _exec(reader: RareLanguageReader, call: CommandCall, how: str) -> CommandValue:
    """A command line: the first argument (`how` is first), all as they are (line), or a program and its words."""
    args = _known_arguments(call)
    if not args:
        return NOTHING
    if how == "first":
        args = args[:1]
    line = reader.merge(args) if how != "line" else reader.world.join(args, " ")
    for name in (line.text, args[0].text):
        content = reader.world.content_of(name.strip("\"' "))
        if content is not None:
            fact = reader.world.note(call, Kind.EXEC, line.text, content.sources)
            return call.output((reader.world.output(fact),))
    return reader.world.run_code(line, reader.manner.shell, call)


def _eval(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    args = _known_arguments(call)
    if not args:
        return NOTHING
    code = next((argument for argument in args if argument.known), args[0])
    if not code.known and not code.sources:
        return NOTHING
    return reader.world.run_code(code, reader.language, call, kind=Kind.EVAL)


def _http(reader: RareLanguageReader, call: CommandCall, method: str) -> CommandValue:
    """An address is asked; what else is given goes along."""
    args = _known_arguments(call)
    address = next((argument for argument in args if _ADDRESS.match(argument.text)), None)
    if address is None:
        address = next((argument for argument in args if _ADDRESS.search(argument.text)), None)
        where = re.search(r"(?:https?|ftp|wss?|tcp)://[^\s\"'<>]+", address.text) if address else None
        target = where[0] if where else ""
    else:
        target = address.text.split()[0]
    others = _sources([argument for argument in args if argument is not address]).sources
    own = address.sources if address else ()
    if not target and not others:
        return NOTHING
    sends = bool(method) or any(_SENDING.search(argument.text) for argument in args if argument is not address)
    kind = Kind.SEND if sends or others else Kind.FETCH
    fact = reader.world.note(call, kind, target, join_sources(own, others))
    return call.output((reader.world.output(fact),))


def _download(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    """An address and the file that what it answers goes to."""
    args = _known_arguments(call)
    received = _http(reader, CommandCall(call.name, args[:1], NOTHING, call.offset), "")
    if len(args) > 1 and received.sources:
        reader.world.write(args[1], received, call)
        return CommandValue(args[1].text, received.sources)
    return received


def _read(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    args = [argument for argument in _known_arguments(call) if len(argument.text) > 2]
    if not args:
        return _sources(call.args)
    path = args[0]
    if _ADDRESS.match(path.text):
        return _http(reader, call, "")
    return reader.world.read(path.with_text(_home(path.text)), call)


def _home(path: str) -> str:
    return re.sub(r"^(?:\$\{?HOME\}?|%USERPROFILE%|\$::?env\(HOME\)|\$env\(HOME\))", "~", path)


def _write(reader: RareLanguageReader, call: CommandCall, how: str) -> CommandValue:
    """A path and what goes into it, in this order unless `how` is last."""
    args = _known_arguments(call)
    if len(args) < 2:
        return NOTHING
    path, content = (args[-1], args[0]) if how == "last" else (args[0], args[1])
    if how == "known":
        path = next((argument for argument in args if argument.known), args[0])
        content = next((argument for argument in args if argument is not path), NOTHING)
    reader.world.write(path, content, call)
    return NOTHING


def _env(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    args = _known_arguments(call)
    name = args[0].text.strip("%$") if args else "*"
    if name.upper() in ("HOME", "USERPROFILE"):
        return CommandValue("~")
    fact = reader.world.note(call, Kind.ENV, name)
    return unknown("$" + name, (fact,))


def _as_home(_reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    """The home folder, with what follows in the same call below it."""
    rest = "/".join(argument.text for argument in call.args if argument.known)
    return CommandValue("~/" + rest.lstrip("~/") if rest else "~")


def _path(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    args = _known_arguments(call)
    text = "/".join(argument.text.strip("/") if at else argument.text.rstrip("/") for at, argument in enumerate(args))
    return reader.world.make(text, sources_of(args), known=all(argument.known for argument in args))


def _concat(reader: RareLanguageReader, call: CommandCall, glue: str) -> CommandValue:
    return reader.world.join(_known_arguments(call), glue)


def _wrap(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    args = _known_arguments(call)
    if len(args) == 1:
        return args[0]
    return reader.world.make(" ".join(argument.text for argument in args), _sources(args).sources, known=False)


def _chars(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    numbers = [argument.text for argument in call.args]
    if numbers and all(re.fullmatch(r"\d{1,6}", number) for number in numbers):
        return reader.world.make("".join(chr(int(number)) for number in numbers))
    return _sources(call.args)


def _reverse(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    args = _known_arguments(call)
    if len(args) != 1 or not args[0].known:
        return _sources(args)
    fact = reader.world.note(call, Kind.DECODE, "reversed", args[0].sources)
    return reader.world.make(args[0].text[::-1], (fact,))


def _decode(reader: RareLanguageReader, call: CommandCall, how: str) -> CommandValue:
    args = _known_arguments(call)
    arguments = max(args, key=lambda one: len(one.text), default=NOTHING)
    fact = reader.world.note(call, Kind.DECODE, how, _sources(args).sources)
    sources = join_sources((fact,), arguments.sources)
    try:
        data = bytes.fromhex(arguments.text) if how == "hex" else base64.b64decode(arguments.text + "==")
    except (binascii.Error, ValueError):
        data = b""
    known = arguments.known and bool(data)
    return reader.world.make(decode_bytes(data) if known else arguments.text, sources, known=known)


def _delete(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    for argument in _known_arguments(call)[:1]:
        reader.world.note(call, Kind.DELETE, _home(argument.text), argument.sources)
    return NOTHING


def _connect(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    args = _known_arguments(call)
    host = next((argument for argument in args if "." in argument.text or argument.text == "localhost"), None)
    port = next((argument.text for argument in args if re.fullmatch(r"\d{1,5}", argument.text)), "")
    if host is None:
        return NOTHING
    fact = reader.world.note(call, Kind.CONNECT, f"{host.text}:{port}" if port else host.text)
    return unknown("$(socket)", (fact,))


def _send(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    """Something goes into what is connected already."""
    reached = [source for value in call.args for source in value.sources if source.kind in (Kind.CONNECT, Kind.FETCH)]
    others = [
        source for value in call.args for source in value.sources if source.kind not in (Kind.CONNECT, Kind.FETCH)
    ]
    if reached and others:
        reader.world.note(call, Kind.SEND, reached[0].target, others)
    return NOTHING


def _source(reader: RareLanguageReader, call: CommandCall, what: str) -> CommandValue:
    fact = reader.world.note(call, Kind.READ, what)
    return unknown(f"$({what})", (fact,))


def _load(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    for argument in _known_arguments(call)[:1]:
        sources = join_sources(argument.sources, reader.world.sources_in(argument.text))
        reader.world.note(call, Kind.LOAD, argument.text, sources)
    return NOTHING


def _persist(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    args = _known_arguments(call)
    if args and re.search(r"currentversion\\run|startup|winlogon", args[0].text, re.IGNORECASE):
        reader.world.note(call, Kind.PERSIST, args[0].text, _sources(args).sources)
        for argument in args[1:]:
            if argument.known and " " in argument.text:
                reader.world.child(argument.text, reader.manner.shell, "exec", call.offset)
    return NOTHING


# Objects that are set up in steps: a request, a stream.


def _owner(reader: RareLanguageReader, call: CommandCall) -> str:
    return reader.plain(call.name).rpartition(".")[0]


def _request_open(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    """`x.Open "GET", address`: the object holds the address from now on."""
    address = next((argument for argument in call.args if _ADDRESS.match(argument.text) or argument.sources), None)
    if address is not None:
        sends = any(_SENDING.match(argument.text) for argument in call.args)
        reader.requests[_owner(reader, call)] = (address, sends)
    return NOTHING


def _request_send(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    owner = _owner(reader, call)
    if owner not in reader.requests:
        return NOTHING
    address, sends = reader.requests[owner]
    received = _http(
        reader, CommandCall(call.name, [address, *call.args], NOTHING, call.offset), "POST" if sends else ""
    )
    reader.keep(owner, received)
    return received


def _stream_write(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    """Write to an object: into the file that it refers to, or into memory until it is saved."""
    owner = _owner(reader, call)
    held = reader.variables.get(owner, NOTHING)
    content = _known_arguments(call)[0] if _known_arguments(call) else NOTHING
    if held.known and held.text and not held.sources:
        reader.world.write(held, content, call, append=True)
    elif content.sources or content.text:
        reader.keep(owner, CommandValue(content.text, join_sources(held.sources, content.sources), known=content.known))
    return NOTHING


def _stream_save(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    args = _known_arguments(call)
    if args:
        reader.world.write(args[0], reader.variables.get(_owner(reader, call), NOTHING), call)
    return NOTHING


def _stream_load(reader: RareLanguageReader, call: CommandCall, _: str) -> CommandValue:
    reader.keep(_owner(reader, call), _read(reader, call, ""))
    return NOTHING


EFFECTS: dict[str, RareEffect] = {
    "exec": _exec, "eval": _eval, "http": _http, "download": _download, "read": _read, "write": _write, "env": _env,
    "home": _as_home, "path": _path, "concat": _concat, "wrap": _wrap, "chars": _chars, "reverse": _reverse,
    "decode": _decode, "delete": _delete, "connect": _connect, "send": _send, "source": _source, "load": _load,
    "persist": _persist, "request-open": _request_open, "request-send": _request_send, "stream-write": _stream_write,
    "stream-save": _stream_save, "stream-load": _stream_load,
    "pipe": lambda reader, call, _: _concat(reader, call, " | "),
    "none": lambda _reader, _call, _: NOTHING,  # its arguments go nowhere
}  # fmt: skip
