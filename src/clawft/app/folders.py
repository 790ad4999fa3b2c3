"""The one decision about a folder: what a project brings that waits for an approval, and what comes of the answer."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from clawft.app.hooks import AnyHookStatus, load_all_hooks
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import is_within, real_path
from clawft.git import find_head
from clawft.scanner.findings import Power
from clawft.skills.discovery.instructions import Instructions
from clawft.trust.approvals import Approval, hash_bytes, make_approval
from clawft.trust.audit.log import AuditEntry
from clawft.trust.command_hooks import KIND, CommandHooksStatus
from clawft.trust.config_review import ConfigReview
from clawft.trust.folders import Answer, FolderAnswer, find_owner, make_answer
from clawft.trust.review import AnyReview, Review, make_audit_entry, make_review_approval
from clawft.trust.status import AgentStatus, SkillStatus

if TYPE_CHECKING:
    from clawft.app.app import App

KINDS = ("skill", "agent", "hook", KIND, "config", "instructions")
ItemWord = Literal["skill", "agent", "hook", "settings", "instructions"]


class FolderItem(Struct, frozen=True):
    """One thing that waits for an approval, as it was looked at: the approval that a yes makes, and what keeps a copy
    of just this, to compare with later."""

    word: ItemWord
    subject: AnyReview | CommandHooksStatus | ConfigReview | Instructions
    approval: Approval
    keep_copy: Callable[[], object]

    @property
    def power(self) -> Power:
        return self.subject.report.power if isinstance(self.subject, Review) else Power()


class FolderReview(Struct, frozen=True):
    """A folder with all that waits in it, what cannot be approved, and the answer that was given before.

    `status` and `head` were taken before anything in it was looked at.
    """

    folder: str
    status: os.stat_result
    head: str | None
    answer: FolderAnswer | None
    items: tuple[FolderItem, ...] = ()
    left: tuple[Diagnostic, ...] = ()

    @property
    def is_trusted(self) -> bool:
        return self.answer is not None and self.answer.answer == "trusted"

    @property
    def is_answered(self) -> bool:
        """Return whether the person said no to all of this before."""
        answer = self.answer
        return answer is not None and (answer.answer == "unused" or answer.left == fingerprint(self.items))


def fingerprint(items: Sequence[FolderItem]) -> str:
    """Return one hash for just these things, as they were looked at; '' for none."""
    made = sorted((item.approval.kind, item.approval.path, item.approval.digest) for item in items)
    return hash_bytes(repr(made).encode("utf-8", "backslashreplace")) if made else ""


def review_folders(app: "App") -> list[FolderReview]:
    """Review what waits for an approval here: of the current folder's project, of repositories inside of it, and of
    folders above it. The first is that of the current folder. Raises: ClawftError."""
    project = app.workspace.project
    here = find_owner(app.workspace.cwd, project)
    heads = {here: (os.stat(here), find_head(here))}
    items: dict[str, list[FolderItem]] = {here: []}
    left: dict[str, list[Diagnostic]] = {}
    for item in _find_items(app):
        place = item.path if isinstance(item, Diagnostic) else item.approval.path
        owner = find_owner(place, project)
        if isinstance(item, Diagnostic):
            left.setdefault(owner, []).append(item)
        else:
            items.setdefault(owner, []).append(item)
    return [
        FolderReview(
            folder,
            *(heads.get(folder) or (os.stat(folder), find_head(folder))),
            app.folders.find(folder),
            tuple(items.get(folder, ())),
            tuple(left.get(folder, ())),
        )
        for folder in dict.fromkeys((*items, *left))
    ]


def _find_items(app: "App") -> Iterator[FolderItem | Diagnostic]:
    """Find all that the project brings and that is not approved as it is now; a diagnostic for what cannot be."""
    makers: list[Callable[[], FolderItem]] = [
        partial(_review_skill, app, skill)
        for skill in app.skills
        if skill.state in ("untrusted", "blocked") and _is_projects(app, skill)
    ]
    makers += [
        partial(_review_agent, app, agent)
        for agent in app.agents
        if agent.state == "untrusted" and agent.found.scope == "project"
    ]
    makers += [
        partial(_review_hook, app, hook)
        for hook in load_all_hooks(app)
        if hook.state == "untrusted" and hook.found.skill is None and hook.found.scope in ("project", "here")
    ]
    makers += [
        partial(_review_config, app, path, content)
        for path, content in app.project_configs().items()
        if not app.approvals.has("config", path, content)
    ]
    makers += [partial(_review_instructions, app, file) for file in app.find_waiting_instructions()]
    for make in makers:
        try:
            yield make()
        except ClawftError as error:
            yield error.diagnostic


def _is_projects(app: "App", skill: SkillStatus) -> bool:
    """Return whether a skill is of the project, or a link of the user's leads there."""
    scope, workspace = skill.found.location.scope, app.workspace
    linked = scope in ("user", "extra") and workspace.project != workspace.home
    return scope == "project" or (linked and is_within(real_path(skill.found.folder), real_path(workspace.project)))


