"""`weft hub`: the status and the skills of the local registry; yank, remove, back up and restore them."""

import os
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar

import click
from msgspec import structs

from clawft.app.app import App
from clawft.cli.completion import MAX_OFFERED, completes, open_app_for
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, one_line, print_table, say, scan_progress
from clawft.cli.prompts import confirm
from clawft.cli.release_table import print_versions
from clawft.config.registries import HubSettings
from clawft.errors import ClawftError, NotFound
from clawft.install.sources.model import SkillRelease
from clawft.server.hub.backup import check_backup, restore_folder, restore_shared, write_backup
from clawft.server.hub.model import NO_REASON, HubRelease, HubSkill
from clawft.server.hub.store import HubStore, has_store, render_store_location, store_folder
from clawft.server.hub.store import open_store as open_configured

_NAME = re.compile(r"(?:@(?P<owner>[a-z0-9._-]+)/)?(?P<slug>[a-z0-9-]+)(?:@(?P<version>[0-9A-Za-z.+-]+))?")
_LISTED = 20  # versions that an error names
F = TypeVar("F", bound=Callable[..., Any])


def folder_option(function: F) -> F:
    text = "Use the hub that is kept there; else the one of hub.folder."
    return click.option("--folder", metavar="DIR", type=click.Path(file_okay=False), help=text)(function)


def hub_command(words: str, folder: str | None) -> str:
    """A command to type, for the same hub."""
    return f"weft hub {words}" + (f" --folder {shlex.quote(folder)}" if folder else "")


def check_hub_installed() -> None:
    """Raises: ClawftError where what serves a hub is not there."""
    missing = [name for name in ("starlette", "uvicorn", "mcp", "python_multipart") if find_spec(name) is None]
    if missing:
        message = f"A hub cannot be served: {', '.join(missing)} {'are' if len(missing) > 1 else 'is'} not installed"
        raise ClawftError("hub-not-installed", message, hint="Run: pip install 'clawft[hub]'")


def load_hub_settings(app: App, folder: str | None = None) -> HubSettings:
    """Return the user's hub settings with the folder that the hub really uses; `folder` overrides it."""
    settings = app.own_config.hub
    if folder:
        return structs.replace(settings, folder=os.path.abspath(folder), database=None)
    return structs.replace(settings, folder=store_folder(settings, app.workspace.user_dir))


def open_store(app: App, settings: HubSettings) -> HubStore:
    """The store that the settings mean, made if it is not there. Raises: ClawftError."""
    return open_configured(settings, app.workspace.user_dir, app.environ)


@contextmanager
def open_hub(app: App, folder: str | None = None) -> Iterator[HubStore]:
    """The store of the user's hub, or of the one in a folder, made if it is not there. Raises: ClawftError."""
    store = open_store(app, load_hub_settings(app, folder))
    try:
        yield store
    finally:
        store.close()


@contextmanager
def get_store(app: App, folder: str | None = None) -> Iterator[HubStore]:
    """Open the hub's store that is there. Raises: NotFound."""
    if not has_store(load_hub_settings(app, folder), app.workspace.user_dir):
        hint = f"Start one: {hub_command('serve', folder)}"
        raise NotFound("hub-none", "There is no hub here yet", path=folder or "", hint=hint)
    with open_hub(app, folder) as store:
        yield store


def split_name(text: str, *, version: bool) -> tuple[str, str, str]:
    """Owner, name and version of `@owner/slug@1.2.3`. Raises: UsageError."""
    found = _NAME.fullmatch(text)
    wanted = "@OWNER/NAME@VERSION" if version else "@OWNER/NAME"
    if found is None or bool(found["version"]) != version:
        raise click.UsageError(f"Name it as {wanted}, not {text[:100]!r}. The owner may be left out if it is clear")
    return found["owner"] or "", found["slug"], found["version"] or ""


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def find_skill(store: HubStore, slug: str, owner: str, folder: str | None = None) -> HubSkill:
    """The one skill that is meant; nothing is guessed. `folder` is where the hub is. Raises: ClawftError."""
    found = store.find(slug, owner)
    if len(found) > 1:
        owners = ", ".join(f"@{skill.owner}/{skill.slug}" for skill in found)
        raise ClawftError("hub-ambiguous", f"Several owners have '{slug}': {owners}", hint="Name the owner")
    if not found:
        name = f"@{owner}/{slug}" if owner else slug
        raise NotFound("hub-not-found", f"The hub has no skill '{name}'", hint=f"Run: {hub_command('status', folder)}")
    return found[0]


