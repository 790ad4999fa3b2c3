"""`weft serve status`."""

from typing import Any

import click
from msgspec import structs

from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say, show_error
from clawft.cli.serve._open import ask_status, check_installed, token_for
from clawft.errors import ClawftError

__all__ = ["command"]


@click.command("status")
@format_option
def command(output: str) -> int:
    """Say which daemons of yours run, where and since when, what they serve, and what is wrong with them."""
    check_installed()
    from clawft.client.places import find_places

    app = open_here()
    places = find_places(app.workspace.user_dir)
    described: list[dict[str, Any]] = []
    failed = False
    for place in places:
        status: dict[str, Any] | None = None
        try:
            status = ask_status(place, token_for(app, place))
        except ClawftError as error:
            failed = True
            show_error(error)
        failed = failed or bool(status and any(one["problem"] for one in status["subsystems"]))
        described.append({**structs.asdict(place), "status": status})
    if output == "json":
        print_json("clawft.serve.status.v1", running=bool(places), daemons=described)
    elif not places:
        say("No daemon of yours runs. Start one: weft serve")
    else:
        for one in described:
            _show(one)
    return 1 if failed or not places else 0


def _show(daemon: dict[str, Any]) -> None:
    click.echo(f"{daemon['url']}  process {daemon['pid']}, since {daemon['started']}")
    if daemon["local"] != daemon["url"]:
        click.echo(f"  listens on  {daemon['local']}")
    status = daemon["status"]
    if status is None:
        return
    click.echo(f"  project     {one_line(daemon['project'])}")
    click.echo(f"  skills      {status['skills']}, generation {status['generation']}")
    click.echo(f"  changes     {_SEEN.get(status['watching'], status['watching'])}")
    click.echo(f"  work        {status['executions']} going on, {status['waiting']} waiting")
    click.echo(f"  questions   {status['questions']} waiting for an answer")
    for part in status["subsystems"]:
        if part["problem"]:
            click.echo(f"  {part['name']:<10}  {one_line(part['problem']['message'])}")


_SEEN = {
    "watchfiles": "seen at once",
    "stat": "looked for now and then: no watcher works here",
    "off": "not looked for yet: it has just started",
}
