"""Review of a plugin before the user grants it anything, and the record of their decision."""

from collections.abc import Callable
from typing import Any

from msgspec import structs

from clawft.contracts import Permissions
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.scanner.findings import Power, Report
from clawft.skills.discovery.catalog import ReviewSubject
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.plugins import DiscoveredPlugin, load_plugin
from clawft.skills.parse.plugin import PluginManifest
from clawft.trust.approvals import Approval
from clawft.trust.approved_copies import ApprovedCopies
from clawft.trust.audit import AuditEntry, AuditLog
from clawft.trust.plugins import (
    PluginGrant,
    PluginGrants,
    clip_permissions,
    compare_permissions,
    drop_permissions,
    join_permissions,
    make_grant,
    name_permissions,
)
from clawft.trust.policy import why_unbindable
from clawft.trust.review import Review, compare_review


class PluginReview(Review[DiscoveredPlugin], frozen=True):
    """The review of a plugin. `grant` is the last decision about it, `fresh` what it asks for and did not then,
    `withheld` what it asked for then and did not get.
    """

    grant: PluginGrant | None = None
    fresh: Permissions = Permissions()
    withheld: Permissions = Permissions()

    @property
    def asked(self) -> Permissions:
        return self.found.manifest.permissions if self.found.manifest else Permissions()

    @property
    def offered(self) -> Permissions:
        """The permissions that an approval grants: all that the plugin asks for, but of what was withheld from it
        before only the parts it had."""
        return join_permissions(compare_permissions(self.withheld, self.asked), self.retained)

    @property
    def retained(self) -> Permissions:
        """The permissions that the plugin was granted before and still asks for."""
        return clip_permissions(self.asked, self.grant.permissions) if self.grant else Permissions()


class PluginReviewer:
    """Reviews and grants of one user. `load_report` has a folder scanned; `object_to` says what blocks it."""

    def __init__(
        self,
        grants: PluginGrants,
        copies: ApprovedCopies,
        audit: AuditLog,
        load_report: Callable[[ReviewSubject], Report],
        object_to: Callable[[ReviewSubject, Report], Diagnostic | None],
    ) -> None:
        self._grants = grants
        self._copies = copies
        self._audit = audit
        self._load_report = load_report
        self._object_to = object_to

    def review(self, found: DiscoveredPlugin) -> PluginReview:
        """Review a plugin as it is now. Raises: ClawftError; Refused for what cannot be granted."""
        if found.manifest is None:
            raise make_broken_error(found)
        digest, report = compute_digest(found.folder), self._load_report(found)
        objection = why_unbindable(found, digest, []) or self._object_to(found, report)
        if objection is not None:
            code = "plugin-scan-blocked" if objection.code.startswith("scan-") else objection.code
            message = f"The plugin '{found.id}' cannot be granted anything: {objection.message}"
            raise Refused(code, message, path=objection.path, hint=objection.hint)
        if report.digest != digest.value:
            raise make_changed_error(found)
        grant = self._grants.find(found)
        review = PluginReview(found, digest.value, report)
        return self._compare(review, found.manifest, grant) if grant else review

    def _compare(self, review: PluginReview, manifest: PluginManifest, grant: PluginGrant) -> PluginReview:
        """A review with what changed since the plugin was last granted something, as far as that was kept."""
        found = review.found
        with self._copies.open(grant.digest) as place:
            old = load_plugin(found.scope, place) if place else None
            power = self._load_report(old).power if old else Power()
        missing = compare_permissions(grant.permissions, manifest.permissions)
        asked = old.manifest.permissions if old and old.manifest else Permissions()
        fresh = compare_permissions(asked, missing)
        review = structs.replace(
            review,
            previous=Approval("plugin", found.folder, grant.digest, grant.at, power=power),
            grant=grant,
            fresh=fresh,
            withheld=drop_permissions(missing, fresh),
        )
        return compare_review(review, self._copies)

    def grant(self, review: PluginReview, permissions: Permissions) -> PluginGrant:
        """Grant what was decided to the plugin as it was reviewed. Raises: ClawftError."""
        found, digest = review.found, review.digest
        try:
            self._copies.keep(found.folder, digest)
        except Refused as error:
            raise make_changed_error(found) from error
        with self._copies.open(digest) as place:
            copy = load_plugin(found.scope, place or "", found.entry)
        if _say(copy) != _say(found):  # the manifest was another one for the moment in which it was read
            raise make_changed_error(found)
        return self._record(make_grant(found, digest, clip_permissions(review.asked, permissions)))

    def change(self, found: DiscoveredPlugin, known: PluginGrant, permissions: Permissions) -> PluginGrant:
        """Grant more or less to a plugin that is what was granted. Raises: ClawftError; Refused if it changed."""
        if found.manifest is None or compute_digest(found.folder).value != known.digest:
            raise make_changed_error(found)
        return self._record(make_grant(found, known.digest, clip_permissions(found.manifest.permissions, permissions)))

    def _record(self, made: PluginGrant) -> PluginGrant:
        detail: dict[str, Any] = {"version": made.version, "permissions": ", ".join(name_permissions(made.permissions))}
        subject = f"plugin {made.folder}"
        line = AuditEntry("approval", subject, "allow", {"digest": made.digest, "detail": detail})
        with self._audit.last_step([line]) as commit:
            self._grants.record(made, commit)
        self._prune()
        return made

    def refuse(self, review: PluginReview) -> None:
        """Write down that a person, or nobody's answer, kept a plugin from use."""
        subject = f"plugin {review.found.folder}"
        self._audit.tell("approval", subject, decision="deny", digest=review.digest)

    def revoke(self, found: DiscoveredPlugin) -> PluginGrant | None:
        """Take back what a plugin was granted; what that was. Raises: ClawftError."""
        known = self._grants.find(found)
        if known is None or not self._grants.remove(found):
            return None
        self._audit.tell("approval", f"plugin {found.folder}", decision="revoked", digest=known.digest)
        self._prune()
        return known

    def _prune(self) -> None:
        self._copies.prune([grant.digest for grant in self._grants.load()])


def _say(found: DiscoveredPlugin) -> PluginManifest | None:
    """Return what a manifest says, independent of the folder's place: a plugin without a manifest is named after its
    folder."""
    manifest = found.manifest
    if manifest is None:
        return None
    bare = found.file == found.folder
    return structs.replace(manifest, diagnostics=(), **({"id": "", "name": ""} if bare else {}))


def make_broken_error(found: DiscoveredPlugin) -> ClawftError:
    """Return the error for a plugin whose manifest is missing or broken."""
    why = f": {found.problem.message}" if found.problem else ""
    hint = found.problem.hint if found.problem else ""
    return ClawftError("plugin-broken", f"The plugin '{found.id}' is broken{why}", path=found.file, hint=hint)


def make_changed_error(found: DiscoveredPlugin) -> Refused:
    hint = f"Look at it again: weft plugins enable {found.id}"
    return Refused("plugin-changed", f"The plugin '{found.id}' changed meanwhile", path=found.folder, hint=hint)
