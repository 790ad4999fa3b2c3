"""`weft doctor`: check the installation and show which places are searched. Each problem comes with its fix."""

import click

from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult

__all__ = ["command"]


@click.command("doctor")
@click.option("--online", is_flag=True, help="Also ask the model for one word.")
@format_option
def command(online: bool) -> CommandResult:
    """Check that everything is in place.

    Looks at the installation, the config, the model and the folders that are searched.

    Each problem comes with the reason it matters and the command that fixes it. Exits 1 when something would keep a
    turn or a skill from working.
    """
    from clawft.cli.doctor.check import print_check
    from clawft.cli.doctor.checks import run_checks  # `weft --help` needs none of what they look at

    checks = list(run_checks(open_here(), online=online))
    healthy = all(check.status != "problem" for check in checks)

    def show() -> None:
        for check in checks:
            print_check(check)

    return CommandResult(
        "clawft.doctor.v1", {"ok": healthy, "checks": [check.to_json() for check in checks]}, show, 0 if healthy else 1
    )
