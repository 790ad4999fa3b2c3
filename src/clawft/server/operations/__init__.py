"""The functions of the daemon's operations: for each row of `protocol/operations.py` the one of its name."""

from clawft.server.daemon import Handler
from clawft.server.operations import executions, records, registries, runs, skills
from clawft.server.protocol.base import DaemonRequest
from clawft.server.protocol.operations import OPERATIONS

__all__ = ["HANDLERS"]

_FUNCTIONS = {**vars(executions), **vars(records), **vars(registries), **vars(runs), **vars(skills)}
HANDLERS: dict[type[DaemonRequest], Handler] = {
    operation.request: _FUNCTIONS[operation.name] for operation in OPERATIONS
}
