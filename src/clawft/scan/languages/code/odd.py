"""Effects of calls that only one language or library has."""

import re
from typing import TYPE_CHECKING

from clawft.scan.facts import Kind
from clawft.scan.languages.code.calls import Call, Effect
from clawft.scan.languages.code.encodings import decoded
from clawft.scan.languages.code.folding import fold_method
from clawft.scan.languages.code.network import addresses, request
from clawft.scan.languages.code.values import Value, text_of

if TYPE_CHECKING:
    from clawft.scan.languages.code.machine import Machine

__all__ = ["EFFECTS"]

_PAIRS = re.compile(r"\(?(?:\.\.|%x%x)\)?$")  # of hex digits, as Lua writes a pattern


def _request_tuple(machine: "Machine", call: Call, _: str) -> Value:
    """Erlang's `httpc`: a method, then the address, the headers, the type and the body in one tuple."""
    if len(call.arguments) < 2:
        return request(machine, call, "GET", call.first(), [])
    method = (call.arguments[0].ref or text_of(call.arguments[0].const or "")).strip(":").upper()
    parts = [one for _, one in call.arguments[1].items or []] or [call.arguments[1]]
    return request(machine, call, method, parts[0], parts[1:])


def _publish(machine: "Machine", call: Call, _: str) -> Value:
    """A message goes to a broker that is named in the same call."""
    broker = call.named.get("hostname") or call.named.get("host") or Value()
    for one in addresses(broker):
        machine.mark(Kind.SEND, one, call.offset, call.ref, call.marks())
    return Value()


def _gsub(machine: "Machine", call: Call, _: str) -> Value:
    """Lua's replacement, as a function or a method; pairs of hex digits through a function are decoded."""
    own = call.owner is not None and bool(call.owner.consts) and len(call.arguments) < 3
    value = call.owner if own and call.owner is not None else call.first()
    rest = call.arguments if own else call.arguments[1:]
    pattern = text_of(rest[0].const or "") if rest else ""
    if len(rest) > 1 and rest[1].function is not None and _PAIRS.match(pattern):
        return decoded(machine, call, "hex", value)
    found = [fold_method("replace", const, [one.const for one in rest]) for const in value.consts]
    return Value(tuple(one for one in found if one is not None), call.marks())


def _itself(_machine: "Machine", call: Call, _: str) -> Value:
    """`vars(x)`: the names of an object are those of the object; without one, those around the call."""
    return call.first() if call.arguments else Value(ref=f"{call.ref}()")


EFFECTS: dict[str, Effect] = {
    "request-tuple": _request_tuple,
    "publish": _publish,
    "lua-gsub": _gsub,
    "itself": _itself,
}
