"""Installing skills: all that were asked for, or nothing. Downloads and scans overlap; what follows is one transaction.

with begin(…) as transaction:            # a claim, so that what is staged is never taken for left over
    staged = await transaction.stage(…)  # downloaded beside the target, read and scanned
    plans = transaction.plan(staged, …)  # what a person is to see
    transaction.commit(plans)            # written down, placed, locked, approved
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import anyio
from msgspec import Struct, structs

from clawft.discovery import Found
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import real_path
from clawft.locks.file import load_lock
from clawft.locks.model import LockedSkill
from clawft.signing.check import check_signature
from clawft.signing.publishers import Publishers
from clawft.signing.statements import Statement
from clawft.sources.model import Bringer, Resolved
from clawft.supply.apply import Hands, carry_out, give_up, inode_of, take_turn, without_missing
from clawft.supply.beside import Beside
from clawft.supply.journal import Decisions, Journal, LockEdit, Move, list_places
from clawft.supply.noting import note_placed, note_removed
from clawft.supply.plan import Allowing, Planned, Planner, look_at
from clawft.supply.remove import Removal
from clawft.supply.scanning import Scans
from clawft.supply.stage import Staged, copy_staged, read_staged, sync_trees
from clawft.supply.targets import Site, check_name, staged_name
from clawft.trust.approvals import is_about
from clawft.trust.kept import Kept
from clawft.trust.overrides import Override

__all__ = ["Finder", "Options", "Supplies", "Tell", "Transaction", "Wanted", "begin", "telling"]

DOWNLOADS = 8  # at once
TICK_S = 0.25

Tell = Callable[[int, int], None]


class Supplies(Struct, frozen=True):
    """What installing needs of the app."""

    hands: Hands
    kept: Kept
    scan_dir: str | None
    environ: Mapping[str, str]
    max_prompt_bytes: int
    publishers: Callable[[], Publishers]
    here: Callable[[], Sequence[Found]]  # every skill there is
    signed_only: bool = False  # the user's config wants every skill signed


class Options(Struct, frozen=True):
    """How a person wants it."""

    force: bool = False
    allowing: Allowing = Allowing()
    digest: str = ""  # what the one skill must be, as a folder or as an archive
    signed: bool = False
    stay: bool = False  # each stays in the folders that it is in
    exact: bool = False  # the lock says what they are, and stays as it is
    approve: bool = True


class Wanted(Struct, frozen=True):
    """One exact version, and who brings it."""

    source: Bringer
    resolved: Resolved
    requested: bool = True
    name: str = ""  # under which it is installed, and stays, whatever it calls itself by now


Finder = Callable[[], Awaitable[Sequence[Wanted]]]


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
                give_up(journal, journals)


def _make_roots(roots: Sequence[str]) -> None:
    with _told():
        for root in roots:
            os.makedirs(root, mode=0o755, exist_ok=True)


@contextmanager
def _told() -> Iterator[None]:
    """What the disk refuses, as people can read it. Raises: ClawftError."""
    try:
        yield
    except OSError as error:
        raise _unwritable(error) from error


def _unwritable(error: OSError) -> ClawftError:
    hint = "Make room, check its rights, or choose another folder: --to, --scope"
    message = f"Nothing can be installed there: {error.strerror}"
    return ClawftError("install-unwritable", message, path=str(error.filename or ""), hint=hint)


@asynccontextmanager
async def telling(tell: Tell, count: Callable[[], tuple[int, int]]) -> AsyncIterator[None]:
    """Tell how far something is, now and then, also while nothing gets done: somebody sees that it goes on."""

    async def tick() -> None:
        while True:
            tell(*count())
            await anyio.sleep(TICK_S)

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        yield
        group.cancel_scope.cancel()
    tell(1, 1)


class Transaction:
    """Skills on their way into the folders of one scope."""

    def __init__(self, journal: Journal, site: Site, to: tuple[str, ...], supplies: Supplies) -> None:
        self.site = site
        self.to = to
        self.written = False  # from then on it is carried out, by this process or by the next
        self._journal = journal
        self._supplies = supplies
        self._count = 0
        self._hidden: dict[str, str] = {}  # by root: the hidden folder that skills are put into now
        self._given: set[str] = set()
        self._tell: Tell = lambda *_: None

    async def stage(self, things: "Sequence[Wanted | Finder]", scans: Scans, tell: Tell | None = None) -> list[Staged]:
        """Find, download, read and scan, several at once: nobody waits for the slowest to be found.

        Raises: ClawftError for the first that goes wrong.
        """
        self._tell = tell or self._tell
        finding, room = anyio.Semaphore(DOWNLOADS), anyio.Semaphore(DOWNLOADS)  # apart: what is found comes at once
        staged: dict[tuple[int, int], Staged] = {}
        errors: list[ClawftError] = []
        total = 0

        async def find(number: int, thing: Wanted | Finder) -> None:
            nonlocal total
            try:
                async with finding:
                    wanted = [thing] if isinstance(thing, Wanted) else await thing()
            except ClawftError as error:
                errors.append(error)
                group.cancel_scope.cancel()
                return
            total += len(wanted)
            for at, one in enumerate(wanted):
                group.start_soon(bring, (number, at), one)

        async def bring(number: tuple[int, int], one: Wanted) -> None:
            try:
                staged[number] = await self._bring(one, room, scans)
            except ClawftError as error:
                errors.append(error)
                group.cancel_scope.cancel()
            except OSError as error:
                errors.append(_unwritable(error))
                group.cancel_scope.cancel()

        async with (
            telling(self._tell, lambda: (len(staged), max(total, len(things), 1))),
            anyio.create_task_group() as group,
        ):
            for number, thing in enumerate(things):
                group.start_soon(find, number, thing)
        if errors:
            raise errors[0]
        return _distinct([staged[number] for number in sorted(staged)])

    async def _bring(self, one: Wanted, room: anyio.Semaphore, scans: Scans) -> Staged:
        async with room:
            place = self._new_place(self.to[0], check_name(one.resolved.name, "skill"))
            os.mkdir(place, 0o755)
            got = await one.source.download(one.resolved, place)
            aside = partial(self._new_place, self.to[0])
            read = read_staged(got, place, aside, self._supplies.max_prompt_bytes, one.name)
        return structs.replace(read, report=await scans.scan(read.folder), requested=one.requested)

    def plan(self, staged: Sequence[Staged], options: Options) -> list[Planned]:
        """What it would come to, for a person to see. Raises: ClawftError."""
        planner = self._planner(load_lock(self.site.lock), options, staged)
        publishers = self._supplies.publishers()
        if options.digest:
            _check_digest(staged, options.digest)
        plans = []
        for one in staged:
            place = self.site.folder(self.to[0], one.name)
            review = self._supplies.hands.desk.review(one.found, one.report, place, one.contents)
            version, owner = one.resolved.version, one.resolved.origin.whose
            statement = Statement(one.found.name, version, one.digest)
            signature = check_signature(one.folder, statement, publishers, owner=owner)
            if signature.state == "good" and one.found.name != one.name:  # a registry may have exchanged two of theirs
                reason = f"it is signed as '{one.found.name}', not as '{one.name}'"
                signature = structs.replace(signature, state="untrusted", reason=reason)
            stays = options.stay and one.name in planner.lock
            plans.append(planner.plan(one, review, () if stays else self.to, signature))
        return plans

    def commit(self, plans: Sequence[Planned], options: Options) -> tuple[Diagnostic, ...]:
        """Put all of them into their places, at once as far as anybody can tell; what was approved and cannot be.

        Raises: Refused for what changed since it was looked at; ClawftError.
        """
        with _told(), take_turn(self._supplies.hands) as said:
            lock = self._reload({one.name: one.old for one in plans})
            planner = self._planner(lock, options)
            kept = {one.name: one.old for one in plans if options.exact and one.old is not None}
            new = {one.name: planner.locked(one) for one in plans} | kept
            _make_roots([self.site.roots[one] for one in self.site.choose({to for one in plans for to in one.to})])
            beside = Beside(self.site, self._supplies.environ)
            for one in plans if not options.exact else ():
                beside.add(new[one.name], one.staged.folder)
            self.site.check(*(os.path.dirname(one.path) for one in beside.texts))
            moves = [move for one in plans for move in self._moves(one, new[one.name], beside)]
            sync_trees([one.hidden for one in moves])
            changed = [one for one in plans if not one.is_same or new[one.name] != one.old]
            approvals = tuple(made for one in plans if options.approve for made in planner.approvals(one))
            overrides = tuple(made for one in plans for made in one.overrides)
            places = list_places(approvals, overrides)
            before = self._decisions(places)
            ready = structs.replace(
                self._journal,
                moves=tuple(moves),
                lock=self._edit_lock(lock, lock | new),
                texts=beside.texts,
                places=places,
                before=before,
                after=Decisions(approvals, _merge(before.overrides, overrides)),
                notes=tuple(note_placed(one, new[one.name], exact=options.exact) for one in changed),
            )
            return (*said, *self._carry_out(ready))

    def remove(self, removals: Sequence[Removal]) -> tuple[Diagnostic, ...]:
        """Take skills out of their places, with their approvals and all that locks say of them; what went wrong before.

        Raises: as `commit` does.
        """
        with _told(), take_turn(self._supplies.hands) as said:
            lock = self._reload({one.name: one.locked for one in removals})
            beside = Beside(self.site, self._supplies.environ)
            for one in removals:
                if one.locked is not None:
                    beside.drop(one.locked)
            left = [one for name, one in lock.items() if name not in {removal.name for removal in removals}]
            places = [place for one in removals for place in one.places]
            self.site.check(*(os.path.dirname(one) for one in (*places, *(text.path for text in beside.texts))))
            moves = [Move(one, self._gone_place(one), old=inode_of(one)) for one in places if os.path.lexists(one)]
            locked = [one.locked for one in removals if one.locked is not None]
            noted = [self.site.folder(to, one.name) for one in locked for to in one.to if to in self.site.roots]
            revoked = tuple(dict.fromkeys((*places, *noted)))  # also what somebody removed by hand before
            ready = structs.replace(
                self._journal,
                moves=tuple(moves),
                lock=self._edit_lock(lock, {one.name: one for one in without_missing(left)}),
                texts=beside.texts,
                places=revoked,
                before=self._decisions(revoked),
                notes=tuple(note_removed(one.name, one.locked) for one in removals),
            )
            return (*said, *self._carry_out(ready))

    def _reload(self, seen: Mapping[str, LockedSkill | None]) -> dict[str, LockedSkill]:
        """The lock as it is now. Raises: Refused if what was looked at is no longer so."""
        lock = load_lock(self.site.lock)
        for name, old in seen.items():
            if lock.get(name) != old:
                message = f"'{name}' was installed, updated or removed by another process meanwhile"
                raise Refused("install-changed", message, path=self.site.lock, hint="Look at it again")
        return lock

    def _edit_lock(self, old: Mapping[str, LockedSkill], new: Mapping[str, LockedSkill]) -> LockEdit | None:
        """What differs between two locks; None for nothing."""
        names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        before, after = ({name: lock.get(name) for name in names} for lock in (old, new))
        return LockEdit(self.site.lock, before, after, os.path.lexists(self.site.lock)) if names else None

    def _decisions(self, places: Sequence[str]) -> Decisions:
        """What was decided about these folders so far. Raises: ClawftError."""
        hands = self._supplies.hands
        approvals = tuple(one for one in hands.desk.stores.approvals.load() if is_about(one, places))
        return Decisions(approvals, tuple(one for one in hands.overrides.load() if one.path in places))

    def _carry_out(self, journal: Journal) -> tuple[Diagnostic, ...]:
        ready = structs.replace(journal, ready=True)
        self._supplies.hands.journals.write(ready)
        self.written = True
        return carry_out(ready, self._supplies.hands)

    def _planner(self, lock: dict[str, LockedSkill], options: Options, staged: Sequence[Staged] = ()) -> Planner:
        overrides = self._supplies.hands.overrides.load()
        signed = options.signed or self._supplies.signed_only
        known = partial(self._known, staged)
        return Planner(self.site, lock, self._supplies.kept, known, overrides, options.allowing, options.force, signed)

    def _known(self, staged: Sequence[Staged]) -> list[Found]:
        """Every skill there is, or will be."""
        return [*self._supplies.here(), *(one.found for one in staged)]

    def _moves(self, planned: Planned, locked: LockedSkill, beside: Beside) -> Iterator[Move]:
        """Raises: Refused, OSError."""
        used = False
        seen: set[str] = set()
        for client in planned.to:
            root, target = self.site.roots[client], self.site.folder(client, planned.name)
            if real_path(root) in seen:
                continue  # two clients that share a folder by a link
            seen.add(real_path(root))
            old, now = inode_of(target), look_at(target)
            if now != planned.there[client] or (old is not None and client in planned.absent):
                message = "Something else was put there while it was looked at"
                raise Refused("install-changed", message, path=target, hint="Look at it again")
            if now == planned.staged.digest and client not in planned.resigned:
                continue
            hidden = planned.staged.folder
            if used or not hidden.startswith(f"{root}/"):
                hidden = self._new_place(client, planned.name)
                copy_staged(planned.staged, hidden)
            used = used or hidden == planned.staged.folder
            beside.mark_origin(locked, hidden, client)
            yield Move(target, hidden, inode_of(hidden), old, planned.staged.digest)

    def _gone_place(self, place: str) -> str:
        self._count += 1
        return os.path.join(os.path.dirname(place), staged_name(self._count, self._journal.id, gone=True))

    def _new_place(self, client: str, name: str) -> str:
        """Where nothing is yet in a hidden folder, on the disk that the skill will be on. Raises: OSError."""
        root = self.site.roots[client]
        place = os.path.join(self._hidden.get(root, ""), name)
        if root not in self._hidden or place in self._given:
            self._count += 1
            self._hidden[root] = os.path.join(root, staged_name(self._count, self._journal.id))
            os.mkdir(self._hidden[root], 0o755)
            place = os.path.join(self._hidden[root], name)
        self._given.add(place)
        return place


def _check_digest(staged: Sequence[Staged], wanted: str) -> None:
    """Raises: Refused for anything else than what was asked for."""
    if len(staged) != 1:
        raise Refused("digest-mismatch", "--digest is for one skill", hint="Install it alone")
    found = {staged[0].digest, f"sha256:{staged[0].resolved.archive}"}
    if wanted not in found:
        message = f"'{staged[0].name}' is {staged[0].digest}, and not {wanted}"
        raise Refused("digest-mismatch", message, hint="Nothing was installed")


def _merge(known: Sequence[Override], new: Sequence[Override]) -> tuple[Override, ...]:
    """Exceptions, of which the newest for a rule and a skill takes the place of older ones."""
    return tuple({(one.path, one.rule): one for one in (*known, *new)}.values())


def _distinct(staged: list[Staged]) -> list[Staged]:
    """Each skill once. Raises: Refused where two different ones have one name."""
    found: dict[str, Staged] = {}
    for one in staged:
        other = found.setdefault(one.name, one)
        if other.digest != one.digest:
            message = f"Two different skills would be installed as '{one.name}'"
            raise Refused("install-twice", message, hint="Install one of them")
    return list(found.values())
