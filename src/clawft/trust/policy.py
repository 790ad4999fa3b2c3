"""The trust policy: whether a skill or agent that the user did not write was approved as it is now."""

import os
import shlex
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.skills.discovery.agents import DiscoveredAgent
from clawft.skills.discovery.catalog import DiscoveredSkill

if TYPE_CHECKING:
    from clawft.skills.discovery.catalog import ReviewSubject
    from clawft.skills.discovery.digest import Digest
    from clawft.trust.approvals import Approval, Approvals


class RunApprovals:
    """The approvals that hold for as long as this process runs. A skill is taken as it is when it is first seen."""

    def __init__(self) -> None:
        self.project = False  # `--trust-project-skills`
        self.digests: dict[str, str] = {}  # by folder

    def holds(self, found: DiscoveredSkill, digest: str) -> bool:
        if self.project and found.location.scope == "project":
            self.digests.setdefault(found.folder, digest)
        return bool(digest) and self.digests.get(found.folder) == digest


class TrustPolicy:
    """Judges the skills of one app. `why_untrusted` says why a skill needs an approval, '' if it needs none;
    `find_revoked` why the key that signed it is no longer accepted, given when it was approved."""

    def __init__(
        self,
        why_untrusted: Callable[[DiscoveredSkill], str],
        approvals: "Callable[[], Approvals]",
        run: RunApprovals,
        find_revoked: Callable[[DiscoveredSkill, str], Diagnostic | None],
    ) -> None:
        self._why_untrusted = why_untrusted
        self._approvals = approvals
        self._run = run
        self._find_revocation = find_revoked

    def requires_approval(self, found: DiscoveredSkill) -> bool:
        return bool(self._why_untrusted(found))

    def check(self, found: DiscoveredSkill) -> Diagnostic | None:
        """Return why a skill is untrusted; None if it may be used. Skills that `--dir` names may be looked at without
        an approval."""
        return self.check_use(found) if found.location.scope != "dir" else None

    def check_use(self, found: DiscoveredSkill) -> Diagnostic | None:
        """Return why a skill may not be run yet; None if it may. One that `--dir` names must be approved, too."""
        why = self._why_untrusted(found)
        return self._object(found, why, None) if why else None

    def get_approval(self, found: DiscoveredSkill, digest: "Digest", linked: list[str]) -> "Approval | None":
        """Get the approval under which a skill that was read with this digest may be used now; None for the user's own.

        Raises: Refused.
        """
        why = self._why_untrusted(found)
        if not why:
            return None
        objection = why_unbindable(found, digest, linked) or self._object(found, why, digest)
        if objection is not None:
            name, hint = found.name, objection.hint
            message = f"The skill '{name}' is not approved: {objection.message[0].lower()}{objection.message[1:]}"
            raise Refused("skill-untrusted", message, path=found.file, hint=hint)
        from clawft.trust.approvals import make_approval

        known = self._known.get(found.folder)
        if known is not None and known.digest == digest.value:
            return known
        return make_approval("run", found.folder, digest.value, found.name)

    def check_key(self, found: DiscoveredSkill) -> None:
        """Raises: Refused where to approve a skill as it lies there would change nothing: the key that signed it was
        revoked, or it is for its MCP server to say what it is."""
        if found.location.scope == "mcp":
            message = f"The skill '{found.name}' comes from an MCP server, which is asked what it is now"
            raise Refused("skill-mcp", message, path=found.file, hint=_hint(found))
        revoked = self._find_revoked(found)
        if revoked is not None:
            message = f"The skill '{found.name}' cannot be approved: {_lower(revoked.message)}"
            raise Refused(revoked.code, message, path=revoked.path, hint=revoked.hint)

    def _find_revoked(self, found: DiscoveredSkill) -> Diagnostic | None:
        known = self._known.get(found.folder)
        return self._find_revocation(found, known.at if known else "")

    @cached_property
    def _known(self) -> "dict[str, Approval]":
        return {approval.path: approval for approval in self._approvals().load() if approval.kind == "skill"}

    def _object(self, found: DiscoveredSkill, why: str, digest: "Digest | None") -> Diagnostic | None:
        try:
            known = self._known.get(found.folder)
            if (revoked := self._find_revoked(found)) is not None:
                return revoked
        except ClawftError as error:
            diagnostic = error.diagnostic
            return Diagnostic(
                "untrusted", "warning", f"{why}, and {_lower(diagnostic.message)}", diagnostic.path, 0, diagnostic.hint
            )
        for_run = self._run.project and found.location.scope == "project"
        if known is None and not for_run and found.folder not in self._run.digests:
            return Diagnostic("untrusted", "warning", f"{why} and {self._lacks(found)}", found.file, 0, _hint(found))
        from clawft.skills.discovery.digest import compute_digest

        digest = digest or compute_digest(found.folder)  # read only where the user decided about it
        if self._run.holds(found, digest.value) or (known is not None and self._is_same(known, digest.value)):
            return None
        changed = f"It changed since it was approved on {known.at[:10]}" if known else "It changed since this run began"
        installed = known is not None and known.installed
        return Diagnostic(
            "untrusted", "warning", changed, found.file, 0, _hint_restore(found) if installed else _hint(found)
        )

    def _is_same(self, known: "Approval", digest: str) -> bool:
        """Return whether a skill is what was approved, or the person's own edit of it, which is approved by this."""
        if digest and digest != known.digest:
            known = self._approvals().find_for("skill", known.path, digest) or known
            self._known[known.path] = known
        return bool(digest) and digest == known.digest

    def _lacks(self, found: DiscoveredSkill) -> str:
        """Return why a skill without an approval may not be used."""
        former = self._approvals().find("former", found.folder) if found.location.scope == "mcp" else None
        return f"changed there since it was approved on {former.at[:10]}" if former else "is not approved"


