"""Registries and what they have, as other programs read it: `registries.list.v1` and `skills.search.hub.v1`."""

from clawft.app import App
from clawft.config.registries import own_registries
from clawft.protocol.registries import RegistryEntry, RegistryHit, RegistryVerdict
from clawft.sources.model import Hit

__all__ = ["describe_hit", "describe_registries"]


def describe_registries(app: App) -> tuple[RegistryEntry, ...]:
    """Those that are asked, the default one first; of a token only where it is. Raises: ClawftError."""
    known = own_registries(app.config, app.workspace.user_dir, app.environ)
    listed = []
    for number, (name, one) in enumerate(known.items()):
        token = f"{one.token}{'' if one.token.is_known(app.environ) else ' (not set)'}" if one.token else None
        listed.append(RegistryEntry(name=name, url=one.url, kind=one.kind, token=token, default=not number))
    return tuple(listed)


def describe_hit(hit: Hit) -> RegistryHit:
    said = hit.verdict
    verdict = RegistryVerdict(status=said.status, reasons=tuple(said.reasons), summary=said.summary) if said else None
    return RegistryHit(
        reference=hit.reference,
        name=hit.name,
        owner=hit.owner or None,
        registry=hit.registry,
        summary=hit.summary,
        version=hit.version or None,
        downloads=hit.downloads,
        score=hit.score,
        verdict=verdict,
    )
