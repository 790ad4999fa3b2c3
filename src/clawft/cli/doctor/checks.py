"""All checks in order. One thing that is broken hides no other."""

from collections.abc import Callable, Iterator

from clawft.app import App
from clawft.cli.doctor.basics import check_config, check_install, check_locations, check_skills
from clawft.cli.doctor.check import Check, from_failure
from clawft.cli.doctor.disk import check_audit, check_folder, check_keys
from clawft.cli.doctor.files import check_files
from clawft.cli.doctor.gateway import check_gateway
from clawft.cli.doctor.hooks import check_hooks
from clawft.cli.doctor.installing import check_installing
from clawft.cli.doctor.model import check_answering
from clawft.cli.doctor.parts import (
    check_approvals,
    check_jobs,
    check_memory,
    check_optional,
    check_sandbox,
    check_servers,
)
from clawft.cli.doctor.plugins import check_plugins
from clawft.cli.doctor.registries import check_registries
from clawft.cli.doctor.runs import check_runs
from clawft.cli.doctor.serving import check_serving

__all__ = ["run_checks"]


def run_checks(app: App, *, online: bool) -> Iterator[Check]:
    """Every check, in the order of the report; with `online` the model is called."""
    checks: tuple[tuple[str, Callable[[App], Iterator[Check]]], ...] = (
        ("weft", lambda _: check_install()),
        ("config", check_config),
        ("user folder", check_folder),
        ("model", lambda app: check_answering(app, online=online)),
        ("keys", check_keys),
        ("audit", check_audit),
        ("sandbox", check_sandbox),
        ("mcp", check_servers),
        ("cron", check_jobs),
        ("runs", check_runs),
        ("memory", check_memory),
        ("approval", check_approvals),
        ("searched", check_locations),
        ("skills", check_skills),
        ("hooks", check_hooks),
        ("plugins", check_plugins),
        ("gateway", check_gateway),
        ("serve", check_serving),
        ("registry", check_registries),
        ("installing", check_installing),
        ("files", check_files),
        ("part", lambda _: check_optional()),
    )
    said: set[str] = set()  # what keeps several parts from working is told once
    for name, check in checks:
        for one in _run(name, check, app):
            causes = {one.message, one.fix if one.fix.startswith("mv ") else one.message}
            if one.status != "problem" or not causes & said:
                yield one
            said |= causes


def _run(name: str, check: Callable[[App], Iterator[Check]], app: App) -> Iterator[Check]:
    try:
        yield from check(app)
    except Exception as error:  # one check that fails hides no other
        yield from_failure(name, error, app.workspace)
