"""`weft skills show`: everything about one skill, and its signature."""

import os
import shlex
from typing import TYPE_CHECKING, Any

import click
from msgspec import structs

from clawft.app.app import App
from clawft.app.plugins import check_skill_tools
from clawft.cli.completion import complete_skills
from clawft.cli.options import dir_option, finish_installation, format_option, open_here
from clawft.cli.output import CommandResult, diagnostic_lines, one_line
from clawft.cli.review import finding_lines, render_skill_hooks, scanned_lines
from clawft.cli.skills.verify import find_sites
from clawft.errors import ClawftError
from clawft.install.lockfile.file import load_lock
from clawft.server.protocol.base import diagnostic_json
from clawft.server.views.details import all_fields
from clawft.server.views.review import brought_json, load_scanned, scanned_json
from clawft.server.views.skills import digest_of, tokens_of, view_skill
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.discovery.digest import Digest
from clawft.skills.discovery.hooks import load_skill_hooks
from clawft.skills.parse.dependencies import install_command
from clawft.skills.parse.model import Skill
from clawft.skills.render.template import extract_variables
from clawft.trust.patterns import list_remaining_tools
from clawft.trust.signing.publishers import SkillStatement, load_publishers, written_version
from clawft.trust.signing.signatures import check_signature
from clawft.trust.status import SkillStatus

if TYPE_CHECKING:
    from clawft.trust.signing.signatures import Signature


def load_signature(app: App, found: DiscoveredSkill, digest: str) -> "Signature | None":
    """Load the signature of a skill with its current state; None if it has none.

    Raises: ClawftError for an invalid trust file.
    """
    if not os.path.lexists(os.path.join(found.folder, ".clawft-signature")):
        return None

    version, owner = _find_locked(app, found) or (written_version(found), "")
    publishers = load_publishers(app.workspace.user_dir)
    return check_signature(found.folder, SkillStatement(found.name, version, digest), publishers, owner=owner)


def _find_locked(app: App, found: DiscoveredSkill) -> tuple[str, str] | None:
    """The version and the owner of a skill that was installed, as its lock has them."""
    name = os.path.basename(found.folder)
    for site in find_sites(app.workspace, "all"):
        try:
            locked = load_lock(site.lock).get(name)
        except ClawftError:  # `verify` tells of it
            continue
        if locked and found.folder in [site.folder(client, name) for client in locked.to]:
            return locked.version, locked.origin.whose
    return None


def signature_json(signature: "Signature | None") -> dict[str, Any] | None:
    """Return a signature as JSON; None for no signature."""
    if signature is None:
        return None
    return {
        "state": signature.state,
        "key": signature.key or None,
        "publisher": signature.publisher or None,
        "reason": signature.reason or None,
    }


@click.command("show")
@click.argument("name", shell_complete=complete_skills)
@format_option
@dir_option
def command(name: str, dirs: tuple[str, ...]) -> CommandResult:
    """Show one skill: NAME, or SCOPE:NAME for a shadowed one.

    @OWNER/NAME, or REGISTRY:NAME, is asked for where it is published: what it is, and all versions with dates, verdicts
    and changelogs. With @VERSION behind it, that one.
    """
    app = open_here(dirs)
    finish_installation(app, change=False)
    if name.startswith("@") or ":" in name:
        from clawft.cli.skills.registry import is_published, show_published  # what is here needs no network

        if is_published(app, name):
            return show_published(app, name)
    status = app.get_skill(name)
    digest = digest_of(status)

    def make_document() -> dict[str, Any]:
        diagnostics = (*app.diagnose(status.found), *digest.diagnostics)
        summary = view_skill(status, digest)
        brought = load_skill_hooks([status.found])
        return {
            **structs.asdict(summary),
            **all_fields(status, summary),
            "scan": scanned_json(load_scanned(app, status)),
            "brings_hooks": brought_json(brought, status.found.skill, status.found.file),
            "signature": signature_json(load_signature(app, status.found, digest.value)),
            "diagnostics": [diagnostic_json(diagnostic) for diagnostic in diagnostics],
        }

    def show() -> None:
        for line in detail_lines(app, status, digest):
            click.echo(line)

    return CommandResult("clawft.skills.show.v1", make_document, show)


