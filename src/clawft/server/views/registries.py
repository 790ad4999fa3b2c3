"""Registries and what they have, as other programs read it: `registries.list.v1` and `skills.search.hub.v1`."""

from clawft.app.app import App
from clawft.config.registries import list_registries
from clawft.install.sources.model import SourceHit
from clawft.server.protocol.base import copy_fields
from clawft.server.protocol.registries import RegistryEntry, RegistryHit, RegistryVerdict


def view_registries(app: App) -> tuple[RegistryEntry, ...]:
    """Those that are asked, the default one first; of a token only where it is. Raises: ClawftError."""
    known = list_registries(app.own_config.registries)
    listed = []
    for number, (name, registry) in enumerate(known.items()):
        token = (
            f"{registry.token}{'' if registry.token.is_known(app.environ) else ' (not set)'}"
            if registry.token
            else None
        )
        listed.append(RegistryEntry(name=name, url=registry.url, kind=registry.kind, token=token, default=not number))
    return tuple(listed)


def view_registry_hit(hit: SourceHit) -> RegistryHit:
    verdict = hit.verdict
    shown = copy_fields(RegistryVerdict, verdict, reasons=tuple(verdict.reasons)) if verdict else None
    return copy_fields(RegistryHit, hit, owner=hit.owner or None, version=hit.version or None, verdict=shown)
