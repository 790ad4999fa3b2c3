"""The handlers of the daemon's requests: a function for each row of `protocol/operations.py`, by topic."""

from clawft.server.daemon import Handler
from clawft.server.operations import executions, records, registries, runs, skills
from clawft.server.protocol.envelope import DaemonRequest

__all__ = ["HANDLERS"]

HANDLERS: dict[type[DaemonRequest], Handler] = {
    **skills.SKILL_HANDLERS,
    **skills.DECISION_HANDLERS,
    **executions.EXECUTION_HANDLERS,
    **executions.SUBSCRIPTION_HANDLERS,
    **records.SESSION_HANDLERS,
    **runs.HANDLERS,
    **records.USAGE_HANDLERS,
    **records.AUDIT_HANDLERS,
    **registries.HANDLERS,
}
