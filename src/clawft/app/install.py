"""The composition root of the supply chain: from an app to the places that skills come from, and to transactions."""

import os
from functools import partial
from typing import TYPE_CHECKING

from clawft.config.registries import list_registries
from clawft.errors import ClawftError, Diagnostic, NotFound, find_close
from clawft.install.sources.selection import SkillSources
from clawft.install.transaction.apply import TransactionContext, recover_transactions
from clawft.install.transaction.installation import InstallContext
from clawft.install.transaction.journal import TransactionJournals
from clawft.trust.signing.publishers import load_publishers

if TYPE_CHECKING:
    from clawft.app.app import App
    from clawft.install.publish.registry import PublishingRegistry


def open_sources(app: "App") -> SkillSources:
    """Every place that skills come from, by the user's own config: `async with` it. Raises: ClawftError."""
    registries = list_registries(app.own_config.registries)
    return SkillSources(registries, app.config.tools.web, app.host_programs)


def open_registry(app: "App", name: str = "") -> "PublishingRegistry":
    """The registry of a name, or the default one, to publish to: `async with` it. Raises: ClawftError."""
    from clawft.install.publish.registry import UPLOAD, PublishingRegistry
    from clawft.install.sources.http import SourceConnection

    known = list_registries(app.own_config.registries)
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
    fetching = SourceConnection(known[name].url, app.config.tools.web, token=token, name=name, limits=UPLOAD)
    return PublishingRegistry(name, known[name].url, fetching, has_token=bool(token))


def open_supplies(app: "App") -> InstallContext:
    """Collect what an install transaction needs."""
    limit, user_dir, environ = app.config.skills.max_skill_prompt_bytes, app.workspace.user_dir, app.environ
    publishers = partial(load_publishers, user_dir)
    signed_only = app.own_config.skills.security.require_signature
    return InstallContext(
        open_install_effects(app),
        app.approved_copies,
        app.scan_dir,
        environ,
        limit,
        publishers,
        lambda: app.catalog.found,
        signed_only,
    )


def finish_interrupted(app: "App") -> tuple[Diagnostic, ...]:
    """End an installation that was broken off, before a lock is read; what could not be done. Raises: ClawftError."""
    if not app.workspace.has_unfinished_install():
        return ()

    return recover_transactions(open_install_effects(app))


def open_install_effects(app: "App") -> TransactionContext:
    """Open what a transaction changes in addition to folders and lock files."""
    journals = TransactionJournals(os.path.join(app.workspace.user_dir, "installing"), app.seal)
    return TransactionContext(journals, app.reviewer, app.overrides)
