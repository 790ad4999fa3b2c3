"""Which servers run in the sandbox, and what is written down of all of them."""

import shlex
from typing import Any

from msgspec import Struct

from clawft.mcp.launch import HttpLaunch, Launch
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

    def note(self, server: str, launch: Launch) -> None:
        """Write down that a server is started or reached. Raises: Refused if that is not possible."""
        detail: dict[str, Any] = {"server": server}
        if isinstance(launch, HttpLaunch):
            kind, subject = "url", launch.url
        else:
            kind, subject = "command", shlex.join(launch.command)
            confined = launch.confinement is not None
            detail |= {"sandbox": "confined"} if confined else {"sandbox": "none", "files": launch.prepare().files}
        rule = f"[mcp.servers.{server}]"
        self.audit.write(kind, launch.secrets.mask(subject), decision="allow", rule=rule, detail=detail)
