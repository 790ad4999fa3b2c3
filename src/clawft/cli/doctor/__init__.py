"""`weft doctor`: is everything in place, and where is what looked for? Each problem comes with what mends it."""

from collections.abc import Callable, Iterator

import click

from clawft.app import App
from clawft.cli.doctor.basics import check_config, check_install, check_locations, check_skills
from clawft.cli.doctor.check import Check, from_error, print_check
from clawft.cli.doctor.disk import check_folder, check_keys
from clawft.cli.doctor.model import check_answering
from clawft.cli.doctor.parts import check_approvals, check_jobs, check_memory, check_optional, check_servers
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json
from clawft.errors import ClawftError

__all__ = ["command"]


@click.command("doctor")
@click.option("--online", is_flag=True, help="Also ask the model for one word.")
@format_option
def command(online: bool, output: str) -> int:
    """Check the installation, the config, the model and the folders that are searched.

    Each problem comes with the reason it matters and the command that mends it. Exits 1 when something would keep a
    turn or a skill from working.
    """
    checks = list(_run_checks(open_here(), online=online))
    healthy = all(check.status != "problem" for check in checks)
    if output == "json":
        print_json("clawft.doctor.v1", ok=healthy, checks=[one.to_json() for one in checks])
    else:
        for check in checks:
            print_check(check)
    return 0 if healthy else 1


def _run_checks(app: App, *, online: bool) -> Iterator[Check]:
    yield from check_install()
    yield from check_config(app)
    yield from check_folder(app)
    try:
        app.config  # noqa: B018  (read here: what is broken was said, and the rest needs it)
    except ClawftError:
        return
    checks: tuple[tuple[str, Callable[[App], Iterator[Check]]], ...] = (
        ("model", lambda app: check_answering(app, online=online)),
        ("keys", check_keys),
        ("mcp", check_servers),
        ("cron", check_jobs),
        ("memory", check_memory),
        ("approval", check_approvals),
        ("searched", check_locations),
        ("skills", check_skills),
    )
    for name, check in checks:
        try:
            yield from check(app)
        except ClawftError as error:  # one thing that is broken hides no other
            yield from_error(name, error, app.workspace)
    yield from check_optional()