def find_version(store: HubStore, skill: HubSkill, version: str) -> HubRelease:
    """One version, yanked or not; else what there is. Raises: NotFound."""
    known = store.versions(skill.id)
    found = next((release for release in known if release.version == version), None)
    if found is None:
        listed = ", ".join(f"{release.version}{' (yanked)' * bool(release.yanked)}" for release in known[:_LISTED])
        more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
        message = f"@{skill.owner}/{skill.slug} has no version {version}"
        raise NotFound("hub-not-found", message, hint=f"It has: {listed}{more}")
    return found


_HEADS = ("SKILL", "LATEST", "VERDICT", "DOWNLOADS", "SUMMARY")


@completes
def complete_hub_skills(ctx: click.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Names of the hub that mean one skill by themselves."""
    with get_store(open_app_for(ctx), ctx.params.get("folder")) as store:
        for skill in store.list_names(incomplete, MAX_OFFERED):
            yield skill.slug, skill.summary


@completes
def complete_hub_versions(ctx: click.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    with get_store(open_app_for(ctx), ctx.params.get("folder")) as store:
        for skill in store.list_names(incomplete.partition("@")[0], MAX_OFFERED):
            for version in store.versions(skill.id):
                yield f"{skill.slug}@{version.version}", "yanked" if version.yanked else skill.summary


@click.command("status")
@click.option("--limit", "-n", default=20, show_default=True, type=click.IntRange(1, 200), help="How many to list.")
@click.option("--owner", default="", metavar="NAME", help="Only the skills of one owner.")
@folder_option
@format_option
def status_command(limit: int, owner: str, folder: str | None) -> CommandResult:
    """Say what the hub of this user keeps: owners, skills, and what was changed last.

    All versions of one skill, with those that were yanked: weft hub show @OWNER/NAME.
    """
    app = open_here()
    settings = load_hub_settings(app, folder)
    place = render_store_location(settings, app.workspace.user_dir)
    if not has_store(settings, app.workspace.user_dir):
        empty: dict[str, Any] = {"place": place, "exists": False, "owners": [], "skills": []}
        hint = f"There is no hub here yet. Start one: {hub_command('serve', folder)}"
        return CommandResult("clawft.hub.status.v1", empty, lambda: say(hint))
    with open_hub(app, folder) as store:
        names = [owner_name for owner_name in store.owners() if owner in ("", owner_name)]
        owners = [(name, store.usage(name)) for name in names]
        page = store.list_skills("updated", limit, owner=owner)
    skills = [
        {
            "name": f"@{item.skill.owner}/{item.skill.slug}",
            "latest": item.skill.latest,
            "verdict": item.release.verdict if item.release else "",
            "downloads": item.skill.downloads,
            "summary": item.skill.summary,
        }
        for item in page.items
    ]

    def show() -> None:
        say(f"Kept in {one_line(app.workspace.shorten(place))}")
        for name, used in owners:
            size = f"{used.bytes / (1 << 20):.1f} of {settings.quota.owner_mb} MB"
            say(f"{name}: {count(used.skills, 'skill')}, {count(used.versions, 'version')}, {size}")
        if skills:
            print_table(_HEADS, [[*map(str, skill.values())] for skill in skills], wide=4)
        else:
            say("No skill is published yet. Publish one: weft skills publish DIR")

    owner_rows = [
        {"owner": name, "skills": used.skills, "versions": used.versions, "bytes": used.bytes} for name, used in owners
    ]
    document = {"place": place, "exists": True, "owners": owner_rows, "skills": skills}
    return CommandResult("clawft.hub.status.v1", document, show)


@click.command("show")
@click.argument("name", metavar="@OWNER/NAME", shell_complete=complete_hub_skills)
@folder_option
@format_option
def show_command(name: str, folder: str | None) -> CommandResult:
    """Show one skill of the hub: all its versions, the yanked ones too, with verdicts and changelogs."""
    owner, slug, _ = split_name(name, version=False)
    with get_store(open_here(), folder) as store:
        skill = find_skill(store, slug, owner, folder)
        releases = store.versions(skill.id)
    versions = [
        SkillRelease(release.version, release.created, release.changelog, release.verdict, release.yanked)
        for release in releases
    ]
    full = f"@{skill.owner}/{skill.slug}"

    def show() -> None:
        state = "removed: nobody is given it" if skill.deleted else f"latest {skill.latest or 'none'}"
        say(one_line(f"{full} ({state}), {skill.downloads} downloads"))
        say(one_line(skill.summary))
        return print_versions(versions)

    return CommandResult(
        "clawft.hub.show.v1",
        {
            "name": full,
            "summary": skill.summary,
            "latest": skill.latest,
            "removed": skill.deleted,
            "downloads": skill.downloads,
            "versions": versions,
        },
        show,
    )


@click.command("yank")
@click.argument("name", metavar="@OWNER/NAME@VERSION", shell_complete=complete_hub_versions)
@click.option("--reason", default="", metavar="TEXT", help="Why, for those who have it.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@folder_option
@format_option
def yank_command(name: str, reason: str, dry_run: bool, yes: bool, folder: str | None) -> CommandResult:
    """Take a version back: nobody is given it any more who does not name it.

    Those who have it in a lock still get it, with the reason, which `weft skills audit` tells them too. To yank it
    again changes the reason, if another is given. `weft hub unyank` puts it back.
    """
    owner, slug, version = split_name(name, version=True)
    app = open_here()
    with get_store(app, folder) as store:
        skill = find_skill(store, slug, owner, folder)
        before = find_version(store, skill, version).yanked
        full = f"@{skill.owner}/{skill.slug}@{version}"
        why = one_line(reason) or before
        agreed = dry_run or yes or confirm(f"Yank {full}?", "Yanking a version")
        if agreed and not dry_run:
            app.audit.write("hub", f"yank {full}", decision="done", detail={"reason": why})
            store.yank(skill.id, version, why)
            why = store.get_version(skill.id, version).yanked
        latest = store.get_skill(skill.id).latest
    yanked = bool(before) or (agreed and not dry_run)

    def show() -> None:
        if not agreed:
            say("Nothing was changed")
        else:
            outcome = "Would be yanked" if dry_run else "Yanked"
            because = f" ({why})" if why not in ("", NO_REASON) else ""
            say(f"{outcome}: {full}{because}" + ("" if dry_run else _say_latest(latest)))

    return CommandResult(
        "clawft.hub.yank.v1",
        {"name": full, "yanked": yanked, "reason": why, "latest": latest},
        show,
        0 if agreed else 1,
    )


def _say_latest(latest: str) -> str:
    return f"; the latest is {latest}" if latest else "; no version of it is left to give"


@click.command("unyank")
@click.argument("name", metavar="@OWNER/NAME@VERSION", shell_complete=complete_hub_versions)
@folder_option
@format_option
def unyank_command(name: str, folder: str | None) -> CommandResult:
    """Give a version again that was yanked."""
    owner, slug, version = split_name(name, version=True)
    app = open_here()
    with get_store(app, folder) as store:
        skill = find_skill(store, slug, owner, folder)
        find_version(store, skill, version)
        full = f"@{skill.owner}/{skill.slug}@{version}"
        app.audit.write("hub", f"unyank {full}", decision="done")
        store.unyank(skill.id, version)
        latest = store.get_skill(skill.id).latest
    return CommandResult(
        "clawft.hub.yank.v1",
        {"name": full, "yanked": False, "latest": latest},
        lambda: say(f"Given again: {full}; the latest is {latest}"),
    )


@click.command("remove")
@click.argument("name", metavar="@OWNER/NAME", shell_complete=complete_hub_skills)
@click.option("--undo", is_flag=True, help="Give it again.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@folder_option
@format_option
def remove_command(name: str, undo: bool, dry_run: bool, yes: bool, folder: str | None) -> CommandResult:
    """Give a skill to nobody any more, whatever version they name.

    Its versions stay taken, so that none comes back with other content; --undo gives it again.
    """
    owner, slug, _ = split_name(name, version=False)
    app = open_here()
    with get_store(app, folder) as store:
        skill = find_skill(store, slug, owner, folder)
        full = f"@{skill.owner}/{skill.slug}"
        versions = len(store.versions(skill.id))
        agreed = (
            undo or dry_run or yes or confirm(f"Remove {full} with {count(versions, 'version')}?", "Removing a skill")
        )
        if agreed and not dry_run:
            app.audit.write("hub", f"{'undelete' if undo else 'remove'} {full}", decision="done")
            (store.undelete if undo else store.delete)(skill.id)
        removed = store.get_skill(skill.id).deleted

    def show() -> None:
        if not agreed:
            say("Nothing was changed")
        elif dry_run:
            say(f"Would be {'given again' if undo else 'removed'}: {full}, with {count(versions, 'version')}")
        else:
            say(f"{'Given again' if undo else 'Removed'}: {full}")

    return CommandResult(
        "clawft.hub.remove.v1", {"name": full, "removed": removed, "versions": versions}, show, 0 if agreed else 1
    )


@click.command("backup")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False))
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@folder_option
@format_option
def backup_command(file: str, force: bool, folder: str | None) -> CommandResult:
    """Write all that the hub keeps into one file, while it goes on.

    Skills, versions, tokens and every byte, as they are at one moment, with their hashes: `weft hub restore` checks
    them. The same file restores into a folder and into a PostgreSQL.
    """
    app = open_here()
    with get_store(app, folder) as store:
        manifest = write_backup(store, file, force=force, tell=scan_progress("Writing files"))
    size = os.path.getsize(file)

    def show() -> None:
        held = f"{count(manifest.skills, 'skill')}, {count(manifest.versions, 'version')}"
        say(f"Written: {one_line(file)}, {held}, {size / (1 << 20):.1f} MB")

    return CommandResult(
        "clawft.hub.backup.v1",
        {
            "file": os.path.abspath(file),
            "bytes": size,
            "skills": manifest.skills,
            "versions": manifest.versions,
            "created": manifest.created,
        },
        show,
    )


@click.command("restore")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False))
@click.option("--force", is_flag=True, help="Replace the hub that is there.")
@click.option("--dry-run", is_flag=True, help="Check the backup, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask before a hub is replaced.")
@folder_option
@format_option
def restore_command(file: str, force: bool, dry_run: bool, yes: bool, folder: str | None) -> CommandResult:
    """Make the hub what a backup says, all of it or nothing.

    The whole file is checked first. A hub that is there is replaced only with --force, and not while it is served.
    """
    app = open_here()
    settings = load_hub_settings(app, folder)
    place = app.workspace.shorten(render_store_location(settings, app.workspace.user_dir))
    agreed = dry_run or not force or yes or confirm(f"Replace the hub in {place}?", "Replacing a hub")
    manifest = check_backup(file)
    if agreed and not dry_run:
        subject = f"restore {one_line(file)}"
        app.audit.write("hub", subject, decision="allow", detail={"place": place})
        if settings.database is None:
            restore_folder(file, settings.folder, force=force)
        else:
            with open_hub(app, folder) as store:
                restore_shared(file, store, force=force)
        app.audit.tell("hub", subject, decision="done", detail={"place": place})
    counts = {"skills": manifest.skills, "versions": manifest.versions}

    def show() -> None:
        if not agreed:
            say("Nothing was changed")
        else:
            words = "The backup is whole" if dry_run else f"Restored into {one_line(place)}"
            say(f"{words}: {count(manifest.skills, 'skill')}, {count(manifest.versions, 'version')}")

    return CommandResult(
        "clawft.hub.restore.v1",
        {"place": place, "restored": agreed and not dry_run, **counts},
        show,
        0 if agreed else 1,
    )
