"""Whether a stranger's skill may be used as it is: its digest was approved, for good or for this run (D27, R116)."""

import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from clawft.discovery.catalog import Found
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.trust.origin import Origins

if TYPE_CHECKING:  # a list without a stranger's skill needs none of these
    from clawft.discovery.digest import Digest
    from clawft.trust.approvals import Approval, Approvals
    from clawft.trust.revoked import Revocations

__all__ = ["RunTrust", "Strangers", "why_unbindable"]


class RunTrust:
    """What is approved for as long as this process runs. A skill is taken as it is when it is first seen."""

    def __init__(self) -> None:
        self.project = False  # `--trust-project-skills`
        self.digests: dict[str, str] = {}  # by folder

    def holds(self, found: Found, digest: str) -> bool:
        if self.project and found.location.scope == "project":
            self.digests.setdefault(found.folder, digest)
        return bool(digest) and self.digests.get(found.folder) == digest


class Strangers:
    """Judges the skills of one app."""

    def __init__(
        self, origins: Origins, approvals: "Callable[[], Approvals]", run: RunTrust, revocations: "Revocations"
    ) -> None:
        self._origins = origins
        self._approvals = approvals
        self._run = run
        self._revocations = revocations

    def is_strange(self, found: Found) -> bool:
        return bool(self._origins.why_strange(found))

    def check(self, found: Found) -> Diagnostic | None:
        """Why a skill is untrusted; None if it may be used. What `--dir` names may be looked at by anybody."""
        return self.object_to_use(found) if found.location.scope != "dir" else None

    def object_to_use(self, found: Found) -> Diagnostic | None:
        """The same, also for what `--dir` names: to run that it must be approved."""
        why = self._origins.why_strange(found)
        return self._object(found, why, None) if why else None

    def clear(self, found: Found, digest: "Digest", linked: list[str]) -> "Approval | None":
        """The approval under which a skill that was read with this digest may be used now; None for the user's own.

        Raises: Refused.
        """
        why = self._origins.why_strange(found)
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

    def check_key(self, found: Found) -> None:
        """Raises: Refused where to approve a skill as it lies there would change nothing: the key that signed it was
        revoked, or it is for its MCP server to say what it is."""
        if found.location.scope == "mcp":
            message = f"The skill '{found.name}' comes from an MCP server, which is asked what it is now"
            raise Refused("skill-mcp", message, path=found.file, hint=_hint(found))
        revoked = self._find_revoked(found)
        if revoked is not None:
            message = f"The skill '{found.name}' cannot be approved: {_lower(revoked.message)}"
            raise Refused(revoked.code, message, path=revoked.path, hint=revoked.hint)

    def _find_revoked(self, found: Found) -> Diagnostic | None:
        known = self._known.get(found.folder)
        return self._revocations.check(found, known.at if known else "")

    @cached_property
    def _known(self) -> "dict[str, Approval]":
        return {one.path: one for one in self._approvals().load() if one.kind == "skill"}

    def _object(self, found: Found, why: str, digest: "Digest | None") -> Diagnostic | None:
        try:
            known = self._known.get(found.folder)
            if (revoked := self._find_revoked(found)) is not None:
                return revoked
        except ClawftError as error:
            said = error.diagnostic
            return Diagnostic("untrusted", "warning", f"{why}, and {_lower(said.message)}", said.path, 0, said.hint)
        for_run = self._run.project and found.location.scope == "project"
        if known is None and not for_run and found.folder not in self._run.digests:
            return Diagnostic("untrusted", "warning", f"{why} and {self._lacks(found)}", found.file, 0, _hint(found))
        from clawft.discovery.digest import compute_digest

        digest = digest or compute_digest(found.folder)  # read only where somebody decided about it
        same = known is not None and bool(digest.value) and digest.value == known.digest
        if self._run.holds(found, digest.value) or same:
            return None
        changed = f"It changed since it was approved on {known.at[:10]}" if known else "It changed since this run began"
        installed = known is not None and known.installed
        return Diagnostic("untrusted", "warning", changed, found.file, 0, _mend(found) if installed else _hint(found))

    def _lacks(self, found: Found) -> str:
        """What keeps a skill from use that has no approval."""
        former = self._approvals().find("former", found.folder) if found.location.scope == "mcp" else None
        return f"changed there since it was approved on {former.at[:10]}" if former else "is not approved"


def why_unbindable(found: Found, digest: "Digest", linked: list[str]) -> Diagnostic | None:
    """Why nothing can be bound to a digest: there is none, or it does not cover all that is read."""
    if not digest.value:
        said = next(iter(digest.diagnostics), None)
        why = f": {_lower(said.message)}" if said else ""
        hint = "Put plain files in the place of links"
        return Diagnostic("no-digest", "error", f"There is no digest of it to approve{why}", found.folder, 0, hint)
    if linked:
        message = "A part of it is read through a link, which no approval covers"
        return Diagnostic("no-digest", "error", message, linked[0], 0, "Put a copy of the file there")
    return None


def _mend(found: Found) -> str:
    """What to do about an installed skill that somebody changed: most do not mean to approve that."""
    import shlex

    name = shlex.quote(os.path.basename(found.folder))
    return f"See what: weft skills verify {name}. To have it as it was: weft skills sync. {_hint(found)}"


def _hint(found: Found) -> str:
    """How to approve a skill: with the whole plugin it came with; else by its name, and where it is if need be."""
    at = found.location
    if at.scope == "plugin":  # whose ids need no quotes
        return f"Look at it, then: weft plugins enable {at.layer}"
    if at.scope == "mcp":
        return f"Look at it, then: weft mcp trust {at.layer}:{found.name}"
    import shlex

    where = f" --dir {shlex.quote(at.path)}" if at.scope == "dir" else ""
    return f"Look at it, then: weft skills trust {shlex.quote(found.name)}{where}"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
