"""How far a fleet is: a line that is rewritten on a terminal, else one line every now and then."""

import os
import sys
import time
from collections import deque
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from clawft.run.durable.feed import State

__all__ = ["FleetProgress", "describe_state", "describe_time"]

_TERMINAL_S = 0.2
_PLAIN_S = (5, 15, 30, 60)  # between two lines where nobody watches; the last one stays
_SPAN_S = 60.0  # that the rate is taken over


class FleetProgress:
    """Told of each state; says what a person needs of it."""

    def __init__(self) -> None:
        self._live = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._seen: deque[tuple[float, int]] = deque()
        self._said = 0
        self._due = time.monotonic() + (_TERMINAL_S if self._live else _PLAIN_S[0])
        self._shown = False

    def show(self, state: "State") -> None:
        now = time.monotonic()
        finished = state.done + state.failed
        if not self._seen or now - self._seen[-1][0] >= _TERMINAL_S:
            self._seen.append((now, finished))
        while now - self._seen[0][0] > _SPAN_S:
            self._seen.popleft()
        if now < self._due:
            return
        text = describe_state(state, self._rate(now, finished))
        if self._live:
            click.echo(f"\r\x1b[K{text}", nl=False, err=True)
            self._due, self._shown = now + _TERMINAL_S, True
        else:
            click.echo(text, err=True)
            self._said = min(self._said + 1, len(_PLAIN_S) - 1)
            self._due = now + _PLAIN_S[self._said]

    def clear(self) -> None:
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)
            self._shown = False

    def _rate(self, now: float, finished: int) -> float:
        since, before = self._seen[0]
        return (finished - before) / (now - since) if now - since > _TERMINAL_S else 0.0


def describe_state(state: "State", rate: float) -> str:
    """`1,203 of 10,000 done, 3 failed, 2 waiting, 40 under way; 41.3 a second, 3 min 33 s left`."""
    parts = [f"{state.done:,} of {state.total:,} done"]
    parts += [f"{number:,} {what}" for number, what in _others(state) if number]
    left = state.total - state.done - state.failed - state.waiting
    if rate <= 0:
        return ", ".join(parts)
    return f"{', '.join(parts)}; {rate:.3g} a second, {describe_time(left / rate)} left"


def _others(state: "State") -> tuple[tuple[int, str], ...]:
    return (
        (state.failed, "failed"),
        (state.waiting, "waiting"),
        (state.under_way, "run under way" if state.under_way == 1 else "runs under way"),
    )


def describe_time(seconds: float) -> str:
    """`42 s`, `3 min 33 s`, `2 h 5 min`, `3 d 4 h`."""
    whole = round(seconds)
    for size, name, small, lesser in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {name} {whole % size // small} {lesser}"
    return f"{whole} s"
