"""Install skills in one transaction, and keep the locks of other installers up to date."""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from functools import partial

import anyio
from msgspec import Struct, structs

from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import read_optional, real_path
from clawft.install.archive.hashes import fingerprint_folder, vercel_folder_hash
from clawft.install.lockfile.file import load_lock
from clawft.install.lockfile.foreign import (
    ORIGIN,
    PROJECT_LOCK,
    add_clawhub,
    add_global,
    add_project,
    drop_clawhub,
    drop_global,
    drop_project,
    find_global_lock,
    find_installed_at,
    hash_tree,
    render_origin,
)
from clawft.install.lockfile.model import MAX_LOCK_BYTES, LockedSkill
from clawft.install.sources.model import Downloader, ResolvedSkill
from clawft.install.transaction.apply import (
    TransactionContext,
    apply_transaction,
    discard_transaction,
    inode_of,
    lock_transactions,
    note_placed,
    note_removed,
    without_missing,
)
from clawft.install.transaction.journal import (
    TEXT,
    FileEdit,
    FolderMove,
    LockEdit,
    RecordedDecisions,
    TransactionJournal,
    list_places,
)
from clawft.install.transaction.plan import AllowedRules, InstallPlanner, PlannedSkill, Removal, compute_folder_digest
from clawft.install.transaction.scanning import ScanProcesses
from clawft.install.transaction.stage import StagedSkill, copy_staged, read_staged, sync_trees
from clawft.install.transaction.targets import InstallSite, check_name, staged_name
from clawft.messages import ReportProgress
from clawft.skills.discovery import DiscoveredSkill
from clawft.trust.approvals import is_about
from clawft.trust.approved_copies import ApprovedCopies
from clawft.trust.signing.publishers import Publishers, SkillStatement
from clawft.trust.signing.signatures import check_signature

MARKED = ("openclaw",)  # where ClawHub's own tools look; elsewhere it would change what the `skills` command hashes


class ForeignLocks:
    """The locks of others in one scope, while they are being changed."""

    def __init__(self, site: InstallSite, environ: Mapping[str, str]) -> None:
        self._project = site.scope == "project"
        self._clawhub = os.path.join(os.path.dirname(site.roots["openclaw"]), ".clawhub", "lock.json")
        own = os.path.join(site.base, PROJECT_LOCK)
        self._agents = own if self._project else find_global_lock(site.base, environ)
        self._texts: dict[str, str] = {}
        self._before: dict[str, bytes | None] = {}
        self._now_ms = int(time.time() * 1000)

    @property
    def texts(self) -> tuple[FileEdit, ...]:
        """Those that changed."""
        return tuple(
            FileEdit(path, content, before=None if (was := self._before[path]) is None else was.decode(*TEXT))
            for path, content in self._texts.items()
        )

    def add(self, skill: LockedSkill, folder: str) -> None:
        """A skill, whose files lie in a folder, is installed. Raises: ClawftError for a lock that cannot be read."""
        if "openclaw" in skill.to and skill.origin.kind == "clawhub":
            path = self._clawhub
            self._texts[path] = add_clawhub(self._read(path), path, skill, self._now_ms)
        if "agents" in skill.to:
            path = self._agents
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            self._texts[path] = (
                add_project(self._read(path), path, skill, vercel_folder_hash(folder) or "")
                if self._project
                else add_global(self._read(path), path, skill, _hash_for_user(skill, folder), now)
            )

    def drop(self, skill: LockedSkill) -> None:
        """A skill is removed. Raises: ClawftError."""
        if "openclaw" in skill.to and skill.origin.kind == "clawhub":
            self._put(self._clawhub, drop_clawhub(self._read(self._clawhub), self._clawhub, skill.origin.slug))
        if "agents" in skill.to:
            drop = drop_project if self._project else drop_global
            self._put(self._agents, drop(self._read(self._agents), self._agents, skill.name))

    def mark_origin(self, skill: LockedSkill, folder: str, client: str) -> None:
        """Note in a folder that is not in its place yet that it came from ClawHub. Raises: ClawftError, OSError."""
        if skill.origin.kind != "clawhub" or client not in MARKED:
            return
        path = os.path.join(folder, ORIGIN)
        known = find_installed_at(self._read(self._clawhub), self._clawhub, skill)  # what is restored is as it was
        text = render_origin(skill, fingerprint_folder(folder) or "", known or self._now_ms)
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def _read(self, path: str) -> bytes | None:
        if path in self._texts:
            return self._texts[path].encode(*TEXT)
        return self._before.setdefault(path, read_optional(path, MAX_LOCK_BYTES))

    def _put(self, path: str, text: str | None) -> None:
        if text is not None:
            self._texts[path] = text


