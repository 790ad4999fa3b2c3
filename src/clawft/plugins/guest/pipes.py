"""The pipes to the host. What a plugin prints goes to its log, and what it reads is empty."""

import os
import sys
from collections.abc import Iterator
from io import TextIOWrapper
from threading import Lock

import msgspec

from clawft.plugins.guest.wire import MAX_LINE, Answer, Ask, Error, Order, Told

__all__ = ["Pipes"]

_CHUNK = 64 * 1024


class Pipes:
    """Takes the pipes away from the standard descriptors. Any thread may write."""

    def __init__(self) -> None:
        self._orders, self._answers = os.dup(0), os.dup(1)  # neither reaches a program that is started
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        os.close(nothing)
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)  # its log has what it printed before it was ended
        self._lock = Lock()
        self._decoder = msgspec.json.Decoder(Order)

    def read(self) -> Iterator[Order]:
        """What the host says, until it is gone."""
        rest = bytearray()
        while chunk := os.read(self._orders, _CHUNK):
            rest += chunk
            if b"\n" in chunk:
                *lines, left = rest.split(b"\n")
                rest = bytearray(left)
                yield from map(self._decoder.decode, lines)

    def write(self, what: Answer | Ask | Told) -> None:
        """Say something to the host; if it is too long, that instead."""
        try:
            line = msgspec.json.encode(what)
        except (TypeError, ValueError, RecursionError) as error:
            line = msgspec.json.encode(_refuse(what, f"It gave what is no JSON: {error}"))
        if len(line) >= MAX_LINE:
            line = msgspec.json.encode(_refuse(what, f"It gave {len(line)} bytes; the most is {MAX_LINE}"))
        left = memoryview(line + b"\n")
        with self._lock:
            while left:
                left = left[os.write(self._answers, left) :]


def _refuse(what: Answer | Ask | Told, message: str) -> Answer:
    if not isinstance(what, Answer):
        raise ValueError(message)
    return Answer(what.id, error=Error("failed", message[:2000], "plugin-result"))
