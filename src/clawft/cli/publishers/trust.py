"""`weft publishers trust NAME KEY`: signatures by this key count from now on."""

from typing import Any

import click
from msgspec import Struct

from clawft.cli._confirm import confirm
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.cli.publishers._given import complete_publishers, day_text, key_json, load, load_key, may_sign, parse_time
from clawft.signing.publishers import ANY, PublisherKey, change_publishers, is_pattern, is_publisher
from clawft.signing.trusting import trust_key

__all__ = ["command"]


class _Options(Struct, frozen=True):
    """What was asked for."""

    skills: tuple[str, ...]
    since: str
    until: str
    dry_run: bool
    yes: bool
    output: str


@click.command("trust")
@click.argument("name", shell_complete=complete_publishers)
@click.argument("key")
@click.option("--for", "skills", multiple=True, metavar="PATTERN", help="What they may sign [any]: OWNER/NAME, with *.")
@click.option("--from", "since", default="", metavar="DAY", help="The key counts from this day on.")
@click.option("--until", default="", metavar="DAY", help="The key counts to the end of this day.")
@click.option("--dry-run", is_flag=True, help="Show it, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(name: str, key: str, **given: Any) -> int:
    """Trust a publisher: skills that KEY signed count as theirs.

    KEY is a .pub file, or its line in quotes. Compare its fingerprint with what the publisher says where only they can
    write: who brings you a skill can bring you a key too.
    """
    options = _Options(**given)
    if not is_publisher(name):
        raise click.UsageError("NAME is made of small letters, digits, '.', '_' and '-'")
    for pattern in options.skills:
        if not is_pattern(pattern):
            raise click.UsageError(f"--for {pattern[:80]}: say name or owner/name; * and ? stand for others")
    app = open_here()
    public = load_key(app, key)
    since, until = parse_time("--from", options.since), parse_time("--until", options.until, end=True)
    made = PublisherKey(public.line, since, until)
    after = trust_key(load(app), name, made, options.skills).publisher[name]
    limits = [f"from {day_text(since)} on"] * bool(since) + [f"until {options.until}"] * bool(until)
    lines = [
        f"{name}: {public.kind} {public.fingerprint}",
        f"May sign: {may_sign(after.skills)}; {' '.join(limits) or 'until you revoke it'}",
    ]
    if options.dry_run:
        return _tell(name, made, after.skills, options.output, done=False)
    if not options.yes and not confirm(f"Trust what {name} signs by it?", "To trust a publisher", lines=lines):
        say("Nobody was trusted")
        return 1
    facts = {"skills": list(after.skills), "until": day_text(until, end=True)}
    app.audit.write("publisher", f"trust {name} {public.fingerprint}", decision="granted", detail=facts)
    change_publishers(app.workspace.user_dir, lambda known: trust_key(known, name, made, options.skills))
    return _tell(name, made, after.skills, options.output, done=True)


def _tell(name: str, key: PublisherKey, skills: tuple[str, ...], output: str, *, done: bool) -> int:
    if output == "json":
        print_json("clawft.publishers.trust.v1", name=name, skills=list(skills), key=key_json(key), changed=done)
    else:
        verb = "Trusted" if done else "Would be trusted"
        click.echo(one_line(f"{verb}: {name}, {key.public.fingerprint}, for {may_sign(skills)}"))
        if ANY in skills:
            say(f"To trust them for less: weft publishers trust {name} KEY --for '{name}/*'")
    return 0