def _hash_for_user(skill: LockedSkill, folder: str) -> str:
    """Compute the hash that the `skills` command compares with what is there now: the tree's on GitHub, else that of
    the contents."""
    github = skill.origin.kind == "git" and skill.origin.url.startswith("https://github.com/")
    return hash_tree(folder) if github else vercel_folder_hash(folder) or ""


DOWNLOADS = 8  # at once
TICK_S = 0.25


class InstallContext(Struct, frozen=True):
    """The app's stores and settings that an installation needs."""

    context: TransactionContext
    approved_copies: ApprovedCopies
    scan_dir: str | None
    environ: Mapping[str, str]
    max_prompt_bytes: int
    publishers: Callable[[], Publishers]
    here: Callable[[], Sequence[DiscoveredSkill]]  # every skill there is
    signed_only: bool = False  # the user's config wants every skill signed


class InstallChoices(Struct, frozen=True):
    """The user's choices for an installation."""

    force: bool = False
    allowing: AllowedRules = AllowedRules()
    digest: str = ""  # what the one skill must be, as a folder or as an archive
    signed: bool = False
    stay: bool = False  # each stays in the folders that it is in
    exact: bool = False  # the lock says what they are, and stays as it is
    approve: bool = True


class WantedSkill(Struct, frozen=True):
    """One exact version, and who brings it."""

    source: Downloader
    resolved: ResolvedSkill
    requested: bool = True
    name: str = ""  # under which it is installed, and stays, whatever it calls itself by now


Finder = Callable[[], Awaitable[Sequence[WantedSkill]]]


@contextmanager
def open_transaction(
    what: str, site: InstallSite, to: Sequence[str], supplies: InstallContext
) -> "Iterator[Transaction]":
    """A transaction for the folders of some clients; all that it staged is gone on leaving. Raises: ClawftError."""
    chosen = site.choose(to)
    roots = tuple(site.roots.values())  # of all: a skill that is replaced may lie in others than were asked for
    journals = supplies.context.journals
    with journals.begin(what, roots) as journal:
        transaction = Transaction(journal, site, chosen, supplies)
        try:
            _make_roots([site.roots[client] for client in chosen])
            yield transaction
        finally:
            if not transaction.written:
                discard_transaction(journal, journals)


