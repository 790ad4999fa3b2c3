"""`weft skills show @OWNER/NAME`: a skill as its registry shows it, installed or not."""

import anyio
import click

from clawft.app import App
from clawft.cli._versions import print_versions
from clawft.cli.output import one_line, print_json
from clawft.config.registries import own_registries
from clawft.discovery import SCOPES
from clawft.sources.model import Reference, Release, Resolved, Shown
from clawft.sources.reference import parse_reference
from clawft.supplying import open_sources

__all__ = ["is_published", "show_published"]


def is_published(app: App, name: str) -> bool:
    """Whether a name can only mean a skill of a registry: with an owner, or with a registry before it."""
    if name.startswith("@"):
        return True
    before, colon, rest = name.partition(":")
    if not colon or before in SCOPES or any(one.found.location.goes_by(before) for one in app.skills):
        return False
    return not rest.startswith("//") and before in own_registries(app.config, app.workspace.user_dir, app.environ)


def show_published(app: App, name: str, output: str) -> None:
    """Raises: ClawftError; NotFound."""
    registry, shown = anyio.run(_ask, app, name)
    full = f"@{shown.origin.owner}/{shown.origin.slug}" if shown.origin.owner else shown.origin.slug
    reference = f"{registry}:{full}"
    if output == "json":
        return print_json(
            "clawft.skills.published.v1",
            name=full,
            registry=registry,
            url=shown.origin.url,
            summary=shown.summary,
            latest=shown.latest or None,
            versions=shown.releases,
        )
    lines = [("Skill", full), ("Registry", f"{registry} ({shown.origin.url})"), ("Description", shown.summary)]
    lines += [("Latest", shown.latest or "none is left to give"), ("Install", f"weft skills install {reference}")]
    for label, value in lines:
        if value:
            click.echo(f"{label}: {one_line(value)}")
    return print_versions(shown.releases)


async def _ask(app: App, name: str) -> tuple[str, Shown]:
    from clawft.sources.clawhub import ClawHub

    async with open_sources(app) as sources:
        reference = parse_reference(name, sources.registries, app.workspace.cwd, app.workspace.home)
        source = sources.find(reference)
        if isinstance(source, ClawHub):
            return reference.registry, await source.show(reference)
        (found,) = await source.resolve(reference)
        return reference.registry, _from_resolved(reference, found)


def _from_resolved(reference: Reference, found: Resolved) -> Shown:
    """The one version that there is, of a registry that knows no others."""
    verdict = found.verdict.status if found.verdict else ""
    release = Release(found.version or reference.version, verdict=verdict, changelog=found.changelog)
    return Shown(found.origin, found.description, release.version, (release,) if release.version else ())
