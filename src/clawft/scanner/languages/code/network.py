"""Calls that go out: what is fetched, what is sent, and what flows into either."""

from typing import TYPE_CHECKING

from clawft.scan.facts import Kind
from clawft.scan.languages.code.calls import Call, Effect
from clawft.scan.languages.code.passing import unknown
from clawft.scan.languages.code.paths import write_path
from clawft.scan.languages.code.values import HOLE, Mark, Value, join, merge, text_of

if TYPE_CHECKING:
    from clawft.scan.languages.code.machine import Machine

__all__ = ["EFFECTS"]

_SENDING = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_BODY = frozenset(
    [
        "data",
        "json",
        "body",
        "files",
        "content",
        "form",
        "payload",
        "multipart",
        "formData",
        "postData",
        "Content",
        "postfields",
        "httpBody",
    ]
)
_NEUTRAL = frozenset(
    [
        "timeout",
        "verify",
        "headers",
        "auth",
        "allow_redirects",
        "proxies",
        "stream",
        "method",
        "cert",
        "cookies",
        "url",
        "uri",
        "hostname",
        "host",
        "path",
        "port",
        "agent",
        "follow_redirects",
        "signal",
        "cache",
        "mode",
        "credentials",
    ]
)
_CARGO = frozenset((Kind.READ, Kind.ENV, Kind.EXEC))


def addresses(value: Value) -> list[str]:
    """The addresses that a value may be."""
    if value.items is not None and not value.consts:
        whole = value.get("url") or value.get("uri") or value.get("href")
        if whole is not None:
            return addresses(whole)
        host = value.get("hostname") or value.get("host")
        if host is not None:
            return _assembled(value, host)
        if value.items and value.items[0][0] is None and len(value.items) == 2:
            return _pair(value.items[0][1], value.items[1][1])
        if value.items and value.items[0][1].texts():
            return _pair(value.items[0][1], value.items[1][1] if len(value.items) > 1 else Value())
        return [""]
    return value.texts()[:8] or [""]


def _assembled(value: Value, host: Value) -> list[str]:
    path = value.get("path") or Value(("",))
    port = value.get("port")
    number = f":{port.const}" if port is not None and port.const not in (None, 443, 80, "443", "80") else ""
    tail = path.texts()[0] if path.texts() else ""
    return [f"https://{one}{number}{tail}" for one in host.texts()] or [""]


def _pair(host: Value, port: Value) -> list[str]:
    number = next((text_of(one) for one in port.consts), "")
    return [f"{one}:{number}" if number else one for one in host.texts()[:8]] or [""]


def _http(machine: "Machine", call: Call, method: str) -> Value:
    """A request: it fetches, or it sends when something goes with it."""
    arguments = list(call.arguments)
    if method == "skip-first":
        arguments = arguments[1:]
        method = "first"
    if method == "first":
        has_word = len(arguments) > 1 or (arguments and "url" in call.named)
        word = arguments.pop(0).const if has_word else call.named.get("method", Value()).const
        method = text_of(word or "GET").upper()
    url = (
        arguments[0]
        if arguments
        else call.named.get("url")
        or call.named.get("uri")
        or call.named.get("with")
        or Value((), (), "", list(call.named.items()))
    )
    return request(machine, call, method, url, arguments[1:])


def request(machine: "Machine", call: Call, method: str, url: Value, rest: list[Value]) -> Value:
    """Mark a request to an address with what else was given to the call."""
    cargo: dict[Mark, None] = {}
    sending = method in _SENDING
    header: dict[Mark, None] = {}
    for name, value in [
        *((None, one) for one in rest),
        *call.named.items(),
        *((None, Value((), (), "", url.items)) for _ in range(bool(url.items))),
    ]:
        value = machine.whole(value, call.offset)
        if name is None and value.items is not None:
            verb = value.get("method") or value.get("type") or value.get("httpMethod")
            body = [one for key, one in value.items if key in _BODY]
            sending = sending or bool(body) or (verb is not None and text_of(verb.const or "").upper() in _SENDING)
            for key, one in value.items:
                (header if key == "headers" else cargo).update(dict.fromkeys(one.marks))
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
    sources = merge(tuple(cargo), header)
    targets = addresses(url)
    logins = " ".join(mark.target for mark in header if mark.kind is Kind.ENV and mark not in cargo)
    via = f"{call.ref} (headers {logins})" if logins else call.ref
    marks = tuple(machine.mark(kind, one, call.offset, via, sources) for one in targets)
    if not sources and kind is Kind.FETCH:
        return Value((), marks, "request()")
    # The answer is not what was sent: it comes from the network and carries none of it.
    answers = tuple(machine.mark(Kind.FETCH, one, call.offset, f"answer to {call.ref}") for one in targets)
    return Value((), answers, "request()")


