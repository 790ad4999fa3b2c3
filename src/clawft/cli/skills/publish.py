"""`weft skills publish DIR|NAME`: a skill goes to a registry, as a version that never changes."""

import os
import sys
from typing import Any

import anyio
import click
from msgspec import Struct, structs

from clawft.app.app import App
from clawft.app.install import open_registry
from clawft.cli.completion import complete_registries
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, is_json_asked, one_line, say, say_lines, show_diagnostic, show_diagnostics
from clawft.cli.prompts import confirm
from clawft.cli.skills.sign import choose_signer
from clawft.cli.skills.targets import complete_targets, find_folder
from clawft.errors import Diagnostic, Refused
from clawft.files import read_optional, replace_file
from clawft.install.publish.preparation import PreparedSkill, check_ready, check_text, prepare
from clawft.install.publish.publication import (
    TERMS,
    Part,
    PlannedPublication,
    PublicationOptions,
    has_terms,
    plan_publication,
    with_signature,
)
from clawft.install.publish.registry import PublicationResult, PublishingRegistry
from clawft.server.protocol.base import diagnostic_json
from clawft.trust.signing.publishers import SKILL_SPACE, load_publishers
from clawft.trust.signing.signatures import SIGNATURE_NAME, Signature, check_signature, require_signature
from clawft.trust.signing.sshsig import MAX_BYTES

SHOWN = 30  # files


class _Options(Struct, frozen=True):
    """Options of the command."""

    registry: str
    owner: str
    slug: str
    version: str
    part: Part | None
    changelog: str
    tags: tuple[str, ...]
    sign: bool
    key: str
    ssh: bool
    accept_license: bool
    allow_findings: bool
    dry_run: bool
    yes: bool

    @property
    def wish(self) -> PublicationOptions:
        accepted = self.accept_license
        return PublicationOptions(
            self.owner, self.slug, self.version, self.part, self.changelog, self.tags, accepted, self.sign
        )


@click.command("publish")
@click.argument("target", metavar="DIR|NAME", shell_complete=complete_targets)
@click.option("--registry", default="", metavar="NAME", help="Where to.", shell_complete=complete_registries)
@click.option("--owner", default="", metavar="HANDLE", help="Publish as this owner, if your token may.")
@click.option("--slug", default="", metavar="NAME", help="Its name there, if it is not the skill's.")
@click.option("--version", default="", metavar="X.Y.Z", help="As this version, if SKILL.md says none.")
@click.option(
    "--bump", "part", type=click.Choice(["patch", "minor", "major"]), help="Count this part up, in SKILL.md too."
)
@click.option("--changelog", default="", metavar="TEXT", help="What is new.")
@click.option(
    "--tag", "tags", multiple=True, default=("latest",), show_default=True, help="A name for it (repeatable)."
)
@click.option("--sign", is_flag=True, help="Sign it first, as `weft skills sign` does.")
@click.option("--key", default="", metavar="FILE", help="The key for --sign.")
@click.option("--ssh", is_flag=True, help="Let ssh-keygen sign, with --sign.")
@click.option("--accept-license", is_flag=True, help="Agree to the terms of the registry, without being asked.")
@click.option("--allow-findings", is_flag=True, help="Publish what looks like a secret, and is none.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent, and send nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask. Terms need --accept-license.")
@format_option
def command(target: str, **values: Any) -> CommandResult | int:
    """Publish a skill to ClawHub or to a hub of yours, after a check and a look at what is sent.

    What is broken, malicious or holds secrets is refused; hidden and ignored files are left out. The version is the one
    that SKILL.md, --version or --bump says; where none does, 1.0.0, then the next patch. What is there already is not
    sent again. A token for the registry is needed: weft registries token NAME.
    """
    options = _Options(**values)
    app = open_here()
    place = find_folder(app, target)
    with prepare(place, app.config.skills.max_skill_prompt_bytes, app.secrets) as prepared:
        for diagnostic in prepared.problems:
            if diagnostic.severity == "error" or (diagnostic.severity != "note" and not is_json_asked()):
                show_diagnostic(diagnostic, where=diagnostic.where)
        check_ready(prepared, allow_findings=options.allow_findings)
        check_text("changelog", options.changelog, app.secrets, allow_findings=options.allow_findings)
        return _publish(app, place, prepared, options)


