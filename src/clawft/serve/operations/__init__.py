"""What the daemon does for each request of the table in `protocol/operations.py`: a function for each, by topic."""

from clawft.protocol.base import Request
from clawft.serve.daemon import Handler
from clawft.serve.operations import audit, deciding, registries, running, runs, sessions, skills, usage, watching

__all__ = ["HANDLERS"]

HANDLERS: dict[type[Request], Handler] = {
    **skills.HANDLERS,
    **running.HANDLERS,
    **deciding.HANDLERS,
    **watching.HANDLERS,
    **sessions.HANDLERS,
    **runs.HANDLERS,
    **usage.HANDLERS,
    **audit.HANDLERS,
    **registries.HANDLERS,
}
