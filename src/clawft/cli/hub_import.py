"""`weft hub import`."""

import os
from typing import Any

import click

from clawft.app import App
from clawft.cli._complete import complete_folders
from clawft.cli.hub._open import folder_option, open_hub, settings_here
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say, show_diagnostic
from clawft.describe.diagnostics import to_json
from clawft.errors import ClawftError, NotFound
from clawft.files import read_regular
from clawft.hub.intake import Intake
from clawft.hub.model import Draft, HubFile
from clawft.hub.store import HubStore
from clawft.publishing.bump import choose_version
from clawft.publishing.check import Prepared, check_ready, prepare

__all__ = ["command"]


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
def command(folders: tuple[str, ...], owner: str, folder: str | None, output: str, **given: Any) -> int:
    """Publish skills of this machine into the hub, without a token: each DIR is a skill, or a folder of skills.

    They are checked and scanned as if they were sent. Content that is there already is not kept again; what changed is
    the next patch version, unless SKILL.md says another. One that is refused does not keep the others back.
    """
    app = open_here()
    results: list[dict[str, Any]] = []
    failures = set[int]()
    with open_hub(app, folder) as store:
        intake = Intake(store, settings_here(app, folder))
        try:
            for place in _find(folders):
                try:
                    result = _import(app, store, intake, place, owner=owner, **given)
                except ClawftError as error:
                    failures.add(error.exit_code)
                    result = {"folder": place, "state": "refused", "error": to_json(error.diagnostic)}
                    show_diagnostic(error.diagnostic, where=app.workspace.shorten(error.diagnostic.path or place))
                results.append(result)
                if output == "table":
                    _tell(result)
        finally:
            intake.close()
    if output == "json":
        print_json("clawft.hub.import.v1", owner=owner, skills=results)
    return min(failures, default=0)


def _find(folders: tuple[str, ...]) -> list[str]:
    """The skills that are meant. Raises: NotFound."""
    found: list[str] = []
    for given in folders:
        place = os.path.abspath(os.path.expanduser(given))
        inner = sorted(os.path.join(place, name) for name in os.listdir(place)) if os.path.isdir(place) else []
        skills = (
            [place] if f"{place}/SKILL.md" in inner else [one for one in inner if os.path.isfile(f"{one}/SKILL.md")]
        )
        if not skills:
            raise NotFound("no-skill-here", "There is no skill in it", path=given, hint="A skill has a SKILL.md")
        found += skills
    return list(dict.fromkeys(found))


def _import(
    app: App, store: HubStore, intake: Intake, place: str, *, owner: str, changelog: str, **flags: bool
) -> dict[str, Any]:
    """What became of one skill. Raises: ClawftError."""
    with prepare(place, app.config.skills.max_skill_prompt_bytes, app.secrets) as prepared:
        check_ready(prepared, allow_findings=flags["allow_findings"])
        slug = prepared.name
        result = {"folder": place, "name": f"@{owner}/{slug}"}
        known = next(iter(store.find(slug, owner)), None)
        versions = store.versions(known.id) if known else ()  # yanked ones too: their numbers are taken
        same = next((one for one in versions if one.digest == prepared.digest and not one.yanked), None)
        if same is not None:
            return {**result, "state": "unchanged", "version": same.version, "verdict": same.verdict}
        version = choose_version(prepared.version, versions[0].version if versions else "")
        if flags["dry_run"]:
            return {**result, "state": "ready", "version": version, "verdict": prepared.report.verdict}
        shown = prepared.found.skill.display_name if prepared.found.skill else ""
        subject = f"import @{owner}/{slug}@{version}"
        app.audit.write("hub", subject, decision="allowed", digest=prepared.digest)
        kept = intake.take(Draft(owner, slug, shown or slug, version, changelog, _keep(store, prepared)), owner)
        app.audit.tell("hub", subject, decision="done", digest=kept.digest)
        return {**result, "state": "kept", "version": kept.version, "verdict": kept.verdict}


def _keep(store: HubStore, prepared: Prepared) -> tuple[HubFile, ...]:
    kept: list[HubFile] = []
    for one in prepared.chosen.files:
        content, _ = read_regular(os.path.join(prepared.folder, one.path), one.size)
        kept.append(HubFile(one.path, len(content), store.put_blob(content), executable=one.executable))
    return tuple(kept)


def _tell(result: dict[str, Any]) -> None:
    words = {"kept": "Kept", "unchanged": "Unchanged", "ready": "Would be kept"}.get(result["state"])
    if result["state"] != "refused":  # that is said already
        say(one_line(f"{words}: {result['name']}@{result['version']}, {result['verdict']}"))
