"""`weft publishers list`: whom you trust, by which keys, and which keys are revoked."""

from datetime import UTC, datetime

import click

from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, print_table, say
from clawft.cli.publishers._given import day_text, key_json, load, may_sign
from clawft.signing.check import judge_key
from clawft.signing.publishers import PublisherKey, Publishers

__all__ = ["command"]


@click.command("list")
@format_option
def command(output: str) -> None:
    """List the publishers you trust with their keys, and the keys you revoked."""
    publishers = load(open_here())
    if output == "json":
        return print_json("clawft.publishers.list.v1", **_json(publishers))
    rows, after = [], []
    for name, one in sorted(publishers.publisher.items()):
        for key in one.key:
            state, reason = _state(publishers, key)
            rows.append((name, state, may_sign(one.skills), day_text(key.until, end=True)))
            after.append(f"{key.public.fingerprint}{reason and ': '}{reason}")
    if rows:
        print_table(("PUBLISHER", "STATE", "MAY SIGN", "UNTIL"), rows, wide=2, after=after)
    else:
        say("You trust no publisher. Run: weft publishers trust NAME KEY")
    if publishers.revoked:
        _show_revoked(publishers)
    return None


def _show_revoked(publishers: Publishers) -> None:
    """Below the others: keys that count no more, whoever had them."""
    rows, after = [], []
    for fingerprint, one in sorted(publishers.revoked.items()):
        rows.append((fingerprint, day_text(one.at)))
        since = f" (what was accepted before {day_text(one.since)} excepted)" if one.since else ""
        after.append(f"{one.reason}{since}")
    click.echo()
    print_table(("REVOKED", "ON"), rows, wide=0, after=after)


def _state(publishers: Publishers, key: PublisherKey) -> tuple[str, str]:
    """What a signature by it is worth now, and why no more."""
    now = datetime.now(UTC)
    revoked = publishers.find_revoked(key.public.fingerprint, now)
    return ("revoked", revoked.reason) if revoked else judge_key(key, publishers, now)


def _json(publishers: Publishers) -> dict[str, object]:
    listed = [
        {
            "name": name,
            "skills": list(one.skills),
            "keys": [key_json(key) | {"state": _state(publishers, key)[0]} for key in one.key],
        }
        for name, one in sorted(publishers.publisher.items())
    ]
    revoked = [
        {
            "fingerprint": fingerprint,
            "at": one.at.isoformat(),
            "since": one.since.isoformat() if one.since else None,
            "reason": one.reason,
        }
        for fingerprint, one in sorted(publishers.revoked.items())
    ]
    return {"publishers": listed, "revoked": revoked}
