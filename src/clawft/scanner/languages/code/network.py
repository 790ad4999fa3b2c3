"""Calls that go out: what is fetched and what is sent, libcurl, and calls that only one language has."""

import re

from clawft.scanner.facts import Kind
from clawft.scanner.languages.code.constants import fold_method
from clawft.scanner.languages.code.encodings import decode_value
from clawft.scanner.languages.code.flow import pass_unknown_call, write_path
from clawft.scanner.languages.code.machine import Machine
from clawft.scanner.languages.code.values import (
    HOLE,
    DraftFact,
    Effect,
    ProgramCall,
    ProgramValue,
    join_values,
    merge_marks,
    text_of,
)
from clawft.scanner.regex import words

_SENDING = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_BODY = words("data json body files content form payload multipart formData postData Content postfields httpBody")
_CARGO = frozenset((Kind.READ, Kind.ENV, Kind.EXEC))


def find_addresses(value: ProgramValue) -> list[str]:
    """The addresses that a value may be."""
    if value.items is not None and not value.consts:
        whole = value.get("url") or value.get("uri") or value.get("href")
        if whole is not None:
            return find_addresses(whole)
        host = value.get("hostname") or value.get("host")
        if host is not None:
            return _assembled(value, host)
        if value.items and value.items[0][0] is None and len(value.items) == 2:
            return _pair(value.items[0][1], value.items[1][1])
        if value.items and value.items[0][1].texts():
            return _pair(value.items[0][1], value.items[1][1] if len(value.items) > 1 else ProgramValue())
        return [""]
    return value.texts()[:8] or [""]


def _assembled(value: ProgramValue, host: ProgramValue) -> list[str]:
    path = value.get("path") or ProgramValue(("",))
    port = value.get("port")
    number = f":{port.const}" if port is not None and port.const not in (None, 443, 80, "443", "80") else ""
    tail = path.texts()[0] if path.texts() else ""
    return [f"https://{text}{number}{tail}" for text in host.texts()] or [""]


def _pair(host: ProgramValue, port: ProgramValue) -> list[str]:
    number = next((text_of(const) for const in port.consts), "")
    return [f"{text}:{number}" if number else text for text in host.texts()[:8]] or [""]


def _http(machine: Machine, call: ProgramCall, method: str) -> ProgramValue:
    """A request: it fetches, or it sends when something goes with it."""
    arguments = list(call.arguments)
    if method == "skip-first":
        arguments = arguments[1:]
        method = "first"
    if method == "first":
        has_word = len(arguments) > 1 or (arguments and "url" in call.named)
        word = arguments.pop(0).const if has_word else call.named.get("method", ProgramValue()).const
        method = text_of(word or "GET").upper()
    url = (
        arguments[0]
        if arguments
        else call.named.get("url")
        or call.named.get("uri")
        or call.named.get("with")
        or ProgramValue((), (), "", list(call.named.items()))
    )
    return mark_request(machine, call, method, url, arguments[1:])


def mark_request(
    machine: Machine, call: ProgramCall, method: str, url: ProgramValue, rest: list[ProgramValue]
) -> ProgramValue:
    """Mark a request to an address with what else was given to the call."""
    cargo: dict[DraftFact, None] = {}
    sending = method in _SENDING
    header: dict[DraftFact, None] = {}
    for name, value in [
        *((None, argument) for argument in rest),
        *call.named.items(),
        *((None, ProgramValue((), (), "", url.items)) for _ in range(bool(url.items))),
    ]:
        value = machine.whole(value, call.offset)
        if name is None and value.items is not None:
            verb = value.get("method") or value.get("type") or value.get("httpMethod")
            body = [element for key, element in value.items if key in _BODY]
            sending = sending or bool(body) or (verb is not None and text_of(verb.const or "").upper() in _SENDING)
            for key, element in value.items:
                (header if key == "headers" else cargo).update(dict.fromkeys(element.marks))
        elif name in _BODY:
            sending = True
            cargo.update(dict.fromkeys(value.marks))
        elif name in ("headers", "auth", "cookies"):
            header.update(dict.fromkeys(value.marks))
        elif value.function is None and name not in ("url", "uri"):
            cargo.update(dict.fromkeys(value.marks))
    if rest and method in _SENDING:
        sending = True
    cargo.update(dict.fromkeys(url.marks))
    own = [mark for mark in (call.owner.marks if call.owner is not None else ()) if mark.kind in _CARGO]
    header.update(dict.fromkeys(own))
    sending = sending or any(_is_cargo(mark) for mark in cargo) or any(mark.kind is Kind.READ for mark in header)
    kind = Kind.SEND if sending else Kind.FETCH
    sources = merge_marks(tuple(cargo), header)
    targets = find_addresses(url)
    logins = " ".join(mark.target for mark in header if mark.kind is Kind.ENV and mark not in cargo)
    via = f"{call.ref} (headers {logins})" if logins else call.ref
    marks = tuple(machine.mark(kind, target, call.offset, via, sources) for target in targets)
    if not sources and kind is Kind.FETCH:
        return ProgramValue((), marks, "request()")
    # The answer is not what was sent: it comes from the network and carries none of it.
    answers = tuple(machine.mark(Kind.FETCH, target, call.offset, f"answer to {call.ref}") for target in targets)
    return ProgramValue((), answers, "request()")


