"""`weft skills trust`: review, approve, list and revoke approvals."""

import os
from collections.abc import Sequence
from typing import Any

import click
from msgspec import Struct

from clawft.app.app import App
from clawft.cli.completion import complete_skills
from clawft.cli.options import dir_option, finish_installation, format_option, open_here
from clawft.cli.output import (
    CommandResult,
    is_json_asked,
    one_line,
    print_table,
    say,
    say_lines,
    show_diagnostic,
    show_diagnostics,
)
from clawft.cli.prompts import confirm
from clawft.cli.review import agent_lines, review_lines, short_lines
from clawft.errors import ClawftError, Diagnostic, NotFound, Refused
from clawft.files import read_regular
from clawft.server.protocol.base import diagnostic_json
from clawft.server.views.review import agent_json, review_json
from clawft.skills.discovery.agents import DiscoveredAgent
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.hooks import find_pack
from clawft.trust.approvals import Approval, hash_bytes
from clawft.trust.review import AnyReview, Review
from clawft.trust.status import SkillStatus

MAX_BYTES = 8 << 20
_ID = 8


class ListedApproval(Struct, frozen=True):
    """An approval, and what a person may call it by."""

    id: str
    approval: Approval


def list_approvals(app: App) -> list[ListedApproval]:
    """Every approval of the user, by kind, name and place. Raises: ClawftError."""
    approved = (approval for approval in app.approvals.load() if approval.kind != "former")
    known = sorted(approved, key=lambda one: (one.kind, one.name, one.path))
    return [
        ListedApproval(
            hash_bytes(f"{approval.kind}\0{approval.path}".encode("utf-8", "replace"))[7 : 7 + _ID], approval
        )
        for approval in known
    ]


def matches_approval(listed: ListedApproval, name: str) -> bool:
    """Return whether a name, an id or a path means this approval."""
    one = listed.approval
    return name in (listed.id, one.name, one.path) or (bool(one.name) and name.rpartition(":")[2] == one.name)


def render_approval_state(app: App, one: Approval) -> str:
    """Return whether what was approved is what is there now, in a word."""
    if one.kind == "tool":  # a question, which has no file
        return "yes"
    if not os.path.lexists(one.path):
        return "gone"
    if one.kind == "claude-hooks":
        return _holds_commands(app, one)
    if one.kind in ("skill", "hook"):
        covered = one.path if one.kind == "skill" else find_pack(one.path)
        return "yes" if compute_digest(covered).value == one.digest else "changed"
    try:
        return "yes" if hash_bytes(read_regular(one.path, MAX_BYTES, follow=True)[0]) == one.digest else "changed"
    except (ClawftError, OSError):
        return "unreadable"


def _holds_commands(app: App, one: Approval) -> str:
    """The same of command hooks, whose approval covers scripts too. Those of another project are not looked at."""
    from clawft.app.hooks import load_command_hook_statuses

    known = {each.file: each.digest for each in load_command_hook_statuses(app, ())}
    if one.path not in known:
        return "elsewhere"
    return "yes" if known[one.path] == one.digest else "changed"


class _Chosen(Struct):
    """The skills and agents to approve, and diagnostics about those that cannot be approved."""

    reviews: list[Review[DiscoveredSkill]] = []
    agents: list[Review[DiscoveredAgent]] = []
    left: list[Diagnostic] = []

    def __bool__(self) -> bool:
        return bool(self.reviews or self.agents)