def _is_cargo(mark: Mark) -> bool:
    """Whether a mark is something of the machine, rather than of the network."""
    return mark.kind in _CARGO and not (mark.kind is Kind.READ and not mark.target)


def _http_own(machine: "Machine", call: Call, method: str) -> Value:
    """A method that sounds like a request, on an object that is not known: it is one if its argument is an address."""
    url = call.first("url")
    texts = addresses(url) if url.consts or url.items else []
    last = call.ref.rpartition(".")[2]
    if last == "request" and len(call.arguments) > 1 and text_of(url.const or "").isupper():
        return _http(machine, call, "first")
    addressed = any(one.startswith(("http://", "https://", "//", f"{HOLE}/")) or "://" in one for one in texts)
    named = bool(_BODY & call.named.keys()) and last != "get"
    connected = [mark for mark in (call.owner.marks if call.owner is not None else ()) if mark.kind is Kind.CONNECT]
    if addressed or named:
        return request(machine, call, method, url, call.arguments[1:])
    if connected and last in ("post", "put", "patch", "request"):
        return _send(machine, call, connected)
    return unknown(machine, call, last)


def _xhr(machine: "Machine", call: Call, _: str) -> Value:
    result = request(machine, call, text_of(call.first().const or "GET").upper(), call.second(), [])
    if call.callee is not None:
        machine.taint(call.callee[2], result)
    return result


def _download(machine: "Machine", call: Call, _: str) -> Value:
    fetched = request(machine, call, "GET", call.first("url"), [])
    path = call.second("filename", "out", "output", "destfile", "path")
    if path.consts or path.marks:
        write_path(machine, call, path, fetched.marks)
    return Value(path.consts, fetched.marks)


def _connection(machine: "Machine", call: Call, _: str) -> Value:
    """A connection is opened by making the object."""
    target = call.first("host", "address", "url")
    if target.items is None and len(call.arguments) > 1 and not call.arguments[1].items:
        texts = _pair(*(call.arguments[:2] if not isinstance(target.const, int) else call.arguments[1::-1]))
    elif isinstance(target.const, int):
        texts = _pair(call.second("host"), target) if call.second("host").consts else [f"localhost:{target.const}"]
    else:
        texts = addresses(target)
    marks = tuple(machine.mark(Kind.CONNECT, one, call.offset, call.ref, target.marks) for one in texts)
    return Value((), marks, f"{call.ref}()")


def _connect_own(machine: "Machine", call: Call, _: str) -> Value:
    found = _connection(machine, call, "")
    if call.callee is not None and call.callee[0] == "attr":
        machine.taint(call.callee[2], found)
    return found


def _send_own(machine: "Machine", call: Call, _: str) -> Value:
    """Something is written to an object: a connection or a request sends it, a file keeps it."""
    owner = call.owner
    open_ends = [
        mark
        for mark in (owner.marks if owner is not None else ())
        if mark.kind in (Kind.CONNECT, Kind.SEND, Kind.FETCH)
    ]
    last = call.ref.rpartition(".")[2]
    to_file = any(one.handle is not None for one in call.arguments)
    if open_ends and (owner is None or owner.handle is None) and not to_file:
        return _send(machine, call, open_ends)
    if last == "sendto" and len(call.arguments) > 1:
        target = call.arguments[-1]
        marks = tuple(
            machine.mark(Kind.SEND, one, call.offset, call.ref, call.first().marks) for one in addresses(target)
        )
        return Value((), marks)
    return unknown(machine, call, last)


def _send(machine: "Machine", call: Call, ends: list[Mark]) -> Value:
    sources = merge(
        call.marks(), [mark for mark in (call.owner.marks if call.owner is not None else ()) if mark.kind in _CARGO]
    )
    if not sources and not call.arguments:
        return Value((), tuple(ends))
    marks = []
    for end in ends:
        if end.kind is Kind.CONNECT or sources:
            mark = machine.mark(
                Kind.SEND, end.target, call.offset, call.ref, tuple(one for one in sources if one is not end)
            )
            marks.append(mark)
    return Value((), merge(tuple(marks), ends))


def _resolve(machine: "Machine", call: Call, _: str) -> Value:
    """A name is looked up: data in the name goes to whoever answers for its domain."""
    name = call.first("host")
    if any(_is_cargo(mark) or mark.kind is Kind.DECODE for mark in name.marks):
        marks = tuple(machine.mark(Kind.SEND, one, call.offset, call.ref, name.marks) for one in addresses(name))
        return Value((), marks)
    return Value(name.consts, name.marks)


