"""`weft skills sync --import`: what other installers brought, taken into our lock."""

from collections.abc import Sequence
from typing import Any

import anyio

from clawft.app import App
from clawft.cli._progress import scan_progress
from clawft.cli.output import say, show_diagnostic
from clawft.cli.skills._supply import agree, check_objections, show_plans
from clawft.describe.plans import planned_json
from clawft.errors import Diagnostic
from clawft.locks.file import load_lock
from clawft.supply.importing import Foreign, find_foreign, keep_same, tell_left, want_foreign
from clawft.supply.install import Options, Transaction, begin
from clawft.supply.scanning import Scans
from clawft.supply.stage import Staged
from clawft.supply.targets import Site
from clawft.supplying import open_sources, open_supplies

__all__ = ["import_others"]


def import_others(app: App, site: Site, options: Options, *, yes: bool, dry_run: bool) -> list[dict[str, Any]]:
    """Each is fetched anew at the version that is there, shown, and replaced by it where somebody agrees.

    Raises: ClawftError; Refused where nobody can be asked.
    """
    found, left = find_foreign(site, app.environ, load_lock(site.lock))
    taken: list[dict[str, Any]] = []
    for client in sorted({one.checked.client for one in found}):
        here = [one for one in found if one.checked.client == client]
        with (
            Scans(len(here), app.scan_dir) as scans,
            begin("sync --import", site, (client,), open_supplies(app)) as transaction,
        ):
            staged, problems = anyio.run(_stage, app, transaction, here, scans)
            left += problems
            plans = transaction.plan(staged, options)
            if not plans:
                continue
            show_plans(app, transaction, plans)
            check_objections(((one.name, one.objections) for one in plans), "taken over")
            taken += [planned_json(transaction, one) for one in plans]
            if dry_run:
                continue
            if not yes and not agree(app, plans, "Take over"):
                say("Nothing was taken over")
                return []
            _say_all(app, transaction.commit(plans, options))
    _say_all(app, tell_left(left))
    return taken


async def _stage(
    app: App, transaction: Transaction, found: Sequence[Foreign], scans: Scans
) -> tuple[list[Staged], list[tuple[str, str]]]:
    async with open_sources(app) as sources:
        wanted, left = await want_foreign(sources, transaction.site, found)
        came = await transaction.stage(wanted, scans, scan_progress("Fetching and scanning skills"))
        staged, changed = keep_same(came, found)
        return staged, left + changed


def _say_all(app: App, said: Sequence[Diagnostic]) -> None:
    for one in said:
        show_diagnostic(one, where=app.workspace.shorten(one.path))
