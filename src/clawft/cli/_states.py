"""Words for states and their reasons, the same for skills, hooks and plugins."""

from collections.abc import Iterable, Sequence

from clawft.errors import Diagnostic
from clawft.trust import STATES
from clawft.trust.state import State

__all__ = ["NARROW", "count_states", "tell_reason"]

NARROW = 70  # columns; below, a table has what fits and the rest stands under each row


def tell_reason(state: State, reasons: Sequence[Diagnostic], about: Sequence[str], look: str) -> str:
    """One line on why something is not simply ready, or what else to know of it; `look` is the command that tells more.

    Of `about`, words that name what the line stands under anyway, none is said again.
    """
    said = [one for one in reasons if state != "ready" or one.severity == "warning"]
    if not said:
        return ""
    first, text = said[0], said[0].message
    for words in about:
        text = text.removeprefix(words)
    if state == "broken" and first.line:
        text = f"line {first.line}: {text}"
    more = f" (and {len(said) - 1} more: {look})" if len(said) > 1 else ""
    return text + (f". {first.hint}" if first.hint else "") + more


def count_states(what: str, states: Iterable[State]) -> str:
    """How many there are of something, and of which state."""
    found = list(states)
    parts = [f"{found.count(state)} {state}" for state in reversed(STATES) if state in found]
    return f"{len(found)} {what}{'s' * (len(found) != 1)}: {', '.join(parts)}"
