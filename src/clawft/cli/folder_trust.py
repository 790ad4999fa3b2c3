"""One question about all that a folder brings, for `weft trust` and for the beginning of a conversation."""

import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

import click
from msgspec import structs

from clawft.app.app import App, open_app
from clawft.app.folders import (
    FolderItem,
    FolderReview,
    approve_folder,
    list_covered,
    review_folders,
    revoke_folder,
    settle_folder,
)
from clawft.cli.config_changes import config_review_lines
from clawft.cli.hooks.enable import command_review_lines, hook_review_lines
from clawft.cli.output import CommandResult, clean, is_json_asked, one_line, print_table, say, show_diagnostics
from clawft.cli.prompts import ask_choice, confirm
from clawft.cli.review import agent_lines, file_lines, review_lines, text_lines
from clawft.cli.skills.trust import approval_fields, list_approvals, render_approval_state
from clawft.errors import ClawftError, Diagnostic, NotFound
from clawft.files import real_path
from clawft.scanner.findings import Power
from clawft.scanner.reports.text import render_power, reveal
from clawft.server.protocol.base import diagnostic_json
from clawft.skills.discovery.instructions import Instructions
from clawft.trust.command_hooks import CommandHooksStatus
from clawft.trust.config_review import ConfigReview
from clawft.trust.review import Review

_SCHEMA = "clawft.trust.v1"
MAX_NAMES = 5  # of one kind, in the summary
MAX_CHANGED = 8  # paths of what changed, in the summary
_MAX_LINE = 300
_ANSWERS = ("t", "r", "n")
_NEW = "[t]rust this folder, [r]eview each, or use [n]one of it"
_CHANGED = "[t]rust them as they are now, [r]eview each, or use [n]one of them"


def ask_folder_trust(app: App) -> None:
    """Ask about folders of which something waits and that nobody was asked about; where nobody can be asked, name the
    command that does. What cannot be read is reported."""
    try:
        for review in review_folders(app):
            if not review.items:
                continue
            if review.is_answered or sys.stdin is None or not sys.stdin.isatty():
                say(_waiting_line(app, review))
            else:
                show_diagnostics(_decide(app, review, yes=False, whole=False), app.workspace.shorten)
    except ClawftError as error:
        show_diagnostics([error.diagnostic], app.workspace.shorten)


def _waiting_line(app: App, review: FolderReview) -> str:
    where = one_line(app.workspace.shorten(review.folder))
    at = "" if where == "." else f" {where}"
    return f"Not approved, so not used: {_count(review.items)}. Look at it: weft trust{at}"


def trust_folder(app: App, *, yes: bool, whole: bool) -> CommandResult | int:
    reviews = review_folders(app)
    waiting = [review for review in reviews if review.items]
    here = reviews[0]
    if not here.items and not here.is_trusted and list_covered(app, here.folder):
        waiting.insert(0, here)  # all of it was approved one by one
    problems: list[Diagnostic] = [diagnostic for review in reviews for diagnostic in review.left]
    before = {approval.path: approval.digest for approval in app.approvals.load()}
    shown = [review for review in waiting if not (yes and review is not here and review.folder != here.folder)]
    for review in shown:
        problems += _decide(app, review, yes=yes, whole=whole)
    trusted = app.folders.find(here.folder)
    is_trusted = trusted is not None and trusted.answer == "trusted"
    document = {
        "path": here.folder,
        "trusted": is_trusted,
        "approved": [
            approval_fields(item.approval)
            for review in shown
            for item in review.items
            if _is_approved(app, item, before)
        ],
        "left": [diagnostic_json(diagnostic) for diagnostic in problems],
    }

    def show() -> None:
        show_diagnostics(problems, app.workspace.shorten)
        for review in waiting:
            if review not in shown:
                say(_waiting_line(app, review))
        if not shown:
            say("Nothing here waits for an approval")
        elif is_trusted:
            click.echo(one_line(f"Trusted: {app.workspace.shorten(here.folder)}"))

    return CommandResult(_SCHEMA, document, show, int(bool(shown) and not is_trusted and not document["approved"]))


def _is_approved(app: App, item: FolderItem, before: dict[str, str]) -> bool:
    known = app.approvals.find(item.approval.kind, item.approval.path)
    return known is not None and known.digest == item.approval.digest != before.get(item.approval.path)