def _is_cargo(mark: DraftFact) -> bool:
    """Return whether a mark is something of the machine, rather than of the network."""
    return mark.kind in _CARGO and not (mark.kind is Kind.READ and not mark.target)


def _http_own(machine: Machine, call: ProgramCall, method: str) -> ProgramValue:
    """A method that sounds like a request, on an object that is not known: it is one if its argument is an address."""
    url = call.first("url")
    texts = find_addresses(url) if url.consts or url.items else []
    last = call.ref.rpartition(".")[2]
    if last == "request" and len(call.arguments) > 1 and text_of(url.const or "").isupper():
        return _http(machine, call, "first")
    addressed = any(text.startswith(("http://", "https://", "//", f"{HOLE}/")) or "://" in text for text in texts)
    named = bool(_BODY & call.named.keys()) and last != "get"
    connected = [mark for mark in (call.owner.marks if call.owner is not None else ()) if mark.kind is Kind.CONNECT]
    if addressed or named:
        return mark_request(machine, call, method, url, call.arguments[1:])
    if connected and last in ("post", "put", "patch", "request"):
        return _send(machine, call, connected)
    return pass_unknown_call(machine, call, last)


def _xhr(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    result = mark_request(machine, call, text_of(call.first().const or "GET").upper(), call.second(), [])
    if call.callee is not None:
        machine.taint(call.callee[2], result)
    return result


def _download(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    fetched = mark_request(machine, call, "GET", call.first("url"), [])
    path = call.second("filename", "out", "output", "destfile", "path")
    if path.consts or path.marks:
        write_path(machine, call, path, fetched.marks)
    return ProgramValue(path.consts, fetched.marks)


def _connection(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """A connection is opened by making the object."""
    target = call.first("host", "address", "url")
    if target.items is None and len(call.arguments) > 1 and not call.arguments[1].items:
        texts = _pair(*(call.arguments[:2] if not isinstance(target.const, int) else call.arguments[1::-1]))
    elif isinstance(target.const, int):
        texts = _pair(call.second("host"), target) if call.second("host").consts else [f"localhost:{target.const}"]
    else:
        texts = find_addresses(target)
    marks = tuple(machine.note(call, Kind.CONNECT, text, target.marks) for text in texts)
    return ProgramValue((), marks, f"{call.ref}()")


def _connect_own(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    found = _connection(machine, call, "")
    if call.callee is not None and call.callee[0] == "attr":
        machine.taint(call.callee[2], found)
    return found


def _send_own(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """Something is written to an object: a connection or a request sends it, a file keeps it."""
    owner = call.owner
    open_ends = [
        mark
        for mark in (owner.marks if owner is not None else ())
        if mark.kind in (Kind.CONNECT, Kind.SEND, Kind.FETCH)
    ]
    last = call.ref.rpartition(".")[2]
    to_file = any(argument.handle is not None for argument in call.arguments)
    if open_ends and (owner is None or owner.handle is None) and not to_file:
        return _send(machine, call, open_ends)
    if last == "sendto" and len(call.arguments) > 1:
        target = call.arguments[-1]
        marks = tuple(machine.note(call, Kind.SEND, address, call.first().marks) for address in find_addresses(target))
        return ProgramValue((), marks)
    return pass_unknown_call(machine, call, last)


def _send(machine: Machine, call: ProgramCall, ends: list[DraftFact]) -> ProgramValue:
    sources = merge_marks(
        call.marks(), [mark for mark in (call.owner.marks if call.owner is not None else ()) if mark.kind in _CARGO]
    )
    if not sources and not call.arguments:
        return ProgramValue((), tuple(ends))
    marks = []
    for end in ends:
        if end.kind is Kind.CONNECT or sources:
            mark = machine.note(call, Kind.SEND, end.target, tuple(source for source in sources if source is not end))
            marks.append(mark)
    return ProgramValue((), merge_marks(tuple(marks), ends))


def _resolve(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """A name is looked up: data in the name goes to the server of its domain."""
    name = call.first("host")
    if any(_is_cargo(mark) or mark.kind is Kind.DECODE for mark in name.marks):
        marks = tuple(machine.note(call, Kind.SEND, address, name.marks) for address in find_addresses(name))
        return ProgramValue((), marks)
    return ProgramValue(name.consts, name.marks)


def _listen(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    value = call.first()
    port = value.items[-1][1] if value.items else value
    number = next((text_of(const) for const in port.consts), "")
    if value.items or isinstance(port.const, int) or not call.ref.endswith(".bind"):
        mark = machine.note(call, Kind.LISTEN, number)
        result = ProgramValue((), (mark,))
        if call.callee is not None and call.callee[0] == "attr":
            machine.taint(call.callee[2], result)
        return result
    return join_values(call.arguments) if call.arguments else ProgramValue()


def _send_first(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """The connection or file is the first argument, what goes there comes after it."""
    end = call.first()
    rest = call.arguments[1:]
    content = merge_marks((), [mark for argument in rest for mark in argument.marks])
    if end.handle is not None:
        for mark in content:
            end.handle.sources[mark] = None
        return ProgramValue()
    open_ends = [mark for mark in end.marks if mark.kind in (Kind.CONNECT, Kind.SEND)]
    if open_ends and rest:
        return _send(machine, ProgramCall(call.offset, call.ref, rest, {}, end), open_ends)
    return ProgramValue((), merge_marks(end.marks, content))


def _connection_second(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """The kind of network comes first, then the address."""
    return _connection(machine, ProgramCall(call.offset, call.ref, call.arguments[1:2], call.named), "")


def _connection_named(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    host, port = (call.named.get(word) for word in ("PeerAddr", "PeerPort"))
    host = host or call.named.get("PeerHost") or call.first()
    target = _pair(host, port or ProgramValue())
    return ProgramValue(
        (),
        tuple(machine.note(call, Kind.CONNECT, address, host.marks) for address in target),
        f"{call.ref}()",
    )


def _connect_args(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """The socket is the first argument and stays connected."""
    found = _connection(machine, call.skip(), "")
    if call.items:
        machine.taint(call.items[0][1], found)
    return found


def _socket_address(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """An address made for a socket."""
    host = next(
        (argument for argument in call.arguments if argument.texts() and not isinstance(argument.const, int)), None
    )
    if host is None:
        return ProgramValue((), call.marks())
    if not any("." in text or ":" in text for text in host.texts()):
        return ProgramValue(host.consts, host.marks)
    return ProgramValue(host.consts, tuple(machine.note(call, Kind.CONNECT, text, host.marks) for text in host.texts()))


def _mail(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    to = call.first()
    for text in to.texts() or [""]:
        machine.note(call, Kind.SEND, f"mailto:{text}", call.marks())
    return ProgramValue()


def _http_url(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """A request put together piece by piece begins with its address."""
    if not call.arguments:
        return ProgramValue((), (), f"{call.ref}()")
    method = "POST" if "Post" in call.ref else "GET"
    return mark_request(machine, call, method, call.first(), call.arguments[1:])


NETWORK_EFFECTS: dict[str, Effect] = {
    "send-first": _send_first, "connection-second": _connection_second, "connection-named": _connection_named,
    "connect-args": _connect_args, "socket-address": _socket_address, "mail": _mail,
    "http-url": _http_url, "http-request": _http_url,
    "send-first-last": _send_first, "http": _http, "http-own": _http_own, "xhr": _xhr, "download": _download,
    "connection": _connection, "connect-own": _connect_own, "send-own": _send_own, "resolve": _resolve,
    "listen": _listen, "listen-own": _listen,
    "navigate": lambda machine, call, _: mark_request(machine, call, "GET", call.first(), []),
    "listen-second": lambda machine, call, _: _listen(machine, call.skip(), ""),
    "url-own": lambda machine, call, method: mark_request(machine, call, method, call.receiver, call.arguments),
    "download-second": lambda machine, call, _: _download(machine, call.skip(), ""),
}  # fmt: skip


def _init(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    return ProgramValue((), (), "curl()", [("url", call.first())] if call.arguments else [])


def _option(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    handle = call.first()
    if len(call.arguments) > 2:
        options = [(call.second().ref or str(call.second().const), call.arguments[2])]
    else:
        options = [(str(key), value) for key, value in call.second().items or []]
    items = list(handle.items or [])
    for name, value in options:
        short = name.rpartition("CURLOPT_")[2]
        key = {
            "URL": "url",
            "POSTFIELDS": "body",
            "COPYPOSTFIELDS": "body",
            "HTTPHEADER": "headers",
            "READDATA": "body",
            "INFILE": "body",
        }.get(short, short)
        if key == "url":
            items = [item for item in items if item[0] != "url"]
        items.append((key, value))
    updated = ProgramValue(
        (), merge_marks(handle.marks, [mark for _, value in options for mark in value.marks]), "curl()", items
    )
    if call.items and call.items[0][1][0] == "name":
        machine.bind(call.items[0][1][2], updated)
    return ProgramValue()


def _run(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    handle = call.first()
    return mark_request(machine, call, "GET", ProgramValue((), (), "", handle.items), [])


CURL_EFFECTS: dict[str, Effect] = {"curl-init": _init, "curl-option": _option, "curl-run": _run}


_PAIRS = re.compile(r"\(?(?:\.\.|%x%x)\)?$")  # of hex digits, as Lua writes a pattern


def _request_tuple(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """Erlang's `httpc`: a method, then the address, the headers, the type and the body in one tuple."""
    if len(call.arguments) < 2:
        return mark_request(machine, call, "GET", call.first(), [])
    method = (call.arguments[0].ref or text_of(call.arguments[0].const or "")).strip(":").upper()
    parts = [part for _, part in call.arguments[1].items or []] or [call.arguments[1]]
    return mark_request(machine, call, method, parts[0], parts[1:])


def _publish(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """A message goes to a broker that is named in the same call."""
    broker = call.named.get("hostname") or call.named.get("host") or ProgramValue()
    for address in find_addresses(broker):
        machine.note(call, Kind.SEND, address, call.marks())
    return ProgramValue()


def _gsub(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """Lua's replacement, as a function or a method; pairs of hex digits through a function are decoded."""
    own = call.owner is not None and bool(call.owner.consts) and len(call.arguments) < 3
    value = call.owner if own and call.owner is not None else call.first()
    rest = call.arguments if own else call.arguments[1:]
    pattern = text_of(rest[0].const or "") if rest else ""
    if len(rest) > 1 and rest[1].function is not None and _PAIRS.match(pattern):
        return decode_value(machine, call, "hex", value)
    found = [fold_method("replace", const, [argument.const for argument in rest]) for const in value.consts]
    return ProgramValue(tuple(text for text in found if text is not None), call.marks())


def _itself(_machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """`vars(x)`: the names of an object are those of the object; without one, those around the call."""
    return call.first() if call.arguments else ProgramValue(ref=f"{call.ref}()")


SINGLE_LANGUAGE_EFFECTS: dict[str, Effect] = {
    "request-tuple": _request_tuple, "publish": _publish, "lua-gsub": _gsub, "itself": _itself,
}  # fmt: skip