def _publish(app: App, place: str, prepared: PreparedSkill, options: _Options) -> CommandResult | int:
    registry = open_registry(app, options.registry)
    if not registry.has_token and not options.dry_run:
        raise Refused("publish-token", f"There is no token for '{registry.name}'", hint=_get_token(registry))
    if has_terms(registry.url) and options.yes and not (options.accept_license or options.dry_run):
        raise Refused("publish-terms", f"To publish there means to agree: {TERMS}", hint="Pass --accept-license")
    planned = _plan_or_ask(app, registry, prepared, options)
    if planned.same:
        lost = planned.parcel.signed and not planned.same.signed
        but = ", without its signature; to publish that: --bump patch --sign" if lost else ""
        say(one_line(f"Unchanged: {registry.name} has this content as {planned.same.version}{but}"))
        return _report(registry, planned, Signature("unsigned"))
    planned, signature = _sign(app, place, planned, options)
    if not (options.yes and is_json_asked()):
        say_lines(_lines(registry, planned, prepared, signature))
    if options.dry_run:
        return _report(registry, planned, signature)
    if not _agree(registry, options):
        say("Nothing was published")
        return 1
    publication = planned.publication
    subject = f"{publication.slug}@{publication.version} to {registry.url} as @{publication.owner}"
    about: Any = {"skill": prepared.name, "digest": planned.parcel.digest}
    app.audit.write("publish", subject, decision="allow", **about)
    done = anyio.run(_send, open_registry(app, options.registry), planned)
    app.audit.tell("publish", subject, decision="done", **about)
    _write_back(app, place, prepared, planned)  # only now: what was not taken leaves the skill as it was
    return _report(registry, planned, signature, done)


def _plan_or_ask(
    app: App, registry: PublishingRegistry, prepared: PreparedSkill, options: _Options
) -> PlannedPublication:
    """Return the plan of the publication.

    If the version in SKILL.md is already published, offer the user the next patch version.
    """
    try:
        return anyio.run(_plan, registry, prepared, options.wish)
    except Refused as error:
        asked = not options.yes and not options.dry_run and sys.stdin is not None and sys.stdin.isatty()
        question = f"{error}. Publish it as the next patch?"
        if error.code != "version-taken" or not asked or not click.confirm(one_line(question), err=True):
            raise
    return anyio.run(_plan, open_registry(app, registry.name), prepared, structs.replace(options.wish, part="patch"))


async def _plan(registry: PublishingRegistry, prepared: PreparedSkill, wish: PublicationOptions) -> PlannedPublication:
    async with registry:
        return await plan_publication(registry, prepared, wish)


async def _send(registry: PublishingRegistry, planned: PlannedPublication) -> PublicationResult:
    async with registry:
        publication = planned.publication
        if has_terms(registry.url):
            publication = structs.replace(publication, accept_license=True)  # nobody comes here who did not agree
        shown = not is_json_asked() and sys.stderr is not None and sys.stderr.isatty()
        try:
            return await registry.publish(publication, planned.parcel, _progress if shown else lambda *_: None)
        finally:
            if shown:
                click.echo("\r\x1b[K", nl=False, err=True)


def _progress(done: int, total: int) -> None:
    click.echo(f"\r\x1b[KSending: {done} of {total} files", nl=False, err=True)


def _sign(app: App, place: str, planned: PlannedPublication, options: _Options) -> tuple[PlannedPublication, Signature]:
    """Sign it, or look at the signature that is there. Raises: Refused for one that would be refused by others."""
    there = read_optional(os.path.join(place, SIGNATURE_NAME), MAX_BYTES)
    if options.sign and options.dry_run:
        return planned, Signature("unsigned", reason="it would be signed")
    if options.sign:
        signer = choose_signer(app, options.key, ssh=options.ssh, yes=options.yes)
        there = signer.sign(SKILL_SPACE, planned.statement.text).encode()
    if there is None:
        return planned, Signature("unsigned")
    planned = with_signature(planned, there)
    publishers = load_publishers(app.workspace.user_dir)
    owner = planned.publication.owner
    signature = check_signature(planned.parcel.folder, planned.statement, publishers, owner=owner)
    if signature.state == "bad":
        message = f"The signature is not of what would be published as {planned.publication.version}"
        raise Refused("signature-bad", message, hint=f"Sign again with --sign, or remove {SIGNATURE_NAME}")
    require_signature(signature, required=False)
    return planned, signature


def _write_back(app: App, place: str, prepared: PreparedSkill, planned: PlannedPublication) -> None:
    """Write the version and the signature made during publishing back to the user's folder."""
    if planned.edited:
        path = os.path.join(place, os.path.basename(prepared.found.file))
        replace_file(path, planned.edited.encode(), 0o644)
        say(one_line(f"{app.workspace.shorten(path)} says {planned.publication.version} now"))
    made = read_optional(os.path.join(planned.parcel.folder, SIGNATURE_NAME), MAX_BYTES)
    if made is not None:
        replace_file(os.path.join(place, SIGNATURE_NAME), made, 0o644)