@click.command("trust")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_skills)
@click.option("--all", "every", is_flag=True, help="Every skill and agent that waits for an approval.")
@click.option("--list", "listing", is_flag=True, help="List what is approved, and whether it still holds.")
@click.option(
    "--revoke", is_flag=True, help="Take approvals back: of NAME, of an ID of the list, or with --all of all."
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
@dir_option
def command(
    names: tuple[str, ...], every: bool, listing: bool, revoke: bool, yes: bool, dirs: tuple[str, ...]
) -> CommandResult | int:
    """Approve skills and agents that came with a project, a plugin or an installer, as they are now.

    You are shown what each could do, and what changed since you last approved it. When a file of it changes it waits
    for an approval again. A skill that the scanner blocks cannot be approved: see `weft skills allow`.
    """
    app = open_here(dirs)
    finish_installation(app, change=False)
    if listing:
        return _list(app)
    if not names and not every:
        raise click.UsageError("Say which: weft skills trust NAME, or --all; --list shows what is approved")
    if revoke:
        return _revoke(app, names, every=every)
    return _approve(app, _choose_all(app) if every else _choose(app, names), yes=yes)


def _choose_all(app: App) -> _Chosen:
    chosen = _Chosen()
    untrusted_skills = [
        skill
        for skill in app.skills
        if app.trust_policy.requires_approval(skill.found) and skill.found.location.scope != "mcp"
    ]
    for untrusted_skill in untrusted_skills:
        if untrusted_skill.state == "untrusted" or (
            untrusted_skill.found.location.scope == "dir" and untrusted_skill.state not in ("broken", "blocked")
        ):
            _take(app, untrusted_skill, chosen)
        elif untrusted_skill.state == "blocked":
            chosen.left.append(_blocked(untrusted_skill).diagnostic)
    for agent in app.agents:
        if agent.state == "untrusted":
            _take_agent(app, agent.found, chosen)
    return chosen


def _take(app: App, status: SkillStatus, chosen: _Chosen) -> None:
    try:
        app.trust_policy.check_key(status.found)
        chosen.reviews.append(app.reviewer.review(status.found))
    except ClawftError as error:
        chosen.left.append(error.diagnostic)


def _take_agent(app: App, found: DiscoveredAgent, chosen: _Chosen) -> None:
    try:
        chosen.agents.append(app.reviewer.review_agent(found))
    except ClawftError as error:
        chosen.left.append(error.diagnostic)


def _choose(app: App, names: Sequence[str]) -> _Chosen:
    """Find what the names refer to. Raises: ClawftError for one that cannot be approved."""
    chosen = _Chosen()
    for name in names:
        agents = [agent.found for agent in app.agents if agent.found.name == name and agent.state == "untrusted"]
        try:
            status = _find(app, name)
        except NotFound:
            if not agents:
                raise
        else:
            if status.state == "blocked":
                raise _blocked(status)
            if app.trust_policy.requires_approval(status.found):
                app.trust_policy.check_key(status.found)
                chosen.reviews.append(app.reviewer.review(status.found))
            elif not agents:
                say(one_line(f"{name} is yours, or came with weft: it needs no approval"))
        chosen.agents += [app.reviewer.review_agent(agent) for agent in agents]
    return chosen


def _find(app: App, name: str) -> SkillStatus:
    """The skill of a name that waits for an approval, if there is one. Raises: NotFound."""
    scope, colon, bare = name.rpartition(":")
    waiting = [skill for skill in app.skills if skill.name == bare and skill.state in ("untrusted", "blocked")]
    fitting = [skill for skill in waiting if not colon or skill.found.location.matches_reference(scope)]
    return fitting[0] if fitting else app.get_skill(name)


def _blocked(status: SkillStatus) -> Refused:
    message = f"The skill '{status.name}' is blocked by the scanner: {status.reasons[0].message}"
    hint = f"Run: weft skills why {status.name}"
    return Refused("skill-blocked", message, path=status.found.file, hint=hint)


def _approve(app: App, chosen: _Chosen, *, yes: bool) -> CommandResult | int:
    """Show it, ask, and keep the decision. Raises: ClawftError."""
    new = [review for review in chosen.reviews if not review.is_same]
    if not (yes and is_json_asked()):  # nobody is asked about what they did not see
        _show(app, chosen)
    if (new or chosen.agents) and not yes and not _agree(app, [*new, *chosen.agents]):
        say("Nothing was approved")
        return 1
    app.reviewer.approve([*new, *chosen.agents])
    document = {
        "approved": [review_json(review) for review in chosen.reviews],
        "agents": [agent_json(agent) for agent in chosen.agents],
        "left": [diagnostic_json(diagnostic) for diagnostic in chosen.left],
    }
    failed = bool(chosen.left and not chosen)
    return CommandResult("clawft.skills.trust.v1", document, lambda: _tell(chosen, new), int(failed))


def _show(app: App, chosen: _Chosen) -> None:
    whole = len(chosen.reviews) + len(chosen.agents) == 1
    for review in chosen.reviews:
        changed = review.previous is not None and not review.is_same
        lines = review_lines(review, app.workspace.shorten) if whole or changed else None
        say_lines(lines or short_lines(review, app.workspace.shorten))
        say()
    for agent in chosen.agents:
        say_lines(agent_lines(agent, app.workspace.shorten))
        say()
    show_diagnostics(chosen.left, app.workspace.shorten)


def _tell(chosen: _Chosen, new: Sequence[AnyReview]) -> None:
    for review in chosen.reviews:
        was = "" if review in new else " already"
        click.echo(one_line(f"{review.found.name} is{was} approved as it is now"))
    for agent in chosen.agents:
        click.echo(one_line(f"The agent {agent.found.name} is approved as it is now"))
    if not chosen:
        say("Nothing waits for an approval" if not chosen.left else "Nothing was approved")


def _agree(app: App, reviews: Sequence[AnyReview]) -> bool:
    """Return whether a person agrees; what they, or nobody, said no to is written down. Raises: Refused."""
    agents = sum(review.found.kind == "agent" for review in reviews)
    agreed = False
    try:
        agreed = _ask(len(reviews) - agents, agents)
    finally:
        for review in reviews if not agreed else ():
            app.reviewer.refuse(review)
    return agreed


def _ask(skills: int, agents: int) -> bool:
    """Return whether a person agrees. Raises: Refused where there is nobody to ask."""
    parts = [f"{count} {word}{'s' * (count > 1)}" for count, word in ((skills, "skill"), (agents, "agent")) if count]
    return confirm(f"Approve {' and '.join(parts)}?", "To approve a stranger's work", "Look at it, then pass --yes")


def _list(app: App) -> CommandResult:
    known = [
        (listed.id, listed.approval, render_approval_state(app, listed.approval)) for listed in list_approvals(app)
    ]

    def show() -> None:
        if not known:
            return say("Nothing is approved")
        rows = [
            (number, it.kind, it.name, it.at[:10], it.by, state, app.workspace.shorten(it.path))
            for number, it, state in known
        ]
        return print_table(("ID", "KIND", "NAME", "APPROVED", "BY", "STILL HOLDS", "WHERE"), rows, wide=6)

    approvals = [{"id": number, **approval_fields(approval), "holds": state} for number, approval, state in known]
    return CommandResult("clawft.skills.trust.v1", {"approvals": approvals}, show)


def approval_fields(one: Approval) -> dict[str, Any]:
    """An approval for other programs."""
    return {name: getattr(one, name) for name in ("kind", "name", "path", "digest", "at", "by")}


def _revoke(app: App, names: Sequence[str], *, every: bool) -> CommandResult:
    """Take approvals back. Raises: NotFound for a name that nothing was approved under."""
    known = list_approvals(app)
    meant = [entry for entry in known if every or any(matches_approval(entry, name) for name in names)]
    lost = [name for name in names if not any(matches_approval(entry, name) for entry in known)]
    if lost:
        raise NotFound(
            "approval-not-found", f"Nothing is approved as '{lost[0]}'", hint="Run: weft skills trust --list"
        )
    taken = app.reviewer.revoke([entry.approval for entry in meant])
    if app.audit.lost:
        message = "The approvals are taken back, but the audit log cannot be written, so it does not say so"
        problem = Diagnostic("audit-unwritable", "warning", message, app.audit.path, 0, "Run: weft doctor")
        show_diagnostic(problem, where=app.workspace.shorten(problem.path))

    def show() -> None:
        for approval in taken:
            click.echo(one_line(f"Taken back: {approval.kind} {approval.name or app.workspace.shorten(approval.path)}"))

    return CommandResult("clawft.skills.trust.v1", {"revoked": [approval_fields(approval) for approval in taken]}, show)