def _review_skill(app: "App", skill: SkillStatus) -> FolderItem:
    if skill.state == "blocked":
        reason = skill.reasons[0]
        message = f"The skill '{skill.name}' is blocked by the scanner: {reason.message}"
        raise Refused("skill-blocked", message, path=skill.found.file, hint=f"Run: weft skills why {skill.name}")
    app.trust_policy.check_key(skill.found)
    review = app.reviewer.review(skill.found)
    keep = partial(app.approved_copies.keep, review.found.root, review.digest)
    return FolderItem("skill", review, make_review_approval(review), keep)


def _review_agent(app: "App", agent: AgentStatus) -> FolderItem:
    review = app.reviewer.review_agent(agent.found)
    keep = partial(app.approved_copies.keep_file, review.content)
    return FolderItem("agent", review, make_review_approval(review), keep)


def _review_hook(app: "App", hook: AnyHookStatus) -> FolderItem:
    if isinstance(hook, CommandHooksStatus):
        if not hook.digest:
            message = "A file that the hooks start cannot be read, so they cannot be approved"
            raise ClawftError("unreadable", message, path=hook.file)
        approval = make_approval(KIND, hook.file, hook.digest, hook.name)
        return FolderItem("hook", hook, approval, lambda: None)
    review = app.reviewer.review_hook(hook.found)
    keep = partial(app.approved_copies.keep, review.found.root, review.digest)
    return FolderItem("hook", review, make_review_approval(review), keep)


def _review_config(app: "App", path: str, content: bytes) -> FolderItem:
    review = app.review_config(path, content)
    approval = make_approval("config", path, hash_bytes(content))
    return FolderItem("settings", review, approval, partial(app.approved_copies.keep_file, content))


def _review_instructions(app: "App", file: Instructions) -> FolderItem:
    approval = make_approval("instructions", file.path, hash_bytes(file.content))
    return FolderItem("instructions", file, approval, partial(app.approved_copies.keep_file, file.content))


def approve_folder(app: "App", review: FolderReview, chosen: Sequence[FolderItem]) -> tuple[Diagnostic, ...]:
    """Trust a folder, and approve what was looked at in it; return what could not be approved as it was then.

    Raises: ClawftError; Refused if the folder is another by now.
    """
    return _settle(app, review, "trusted", chosen)


def settle_folder(app: "App", review: FolderReview, chosen: Sequence[FolderItem]) -> tuple[Diagnostic, ...]:
    """Approve some of what was looked at and leave the rest, as the answers of a person say. A folder that was trusted
    before stays so. Raises: as `approve_folder` does."""
    answer: Answer = "trusted" if review.is_trusted else "reviewed" if chosen else "unused"
    return _settle(app, review, answer, chosen)


def _settle(app: "App", review: FolderReview, answer: Answer, chosen: Sequence[FolderItem]) -> tuple[Diagnostic, ...]:
    now = os.stat(review.folder)
    if (now.st_dev, now.st_ino) != (review.status.st_dev, review.status.st_ino):
        message = "Another folder is at this path now than the one that was looked at"
        raise Refused("folder-changed", message, path=review.folder, hint="Look at it again: weft trust")
    approved, problems = _keep_copies(chosen)
    rest = [item for item in review.items if item not in approved]
    covered = [f"{item.approval.kind} {item.approval.path} {item.approval.digest}" for item in approved]
    decision = "allow" if approved or answer == "trusted" else "deny"
    detail = {"answer": answer, "covered": covered, "left": len(rest)}
    line = AuditEntry("approval", f"folder {review.folder}", decision, {"detail": detail})
    if approved:
        app.reviewer.record([item.approval for item in approved], [line])
    elif decision == "allow":
        app.audit.write_all([line])
    denied = [make_audit_entry(item.approval, "deny") for item in rest]
    app.audit.tell_all(denied if approved or decision == "allow" else [line, *denied])
    before = review.answer
    head = before.head if before is not None and rest else review.head
    left = "" if problems else fingerprint(rest)
    app.own_edits.note_changes(review.folder)  # what was swapped before the answer is no edit after it
    app.folders.record([make_answer(review.folder, answer, head, left, review.status)])
    app.reviewer.prune()
    app.refresh()  # what was approved counts from now on
    return problems


def _keep_copies(chosen: Sequence[FolderItem]) -> tuple[list[FolderItem], tuple[Diagnostic, ...]]:
    """Keep copies of what is about to be approved; what is not any more what was looked at is left out."""
    approved, problems = [], []
    for item in chosen:
        try:
            item.keep_copy()
            approved.append(item)
        except Refused as error:
            problems.append(error.diagnostic)
    return approved, tuple(problems)


def list_covered(app: "App", folder: str) -> list[Approval]:
    """List the approvals of what a folder brought. Raises: ClawftError."""
    return [
        approval
        for approval in app.approvals.load()
        if approval.kind in KINDS and is_within(approval.path, folder) and find_owner(approval.path, folder) == folder
    ]


def revoke_folder(app: "App", folder: str) -> tuple[Approval, ...]:
    """Take back the trust in a folder and every approval of what it brought, whether or not the log can be written;
    return those approvals. Raises: ClawftError."""
    app.folders.remove(folder)
    covered = list_covered(app, folder)
    taken = app.reviewer.revoke(covered) if covered else ()
    detail = {"covered": [f"{approval.kind} {approval.path} {approval.digest}" for approval in taken]}
    app.audit.tell("approval", f"folder {folder}", decision="revoked", detail=detail)
    app.refresh()
    return taken
