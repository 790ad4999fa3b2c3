"""`weft publishers`: trust, list, revoke, remove and export the keys of publishers."""

import os
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem
from msgspec import structs

from clawft.app.app import App
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, one_line, print_table, say
from clawft.cli.prompts import confirm
from clawft.errors import ClawftError
from clawft.files import read_optional
from clawft.trust.signing.publishers import (
    ANY,
    PublisherKey,
    Publishers,
    RevokedKey,
    change_publishers,
    is_pattern,
    is_publisher,
    load_publishers,
    render_signers,
)
from clawft.trust.signing.signatures import (
    find_vouched,
    get_publisher,
    judge_key,
    remove_publisher,
    revoke_key,
    trust_key,
)
from clawft.trust.signing.sshsig import MAX_KEY, PublicKey, parse_private_key, parse_public_key
from clawft.workspace import resolve_path

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def load_trusted_publishers(app: App) -> Publishers:
    """Load the publishers that the user trusts. Raises: ClawftError."""
    return load_publishers(app.workspace.user_dir)


def load_key(app: App, text: str) -> PublicKey:
    """The key of a `.pub` file, of a private one, or of a line. Raises: ClawftError."""
    if text.startswith(("ssh-", "ecdsa-", "sk-")) and " " in text:
        return parse_public_key(text)
    path = resolve_path(text, os.getcwd(), app.workspace.home)
    content = read_optional(path, MAX_KEY, follow=True)
    if content is None:
        hint = "Give a .pub file, or its line in quotes: 'ssh-ed25519 AAAA…'"
        raise ClawftError("key-not-found", "There is no such key", path=path, hint=hint)
    if content.startswith(b"-----BEGIN "):
        return parse_private_key(content)[0]
    lines = [line for line in content.decode("ascii", errors="replace").splitlines() if line.strip()]
    if len(lines) != 1:
        raise ClawftError("key-format", f"The file holds {len(lines)} lines, not one key", path=path)
    return parse_public_key(lines[0])


