"""Which servers run in the sandbox, and what is written down of the hosts that they reach."""

from msgspec import Struct

from clawft.sandbox.proxy import Record
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.audit import Audit

__all__ = ["Confine"]


class Confine(Struct, frozen=True):
    """`servers` are those that run in `sandbox`."""

    sandbox: Sandbox
    servers: frozenset[str]
    audit: Audit

    def recorder(self, server: str) -> Record:
        """Writes down what is decided about a host that a server wants to reach."""

        def record(kind: str, subject: str, decision: str, rule: str) -> None:
            write = self.audit.tell if decision == "deny" else self.audit.write
            write(kind, subject, decision=decision, rule=rule, detail={"server": server})

        return record
