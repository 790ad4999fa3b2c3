"""Installing skills: all that were asked for, or nothing. Downloads and scans overlap; what follows is one transaction.

with begin(…) as transaction:            # a claim, so that what is staged is never taken for left over
    staged = await transaction.stage(…)  # downloaded beside the target, read and scanned
    plans = transaction.plan(staged, …)  # what a person is to see
    transaction.commit(plans)            # written down, placed, locked, approved
"""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

import anyio
from msgspec import Struct, structs

from clawft.discovery.digest import compute_digest
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import real_path
from clawft.locks.file import load_lock, parse_lock, render_lock
from clawft.locks.model import LockedSkill
from clawft.sources.model import Resolved, Source
from clawft.supply.apply import Hands, carry_out, inode_of, recover_in_turn, sweep
from clawft.supply.journal import Journal, Move, Text
from clawft.supply.plan import Allowing, Planned, Planner
from clawft.supply.scanning import Scans
from clawft.supply.stage import Staged, copy_staged, read_staged
from clawft.supply.targets import Site, check_name, staged_name
from clawft.trust.kept import Kept

__all__ = ["Options", "Supplies", "Transaction", "Wanted", "begin"]

DOWNLOADS = 8  # at once

Tell = Callable[[int, int], None]


class Supplies(Struct, frozen=True):
    """What installing needs of the app."""

    hands: Hands
    kept: Kept
    scan_dir: str | None
    max_prompt_bytes: int


class Options(Struct, frozen=True):
    """How a person wants it."""

    to: tuple[str, ...] = ("clawft",)
    force: bool = False
    allowing: Allowing = Allowing()


class Wanted(Struct, frozen=True):
    """One exact version, and who brings it."""

    source: Source
    resolved: Resolved
    requested: bool = True


@contextmanager
def begin(what: str, site: Site, to: Sequence[str], supplies: Supplies) -> "Iterator[Transaction]":
    """A transaction for the folders of some clients; all that it staged is gone on leaving. Raises: ClawftError."""
    chosen = site.choose(to)
    roots = tuple(site.roots.values())  # of all: a skill that is replaced may lie in others than were asked for
    journals = supplies.hands.journals
    with journals.begin(what, roots) as journal:
        transaction = Transaction(journal, site, chosen, supplies)
        try:
            _make_roots([site.roots[one] for one in chosen])
            yield transaction
        finally:
            if not transaction.written:
                sweep(journal)
                journals.end(journal)


def _make_roots(roots: Sequence[str]) -> None:
    try:
        for root in roots:
            os.makedirs(root, mode=0o755, exist_ok=True)
    except OSError as error:
        hint = "Check its rights, or choose another folder: --to, --scope"
        message = f"Nothing can be installed there: {error.strerror}"
        raise ClawftError("install-unwritable", message, path=str(error.filename or ""), hint=hint) from error


