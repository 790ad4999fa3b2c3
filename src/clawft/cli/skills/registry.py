"""Skills in registries: show, search and scan them without installing."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import anyio
import click
import msgspec
from msgspec import Struct

from clawft.app.app import App
from clawft.app.install import open_sources
from clawft.cli.output import (
    CommandResult,
    is_terminal_attached,
    one_line,
    print_table,
    say,
    show_diagnostic,
    show_diagnostics,
)
from clawft.cli.release_table import print_versions
from clawft.config.registries import list_registries
from clawft.install.sources.clawhub import ClawHub
from clawft.install.sources.model import ResolvedSkill, ShownSkill, SkillReference, SkillRelease
from clawft.install.sources.reference import parse_reference
from clawft.install.sources.selection import RegistrySearch, choose_registries, search_registries
from clawft.server.protocol.base import diagnostic_json
from clawft.server.views.registries import view_registry_hit
from clawft.skills.discovery import SCOPES
from clawft.skills.discovery.digest import compute_digest


def is_published(app: App, name: str) -> bool:
    """Return whether a name can only mean a skill of a registry: with an owner, or with a registry before it."""
    if name.startswith("@"):
        return True
    before, colon, rest = name.partition(":")
    if not colon or before in SCOPES or any(skill.found.location.matches_reference(before) for skill in app.skills):
        return False
    return not rest.startswith("//") and before in list_registries(app.own_config.registries)


def show_published(app: App, name: str) -> CommandResult:
    """Raises: ClawftError; NotFound."""
    registry, shown = anyio.run(_ask_published, app, name)
    full = f"@{shown.origin.owner}/{shown.origin.slug}" if shown.origin.owner else shown.origin.slug
    reference = f"{registry}:{full}"

    def show() -> None:
        lines = [("Skill", full), ("Registry", f"{registry} ({shown.origin.url})"), ("Description", shown.summary)]
        lines += [("Latest", shown.latest or "none is left to give"), ("Install", f"weft skills install {reference}")]
        for label, value in lines:
            if value:
                click.echo(f"{label}: {one_line(value)}")
        return print_versions(shown.releases)

    return CommandResult(
        "clawft.skills.published.v1",
        {
            "name": full,
            "registry": registry,
            "url": shown.origin.url,
            "summary": shown.summary,
            "latest": shown.latest or None,
            "versions": shown.releases,
        },
        show,
    )


async def _ask_published(app: App, name: str) -> tuple[str, ShownSkill]:
    async with open_sources(app) as sources:
        reference = parse_reference(name, sources.registries, app.workspace.cwd, app.workspace.home)
        source = sources.find(reference)
        if isinstance(source, ClawHub):
            return reference.registry, await source.show(reference)
        (found,) = await source.resolve(reference)
        return reference.registry, _from_resolved(reference, found)


def _from_resolved(reference: SkillReference, found: ResolvedSkill) -> ShownSkill:
    """The one version that there is, of a registry that knows no others."""
    verdict = found.verdict.status if found.verdict else ""
    release = SkillRelease(found.version or reference.version, verdict=verdict, changelog=found.changelog)
    return ShownSkill(found.origin, found.description, release.version, (release,) if release.version else ())


def search_all_registries(app: App, query: str, limit: int, registry: str) -> CommandResult:
    """Ask one registry or all of them. Raises: ClawftError."""
    searched = anyio.run(_ask_hub_search, app, query, limit, registry)
    none_answered = bool(searched.failed) and not searched.hits
    failed = [{"registry": name, **diagnostic_json(failure)} for name, failure in searched.failed.items()]
    results = [msgspec.to_builtins(view_registry_hit(hit)) for hit in searched.hits]

    def show() -> None:
        if searched.hits:
            rows = [
                (
                    hit.reference,
                    hit.summary,
                    hit.version,
                    hit.verdict.status if hit.verdict else "not said",
                    hit.registry,
                )
                for hit in searched.hits
            ]
            print_table(("REFERENCE", "SUMMARY", "VERSION", "VERDICT", "REGISTRY"), rows, wide=1)
        elif not searched.failed:
            say(one_line(f"No registry has anything for '{query}'"))
        for name, problem in searched.failed.items():
            show_diagnostic(problem, where=f"registry {name}")
        if searched.hits:
            say(one_line(f"To look at one, and to install it: weft skills install {searched.hits[0].reference}"))

    return CommandResult(
        "clawft.skills.search.hub.v1", {"query": query, "results": results, "failed": failed}, show, int(none_answered)
    )


async def _ask_hub_search(app: App, query: str, limit: int, registry: str) -> RegistrySearch:
    async with open_sources(app) as sources:
        asked = choose_registries(sources, registry)
        if is_terminal_attached():
            say(f"Asking {', '.join(asked)}")
        return await search_registries(sources, asked, query, limit)


class DownloadedSkill(Struct, frozen=True):
    """A skill that was downloaded to be looked at."""

    folder: str
    resolved: ResolvedSkill
    digest: str


@contextmanager
def fetch_references(app: App, references: Sequence[str]) -> Iterator[list[DownloadedSkill]]:
    """Download what the references mean; all of it where one means several. Raises: ClawftError."""
    with tempfile.TemporaryDirectory(prefix="weft-scan-") as parent:
        yield anyio.run(_download, app, references, parent)


async def _download(app: App, references: Sequence[str], parent: str) -> list[DownloadedSkill]:
    brought = []
    async with open_sources(app) as sources:
        for text in references:
            reference = parse_reference(text, sources.registries, app.workspace.cwd, app.workspace.home)
            source = sources.find(reference)
            if is_terminal_attached():
                say(one_line(f"Fetching {text}"))
            for resolved in await source.resolve(reference):
                folder = os.path.join(tempfile.mkdtemp(dir=parent), os.path.basename(resolved.name) or "skill")
                os.mkdir(folder, 0o700)
                came = await source.download(resolved, folder)
                brought.append(DownloadedSkill(folder, came, compute_digest(folder).value))
    return brought


def print_downloads(brought: Sequence[DownloadedSkill]) -> bool:
    """Print each origin, digest and registry verdict; return whether a registry calls one malicious."""
    for download in brought:
        resolved = download.resolved
        version = f" {resolved.version}" if resolved.version else ""
        commit = f" (commit {resolved.commit[:12]})" if resolved.commit else ""
        say(one_line(f"{resolved.name}{version}{commit}, {download.digest}, from {resolved.origin.line}"))
        show_diagnostics(resolved.notes)
        if (verdict := resolved.verdict) is not None and verdict.status != "clean":
            why = ", ".join((*verdict.reasons, verdict.summary) if verdict.summary else verdict.reasons)
            say(one_line(f"  its registry says: {verdict.status}{f' ({why})' if why else ''}"))
    return any(
        download.resolved.verdict is not None and download.resolved.verdict.status == "malicious"
        for download in brought
    )
