"""Grants of plugins: review a plugin, approve or revoke it and the skills, agents and hooks that it brings."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from clawft.app.plugins import load_plugin_contents, open_granted, open_grants
from clawft.contracts import Permissions
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import is_within, read_regular
from clawft.scanner.findings import Report
from clawft.scanner.screening import screen_report
from clawft.skills.discovery.agents import DiscoveredAgent
from clawft.skills.discovery.catalog import ReviewSubject
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.plugins import DiscoveredPlugin
from clawft.skills.discovery.walk import MAX_FILE_BYTES
from clawft.trust.approvals import hash_bytes
from clawft.trust.command_hooks import approve_commands
from clawft.trust.overrides import ScreenedSkills, check_screening
from clawft.trust.plugin_review import PluginReview, PluginReviewer
from clawft.trust.plugins import PluginGrant, PluginStatus

if TYPE_CHECKING:
    from clawft.app.app import App
    from clawft.trust.review import AnyReview, Review, Reviewed

F = TypeVar("F", bound="Reviewed")
_KINDS = ("skill", "agent", "hook", "claude-hooks")


def open_plugin_review(app: "App") -> PluginReviewer:
    """Open the reviewer with which the user decides about plugins."""
    return PluginReviewer(open_grants(app), open_granted(app), app.audit, app.load_report, partial(_object_to, app))


def _object_to(app: "App", found: ReviewSubject, report: Report) -> Diagnostic | None:
    """Return the scanner finding that keeps a plugin from use; None if there is none, or the user allowed it."""
    screening = screen_report(report)
    if screening is None:
        return None
    scanned = ScreenedSkills((screening,), app.overrides.load(), app.config.skills.security.block_critical)
    blocked, diagnostics = check_screening(found, screening, scanned)
    return diagnostics[0] if blocked else None


def grant_plugin(app: "App", review: PluginReview, permissions: Permissions) -> tuple[Diagnostic, ...]:
    """Grant a plugin that was reviewed what was decided, and approve what it brings; what of that could not be.

    Raises: ClawftError.
    """
    open_plugin_review(app).grant(review, permissions)
    return approve_contents(app, review.found)


def revoke_plugin(app: "App", found: DiscoveredPlugin) -> PluginGrant | None:
    """Take back what a plugin was granted, if it was anything, and what it brings with it. Raises: ClawftError."""
    revoke_contents(app, found)
    return open_plugin_review(app).revoke(found)


def change_grant(app: "App", status: PluginStatus, permissions: Permissions) -> PluginGrant:
    """Grant more or less to a plugin that is granted something as it is now. Raises: ClawftError."""
    assert status.grant is not None
    return open_plugin_review(app).change(status.found, status.grant, permissions)


def approve_contents(app: "App", found: DiscoveredPlugin) -> tuple[Diagnostic, ...]:
    """Approve all that a plugin brings, as it was granted; what is to say of that which could not be.

    What it brought before and does not any more loses its approval. Raises: ClawftError; Refused if nothing of it was
    granted.
    """
    grant = open_grants(app).find(found)
    with open_granted(app).open(grant.digest if grant else "") as copy:
        if grant is None or copy is None:
            message, hint = f"The plugin '{found.id}' was not granted", f"Run: weft plugins enable {found.id}"
            raise Refused("plugin-untrusted", message, path=found.folder, hint=hint)
        return _approve(app, found, grant.digest, copy)


def _approve(app: "App", found: DiscoveredPlugin, digest: str, copy: str) -> tuple[Diagnostic, ...]:
    contents, look = load_plugin_contents(app, found), _Look(found, copy)
    reviewer = app.reviewer
    reviews: list[AnyReview] = [
        *look.at(reviewer.review, (*contents.skills, *contents.commands)),
        *look.at(reviewer.review_agent, contents.agents),
        *look.at(reviewer.review_hook, contents.hooks),
    ]
    reviewer.approve(reviews)
    for command_hook in contents.command_hooks:
        if command_hook.problem is not None:
            look.diagnostics.append(command_hook.problem)
        else:  # they are bound to the whole folder
            approve_commands(command_hook, digest, app.approvals, app.audit)
    made = {review.place for review in reviews} | {command_hook.file for command_hook in contents.command_hooks}
    reviewer.revoke(
        [
            approval
            for approval in app.approvals.load()
            if _is_of(approval.kind, approval.path, found) and approval.path not in made
        ]
    )
    return tuple(look.diagnostics)


def revoke_contents(app: "App", found: DiscoveredPlugin) -> None:
    """Take back the approvals of all that a plugin brings, and ever brought. Raises: ClawftError."""
    app.reviewer.revoke([approval for approval in app.approvals.load() if _is_of(approval.kind, approval.path, found)])


def _is_of(kind: str, path: str, found: DiscoveredPlugin) -> bool:
    return kind in _KINDS and is_within(path, found.folder)


class _Look:
    """Looks at parts of a plugin, each as it is in the copy that was kept of it: that is what the user agreed to."""

    def __init__(self, found: DiscoveredPlugin, copy: str) -> None:
        self._found = found
        self._copy = copy
        self.diagnostics: list[Diagnostic] = []

    def at(self, review: "Callable[[F], Review[F]]", parts: Iterable[F]) -> "Iterator[Review[F]]":
        """Yield the reviews of parts."""
        for part in parts:
            try:
                one = review(part)
                self._check(one)
            except ClawftError as error:
                self.diagnostics.append(error.diagnostic)
            else:
                yield one

    def _check(self, review: "AnyReview") -> None:
        """Raises: Refused for what is not what was granted."""
        place = review.found.file if isinstance(review.found, DiscoveredAgent) else review.found.root
        copy_path = self._copy + place[len(self._found.folder) :]
        if review.digest not in (compute_digest(copy_path).value, _hash_file(copy_path)):
            hint = f"Look at it again: weft plugins enable {self._found.id}"
            message = f"The plugin '{self._found.id}' changed since it was granted"
            raise Refused("plugin-changed", message, path=place, hint=hint)


def _hash_file(path: str) -> str:
    """The hash of the bytes of a file, as an agent is bound to it; nothing for a folder."""
    try:
        return hash_bytes(read_regular(path, MAX_FILE_BYTES)[0])
    except (OSError, ClawftError):
        return ""
