"""What commands about publishers are given: keys, days, and names of publishers."""

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from clawft.app import App
from clawft.errors import ClawftError
from clawft.files import read_optional
from clawft.signing.publishers import ANY, PublisherKey, Publishers, load_publishers
from clawft.signing.sshsig import MAX_KEY, PublicKey, parse_private_key, parse_public_key
from clawft.workspace import resolve_path

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["complete_publishers", "day_text", "key_json", "load", "load_key", "may_sign", "parse_time"]


def load(app: App) -> Publishers:
    """Whom the user trusts. Raises: ClawftError."""
    return load_publishers(app.workspace.user_dir)


def load_key(app: App, given: str) -> PublicKey:
    """The key of a `.pub` file, of a private one, or of a line. Raises: ClawftError."""
    if given.startswith(("ssh-", "ecdsa-", "sk-")) and " " in given:
        return parse_public_key(given)
    path = resolve_path(given, os.getcwd(), app.workspace.home)
    content = read_optional(path, MAX_KEY, follow=True)
    if content is None:
        hint = "Give a .pub file, or its line in quotes: 'ssh-ed25519 AAAA…'"
        raise ClawftError("key-not-found", "There is no such key", path=path, hint=hint)
    if content.startswith(b"-----BEGIN "):
        return parse_private_key(content)[0]
    lines = [one for one in content.decode("ascii", errors="replace").splitlines() if one.strip()]
    if len(lines) != 1:
        raise ClawftError("key-format", f"The file holds {len(lines)} lines, not one key", path=path)
    return parse_public_key(lines[0])


def parse_time(option: str, given: str, *, end: bool = False) -> datetime | None:
    """A day or a time; of a day its beginning, or its end. Raises: UsageError."""
    if not given:
        return None
    try:
        time = datetime.fromisoformat(given)
    except ValueError as error:
        raise click.UsageError(f"{option} {given[:40]}: say a day such as 2030-01-31") from error
    day = timedelta(days=1) if end and len(given) == len("2030-01-31") else timedelta()
    return (time if time.tzinfo else time.replace(tzinfo=UTC)) + day


def day_text(time: datetime | None, *, end: bool = False) -> str:
    """The day of a time; of one that ends something, the last day before."""
    return (time - timedelta(seconds=end)).astimezone(UTC).date().isoformat() if time else ""


def may_sign(skills: tuple[str, ...]) -> str:
    """What a publisher may sign, in words."""
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
    from click.shell_completion import CompletionItem

    from clawft.cli.options import open_here

    try:
        known = load(open_here()).publisher
    except ClawftError:
        return []
    return [CompletionItem(name) for name in sorted(known) if name.startswith(incomplete)]
