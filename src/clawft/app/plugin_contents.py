"""What plugins bring joins what there is: skills, commands and agents, hooks, and MCP servers.

Nothing of a plugin that is broken, shadowed or turned off joins; of a project's nothing before the plugin was granted.
What joins needs approvals of its own, which a grant records and taking it back removes.
"""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from clawft.discovery.digest import compute_digest
from clawft.discovery.plugin_cache import Places
from clawft.discovery.plugin_contents import agent_places, hook_files, hook_place, skill_places
from clawft.discovery.plugins import FoundPlugin
from clawft.discovery.read import MAX_FILE_BYTES
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import is_within, read_regular
from clawft.plugging import load_plugin_contents, load_plugin_standings, open_granted, open_grants
from clawft.trust.approvals import hash_bytes
from clawft.trust.command_hooks import approve_commands
from clawft.trust.plugins import PluginStanding

if TYPE_CHECKING:
    from clawft.app import App

__all__ = [
    "approve_contents",
    "find_places",
    "revoke_contents",
]

F = TypeVar("F")
R = TypeVar("R")
_KINDS = ("skill", "agent", "hook", "claude-hooks")


def find_places(app: "App") -> Places:
    """Where plugins have what joins; by their manifests alone, since each thing is judged by itself."""
    standings = load_plugin_standings(app, by_digest=False)
    joining = [one.found for one in standings if _joins(one)]
    hooked = [one.found for one in standings if _keeps_hooks(one)]
    skills, agents = map(skill_places, joining), map(agent_places, joining)
    return Places(
        tuple(chain.from_iterable(skills)),
        tuple(chain.from_iterable(agents)),
        tuple(place for one in hooked if (place := hook_place(one)) is not None),
        tuple(files for one in hooked if (files := hook_files(one)) is not None),
    )


def _joins(one: PluginStanding) -> bool:
    """Whether what it brings is listed. What nobody granted yet is, to be looked at, unless a project brought it."""
    return one.state == "ready" or (one.state == "untrusted" and one.found.scope != "project")


def _keeps_hooks(one: PluginStanding) -> bool:
    """Whether its hooks count. One that is not eligible keeps them: they may be there to forbid something; and a folder
    without a manifest may be there for its hooks alone."""
    strange = one.state in ("untrusted", "broken") and one.found.scope != "project"
    return strange or one.state in ("ready", "ineligible")


def approve_contents(app: "App", found: FoundPlugin) -> tuple[Diagnostic, ...]:
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


def _approve(app: "App", found: FoundPlugin, digest: str, copy: str) -> tuple[Diagnostic, ...]:
    contents, look = load_plugin_contents(app, found), _Look(found, copy)
    desk = app.desk
    skills = look.at(desk.review, (*contents.skills, *contents.commands), lambda one: (one.found.folder, one.digest))
    agents = look.at(desk.review_agent, contents.agents, lambda one: (one.found.file, hash_bytes(one.content)))
    hooks = look.at(desk.review_hook, contents.hooks, lambda one: (one.hook.root, one.whole.digest))
    desk.approve(skills)
    desk.approve_agents(agents)
    desk.approve_hooks(hooks)
    for one in contents.command_hooks:
        if one.problem is not None:
            look.said.append(one.problem)
        else:  # they are bound to the whole folder
            approve_commands(one, digest, app.approvals, app.audit)
    made = {one.found.folder for one in skills} | {one.found.file for one in agents}
    made |= {one.hook.folder for one in hooks} | {one.file for one in contents.command_hooks}
    desk.revoke([one for one in app.approvals.load() if _is_of(one.kind, one.path, found) and one.path not in made])
    return tuple(look.said)


def revoke_contents(app: "App", found: FoundPlugin) -> None:
    """Take back the approvals of all that a plugin brings, and ever brought. Raises: ClawftError."""
    app.desk.revoke([one for one in app.approvals.load() if _is_of(one.kind, one.path, found)])


def _is_of(kind: str, path: str, found: FoundPlugin) -> bool:
    return kind in _KINDS and is_within(path, found.folder)


class _Look:
    """Looks at parts of a plugin, each as it is in the copy that was kept of it: that is what the user agreed to."""

    def __init__(self, found: FoundPlugin, copy: str) -> None:
        self._found = found
        self._copy = copy
        self.said: list[Diagnostic] = []

    def at(self, review: Callable[[F], R], parts: Iterable[F], bind: Callable[[R], tuple[str, str]]) -> list[R]:
        """The reviews of parts; `bind` gives the place and the digest of one."""
        reviews = []
        for part in parts:
            try:
                one = review(part)
                self._check(*bind(one))
            except ClawftError as error:
                self.said.append(error.diagnostic)
            else:
                reviews.append(one)
        return reviews

    def _check(self, place: str, digest: str) -> None:
        """Raises: Refused for what is not what was granted."""
        kept = self._copy + place[len(self._found.folder) :]
        if digest not in (compute_digest(kept).value, _hash_file(kept)):
            hint = f"Look at it again: weft plugins enable {self._found.id}"
            message = f"The plugin '{self._found.id}' changed since it was granted"
            raise Refused("plugin-changed", message, path=place, hint=hint)


def _hash_file(path: str) -> str:
    """The hash of the bytes of a file, as an agent is bound to it; nothing for a folder."""
    try:
        return hash_bytes(read_regular(path, MAX_FILE_BYTES)[0])
    except (OSError, ClawftError):
        return ""
