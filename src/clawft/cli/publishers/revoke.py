"""`weft publishers revoke KEY`: what this key signed counts no more."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click
from msgspec import Struct

from clawft.app import App
from clawft.cli._confirm import confirm
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.cli.publishers._given import complete_publishers, load, load_key, parse_time
from clawft.signing.publishers import Publishers, Revoked, change_publishers, is_publisher
from clawft.signing.trusting import find_vouched, get_publisher, revoke_key

__all__ = ["command"]

MAX_REASON = 500
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}\Z")


class _Options(Struct, frozen=True):
    """What was asked for."""

    reason: str
    since: str
    dry_run: bool
    yes: bool
    output: str


@click.command("revoke")
@click.argument("key", shell_complete=complete_publishers)
@click.option("--reason", required=True, metavar="TEXT", help="Why; shown wherever the key turns up.")
@click.option("--since", default="", metavar="DAY", help="Leave what you approved before this day as it is.")
@click.option("--dry-run", is_flag=True, help="Show it, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(key: str, **given: Any) -> int:
    """Revoke a key: nothing that it signed is installed any more.

    KEY is a fingerprint (SHA256:…), a .pub file, its line in quotes, or the name of a publisher, for all their keys. It
    counts for what was signed before too, since a stolen key signs with any date; with --since, what you had approved
    before stays. Keys that it vouched for are trusted no more.
    """
    options = _Options(**given)
    if not options.reason.strip():
        raise click.UsageError('Say why: --reason "…"')
    since = parse_time("--since", options.since)
    if since and since > datetime.now(UTC) + timedelta(days=1):
        raise click.UsageError(f"--since {options.since[:40]}: that day is yet to come")
    app = open_here()
    publishers = load(app)
    fingerprints = _find(app, publishers, key)
    revoked = Revoked(
        datetime.now(UTC).replace(microsecond=0),
        one_line(options.reason)[:MAX_REASON],
        since,
    )
    vouched = [each for one in fingerprints for each in find_vouched(publishers, one)]
    lines = [f"Revoke {one}" for one in fingerprints] + [f"No longer trusted on its word: {one}" for one in vouched]
    if options.dry_run:
        return _tell(fingerprints, vouched, revoked, options.output, done=False)
    if not options.yes and not confirm("Revoke for good?", "To revoke a key", lines=lines):
        say("Nothing was revoked")
        return 1
    for one in fingerprints:
        app.audit.write("publisher", f"revoke {one}", decision="revoked", detail={"reason": revoked.reason})

    def change(known: Publishers) -> Publishers:
        for one in fingerprints:
            known = revoke_key(known, one, revoked)
        return known

    change_publishers(app.workspace.user_dir, change)
    return _tell(fingerprints, vouched, revoked, options.output, done=True)


def _find(app: App, publishers: Publishers, given: str) -> list[str]:
    """The fingerprints of the keys that are meant. Raises: ClawftError."""
    if _FINGERPRINT.match(given):
        return [given]
    if given in publishers.publisher or (is_publisher(given) and not given.endswith(".pub")):
        return [one.public.fingerprint for one in get_publisher(publishers, given).key]
    return [load_key(app, given).fingerprint]


def _tell(keys: list[str], vouched: list[str], revoked: Revoked, output: str, *, done: bool) -> int:
    if output == "json":
        since = revoked.since.isoformat() if revoked.since else None
        facts = {"keys": keys, "vouched": vouched, "reason": revoked.reason, "since": since, "changed": done}
        print_json("clawft.publishers.revoke.v1", **facts)
        return 0
    for one in keys:
        click.echo(f"{'Revoked' if done else 'Would be revoked'}: {one}")
    for one in vouched:
        say(f"No longer trusted, since that key vouched for it: {one}. Trust it by itself, if you know whose it is")
    return 0