def _decide(app: App, review: FolderReview, *, yes: bool, whole: bool) -> tuple[Diagnostic, ...]:
    """Show what waits, ask, and do what the answer says. Raises: ClawftError; Refused where nobody can be asked."""
    if not (yes and is_json_asked()):  # nobody is asked about what they did not see
        for line in folder_lines(app, review):
            say(line)
        for item in review.items if whole else ():
            _show(app, item)
    answer = "t" if yes else ""
    try:
        answer = answer or _ask(_CHANGED if review.is_trusted else _NEW)
    finally:
        if not answer:
            app.audit.tell("approval", f"folder {review.folder}", decision="deny")
            say("Nothing was approved")
    if answer == "t":
        return approve_folder(app, review, review.items)
    chosen = [item for item in review.items if _agree(app, item)] if answer == "r" else []
    return settle_folder(app, review, chosen)


def _ask(question: str) -> str:
    return ask_choice(question, _ANSWERS, "n", "To trust a folder", "Look at it, then: weft trust --yes")


def _agree(app: App, item: FolderItem) -> bool:
    _show(app, item)
    return confirm(f"Approve {_name(app, item)}?", "To approve it", "weft trust --yes")


def _show(app: App, item: FolderItem) -> None:
    say()
    for line in item_lines(app, item):
        say(clean(line))


def folder_lines(app: App, review: FolderReview) -> list[str]:
    """The summary of what waits in a folder: what and how much it is, what it uses, and what the scanner says."""
    where = app.workspace.shorten(review.folder)
    where = review.folder if where == "." else where
    if review.is_trusted and review.items:
        assert review.answer is not None
        count = sum(map(_count_files, review.items))
        files = "1 file that steers the agent" if count == 1 else f"{count} files that steer the agent"
        lines = [f"{files} changed since you trusted {where} on {review.answer.at[:10]}:"]
        lines += [f"  {_name(app, item)}" for item in review.items[:MAX_CHANGED]]
        more = len(review.items) - MAX_CHANGED
        lines += [f"  … and {more} more"] if more > 0 else []
    else:
        brings = "steers the model or runs programs, and is not approved:" if review.items else "is all approved"
        lines = [f"What {where} brings {brings}", *(f"  {line}" for line in _name_by_kind(app, review.items))]
    lines += _power_lines(review.items)
    if review.left:
        lines.append(f"  cannot be approved: {len(review.left)}; see: weft trust --review")
    return [_cut(one_line(line), indent=line[:2] == "  ") for line in lines]


def _cut(line: str, *, indent: bool) -> str:
    text = line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}… (all of it: --review)"
    return f"  {text}" if indent else text


def _name(app: App, item: FolderItem) -> str:
    path = app.workspace.shorten(item.approval.path)
    return path if item.word in ("settings", "instructions") else f"{item.word} {item.approval.name} ({path})"


def _count(items: Sequence[FolderItem]) -> str:
    counts = Counter(item.word for item in items)
    plural = {word: f"{count} {word}s" if count > 1 else f"1 {word}" for word, count in counts.items()}
    return ", ".join(word if word in ("settings", "instructions") else plural[word] for word in counts)


def _name_by_kind(app: App, items: Sequence[FolderItem]) -> list[str]:
    lines = []
    for word in dict.fromkeys(item.word for item in items):
        path_named = word in ("settings", "instructions")
        names = [
            app.workspace.shorten(item.approval.path) if path_named else item.approval.name
            for item in items
            if item.word == word
        ]
        lines.append(f"{_count([item for item in items if item.word == word])}: {_some(names)}")
    return lines


