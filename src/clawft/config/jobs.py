"""The sections [runs] and [gateway]: background runs with their workers, and channels."""

import re
from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.config.secret import SecretRef
from clawft.config.tools import RateLimit

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
    """Return whether a queue may be named so: the name is part of the names of files."""
    return re.fullmatch(_QUEUE[1:-1], name) is not None


_RATE = RateLimit(max_requests=30)  # counted by the same strategies as web requests


class ChannelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[gateway.channels.NAME]`: one channel, under the name that its plugin gives it."""

    #: false leaves the channel alone.
    enabled: bool = True
    #: Who may write: senders as the channel names them, `*@example.com`, or `*` for everybody. Nobody unless said.
    allow: tuple[str, ...] = ()
    #: The agent that answers; the default one if absent.
    agent: str = ""
    #: The model that answers; the agent's if absent.
    model: str = ""
    #: How much is done unasked; what is asked waits for you: `weft runs answer`.
    mode: Literal["", "plan", "ask", "auto-edit", "full"] = "ask"
    #: true lets the agent recall and keep what it remembers, which is one memory for you and everybody who writes.
    memory: bool = False
    #: How many messages of one sender are taken; absent means `gateway.rate_limit`.
    rate_limit: RateLimit | None = None


class GatewaySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[gateway]`. What a project's config says here is not followed."""

    channels: dict[str, ChannelSettings] = {}
    #: How many messages of one sender are taken. Requests are messages here.
    rate_limit: RateLimit = _RATE
    #: How many accepted messages may wait for their answer; when there are more, none is taken until some are answered.
    max_pending: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000
    #: How many of them may be of one sender.
    max_pending_of_one: Annotated[int, Meta(ge=1, le=1_000_000)] = 100
    #: How many conversations are answered side by side.
    concurrency: Annotated[int, Meta(ge=1, le=1_000)] = 4
    #: How long a message may be, in characters.
    max_message_chars: Annotated[int, Meta(ge=1, le=1_000_000)] = 32_000
    #: The queue that its runs go to.
    queue: Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9._-]{0,62}$")] = "gateway"
