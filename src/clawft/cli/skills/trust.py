"""`weft skills trust NAME | --all | --list | --revoke`: what strangers brought, looked at and approved."""

from collections.abc import Sequence
from typing import Any

import click
from msgspec import Struct

from clawft.app import App
from clawft.cli._complete import complete_skills
from clawft.cli._confirm import confirm
from clawft.cli.options import dir_option, finish, format_option, open_here
from clawft.cli.output import one_line, print_json, print_table, say, show_diagnostic
from clawft.cli.skills._approved import holds, list_approvals, matches
from clawft.cli.skills._review import agent_lines, review_lines, short_lines
from clawft.describe.diagnostics import to_json
from clawft.describe.reviews import agent_json, review_json
from clawft.discovery.agents import FoundAgent
from clawft.errors import ClawftError, Diagnostic, NotFound, Refused
from clawft.trust import Standing
from clawft.trust.approvals import Approval
from clawft.trust.review import AgentReview, Review

__all__ = ["command"]


class _Options(Struct, frozen=True):
    """What was asked for."""

    every: bool
    listing: bool
    revoke: bool
    yes: bool
    output: str
    dirs: tuple[str, ...]


class _Chosen(Struct):
    """What is to be approved, and what cannot be."""

    reviews: list[Review] = []
    agents: list[AgentReview] = []
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
def command(names: tuple[str, ...], **given: Any) -> int:
    """Approve skills and agents that came with a project, a plugin or an installer, as they are now.

    You are shown what each could do, and what changed since you last approved it. When a file of it changes it waits
    for an approval again. A skill that the scanner blocks cannot be approved: see `weft skills allow`.
    """
    options = _Options(**given)
    app = open_here(options.dirs)
    finish(app, change=False)
    if options.listing:
        return _list(app, options)
    if not names and not options.every:
        raise click.UsageError("Say which: weft skills trust NAME, or --all; --list shows what is approved")
    if options.revoke:
        return _revoke(app, names, options)
    chosen = _choose_all(app) if options.every else _choose(app, names)
    return _approve(app, chosen, options)


def _choose_all(app: App) -> _Chosen:
    chosen = _Chosen()
    strangers = [one for one in app.skills if app.strangers.is_strange(one.found) and one.found.location.scope != "mcp"]
    for one in strangers:
        if one.state == "untrusted" or (one.found.location.scope == "dir" and one.state not in ("broken", "blocked")):
            _take(app, one, chosen)
        elif one.state == "blocked":
            chosen.left.append(_blocked(one).diagnostic)
    for agent in app.agents:
        if agent.state == "untrusted":
            _take_agent(app, agent.found, chosen)
    return chosen


def _take(app: App, standing: Standing, chosen: _Chosen) -> None:
    try:
        app.strangers.check_key(standing.found)
        chosen.reviews.append(app.desk.review(standing.found))
    except ClawftError as error:
        chosen.left.append(error.diagnostic)


def _take_agent(app: App, found: FoundAgent, chosen: _Chosen) -> None:
    try:
        chosen.agents.append(app.desk.review_agent(found))
    except ClawftError as error:
        chosen.left.append(error.diagnostic)


def _choose(app: App, names: Sequence[str]) -> _Chosen:
    """What the names mean. Raises: ClawftError for one that cannot be approved."""
    chosen = _Chosen()
    for name in names:
        agents = [one.found for one in app.agents if one.found.name == name and one.state == "untrusted"]
        try:
            standing = _find(app, name)
        except NotFound:
            if not agents:
                raise
        else:
            if standing.state == "blocked":
                raise _blocked(standing)
            if app.strangers.is_strange(standing.found):
                app.strangers.check_key(standing.found)
                chosen.reviews.append(app.desk.review(standing.found))
            elif not agents:
                say(one_line(f"{name} is yours, or came with weft: it needs no approval"))
        chosen.agents += [app.desk.review_agent(one) for one in agents]
    return chosen


def _find(app: App, name: str) -> Standing:
    """The skill of a name that waits for an approval, if there is one. Raises: NotFound."""
    scope, colon, bare = name.rpartition(":")
    waiting = [one for one in app.skills if one.name == bare and one.state in ("untrusted", "blocked")]
    fitting = [one for one in waiting if not colon or one.found.location.goes_by(scope)]
    return fitting[0] if fitting else app.get_skill(name)


def _blocked(standing: Standing) -> Refused:
    message = f"The skill '{standing.name}' is blocked by the scanner: {standing.reasons[0].message}"
    hint = f"Run: weft skills why {standing.name}"
    return Refused("skill-blocked", message, path=standing.found.file, hint=hint)


