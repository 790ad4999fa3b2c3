"""The composition root of the supply chain: from an app to the places that skills come from, and to transactions."""

import os
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.errors import Diagnostic
    from clawft.publishing.registry import Registry
    from clawft.sources.choose import Sources
    from clawft.supply.apply import Hands
    from clawft.supply.install import Supplies

__all__ = [
    "finish_broken",
    "is_broken_off",
    "open_hands",
    "open_registry",
    "open_sources",
    "open_supplies",
]


def open_sources(app: "App") -> "Sources":
    """Every place that skills come from, by the user's own config: `async with` it. Raises: ClawftError."""
    from clawft.config.registries import own_registries
    from clawft.sources.choose import Sources

    registries = own_registries(app.config, app.workspace.user_dir, app.environ)
    return Sources(registries, app.config.tools.web, app.launcher)


def open_registry(app: "App", name: str = "") -> "Registry":
    """The registry of a name, or the default one, to publish to: `async with` it. Raises: ClawftError."""
    from clawft.config.registries import own_registries
    from clawft.errors import ClawftError, NotFound, find_close
    from clawft.publishing.registry import UPLOAD, Registry
    from clawft.sources.fetching import Fetching

    known = own_registries(app.config, app.workspace.user_dir, app.environ)
    name = name or next(iter(known))
    if name not in known:
        close = find_close(name, known)
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft registries list"
        raise NotFound("reference-registry", f"There is no registry '{name[:80]}'", hint=hint)
    if known[name].kind != "clawhub":
        hint = "ClawHub and `weft hub serve` can"
        raise ClawftError(
            "publish-kind", f"'{name}' is of the kind {known[name].kind}: nothing is published there", hint=hint
        )
    secret = known[name].token
    token = secret.resolve(app.environ) if secret else ""
    fetching = Fetching(known[name].url, app.config.tools.web, token=token, name=name, limits=UPLOAD)
    return Registry(name, known[name].url, fetching, has_token=bool(token))


def open_supplies(app: "App") -> "Supplies":
    """All that a transaction needs."""
    from clawft.signing.check import is_required
    from clawft.signing.publishers import load_publishers
    from clawft.supply.install import Supplies

    limit, user_dir, environ = app.config.skills.max_skill_prompt_bytes, app.workspace.user_dir, app.environ
    publishers = partial(load_publishers, user_dir)
    signed_only = is_required(app.config, user_dir, environ)
    return Supplies(
        open_hands(app), app.kept, app.scan_dir, environ, limit, publishers, lambda: app.catalog.found, signed_only
    )


def is_broken_off(user_dir: str) -> bool:
    """Return whether an installation is under way or was broken off: one look, for commands that only read."""
    folder = os.path.join(user_dir, "installing")
    try:
        return any(name != "turn.lock" for name in os.listdir(folder))
    except OSError:
        return os.path.lexists(folder)  # what is wrong with it is told by who looks closer


def finish_broken(app: "App") -> "tuple[Diagnostic, ...]":
    """End an installation that was broken off, before a lock is read; what could not be done. Raises: ClawftError."""
    if not is_broken_off(app.workspace.user_dir):
        return ()
    from clawft.supply.apply import recover

    return recover(open_hands(app))


def open_hands(app: "App") -> "Hands":
    """What a transaction changes beside folders and locks."""
    from clawft.supply.apply import Hands
    from clawft.supply.journal import Journals

    journals = Journals(os.path.join(app.workspace.user_dir, "installing"), app.seal)
    return Hands(journals, app.desk, app.overrides)