def _some(names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    return ", ".join(known[:MAX_NAMES]) + (f" and {len(known) - MAX_NAMES} more" if len(known) > MAX_NAMES else "")


def _power_lines(items: Sequence[FolderItem]) -> list[str]:
    """Render all that it would use together, what follows from settings, which commands hooks run, and the verdicts."""
    fields = Power.__struct_fields__
    whole = Power(**{field: tuple(dict.fromkeys(_values(items, field))) for field in fields})
    used = [f"{label} {_some(map(reveal, values))}" for label, values in render_power(whole) if label != "tools"]
    lines = [f"  would use: {'; '.join(used)}"] if used else []
    follows = [
        text for item in items if isinstance(item.subject, ConfigReview) for text, _ in item.subject.consequences
    ]
    lines += [f"  settings: {_some(follows)}"] if follows else []
    commands = [
        hook.command
        for item in items
        if isinstance(item.subject, CommandHooksStatus)
        for hook in item.subject.found.hooks
    ]
    lines += [f"  runs by itself: {_some(commands)}"] if commands else []
    reports = [
        item.subject.report for item in items if isinstance(item.subject, Review) and item.word in ("skill", "hook")
    ]
    verdicts = Counter("not scanned" if report.failed else report.verdict for report in reports)
    return [*lines, *([f"  scanner: {', '.join(f'{n} {verdict}' for verdict, n in verdicts.items())}"] * bool(reports))]


def _values(items: Sequence[FolderItem], field: str) -> Iterable[str]:
    return (value for item in items for value in getattr(item.power, field))


def _count_files(item: FolderItem) -> int:
    return len(item.subject.files or (0,)) if isinstance(item.subject, Review) else 1


def item_lines(app: App, item: FolderItem) -> list[str]:
    """Render one thing whole, or all that changed since it was approved before."""
    subject, shorten = item.subject, app.workspace.shorten
    if isinstance(subject, Instructions):
        before = app.approvals.find("instructions", subject.path)
        name = os.path.basename(subject.path)
        change = app.approved_copies.compare_file(before.digest, name, subject.content) if before else None
        whole = change is None or not change.is_whole
        return [
            f"{shorten(subject.path)}:",
            *(text_lines(subject.content) if whole or not change else file_lines(change)),
        ]
    if isinstance(subject, ConfigReview):
        return [line.replace("\n", "\\n") for line in config_review_lines(app, [subject])]
    if isinstance(subject, CommandHooksStatus):
        return command_review_lines(app, subject)
    if item.word == "agent":
        return agent_lines(subject, shorten)  # type: ignore[arg-type]
    if item.word == "hook":
        return hook_review_lines(app, subject)  # type: ignore[arg-type]
    return review_lines(subject, shorten)  # type: ignore[arg-type]


def revoke_trust(folder: str) -> CommandResult:
    """Take back the trust in a folder, also in one that is gone. Raises: NotFound where nothing of it is approved."""
    app = open_app(os.environ, folder if os.path.isdir(folder) else os.getcwd())
    real = real_path(folder)
    if all(known.path != real for known in app.folders.load()) and not list_covered(app, real):
        raise NotFound("approval-not-found", "Nothing of this folder is approved", path=real, hint="weft trust --list")
    taken = revoke_folder(app, real)

    def show() -> None:
        click.echo(one_line(f"Taken back: the trust in {app.workspace.shorten(real)}"))
        for approval in taken:
            click.echo(one_line(f"Taken back: {approval.kind} {approval.name or app.workspace.shorten(approval.path)}"))

    return CommandResult(_SCHEMA, {"path": real, "revoked": list(map(approval_fields, taken))}, show)


def list_trusted(app: App) -> CommandResult:
    folders = [(answer, "yes" if answer.is_there() else "gone") for answer in app.folders.load()]
    known = [(listed, render_approval_state(app, listed.approval)) for listed in list_approvals(app)]
    document = {
        "folders": [
            {name: value for name, value in structs.asdict(answer).items() if name != "left"} | {"holds": state}
            for answer, state in folders
        ],
        "approvals": [{"id": it.id, **approval_fields(it.approval), "holds": state} for it, state in known],
    }

    def show() -> None:
        if not folders and not known:
            return say("Nothing is approved")
        rows: list[Sequence[str]] = [
            ("", "folder", answer.answer, answer.at[:10], answer.by, state, app.workspace.shorten(answer.path))
            for answer, state in folders
        ]
        rows += [
            (it.id, it.approval.kind, it.approval.name, it.approval.at[:10], it.approval.by, state,
             app.workspace.shorten(it.approval.path))
            for it, state in known
        ]  # fmt: skip
        return print_table(("ID", "KIND", "NAME", "SINCE", "BY", "STILL HOLDS", "WHERE"), rows, wide=6)

    return CommandResult(_SCHEMA, document, show)
