"""Hooks: whether they can run, and which of them want to be looked at."""

from collections.abc import Iterator

from clawft.app import App
from clawft.cli.doctor.check import Check, from_error, quote
from clawft.errors import ClawftError

__all__ = ["check_hooks"]

_NAME = "hooks"


def check_hooks(app: App) -> Iterator[Check]:
    """What runs, what cannot, and what waits for an approval. Without any there is nothing to say."""
    from clawft.hooking import load_rows

    rows = load_rows(app)
    ready = [one for one in rows if one.state == "ready"]
    if ready:
        yield from _check_deno(app, sum(one.kind == "deno" for one in ready), len(ready))
    for one in rows:
        if one.state in ("broken", "blocked", "ineligible"):
            said = one.reasons[0].message if one.reasons else one.state
            message = f"{one.name} is {one.state}: {said}"
            yield Check(_NAME, "note", message, why="it hears nothing", fix=f"weft hooks show {quote(one.name)}")
    waiting = [one for one in rows if one.state == "untrusted" and not one.origin.startswith("skill ")]
    if waiting:
        some = ", ".join(one.name for one in waiting[:3]) + (" and more" if len(waiting) > 3 else "")
        many = f"{len(waiting)} hook{'s' * (len(waiting) > 1)} wait{'s' * (len(waiting) == 1)} for an approval: {some}"
        why = "what strangers brought is ignored until somebody looked at it"
        yield Check(_NAME, "note", many, why=why, fix=f"weft hooks enable {quote(waiting[0].name)}")


def _check_deno(app: App, wanting: int, ready: int) -> Iterator[Check]:
    """Whether Deno is there, where a hook needs it."""
    many = f"{ready} ready"
    if not wanting:
        yield Check(_NAME, "ok", many)
        return
    from clawft.hooks.deno import find_deno

    try:
        find_deno()
    except ClawftError as error:
        why = f"{wanting} hook{'s' * (wanting != 1)} hear{'s' * (wanting == 1)} nothing"
        yield from_error(_NAME, error, app.workspace, status="note", why=why, fix="pip install 'clawft[deno]'")
    else:
        yield Check(_NAME, "ok", many)