def parse_time(option: str, text: str, *, end: bool = False) -> datetime | None:
    """A day or a time; of a day its beginning, or its end. Raises: UsageError."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.UsageError(f"{option} {text[:40]}: say a day such as 2030-01-31") from error
    day = timedelta(days=1) if end and len(text) == len("2030-01-31") else timedelta()
    return (time if time.tzinfo else time.replace(tzinfo=UTC)) + day


def day_text(time: datetime | None, *, end: bool = False) -> str:
    """The day of a time; of one that ends something, the last day before."""
    return (time - timedelta(seconds=end)).astimezone(UTC).date().isoformat() if time else ""


def render_signing_scope(skills: tuple[str, ...]) -> str:
    """Render which skills a publisher may sign."""
    return "any skill" if ANY in skills else ", ".join(skills)


def key_json(key: PublisherKey) -> dict[str, Any]:
    """A key of a publisher as other programs read it."""
    return {
        "fingerprint": key.public.fingerprint,
        "key": key.public.line,
        "from": key.since.isoformat() if key.since else None,
        "until": key.until.isoformat() if key.until else None,
        "vouched_by": key.vouched_by or None,
    }


def complete_publishers(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    try:
        known = load_trusted_publishers(open_here()).publisher
    except ClawftError:
        return []
    return [CompletionItem(name) for name in sorted(known) if name.startswith(incomplete)]


@click.command("list")
@format_option
def list_command() -> CommandResult:
    """List the publishers you trust with their keys, and the keys you revoked."""
    publishers = load_trusted_publishers(open_here())

    def show() -> None:
        rows, after = [], []
        for name, publisher in sorted(publishers.publisher.items()):
            for key in publisher.key:
                state, reason = _state(publishers, key)
                rows.append((name, state, render_signing_scope(publisher.skills), day_text(key.until, end=True)))
                after.append(f"{key.public.fingerprint}{reason and ': '}{reason}")
        if rows:
            print_table(("PUBLISHER", "STATE", "MAY SIGN", "UNTIL"), rows, wide=2, after=after)
        else:
            say("You trust no publisher. Run: weft publishers trust NAME KEY")
        if publishers.revoked:
            _show_revoked(publishers)

    return CommandResult("clawft.publishers.list.v1", _json(publishers), show)


def _show_revoked(publishers: Publishers) -> None:
    """Print the revoked keys below the others."""
    rows, after = [], []
    for fingerprint, revocation in sorted(publishers.revoked.items()):
        rows.append((fingerprint, day_text(revocation.at)))
        since = f" (what was accepted before {day_text(revocation.since)} excepted)" if revocation.since else ""
        after.append(f"{revocation.reason}{since}")
    click.echo()
    print_table(("REVOKED", "ON"), rows, wide=0, after=after)


def _state(publishers: Publishers, key: PublisherKey) -> tuple[str, str]:
    """Return the state of signatures made with this key now, and the reason if they are not accepted."""
    now = datetime.now(UTC)
    revoked = publishers.find_revoked(key.public.fingerprint, now)
    return ("revoked", revoked.reason) if revoked else judge_key(key, publishers, now)


def _json(publishers: Publishers) -> dict[str, object]:
    listed = [
        {
            "name": name,
            "skills": list(publisher.skills),
            "keys": [key_json(key) | {"state": _state(publishers, key)[0]} for key in publisher.key],
        }
        for name, publisher in sorted(publishers.publisher.items())
    ]
    revoked = [
        {
            "fingerprint": fingerprint,
            "at": revocation.at.isoformat(),
            "since": revocation.since.isoformat() if revocation.since else None,
            "reason": revocation.reason,
        }
        for fingerprint, revocation in sorted(publishers.revoked.items())
    ]
    return {"publishers": listed, "revoked": revoked}


@click.command("trust")
@click.argument("name", shell_complete=complete_publishers)
@click.argument("key")
@click.option("--for", "skills", multiple=True, metavar="PATTERN", help="What they may sign [any]: OWNER/NAME, with *.")
@click.option("--from", "since", default="", metavar="DAY", help="The key counts from this day on.")
@click.option("--until", default="", metavar="DAY", help="The key counts to the end of this day.")
@click.option("--dry-run", is_flag=True, help="Show it, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def trust_command(
    name: str, key: str, skills: tuple[str, ...], since: str, until: str, dry_run: bool, yes: bool
) -> CommandResult | int:
    """Trust a publisher: skills that KEY signed count as theirs.

    KEY is a .pub file, or its line in quotes. Compare its fingerprint with what the publisher says where only they can
    write: who brings you a skill can bring you a key too.
    """
    if not is_publisher(name):
        raise click.UsageError("NAME is made of small letters, digits, '.', '_' and '-'")
    for pattern in skills:
        if not is_pattern(pattern):
            raise click.UsageError(f"--for {pattern[:80]}: say name or owner/name; * and ? stand for others")
    app = open_here()
    public = load_key(app, key)
    start, end = parse_time("--from", since), parse_time("--until", until, end=True)
    made = PublisherKey(public.line, start, end)
    after = trust_key(load_trusted_publishers(app), name, made, skills).publisher[name]
    limits = [f"from {day_text(start)} on"] * bool(start) + [f"until {until}"] * bool(end)
    lines = [
        f"{name}: {public.kind} {public.fingerprint}",
        f"May sign: {render_signing_scope(after.skills)}; {' '.join(limits) or 'until you revoke it'}",
    ]
    if dry_run:
        return _tell_trust(name, made, after.skills, done=False)
    if not yes and not confirm(f"Trust what {name} signs by it?", "To trust a publisher", lines=lines):
        say("Nobody was trusted")
        return 1
    facts = {"skills": list(after.skills), "until": day_text(end, end=True)}
    app.audit.write("publisher", f"trust {name} {public.fingerprint}", decision="granted", detail=facts)
    change_publishers(app.workspace.user_dir, lambda known: trust_key(known, name, made, skills))
    return _tell_trust(name, made, after.skills, done=True)


def _tell_trust(name: str, key: PublisherKey, skills: tuple[str, ...], *, done: bool) -> CommandResult:

    def show() -> None:
        verb = "Trusted" if done else "Would be trusted"
        click.echo(one_line(f"{verb}: {name}, {key.public.fingerprint}, for {render_signing_scope(skills)}"))
        if ANY in skills:
            say(f"To trust them for less: weft publishers trust {name} KEY --for '{name}/*'")

    return CommandResult(
        "clawft.publishers.trust.v1",
        {"name": name, "skills": list(skills), "key": key_json(key), "changed": done},
        show,
    )


MAX_REASON = 500
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}\Z")


@click.command("revoke")
@click.argument("key", shell_complete=complete_publishers)
@click.option("--reason", required=True, metavar="TEXT", help="Why; shown wherever the key turns up.")
@click.option("--since", default="", metavar="DAY", help="Leave what you approved before this day as it is.")
@click.option("--dry-run", is_flag=True, help="Show it, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def revoke_command(key: str, reason: str, since: str, dry_run: bool, yes: bool) -> CommandResult | int:
    """Revoke a key: nothing that it signed is installed any more.

    KEY is a fingerprint (SHA256:…), a .pub file, its line in quotes, or the name of a publisher, for all their keys. It
    counts for what was signed before too, since a stolen key signs with any date; with --since, what you had approved
    before stays. Keys that it vouched for are trusted no more.
    """
    if not reason.strip():
        raise click.UsageError('Say why: --reason "…"')
    start = parse_time("--since", since)
    if start and start > datetime.now(UTC) + timedelta(days=1):
        raise click.UsageError(f"--since {since[:40]}: that day is yet to come")
    app = open_here()
    publishers = load_trusted_publishers(app)
    fingerprints = _find(app, publishers, key)
    revoked = RevokedKey(datetime.now(UTC).replace(microsecond=0), one_line(reason)[:MAX_REASON], start)
    vouched = [each for fingerprint in fingerprints for each in find_vouched(publishers, fingerprint)]
    lines = [f"Revoke {fingerprint}" for fingerprint in fingerprints] + [
        f"No longer trusted on its word: {name}" for name in vouched
    ]
    if dry_run:
        return _tell_revoke(fingerprints, vouched, revoked, done=False)
    if not yes and not confirm("Revoke for good?", "To revoke a key", lines=lines):
        say("Nothing was revoked")
        return 1
    for fingerprint in fingerprints:
        app.audit.write("publisher", f"revoke {fingerprint}", decision="revoked", detail={"reason": revoked.reason})

    def change(known: Publishers) -> Publishers:
        for fingerprint in fingerprints:
            known = revoke_key(known, fingerprint, revoked)
        return known

    change_publishers(app.workspace.user_dir, change)
    return _tell_revoke(fingerprints, vouched, revoked, done=True)


def _find(app: App, publishers: Publishers, text: str) -> list[str]:
    """The fingerprints of the keys that are meant. Raises: ClawftError."""
    if _FINGERPRINT.match(text):
        return [text]
    if text in publishers.publisher or (is_publisher(text) and not text.endswith(".pub")):
        return [key.public.fingerprint for key in get_publisher(publishers, text).key]
    return [load_key(app, text).fingerprint]


def _tell_revoke(keys: list[str], vouched: list[str], revoked: RevokedKey, *, done: bool) -> CommandResult:
    since = revoked.since.isoformat() if revoked.since else None
    facts = {"keys": keys, "vouched": vouched, "reason": revoked.reason, "since": since, "changed": done}

    def show() -> None:
        for key in keys:
            click.echo(f"{'Revoked' if done else 'Would be revoked'}: {key}")
        for name in vouched:
            say(
                f"No longer trusted, since that key vouched for it: {name}. Trust it by itself, if you know whose it is"
            )

    return CommandResult("clawft.publishers.revoke.v1", facts, show)


@click.command("remove")
@click.argument("name", shell_complete=complete_publishers)
@click.option("--dry-run", is_flag=True, help="Show it, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def remove_command(name: str, dry_run: bool, yes: bool) -> CommandResult | int:
    """Trust a publisher no more. What was revoked stays revoked; what is installed stays where it is."""
    app = open_here()
    keys = [key.public.fingerprint for key in get_publisher(load_trusted_publishers(app), name).key]
    done = not dry_run
    if done and not yes and not confirm(f"Trust {name} no more?", "To remove a publisher", lines=keys):
        say("Nobody was removed")
        return 1
    if done:
        app.audit.write("publisher", f"remove {name}", decision="revoked", detail={"keys": keys})
        change_publishers(app.workspace.user_dir, lambda known: remove_publisher(known, name))
    return CommandResult(
        "clawft.publishers.remove.v1",
        {"name": name, "keys": keys, "changed": done},
        one_line(f"{'Removed' if done else 'Would be removed'}: {name}"),
    )


@click.command("export")
@click.argument("names", nargs=-1, shell_complete=complete_publishers)
@format_option
def export_command(names: tuple[str, ...]) -> CommandResult:
    """Print the keys of publishers as OpenSSH's allowed signers; all of them without NAMES. Revoked ones are left out.

    What this prints, saved as a file, makes `ssh-keygen -Y verify -f FILE -I NAME -n clawft-skill` know them. Which
    skills they may sign is not said there.
    """
    publishers = load_trusted_publishers(open_here())
    for name in names:
        get_publisher(publishers, name)
    text = render_signers(_without_fallen(publishers), names)

    def show() -> None:
        if not text:
            say("There is no key to export")
        click.echo(text, nl=False)

    return CommandResult("clawft.publishers.export.v1", {"allowed_signers": text.splitlines()}, show)


def _without_fallen(publishers: Publishers) -> Publishers:
    """Return the publishers without keys that were trusted only through a key that is no longer accepted.

    A key's validity period is ignored here: an expired key or one not valid yet stays.
    """

    def stands(key: PublisherKey) -> bool:
        always = structs.replace(key, since=None, until=None)
        return judge_key(always, publishers, datetime.now(UTC))[0] == "good"

    left = {
        name: structs.replace(publisher, key=tuple(filter(stands, publisher.key)))
        for name, publisher in publishers.publisher.items()
    }
    return structs.replace(publishers, publisher=left)
