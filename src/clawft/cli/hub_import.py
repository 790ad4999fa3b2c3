"""`weft hub import`: publish skills of this machine into the registry, without a token."""

import os
from typing import Any

import click

from clawft.app.app import App
from clawft.cli.completion import complete_folders
from clawft.cli.hub import folder_option, load_hub_settings, open_hub
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, is_json_asked, one_line, say, show_diagnostic
from clawft.errors import ClawftError, NotFound
from clawft.files import read_regular
from clawft.install.publish.preparation import PreparedSkill, check_ready, prepare
from clawft.install.publish.publication import choose_version
from clawft.server.hub.model import HubFile, PublicationDraft
from clawft.server.hub.publication import SkillPublisher
from clawft.server.hub.store import HubStore
from clawft.server.protocol.base import diagnostic_json


@click.command("import")
@click.argument(
    "folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(), shell_complete=complete_folders
)
@click.option("--owner", required=True, metavar="NAME", help="Whose skills they become.")
@click.option("--changelog", default="", metavar="TEXT", help="What is new.")
@click.option("--allow-findings", is_flag=True, help="Also what looks like a secret, and is none.")
@click.option("--dry-run", is_flag=True, help="Check them, and keep nothing.")
@folder_option
@format_option
def command(folders: tuple[str, ...], owner: str, folder: str | None, **values: Any) -> CommandResult:
    """Publish skills of this machine into the hub, without a token: each DIR is a skill, or a folder of skills.

    They are checked and scanned as if they were sent. Content that is there already is not kept again; what changed is
    the next patch version, unless SKILL.md says another. One that is refused does not keep the others back.
    """
    app = open_here()
    results: list[dict[str, Any]] = []
    failures = set[int]()
    with open_hub(app, folder) as store:
        intake = SkillPublisher(store, load_hub_settings(app, folder))
        try:
            for place in _find(folders):
                try:
                    result = _import(app, store, intake, place, owner=owner, **values)
                except ClawftError as error:
                    failures.add(error.exit_code)
                    result = {"folder": place, "state": "refused", "error": diagnostic_json(error.diagnostic)}
                    show_diagnostic(error.diagnostic, where=app.workspace.shorten(error.diagnostic.path or place))
                results.append(result)
                if not is_json_asked():
                    _tell(result)
        finally:
            intake.close()
    document = {"owner": owner, "skills": results}
    return CommandResult("clawft.hub.import.v1", document, lambda: None, min(failures, default=0))


def _find(folders: tuple[str, ...]) -> list[str]:
    """The skills that are meant. Raises: NotFound."""
    found: list[str] = []
    for folder in folders:
        place = os.path.abspath(os.path.expanduser(folder))
        inner = sorted(os.path.join(place, name) for name in os.listdir(place)) if os.path.isdir(place) else []
        skills = (
            [place]
            if f"{place}/SKILL.md" in inner
            else [subfolder for subfolder in inner if os.path.isfile(f"{subfolder}/SKILL.md")]
        )
        if not skills:
            raise NotFound("no-skill-here", "There is no skill in it", path=folder, hint="A skill has a SKILL.md")
        found += skills
    return list(dict.fromkeys(found))


def _import(
    app: App, store: HubStore, intake: SkillPublisher, place: str, *, owner: str, changelog: str, **flags: bool
) -> dict[str, Any]:
    """Import one skill and return the result. Raises: ClawftError."""
    with prepare(place, app.config.skills.max_skill_prompt_bytes, app.secrets) as prepared:
        check_ready(prepared, allow_findings=flags["allow_findings"])
        slug = prepared.name
        result = {"folder": place, "name": f"@{owner}/{slug}"}
        known = next(iter(store.find(slug, owner)), None)
        versions = store.versions(known.id) if known else ()  # yanked ones too: their numbers are taken
        same = next((version for version in versions if version.digest == prepared.digest and not version.yanked), None)
        if same is not None:
            return {**result, "state": "unchanged", "version": same.version, "verdict": same.verdict}
        version = choose_version(prepared.version, versions[0].version if versions else "")
        if flags["dry_run"]:
            return {**result, "state": "ready", "version": version, "verdict": prepared.report.verdict}
        shown = prepared.found.skill.display_name if prepared.found.skill else ""
        subject = f"import @{owner}/{slug}@{version}"
        app.audit.write("hub", subject, decision="allow", digest=prepared.digest)
        release = intake.take(
            PublicationDraft(owner, slug, shown or slug, version, changelog, _keep(store, prepared)), owner
        )
        app.audit.tell("hub", subject, decision="done", digest=release.digest)
        return {**result, "state": "kept", "version": release.version, "verdict": release.verdict}


def _keep(store: HubStore, prepared: PreparedSkill) -> tuple[HubFile, ...]:
    stored_files: list[HubFile] = []
    for file in prepared.chosen.files:
        content, _ = read_regular(os.path.join(prepared.folder, file.path), file.size)
        stored_files.append(HubFile(file.path, len(content), store.blobs.put(content), executable=file.executable))
    return tuple(stored_files)


def _tell(result: dict[str, Any]) -> None:
    words = {"kept": "Kept", "unchanged": "Unchanged", "ready": "Would be kept"}.get(result["state"])
    if result["state"] != "refused":  # that is said already
        say(one_line(f"{words}: {result['name']}@{result['version']}, {result['verdict']}"))