def _make_roots(roots: Sequence[str]) -> None:
    with _translate_errors():
        for root in roots:
            os.makedirs(root, mode=0o755, exist_ok=True)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate disk errors into messages for the user. Raises: ClawftError."""
    try:
        yield
    except OSError as error:
        raise _unwritable(error) from error


def _unwritable(error: OSError) -> ClawftError:
    hint = "Make room, check its rights, or choose another folder: --to, --scope"
    message = f"Nothing can be installed there: {error.strerror}"
    return ClawftError("install-unwritable", message, path=str(error.filename or ""), hint=hint)


@asynccontextmanager
async def repeat_progress(tell: ReportProgress, count: Callable[[], tuple[int, int]]) -> AsyncIterator[None]:
    """Report progress at intervals, even while it stands still, so that the user sees that weft is at work."""

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

    def __init__(
        self, journal: TransactionJournal, site: InstallSite, to: tuple[str, ...], supplies: InstallContext
    ) -> None:
        self.site = site
        self.to = to
        self.written = False  # from then on it is carried out, by this process or by the next
        self._journal = journal
        self._supplies = supplies
        self._count = 0
        self._hidden: dict[str, str] = {}  # by root: the hidden folder that skills are put into now
        self._passed: set[str] = set()
        self._tell: ReportProgress = lambda *_: None

    async def stage(
        self, things: "Sequence[WantedSkill | Finder]", scans: ScanProcesses, tell: ReportProgress | None = None
    ) -> list[StagedSkill]:
        """Find, download, read and scan, several at once: nobody waits for the slowest to be found.

        Raises: ClawftError for the first that goes wrong.
        """
        self._tell = tell or self._tell
        finding, room = anyio.Semaphore(DOWNLOADS), anyio.Semaphore(DOWNLOADS)  # apart: what is found comes at once
        staged: dict[tuple[int, int], StagedSkill] = {}
        errors: list[ClawftError] = []
        total = 0

        async def find(number: int, thing: WantedSkill | Finder) -> None:
            nonlocal total
            try:
                async with finding:
                    wanted = [thing] if isinstance(thing, WantedSkill) else await thing()
            except ClawftError as error:
                errors.append(error)
                group.cancel_scope.cancel()
                return
            total += len(wanted)
            for at, skill in enumerate(wanted):
                group.start_soon(bring, (number, at), skill)

        async def bring(number: tuple[int, int], one: WantedSkill) -> None:
            try:
                staged[number] = await self._bring(one, room, scans)
            except ClawftError as error:
                errors.append(error)
                group.cancel_scope.cancel()
            except OSError as error:
                errors.append(_unwritable(error))
                group.cancel_scope.cancel()

        async with (
            repeat_progress(self._tell, lambda: (len(staged), max(total, len(things), 1))),
            anyio.create_task_group() as group,
        ):
            for number, thing in enumerate(things):
                group.start_soon(find, number, thing)
        if errors:
            raise errors[0]
        return _distinct([staged[number] for number in sorted(staged)])

    async def _bring(self, one: WantedSkill, room: anyio.Semaphore, scans: ScanProcesses) -> StagedSkill:
        async with room:
            place = self._new_place(self.to[0], check_name(one.resolved.name, "skill"))
            os.mkdir(place, 0o755)
            got = await one.source.download(one.resolved, place)
            aside = partial(self._new_place, self.to[0])
            read = read_staged(got, place, aside, self._supplies.max_prompt_bytes, one.name)
        return structs.replace(read, report=await scans.scan(read.folder), requested=one.requested)

    def plan(self, staged: Sequence[StagedSkill], options: InstallChoices) -> list[PlannedSkill]:
        """Plan the installation for the user to review. Raises: ClawftError."""
        planner = self._planner(load_lock(self.site.lock), options, staged)
        publishers = self._supplies.publishers()
        if options.digest:
            _check_digest(staged, options.digest)
        plans = []
        for skill in staged:
            place = self.site.folder(self.to[0], skill.name)
            review = self._supplies.context.reviewer.review(skill.found, skill.report, place, skill.contents)
            version, owner = skill.resolved.version, skill.resolved.origin.whose
            statement = SkillStatement(skill.found.name, version, skill.digest)
            signature = check_signature(skill.folder, statement, publishers, owner=owner)
            # A registry may have exchanged two of theirs.
            if signature.state == "good" and skill.found.name != skill.name:
                reason = f"it is signed as '{skill.found.name}', not as '{skill.name}'"
                signature = structs.replace(signature, state="untrusted", reason=reason)
            stays = options.stay and skill.name in planner.lock
            plans.append(planner.plan(skill, review, () if stays else self.to, signature))
        return plans

    def commit(self, plans: Sequence[PlannedSkill], options: InstallChoices) -> tuple[Diagnostic, ...]:
        """Put all of them into their places, at once as far as anybody can tell; what was approved and cannot be.

        Raises: Refused for what changed since it was looked at; ClawftError.
        """
        with _translate_errors(), lock_transactions(self._supplies.context) as diagnostics:
            lock = self._reload({plan.name: plan.old for plan in plans})
            planner = self._planner(lock, options)
            unchanged = {plan.name: plan.old for plan in plans if options.exact and plan.old is not None}
            new = {plan.name: planner.locked(plan) for plan in plans} | unchanged
            clients = self.site.choose({client for plan in plans for client in plan.to})
            _make_roots([self.site.roots[client] for client in clients])
            foreign_locks = ForeignLocks(self.site, self._supplies.environ)
            for plan in plans if not options.exact else ():
                foreign_locks.add(new[plan.name], plan.staged.folder)
            self.site.check(*(os.path.dirname(text.path) for text in foreign_locks.texts))
            moves = [move for plan in plans for move in self._moves(plan, new[plan.name], foreign_locks)]
            sync_trees([move.hidden for move in moves])
            changed = [plan for plan in plans if not plan.is_same or new[plan.name] != plan.old]
            approvals = tuple(made for plan in plans if options.approve for made in planner.approvals(plan))
            overrides = tuple(made for plan in plans for made in plan.overrides)
            places = list_places(approvals, overrides)
            before = self._decisions(places)
            newest = {(override.path, override.rule): override for override in (*before.overrides, *overrides)}
            ready = structs.replace(
                self._journal,
                moves=tuple(moves),
                lock=self._edit_lock(lock, lock | new),
                texts=foreign_locks.texts,
                places=places,
                before=before,
                after=RecordedDecisions(approvals, tuple(newest.values())),
                notes=tuple(note_placed(skill, new[skill.name], exact=options.exact) for skill in changed),
            )
            return (*diagnostics, *self._carry_out(ready))

    def remove(self, removals: Sequence[Removal]) -> tuple[Diagnostic, ...]:
        """Take skills out of their places, with their approvals and all that locks say of them; what went wrong before.

        Raises: as `commit` does.
        """
        with _translate_errors(), lock_transactions(self._supplies.context) as diagnostics:
            lock = self._reload({removal.name: removal.locked for removal in removals})
            foreign_locks = ForeignLocks(self.site, self._supplies.environ)
            locked = [removal.locked for removal in removals if removal.locked is not None]
            for skill in locked:
                foreign_locks.drop(skill)
            left = [skill for name, skill in lock.items() if name not in {removal.name for removal in removals}]
            places = [place for removal in removals for place in removal.places]
            self.site.check(*map(os.path.dirname, (*places, *(text.path for text in foreign_locks.texts))))
            moves = [
                FolderMove(place, self._hide(os.path.dirname(place), removed=True), old=inode_of(place))
                for place in places
                if os.path.lexists(place)
            ]
            noted = [self.site.folder(to, skill.name) for skill in locked for to in skill.to if to in self.site.roots]
            revoked = tuple(dict.fromkeys((*places, *noted)))  # also folders that the user already removed by hand
            ready = structs.replace(
                self._journal,
                moves=tuple(moves),
                lock=self._edit_lock(lock, {skill.name: skill for skill in without_missing(left)}),
                texts=foreign_locks.texts,
                places=revoked,
                before=self._decisions(revoked),
                notes=tuple(note_removed(removal.name, removal.locked) for removal in removals),
            )
            return (*diagnostics, *self._carry_out(ready))

    def _reload(self, seen: Mapping[str, LockedSkill | None]) -> dict[str, LockedSkill]:
        """The lock as it is now. Raises: Refused if what was looked at is no longer so."""
        lock = load_lock(self.site.lock)
        for name, old in seen.items():
            if lock.get(name) != old:
                message = f"'{name}' was installed, updated or removed by another process meanwhile"
                raise Refused("install-changed", message, path=self.site.lock, hint="Look at it again")
        return lock

    def _edit_lock(self, old: Mapping[str, LockedSkill], new: Mapping[str, LockedSkill]) -> LockEdit | None:
        """Return the difference between two locks; None where they agree."""
        names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        before, after = ({name: lock.get(name) for name in names} for lock in (old, new))
        return LockEdit(self.site.lock, before, after, os.path.lexists(self.site.lock)) if names else None

    def _decisions(self, places: Sequence[str]) -> RecordedDecisions:
        """Load the recorded decisions about these folders. Raises: ClawftError."""
        context = self._supplies.context
        approvals = (found for found in context.reviewer.stores.approvals.load() if is_about(found, places))
        overrides = (override for override in context.overrides.load() if override.path in places)
        return RecordedDecisions(tuple(approvals), tuple(overrides))

    def _carry_out(self, journal: TransactionJournal) -> tuple[Diagnostic, ...]:
        ready = structs.replace(journal, ready=True)
        self._supplies.context.journals.write(ready)
        self.written = True
        return apply_transaction(ready, self._supplies.context)

    def _planner(
        self, lock: dict[str, LockedSkill], options: InstallChoices, staged: Sequence[StagedSkill] = ()
    ) -> InstallPlanner:
        overrides = self._supplies.context.overrides.load()
        signed = options.signed or self._supplies.signed_only
        known = partial(self._known, staged)
        return InstallPlanner(
            self.site, lock, self._supplies.approved_copies, known, overrides, options.allowing, options.force, signed
        )

    def _known(self, staged: Sequence[StagedSkill]) -> list[DiscoveredSkill]:
        """Every skill there is, or will be."""
        return [*self._supplies.here(), *(skill.found for skill in staged)]

    def _moves(self, planned: PlannedSkill, locked: LockedSkill, foreign_locks: ForeignLocks) -> Iterator[FolderMove]:
        """Raises: Refused, OSError."""
        used = False
        seen: set[str] = set()
        for client in planned.to:
            root, target = self.site.roots[client], self.site.folder(client, planned.name)
            if real_path(root) in seen:
                continue  # two clients that share a folder by a link
            seen.add(real_path(root))
            old, now = inode_of(target), compute_folder_digest(target)
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
            foreign_locks.mark_origin(locked, hidden, client)
            yield FolderMove(target, hidden, inode_of(hidden), old, planned.staged.digest)

    def _hide(self, root: str, *, removed: bool = False) -> str:
        """Return a new hidden path in a root."""
        self._count += 1
        return os.path.join(root, staged_name(self._count, self._journal.id, removed=removed))

    def _new_place(self, client: str, name: str) -> str:
        """Return a free path in a hidden folder, on the disk where the skill will be. Raises: OSError."""
        root = self.site.roots[client]
        place = os.path.join(self._hidden.get(root, ""), name)
        if root not in self._hidden or place in self._passed:
            self._hidden[root] = self._hide(root)
            os.mkdir(self._hidden[root], 0o755)
            place = os.path.join(self._hidden[root], name)
        self._passed.add(place)
        return place


def _check_digest(staged: Sequence[StagedSkill], wanted: str) -> None:
    """Raises: Refused for anything else than what was asked for."""
    if len(staged) != 1:
        raise Refused("digest-mismatch", "--digest is for one skill", hint="Install it alone")
    found = {staged[0].digest, f"sha256:{staged[0].resolved.archive}"}
    if wanted not in found:
        message = f"'{staged[0].name}' is {staged[0].digest}, and not {wanted}"
        raise Refused("digest-mismatch", message, hint="Nothing was installed")


def _distinct(staged: list[StagedSkill]) -> list[StagedSkill]:
    """Each skill once. Raises: Refused where two different ones have one name."""
    found: dict[str, StagedSkill] = {}
    for skill in staged:
        other = found.setdefault(skill.name, skill)
        if other.digest != skill.digest:
            message = f"Two different skills would be installed as '{skill.name}'"
            raise Refused("install-twice", message, hint="Install one of them")
    return list(found.values())
