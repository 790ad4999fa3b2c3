"""Skills, agents, hooks and MCP servers that plugins bring: where they lie, and approving or revoking them."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from clawft.app.plugins import load_plugin_contents, load_plugin_statuses, open_granted, open_grants
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import is_within, read_regular
from clawft.skills.discovery.agents import DiscoveredAgent
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.plugin_folders import PluginPlaces
from clawft.skills.discovery.plugins import DiscoveredPlugin, agent_places, hook_files, hook_place, skill_places
from clawft.skills.discovery.walk import MAX_FILE_BYTES
from clawft.trust.approvals import hash_bytes
from clawft.trust.command_hooks import approve_commands
from clawft.trust.plugins import PluginStatus

if TYPE_CHECKING:
    from clawft.app.app import App
    from clawft.trust.review import AnyReview, Review, Reviewed

F = TypeVar("F", bound="Reviewed")
_KINDS = ("skill", "agent", "hook", "claude-hooks")


def find_places(app: "App") -> PluginPlaces:
    """Find the folders in which plugins have skills, agents and hooks.

    Only the manifests are read, since each skill, agent and hook is judged by itself.
    """
    statuses = load_plugin_statuses(app, by_digest=False)
    listed_plugins = [status.found for status in statuses if _joins(status)]
    hooked = [status.found for status in statuses if _keeps_hooks(status)]
    skills, agents = map(skill_places, listed_plugins), map(agent_places, listed_plugins)
    return PluginPlaces(
        tuple(chain.from_iterable(skills)),
        tuple(chain.from_iterable(agents)),
        tuple(place for plugin in hooked if (place := hook_place(plugin)) is not None),
        tuple(files for plugin in hooked if (files := hook_files(plugin)) is not None),
    )


def _joins(one: PluginStatus) -> bool:
    """Return whether what it brings is listed. What nobody granted yet is, to be looked at, unless a project brought
    it."""
    return one.state == "ready" or (one.state == "untrusted" and one.found.scope != "project")


def _keeps_hooks(one: PluginStatus) -> bool:
    """Return whether its hooks count. One that is not eligible keeps them: they may be there to forbid something; and a
    folder without a manifest may be there for its hooks alone."""
    unapproved = one.state in ("untrusted", "broken") and one.found.scope != "project"
    return unapproved or one.state in ("ready", "ineligible")


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
