"""`weft skills show NAME`: all there is to know about one skill."""

import shlex

import click
from msgspec import structs

from clawft.app import App
from clawft.cli._complete import complete_skills
from clawft.cli.hooks._brought import brought_lines
from clawft.cli.options import dir_option, finish, format_option, open_here
from clawft.cli.output import diagnostic_lines, one_line, print_json
from clawft.cli.skills._scanned import finding_lines, scanned_lines
from clawft.cli.skills._signature import load_signature, signature_json
from clawft.describe.detail import all_fields
from clawft.describe.diagnostics import to_json
from clawft.describe.reviews import brought_json
from clawft.describe.scanned import load_scanned, scanned_json
from clawft.describe.skills import describe_skill, digest_of, tokens_of
from clawft.discovery.catalog import Found
from clawft.discovery.digest import Digest
from clawft.discovery.hooks import load_skill_hooks
from clawft.discovery.installing import install_command
from clawft.format.model import Skill
from clawft.plugging import check_skill_tools
from clawft.render import extract_variables
from clawft.trust import Standing

__all__ = ["command", "detail_lines"]


@click.command("show")
@click.argument("name", shell_complete=complete_skills)
@format_option
@dir_option
def command(name: str, output: str, dirs: tuple[str, ...]) -> None:
    """Show one skill: NAME, or SCOPE:NAME for a shadowed one.

    @OWNER/NAME, or REGISTRY:NAME, is asked for where it is published: what it is, and all versions with dates, verdicts
    and changelogs. With @VERSION behind it, that one.
    """
    app = open_here(dirs)
    finish(app, change=False)
    if name.startswith("@") or ":" in name:
        from clawft.cli.skills._published import is_published, show_published  # what is here needs no network

        if is_published(app, name):
            return show_published(app, name, output)
    standing = app.get_skill(name)
    digest = digest_of(standing)
    if output == "json":
        said = (*app.diagnose(standing.found), *digest.diagnostics)
        summary = describe_skill(standing, digest)
        fields = {**structs.asdict(summary), **all_fields(standing, summary)}
        fields["scan"] = scanned_json(load_scanned(app, standing))
        brought = load_skill_hooks([standing.found])
        fields["brings_hooks"] = brought_json(brought, standing.found.skill, standing.found.file)
        fields["signature"] = signature_json(load_signature(app, standing.found, digest.value))
        return print_json("clawft.skills.show.v1", **fields, diagnostics=[to_json(one) for one in said])
    for line in detail_lines(app, standing, digest):
        click.echo(line)
    return None


def detail_lines(app: App, standing: Standing, digest: Digest) -> list[str]:
    """All there is to know about a skill, to be read. Raises: ClawftError."""
    folder = app.workspace.shorten(standing.found.folder) + "/" * bool(standing.found.base_dir)
    lines = [f"{label}: {one_line(value)}" for label, value in _lines(app, standing, folder)]
    if standing.found.skill:
        lines += [*_placeholders(app, standing), *_requirements(standing.found.skill)]
        lines += brought_lines(load_skill_hooks([standing.found]), standing.found.skill, standing.found.file)
    lines.append(f"Digest: {digest.value or 'none'}")
    signature = load_signature(app, standing.found, digest.value)
    lines += [f"Signature: {one_line(signature.line)}"] if signature else []
    scanned = load_scanned(app, standing)
    lines += [*scanned_lines(scanned), *finding_lines(scanned.report)]
    for one in dict.fromkeys((*standing.reasons, *app.diagnose(standing.found), *digest.diagnostics)):
        lines += diagnostic_lines(one, where=app.workspace.shorten(one.where))
    return lines


def _lines(app: App, standing: Standing, folder: str) -> list[tuple[str, str]]:
    skill, at = standing.found.skill, standing.found.location
    if skill is None:
        return [("Skill", standing.name), ("State", "broken"), ("Scope", f"{at.scope} ({folder})")]
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
        ("State", standing.state),
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
        ("Provided Tools", _provided(app, skill, standing.found)),
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
    """What its lists leave of the session's tools, by our names; nothing to say where there are none."""
    if not skill.allowed_tools and not skill.disallowed_tools:
        return ""
    from clawft.trust.patterns import describe_left

    return ", ".join(describe_left(skill.allowed_tools, skill.disallowed_tools)) or "none"


def _provided(app: App, skill: Skill, found: Found) -> str:
    """The tools that it brings, each with the program that would run; without one, it is not offered."""
    offered, _ = check_skill_tools(app, skill, found)
    programs = {one.name: one.shown + (", repeatable" if one.repeatable else "") for one in offered}
    return ", ".join(f"{one.name} ({programs.get(one.name, 'not offered')})" for one in skill.provided_tools)


def _placeholders(app: App, standing: Standing) -> list[str]:
    skill = app.load_prompt(standing.found)
    numbered = skill.format == "command"
    asked = extract_variables(skill.prompt or "", skill.arguments or skill.variables, numbered=numbered)
    return [f"Placeholders: {one_line(', '.join(asked))}"] if asked else []


def _requirements(skill: Skill) -> list[str]:
    requires = skill.requires
    wanted = [(field, getattr(requires, field)) for field in requires.__struct_fields__]
    lines = [f"Requires {field.replace('_', ' ')}: {one_line(', '.join(names))}" for field, names in wanted if names]
    ways = [install_command(one) or f"weft skills deps {shlex.quote(skill.name)}" for one in skill.install]
    return lines + [f"Install: {one_line(way)}" for way in dict.fromkeys(ways)]


def _yes(value: bool) -> str:
    return "yes" if value else "no"
