"""A pytest plugin: signals mean what they usually do, whatever started the tests.

What a parent ignores (a background job SIGINT, `nohup` SIGHUP) stays ignored in its children, and so in each `weft`
that a test starts and signals. Python ignores SIGPIPE itself, and gives it back to what it starts.
"""

import signal
from typing import Any

__all__ = ["restore"]

_USUAL: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGHUP: signal.SIG_DFL,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGQUIT: signal.SIG_DFL,
}


def restore() -> None:
    """Undo what was inherited: signals that are ignored or blocked."""
    for number, usual in _USUAL.items():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, usual)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _USUAL)


restore()
