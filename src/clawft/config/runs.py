"""The section `[runs]`: runs in the background, and the workers that do them."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from clawft.config.load import Config, own_section
from clawft.config.secret import SecretRef

__all__ = ["RunsSettings", "Section", "is_queue", "own_runs"]

_QUEUE = "^[a-z0-9][a-z0-9._-]{0,62}$"
_Seconds = Annotated[float, Meta(gt=0, le=31 * 86_400)]


class RunsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[runs]`."""

    #: Where runs are kept: `postgresql://user@host/name` for several machines; empty for a file in the user folder.
    database: str = ""
    #: The password of that database; a reference such as `{ env = "NAME" }`.
    database_password: SecretRef | None = None
    #: The queue that runs go to and that workers take from, unless they say otherwise.
    queue: Annotated[str, Meta(pattern=_QUEUE)] = "default"
    #: How many runs one worker does side by side.
    concurrency: Annotated[int, Meta(ge=1, le=1_000)] = 4
    #: How long a worker may be silent before others take over its runs, in seconds.
    lease_s: Annotated[float, Meta(ge=1, le=3_600)] = 10
    #: How often a worker looks for new runs, in seconds.
    poll_s: Annotated[float, Meta(ge=0.02, le=60)] = 0.2
    #: How long one run may work, in seconds; the time it waits for a person does not count.
    deadline_s: _Seconds = 86_400
    #: How long a worker that was started on demand stays when there is nothing to do, in seconds.
    idle_s: _Seconds = 20
    #: How long runs that are over are kept, in days: `weft runs prune` removes older ones.
    keep_days: Annotated[float, Meta(gt=0)] = 30
    #: Where OpenTelemetry traces and metrics go, as OTLP over HTTP: `http://127.0.0.1:4318`. Needs `clawft[telemetry]`.
    telemetry: str = ""


def is_queue(name: str) -> bool:
    """Whether a queue may be named so: the name is part of the names of files."""
    import re

    return re.fullmatch(_QUEUE[1:-1], name) is not None


def own_runs(config: Config, user_dir: str, environ: Mapping[str, str]) -> RunsSettings:
    """What the user says of runs. A project's file says nothing of them: it could have them sent anywhere."""
    section: RunsSettings = own_section(config, user_dir, "runs", environ)
    return section


Section = RunsSettings
