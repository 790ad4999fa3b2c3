"""What a person reads of skills that are to be installed: `install`, `update` and `sync` share it."""

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from clawft.app import App
from clawft.cli._confirm import confirm
from clawft.cli.output import one_line, say, show_diagnostic
from clawft.cli.skills._review import file_lines, review_lines, short_lines
from clawft.cli.skills._scanned import power_lines
from clawft.describe.plans import list_objections
from clawft.describe.reviews import list_programs
from clawft.errors import Diagnostic, Refused
from clawft.scan.findings import VERDICTS
from clawft.signing.check import Signature
from clawft.supply.install import Transaction
from clawft.supply.plan import Planned, worst_verdict

__all__ = [
    "MANY",
    "agree",
    "check_objections",
    "list_names",
    "show_plans",
]

SHOWN = 5  # names in a question
CHANGELOG = 500  # letters of it: a publisher's words do not push the rest off the screen
MANY = 10  # more than so many are told in a line each, but for those to stop at
WHOLE = 3  # so many skills are shown with all there is to say


def show_plans(app: App, transaction: Transaction, plans: Sequence[Planned]) -> None:
    """Each skill: what it is, where it goes, verdict, power, files, and what speaks against it."""
    many = len(plans) > MANY
    for one in plans:
        brief = many and _is_plain(one)
        for line in [_brief(one)] if brief else _lines(app, transaction, one, whole=len(plans) <= WHOLE):
            say(line)
        needing = [other.name for other in plans if one.name in other.dependencies]
        if needing and not one.requested:
            say(one_line(f"Needed by: {list_names(needing)}"))
        for problem in one.said:
            show_diagnostic(problem, where=app.workspace.shorten(problem.where), indent="  ")
        if not brief:
            say()
    if many:
        verdicts = Counter(worst_verdict(one.staged, one.review) for one in plans)
        counts = ", ".join(f"{verdicts[one]} {one}" for one in VERDICTS if one in verdicts)
        say(f"{len(plans)} skills: {counts}. All there is to say of each: --format json")


def _is_plain(one: Planned) -> bool:
    """Whether there is nothing about a skill that somebody should stop at, among many."""
    settled = one.old is None or one.is_same
    return settled and not one.objections and not one.review.hooks and one.review.report.verdict == VERDICTS[0]


def _brief(one: Planned) -> str:
    power = power_lines("would use", one.review.report.power)
    count = len(list_programs(one.review.found.folder))
    brings = [f"brings {count} program{'s' * (count != 1)}"] if count else []
    said = [worst_verdict(one.staged, one.review), *power, *brings]
    return one_line(f"{one.name} {one.staged.resolved.version}".strip() + f": {'; '.join(said)}")[:200]


def _lines(app: App, transaction: Transaction, one: Planned, *, whole: bool) -> list[str]:
    place = transaction.site.folder(one.to[0], one.name)
    shorten = _shorten(app, one.staged.folder, place)
    changed = one.old is not None and not one.is_same
    lines = review_lines(one.review, shorten) if whole or changed else short_lines(one.review, shorten)
    resolved = one.staged.resolved
    before = f"{one.old.version} → " if one.old and one.old.version != resolved.version and resolved.version else ""
    head = [one_line(f"From: {resolved.origin.line}")]
    if one.is_moved and one.old is not None:
        head.append(one_line(f"Until now from: {one.old.origin.line}"))
    if resolved.version or resolved.commit:
        commit = f" (commit {resolved.commit[:12]})" if resolved.commit else ""
        head.append(one_line(f"Version: {before}{resolved.version}{commit}"))
    if before and resolved.changelog:
        head.append(one_line(f"Changelog: {textwrap.shorten(resolved.changelog, CHANGELOG, placeholder=' …')}"))
    verdict = worst_verdict(one.staged, one.review)
    if one.old is not None and one.old.verdict and one.old.verdict != verdict:
        head.append(f"Verdict: {one.old.verdict} → {verdict}")
    if one.signature.state != "unsigned":
        head.append(one_line(f"Signature: {_signature_words(one.signature)}"))
    if one.resigned and not one.taken:
        head.append("Only its signature differs: the files are those that are installed")
    also = [app.workspace.shorten(transaction.site.folder(client, one.name)) for client in one.to[1:]]
    head += [one_line(f"Also to: {', '.join(also)}")] if also else []
    head += [one_line(f"Needs the skills: {', '.join(one.dependencies)}")] if one.dependencies else []
    return [lines[0], *head, *lines[1:], *_edit_lines(one)]


def _signature_words(signature: Signature) -> str:
    """What a signature is worth, in a few words."""
    who = f" of {signature.publisher}" if signature.publisher else ""
    why = f" ({signature.reason})" if signature.reason else ""
    return f"{signature.state}{who}, key {signature.key}{why}" if signature.key else f"{signature.state}{why}"


def _edit_lines(one: Planned) -> list[str]:
    if one.edits is None:
        return ["It was changed after it was installed; what it was then was not kept"]
    changed = [line for change in one.edits for line in file_lines(change)]
    return ["Changed after it was installed:", *changed] if changed else []


def _shorten(app: App, staged: str, place: str) -> Callable[[str], str]:
    """A path as people write it; what lies in a hidden folder is named by where it goes."""
    return lambda path: app.workspace.shorten(place if path == staged else path)


def check_objections(named: Iterable[tuple[str, Sequence[Diagnostic]]], what: str = "installed") -> None:
    """Say all that speaks against any of them, each once. Raises: Refused for the first."""
    found = list_objections(named, what)
    for one in found[1:]:
        show_diagnostic(one, where=one.path)
    for one in found[:1]:
        raise Refused(one.code, one.message, path=one.path, hint=one.hint or f"Nothing was {what}")


def agree(app: App, plans: Sequence[Planned], verb: str) -> bool:
    """Whether a person agrees; what they, or nobody, said no to is written down. Raises: Refused."""
    agreed = False
    question = f"{verb} and approve {list_names([one.name for one in plans])}?"
    try:
        agreed = confirm(question, f"To {verb.lower()} a skill", "Look at it, then pass --yes")
    finally:
        for one in plans if not agreed else ():
            app.desk.refuse(one.review)
    return agreed


def list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