def _agree(registry: PublishingRegistry, options: _Options) -> bool:
    """Return whether a person agrees: to the terms, and to sending it. Raises: Refused where there is nobody to ask."""
    hint = "Pass --accept-license and --yes"
    agreed = options.accept_license or not has_terms(registry.url)
    if not agreed and not confirm("Do you agree to that?", "To agree to terms", hint, [TERMS]):
        return False
    return options.yes or confirm("Publish this?", "To publish a skill")


def _lines(
    registry: PublishingRegistry, planned: PlannedPublication, prepared: PreparedSkill, signature: Signature
) -> list[str]:
    """Render everything that will be sent, and to which registry."""
    publication, parcel = planned.publication, planned.parcel
    latest = planned.published.latest
    before = f"after {latest}" if latest else "the first version" if planned.published.asked else "if that is free"
    owner = f" as @{publication.owner}" if publication.owner else ""
    files = [f"  {file.path}{' *' if file.executable else ''}  {file.size:,} bytes" for file in parcel.files]
    rest = [f"  and {len(files) - SHOWN} more"] if len(files) > SHOWN else []
    left_out = ", ".join(file.path for file in prepared.chosen.left_out if file.path != SIGNATURE_NAME)
    lines = [
        f"{publication.slug} {publication.version}, {before}, to {registry.name} ({registry.url}){owner}",
        f"Files: {len(files)}, {parcel.size:,} bytes (* may be executed)",
        *files[:SHOWN],
        *rest,
        *([f"Not sent: {left_out}"] if left_out else []),
        *([f"SKILL.md will say {publication.version}"] if planned.edited else []),
        f"Signature: {_signed_line(planned, signature)}",
        f"Scanned: {prepared.report.verdict}",
        *([f"Terms: {TERMS}"] if has_terms(registry.url) else []),
    ]
    return [line if line.startswith("  ") else one_line(line) for line in map(_clean, lines)]


def _signed_line(planned: PlannedPublication, signature: Signature) -> str:
    """By which key; and that it will not count, where the skill goes by another name than it was signed as."""
    name = planned.statement.name
    other = f"; of '{name}', so that under this name it counts as untrusted" if name != planned.publication.slug else ""
    return f"by {signature.key}{other}" if signature.key else signature.line


def _clean(line: str) -> str:
    return ("  " if line.startswith("  ") else "") + one_line(line)


def _report(
    registry: PublishingRegistry,
    planned: PlannedPublication,
    signature: Signature,
    done: PublicationResult | None = None,
) -> CommandResult:
    publication = planned.publication
    diagnostics = _find_problems(registry, planned, done)
    show_diagnostics(diagnostics)

    def show() -> None:
        if planned.same is None:
            waits = "; it waits for the registry to look at it" if done and done.pending else ""
            would = "Would be published" if planned.published.asked else "Could be published"
            verb = would if done is None else "Was there already" if done.again else "Published"
            owner = f"@{publication.owner}/" if publication.owner else ""
            click.echo(one_line(f"{verb}: {owner}{publication.slug} {publication.version}{waits}"))

    document: dict[str, Any] = {
        "registry": registry.name,
        "url": registry.url,
        "owner": publication.owner or None,
        "slug": publication.slug,
        "version": publication.version,
        "asked": planned.published.asked,
        "previous_version": planned.published.latest or None,
        "unchanged": planned.same is not None,
        "digest": planned.parcel.digest,
        "fingerprint": planned.parcel.fingerprint or None,
        "signature": {"state": signature.state, "key": signature.key or None},
        "files": [{"path": file.path, "size": file.size, "sha256": file.sha256} for file in planned.parcel.files],
        "published": done is not None,
        "pending": done is not None and done.pending,
        "diagnostics": [diagnostic_json(diagnostic) for diagnostic in diagnostics],
    }
    failed = any(diagnostic.severity == "error" for diagnostic in diagnostics)
    return CommandResult("clawft.skills.publish.v1", document, show, int(failed))


def _find_problems(
    registry: PublishingRegistry, planned: PlannedPublication, done: PublicationResult | None
) -> list[Diagnostic]:
    """A registry that was not asked; files it does not list as they were sent: a signature is the least of them."""
    if not planned.published.asked:
        message = f"There is no token for '{registry.name}', so it was not asked what it has"
        return [Diagnostic("publish-token", "warning", message, hint=_get_token(registry))]
    lost = done.missing if done else ()
    if not lost:
        return []
    severity: Any = "warning" if lost == (SIGNATURE_NAME,) else "error"
    message = f"'{registry.name}' does not list as they were sent: {', '.join(lost[:10])}"
    return [Diagnostic("publish-incomplete", severity, message, hint="Install it, and run: weft skills verify")]


def _get_token(registry: PublishingRegistry) -> str:
    return f"Get one there, then: weft registries token {registry.name}"