def why_unbindable(found: "ReviewSubject", digest: "Digest", linked: list[str]) -> Diagnostic | None:
    """Return why nothing can be bound to a digest: there is none, or it does not cover all that is read. None if it
    can."""
    if not digest.value:
        diagnostic = next(iter(digest.diagnostics), None)
        why = f": {_lower(diagnostic.message)}" if diagnostic else ""
        hint = "Put plain files in the place of links"
        return Diagnostic("no-digest", "error", f"There is no digest of it to approve{why}", found.root, 0, hint)
    if linked:
        message = "A part of it is read through a link, which no approval covers"
        return Diagnostic("no-digest", "error", message, linked[0], 0, "Put a copy of the file there")
    return None


def _hint_restore(found: DiscoveredSkill) -> str:
    """Return what to do about an installed skill that was changed: most users do not mean to approve that."""
    name = shlex.quote(os.path.basename(found.folder))
    return f"See what: weft skills verify {name}. To have it as it was: weft skills sync. {_hint(found)}"


def _hint(found: DiscoveredSkill) -> str:
    """Return how to approve a skill: with the whole plugin it came with; else by its name, and where it is if
    need be."""
    at = found.location
    if at.scope == "plugin":  # whose ids need no quotes
        return f"Look at it, then: weft plugins enable {at.layer}"
    if at.scope == "mcp":
        return f"Look at it, then: weft mcp trust {at.layer}:{found.name}"
    where = f" --dir {shlex.quote(at.path)}" if at.scope == "dir" else ""
    return f"Look at it, then: weft skills trust {shlex.quote(found.name)}{where}"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


UNTRUSTED_AGENT_ORIGINS = frozenset({"project", "plugin"})


def check_agent_approval(found: DiscoveredAgent, approvals: "Approvals") -> Diagnostic | None:
    """Check an untrusted agent's approval and return why it may not answer; None if it may."""
    from clawft.trust.approvals import check_approval

    missing, hint = f"It comes with the {_whose(found)} and is not approved", f"Read it, then: weft {_command(found)}"
    return check_approval(
        lambda: approvals.find_for("agent", found.file, found.digest), lambda: found.digest, found.file, hint, missing
    )[1]


def make_untrusted_agent_diagnostic(found: DiscoveredAgent) -> Diagnostic:
    """Return the diagnostic for an agent that was asked for and is not approved."""
    message = f"The {_whose(found)}'s agent '{found.name}' is not approved"
    return Diagnostic("agent-untrusted", "warning", message, found.file, 0, f"Look at it, then: weft {_command(found)}")


def make_skipped_agent_diagnostic(found: DiscoveredAgent) -> Diagnostic:
    """Return the diagnostic for an agent that is not approved, so that another of its name answers."""
    message = f"The {_whose(found)}'s agent of this name is not approved, so another answers"
    hint = f"Look at it, then: weft {_command(found)}"
    return Diagnostic("agent-untrusted", "warning", message, found.file, 0, hint)


def _whose(found: DiscoveredAgent) -> str:
    return f"plugin {found.plugin}" if found.plugin else "project"


def _command(found: DiscoveredAgent) -> str:
    return f"plugins enable {found.plugin}" if found.plugin else f"skills trust {found.name}"