def _listen(machine: "Machine", call: Call, _: str) -> Value:
    value = call.first()
    port = value.items[-1][1] if value.items else value
    number = next((text_of(one) for one in port.consts), "")
    if value.items or isinstance(port.const, int) or not call.ref.endswith(".bind"):
        mark = machine.mark(Kind.LISTEN, number, call.offset, call.ref)
        result = Value((), (mark,))
        if call.callee is not None and call.callee[0] == "attr":
            machine.taint(call.callee[2], result)
        return result
    return join(call.arguments) if call.arguments else Value()


def _navigate(machine: "Machine", call: Call, _: str) -> Value:
    return request(machine, call, "GET", call.first(), [])


def _send_first(machine: "Machine", call: Call, _: str) -> Value:
    """The connection or file is the first argument, what goes there comes after it."""
    end = call.first()
    rest = call.arguments[1:]
    content = merge((), [mark for one in rest for mark in one.marks])
    if end.handle is not None:
        for mark in content:
            end.handle.sources[mark] = None
        return Value()
    open_ends = [mark for mark in end.marks if mark.kind in (Kind.CONNECT, Kind.SEND)]
    if open_ends and rest:
        return _send(machine, Call(call.offset, call.ref, rest, {}, end), open_ends)
    return Value((), merge(end.marks, content))


def _connection_second(machine: "Machine", call: Call, _: str) -> Value:
    """The kind of network comes first, then the address."""
    return _connection(machine, Call(call.offset, call.ref, call.arguments[1:2], call.named), "")


def _connection_named(machine: "Machine", call: Call, _: str) -> Value:
    host, port = (call.named.get(one) for one in ("PeerAddr", "PeerPort"))
    host = host or call.named.get("PeerHost") or call.first()
    target = _pair(host, port or Value())
    return Value(
        (), tuple(machine.mark(Kind.CONNECT, one, call.offset, call.ref, host.marks) for one in target), f"{call.ref}()"
    )


def _connect_args(machine: "Machine", call: Call, _: str) -> Value:
    """The socket is the first argument and stays connected."""
    found = _connection(machine, Call(call.offset, call.ref, call.arguments[1:], {}), "")
    if call.items:
        machine.taint(call.items[0][1], found)
    return found


def _socket_address(machine: "Machine", call: Call, _: str) -> Value:
    """An address made for a socket."""
    host = next((one for one in call.arguments if one.texts() and not isinstance(one.const, int)), None)
    if host is None:
        return Value((), call.marks())
    if not any("." in one or ":" in one for one in host.texts()):
        return Value(host.consts, host.marks)
    return Value(
        host.consts, tuple(machine.mark(Kind.CONNECT, one, call.offset, call.ref, host.marks) for one in host.texts())
    )


def _mail(machine: "Machine", call: Call, _: str) -> Value:
    to = call.first()
    for one in to.texts() or [""]:
        machine.mark(Kind.SEND, f"mailto:{one}", call.offset, call.ref, call.marks())
    return Value()


def _listen_second(machine: "Machine", call: Call, _: str) -> Value:
    return _listen(machine, Call(call.offset, call.ref, call.arguments[1:], {}), "")


def _http_url(machine: "Machine", call: Call, _: str) -> Value:
    """A request put together piece by piece begins with its address."""
    if not call.arguments:
        return Value((), (), f"{call.ref}()")
    method = "POST" if "Post" in call.ref else "GET"
    return request(machine, call, method, call.first(), call.arguments[1:])


def _url_own(machine: "Machine", call: Call, method: str) -> Value:
    return request(machine, call, method, call.owner or Value(), call.arguments)


def _download_second(machine: "Machine", call: Call, _: str) -> Value:
    return _download(machine, Call(call.offset, call.ref, call.arguments[1:], {}), "")


EFFECTS: dict[str, Effect] = {
    "send-first": _send_first, "connection-second": _connection_second, "connection-named": _connection_named,
    "connect-args": _connect_args, "socket-address": _socket_address, "mail": _mail, "listen-second": _listen_second,
    "http-url": _http_url, "url-own": _url_own, "download-second": _download_second, "http-request": _http_url,
    "send-first-last": _send_first,
    "http": _http, "http-own": _http_own, "xhr": _xhr, "download": _download, "connection": _connection,
    "connect-own": _connect_own, "send-own": _send_own, "resolve": _resolve, "listen": _listen, "listen-own": _listen,
    "navigate": _navigate,
}  # fmt: skip