def detail_lines(app: App, status: SkillStatus, digest: Digest) -> list[str]:
    """All there is to know about a skill, to be read. Raises: ClawftError."""
    folder = app.workspace.shorten(status.found.folder) + "/" * bool(status.found.base_dir)
    lines = [f"{label}: {one_line(value)}" for label, value in _lines(app, status, folder)]
    if status.found.skill:
        lines += [*_placeholders(app, status), *_requirements(status.found.skill)]
        lines += render_skill_hooks(load_skill_hooks([status.found]), status.found.skill, status.found.file)
    lines.append(f"Digest: {digest.value or 'none'}")
    signature = load_signature(app, status.found, digest.value)
    lines += [f"Signature: {one_line(signature.line)}"] if signature else []
    scanned = load_scanned(app, status)
    lines += [*scanned_lines(scanned), *finding_lines(scanned.report)]
    for reason in dict.fromkeys((*status.reasons, *app.diagnose(status.found), *digest.diagnostics)):
        lines += diagnostic_lines(reason, where=app.workspace.shorten(reason.where))
    return lines


def _lines(app: App, status: SkillStatus, folder: str) -> list[tuple[str, str]]:
    skill, at = status.found.skill, status.found.location
    if skill is None:
        return [("Skill", status.name), ("State", "broken"), ("Scope", f"{at.scope} ({folder})")]
    tokens = tokens_of(skill)
    title = f"{skill.emoji} {skill.name}" if skill.emoji else skill.name
    lines = [
        ("Skill", title),
        ("Display Name", skill.display_name),
        ("Description", skill.description),
        ("When To Use", skill.when_to_use),
        ("Version", skill.version),
        ("Format", "SKILL.md" if skill.format == "skill.md" else skill.format),
        ("Scope", f"{at.scope} ({folder})"),
        ("State", status.state),
        ("Variables", ", ".join(skill.variables)),
        ("Arguments", ", ".join(skill.arguments)),
        ("Argument Hint", skill.argument_hint),
        ("User Invocable", _yes(skill.user_invocable)),
        ("Model Invocable", _yes(not skill.disable_model_invocation)),
        ("Context", skill.context),
        ("Agent", skill.agent),
        ("Model", skill.model),
        ("Allowed Tools", ", ".join(skill.allowed_tools)),
        ("Disallowed Tools", ", ".join(skill.disallowed_tools)),
        ("Gets Tools", _gets(skill)),
        ("Provided Tools", _provided(app, skill, status.found)),
        ("Execution", skill.execution if skill.execution != "prompt" else ""),
        ("Tags", ", ".join(skill.tags)),
        ("License", skill.license),
        ("Compatibility", skill.compatibility),
        ("Author", skill.author),
        ("Homepage", skill.homepage),
        ("Tokens", f"about {tokens.catalog} in a catalog, {tokens.body} when loaded"),
    ]
    return [(label, value) for label, value in lines if value]


def _gets(skill: Skill) -> str:
    """Return the session's tools that the skill's lists leave, by weft's names; '' if it has no lists."""
    if not skill.allowed_tools and not skill.disallowed_tools:
        return ""

    return ", ".join(list_remaining_tools(skill.allowed_tools, skill.disallowed_tools)) or "none"


def _provided(app: App, skill: Skill, found: DiscoveredSkill) -> str:
    """The tools that it brings, each with the program that would run; without one, it is not offered."""
    offered, _ = check_skill_tools(app, skill, found)
    programs = {tool.name: tool.shown + (", repeatable" if tool.repeatable else "") for tool in offered}
    return ", ".join(
        f"{provided_tool.name} ({programs.get(provided_tool.name, 'not offered')})"
        for provided_tool in skill.provided_tools
    )


def _placeholders(app: App, status: SkillStatus) -> list[str]:
    skill = app.load_prompt(status.found)
    numbered = skill.format == "command" or status.found.location.claude
    asked = extract_variables(skill.prompt or "", skill.arguments or skill.variables, numbered=numbered)
    return [f"Placeholders: {one_line(', '.join(asked))}"] if asked else []


def _requirements(skill: Skill) -> list[str]:
    requires = skill.requires
    wanted = [(field, getattr(requires, field)) for field in requires.__struct_fields__]
    lines = [f"Requires {field.replace('_', ' ')}: {one_line(', '.join(names))}" for field, names in wanted if names]
    ways = [install_command(step) or f"weft skills deps {shlex.quote(skill.name)}" for step in skill.install]
    return lines + [f"Install: {one_line(way)}" for way in dict.fromkeys(ways)]


def _yes(value: bool) -> str:
    return "yes" if value else "no"
