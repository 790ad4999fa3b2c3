"""What is written down of hooks in TypeScript: that each ran, which secrets it got, and which hosts it reached."""

from msgspec import structs

from clawft.config.masking import Secrets
from clawft.errors import ClawftError
from clawft.hooks.events import HookEvent, Reply
from clawft.hooks.grants import HookJob
from clawft.sandbox.proxy import Record
from clawft.trust.audit import Audit

__all__ = ["Notes"]


class Notes:
    """Lines of the audit log. A secret that a hook gets is not shown from then on, whatever the hook makes of it."""

    def __init__(self, audit: Audit, secrets: Secrets) -> None:
        self._audit = audit
        self._secrets = secrets

    def run(self, job: HookJob, event: HookEvent) -> None:
        """Before a hook is called. Raises: Refused if it cannot be written."""
        rule = "approved" if job.digest else "one's own"
        detail = {"event": event.key, "place": job.root}
        self._audit.write(
            "hook", job.name, decision="allow", rule=rule, digest=job.digest, session=event.session_key, detail=detail
        )

    def failed(self, job: HookJob, event: HookEvent, code: str) -> None:
        detail = {"event": event.key, "place": job.root}
        self._audit.tell(
            "hook", job.name, decision="failed", rule=code, digest=job.digest, session=event.session_key, detail=detail
        )

    def give(self, job: HookJob) -> None:
        """Before a process is started that gets the secrets of a hook. Raises: Refused if it cannot be written."""
        rule = f"hooks.entries.{job.name}"
        for name in job.secret:
            self._secrets.add([job.grants.env[name]])
            self._audit.write("secret", name, decision="used", rule=rule, digest=job.digest, detail={"hook": job.name})

    def mask(self, reply: Reply) -> Reply:
        """An answer without secrets, for all that is made of it: hooks get some, and may give them away."""
        parts = {name: self._secrets.mask_value(value) for name, value in structs.asdict(reply).items()}
        return Reply(**parts)

    def mask_failure(self, error: ClawftError) -> ClawftError:
        """What a hook threw may hold a secret, too."""
        said = error.diagnostic
        message, hint = self._secrets.mask(said.message), self._secrets.mask(said.hint)
        return type(error)(said.code, message, path=said.path, line=said.line, hint=hint)

    def recorder(self, job: HookJob) -> Record:
        """Writes down what is decided about a host that a hook wants to reach."""

        def record(kind: str, subject: str, decision: str, rule: str) -> None:
            write = self._audit.tell if decision == "deny" else self._audit.write
            write(kind, subject, decision=decision, rule=rule, digest=job.digest, detail={"hook": job.name})

        return record