def _approve(app: App, chosen: _Chosen, options: _Options) -> int:
    """Show it, ask, and keep the decision. Raises: ClawftError."""
    new = [one for one in chosen.reviews if not one.is_same]
    if options.output == "table" or not options.yes:  # nobody is asked about what they did not see
        _show(app, chosen)
    if (new or chosen.agents) and not options.yes and not _agree(app, [*new, *chosen.agents]):
        say("Nothing was approved")
        return 1
    app.desk.approve(new)
    app.desk.approve_agents(chosen.agents)
    if options.output == "json":
        approved = [review_json(one) for one in chosen.reviews]
        agents = [agent_json(one) for one in chosen.agents]
        left = [to_json(one) for one in chosen.left]
        print_json("clawft.skills.trust.v1", approved=approved, agents=agents, left=left)
    else:
        _tell(chosen, new)
    return 1 if chosen.left and not chosen else 0


def _show(app: App, chosen: _Chosen) -> None:
    whole = len(chosen.reviews) + len(chosen.agents) == 1
    for review in chosen.reviews:
        changed = review.previous is not None and not review.is_same
        lines = review_lines(review, app.workspace.shorten) if whole or changed else None
        for line in lines or short_lines(review, app.workspace.shorten):
            say(line)
        say()
    for agent in chosen.agents:
        for line in agent_lines(agent, app.workspace.shorten):
            say(line)
        say()
    for problem in chosen.left:
        show_diagnostic(problem, where=app.workspace.shorten(problem.where))


def _tell(chosen: _Chosen, new: Sequence[Review]) -> None:
    for one in chosen.reviews:
        was = "" if one in new else " already"
        click.echo(one_line(f"{one.found.name} is{was} approved as it is now"))
    for agent in chosen.agents:
        click.echo(one_line(f"The agent {agent.found.name} is approved as it is now"))
    if not chosen:
        say("Nothing waits for an approval" if not chosen.left else "Nothing was approved")


def _agree(app: App, reviews: "Sequence[Review | AgentReview]") -> bool:
    """Whether a person agrees; what they, or nobody, said no to is written down. Raises: Refused."""
    agents = sum(isinstance(one, AgentReview) for one in reviews)
    agreed = False
    try:
        agreed = _ask(len(reviews) - agents, agents)
    finally:
        for one in reviews if not agreed else ():
            app.desk.refuse(one)
    return agreed


def _ask(skills: int, agents: int) -> bool:
    """Whether a person agrees. Raises: Refused where there is nobody to ask."""
    parts = [f"{count} {word}{'s' * (count > 1)}" for count, word in ((skills, "skill"), (agents, "agent")) if count]
    return confirm(f"Approve {' and '.join(parts)}?", "To approve a stranger's work", "Look at it, then pass --yes")


def _list(app: App, options: _Options) -> int:
    known = list_approvals(app)
    if options.output == "json":
        told = [{"id": one.id, **_fields(one.approval), "holds": holds(app, one.approval)} for one in known]
        print_json("clawft.skills.trust.v1", approvals=told)
        return 0
    if not known:
        say("Nothing is approved")
        return 0
    rows = [_row(app, one.id, one.approval) for one in known]
    print_table(("ID", "KIND", "NAME", "APPROVED", "BY", "STILL HOLDS", "WHERE"), rows, wide=6)
    return 0


def _row(app: App, number: str, one: Approval) -> tuple[str, ...]:
    where = app.workspace.shorten(one.path)
    return number, one.kind, one.name, one.at[:10], one.by, holds(app, one), where


def _fields(one: Approval) -> dict[str, Any]:
    return {name: getattr(one, name) for name in ("kind", "name", "path", "digest", "at", "by")}


def _revoke(app: App, names: Sequence[str], options: _Options) -> int:
    """Take approvals back. Raises: NotFound for a name that nothing was approved under."""
    known = list_approvals(app)
    meant = [one for one in known if options.every or any(matches(one, name) for name in names)]
    lost = [name for name in names if not any(matches(one, name) for one in known)]
    if lost:
        raise NotFound(
            "approval-not-found", f"Nothing is approved as '{lost[0]}'", hint="Run: weft skills trust --list"
        )
    taken = app.desk.revoke([one.approval for one in meant])
    if app.audit.lost:
        message = "The approvals are taken back, but the audit log cannot be written, so it does not say so"
        problem = Diagnostic("audit-unwritable", "warning", message, app.audit.path, 0, "Run: weft doctor")
        show_diagnostic(problem, where=app.workspace.shorten(problem.path))
    if options.output == "json":
        print_json("clawft.skills.trust.v1", revoked=[_fields(one) for one in taken])
    for one in taken if options.output == "table" else ():
        click.echo(one_line(f"Taken back: {one.kind} {one.name or app.workspace.shorten(one.path)}"))
    return 0
