"""The interface of libcurl, the same in PHP and C: a handle gets options, then runs."""

from typing import TYPE_CHECKING

from clawft.scan.languages.code.calls import Call, Effect
from clawft.scan.languages.code.network import request
from clawft.scan.languages.code.values import Value, merge

if TYPE_CHECKING:
    from clawft.scan.languages.code.machine import Machine

__all__ = ["EFFECTS"]


def _init(_machine: "Machine", call: Call, _: str) -> Value:
    return Value((), (), "curl()", [("url", call.first())] if call.arguments else [])


def _option(machine: "Machine", call: Call, _: str) -> Value:
    handle = call.first()
    if len(call.arguments) > 2:
        given = [(call.second().ref or str(call.second().const), call.arguments[2])]
    else:
        given = [(str(key), value) for key, value in call.second().items or []]
    items = list(handle.items or [])
    for name, value in given:
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
            items = [one for one in items if one[0] != "url"]
        items.append((key, value))
    updated = Value((), merge(handle.marks, [mark for _, value in given for mark in value.marks]), "curl()", items)
    if call.items and call.items[0][1][0] == "name":
        machine.bind(call.items[0][1][2], updated)
    return Value()


def _run(machine: "Machine", call: Call, _: str) -> Value:
    handle = call.first()
    return request(machine, call, "GET", Value((), (), "", handle.items), [])


EFFECTS: dict[str, Effect] = {"curl-init": _init, "curl-option": _option, "curl-run": _run}