class Transaction:
    """Skills on their way into the folders of one scope."""

    def __init__(self, journal: Journal, site: Site, to: tuple[str, ...], supplies: Supplies) -> None:
        self.site = site
        self.to = to
        self.written = False  # from then on it is carried out, by this process or by the next
        self._journal = journal
        self._supplies = supplies
        self._count = 0

    async def stage(self, wanted: Sequence[Wanted], scans: Scans, tell: Tell | None = None) -> list[Staged]:
        """Download, read and scan, several at once. Raises: ClawftError for the first that goes wrong."""
        room = anyio.Semaphore(DOWNLOADS)
        staged: list[Staged | None] = [None] * len(wanted)
        errors: list[ClawftError] = []

        async def bring(number: int, one: Wanted) -> None:
            try:
                async with room:
                    place = os.path.join(self._new_place(self.to[0]), check_name(one.resolved.name, "skill"))
                    os.mkdir(place, 0o755)
                    got = await one.source.download(one.resolved, place)
                read = read_staged(got, place, self._supplies.max_prompt_bytes)
                staged[number] = structs.replace(read, report=await scans.scan(read.folder))
            except ClawftError as error:
                errors.append(error)
                group.cancel_scope.cancel()
            if tell is not None:
                tell(sum(each is not None for each in staged), len(wanted))

        async with anyio.create_task_group() as group:
            for number, one in enumerate(wanted):
                group.start_soon(bring, number, one)
        if errors:
            raise errors[0]
        return _distinct([one for one in staged if one is not None])

    def plan(self, staged: Sequence[Staged], options: Options) -> list[Planned]:
        """What it would come to, for a person to see. Raises: ClawftError."""
        hands = self._supplies.hands
        planner = self._planner(load_lock(self.site.lock), options)
        plans = []
        for one in staged:
            report = one.report
            assert report is not None
            place = self.site.folder(self.to[0], one.name)
            plans.append(planner.plan(one, hands.desk.review(one.found, report, place), self.to))
        return plans

    def commit(self, plans: Sequence[Planned], options: Options) -> tuple[Diagnostic, ...]:
        """Put all of them into their places, at once as far as anybody can tell; what was approved and cannot be.

        Raises: Refused for what changed since it was looked at; ClawftError; OSError.
        """
        with self._supplies.hands.journals.turn():
            said = recover_in_turn(self._supplies.hands)
            lock = load_lock(self.site.lock)
            for one in plans:
                if lock.get(one.name) != one.old:
                    message = f"'{one.name}' was installed or removed by another process meanwhile"
                    raise Refused("install-changed", message, path=self.site.lock, hint="Look at it again")
            planner = self._planner(lock, options)
            _make_roots([self.site.roots[one] for one in self.site.choose({to for one in plans for to in one.to})])
            moves = [move for one in plans for move in self._moves(one)]
            text = render_lock((lock | {one.name: planner.locked(one) for one in plans}).values())
            parse_lock(text.encode(), self.site.lock)  # what could not be read again is not written
            ready = structs.replace(
                self._journal,
                ready=True,
                moves=tuple(moves),
                texts=(Text(self.site.lock, text),),
                approvals=tuple(made for one in plans for made in planner.approvals(one)),
                overrides=tuple(made for one in plans for made in one.overrides),
            )
            _sync({os.path.dirname(one.target) for one in moves})
            self._supplies.hands.journals.write(ready)
            self.written = True
            return (*said, *carry_out(ready, self._supplies.hands))

    def _planner(self, lock: dict[str, LockedSkill], options: Options) -> Planner:
        overrides = self._supplies.hands.overrides.load()
        return Planner(self.site, lock, self._supplies.kept, overrides, options.allowing, options.force)

    def _moves(self, planned: Planned) -> Iterator[Move]:
        """Raises: Refused, OSError."""
        used = False
        seen: set[str] = set()
        for client in planned.to:
            root, target = self.site.roots[client], self.site.folder(client, planned.name)
            if real_path(root) in seen:
                continue  # two clients that share a folder by a link
            seen.add(real_path(root))
            old = inode_of(target)
            if old is not None and compute_digest(target).value == planned.staged.digest:
                continue
            hidden = planned.staged.folder
            if used or not hidden.startswith(f"{root}/"):
                hidden = os.path.join(self._new_place(client), planned.name)
                copy_staged(planned.staged, hidden)
            used = used or hidden == planned.staged.folder
            yield Move(target, hidden, inode_of(hidden), old, planned.staged.digest)

    def _new_place(self, client: str) -> str:
        """A new hidden folder, on the disk that the skill will be on. Raises: OSError."""
        self._count += 1
        place = os.path.join(self.site.roots[client], staged_name(self._count, self._journal.id))
        os.mkdir(place, 0o755)
        return place


def _distinct(staged: list[Staged]) -> list[Staged]:
    """Each skill once. Raises: Refused where two different ones have one name."""
    found: dict[str, Staged] = {}
    for one in staged:
        other = found.setdefault(one.name, one)
        if other.digest != one.digest:
            message = f"Two different skills would be installed as '{one.name}'"
            raise Refused("install-twice", message, hint="Install one of them")
    return list(found.values())


def _sync(roots: Collection[str]) -> None:
    """What was staged survives a loss of power before anybody relies on it: one call for each folder's disk."""
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    for root in roots:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if call is None or call(descriptor) != 0:
                os.sync()
        finally:
            os.close(descriptor)
