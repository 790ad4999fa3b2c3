"""The section `[gateway]`: the channels that `weft gateway` runs, who may write there, and how much."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.config.load import Config, own_section
from clawft.config.tools import RateLimit

__all__ = ["ChannelSettings", "GatewaySettings", "Section", "own_gateway"]

_RATE = RateLimit(max_requests=30)  # R162: the same three ways to count as for the web


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


def own_gateway(config: Config, user_dir: str, environ: Mapping[str, str]) -> GatewaySettings:
    """What the user says of channels. A project's file says nothing of them: it could let anybody in."""
    section: GatewaySettings = own_section(config, user_dir, "gateway", environ)
    return section


Section = GatewaySettings
