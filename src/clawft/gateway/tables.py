"""The gateway's own tables, in the database of runs: what came in, what goes out, how the channels are."""

from sqlalchemy import Boolean, Column, Float, Index, Integer, MetaData, Table, Text, UniqueConstraint

__all__ = ["CHANNEL", "INBOX", "METADATA", "OUTBOX"]

METADATA = MetaData()

INBOX = Table(
    "weft_inbox",
    METADATA,
    Column("seq", Integer, primary_key=True),  # the order in which they were accepted
    Column("channel", Text, nullable=False),
    Column("message", Text, nullable=False),  # its id, as the channel gives it
    Column("conversation", Text, nullable=False),
    Column("sender", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("metadata", Text, nullable=False),  # JSON, which the answer takes back
    Column("received", Text, nullable=False),
    Column("state", Text, nullable=False),  # accepted, running, answered, failed
    Column("run", Text, nullable=False),
    Column("told", Boolean, nullable=False),  # the sender knows that it waits for the owner
    UniqueConstraint("channel", "message", name="weft_inbox_once"),
    Index("weft_inbox_by_state", "state", "channel", "conversation", "seq"),
)

OUTBOX = Table(
    "weft_outbox",
    METADATA,
    Column("seq", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("channel", Text, nullable=False),
    Column("conversation", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("reply_to", Text, nullable=False),
    Column("metadata", Text, nullable=False),  # JSON
    Column("state", Text, nullable=False),  # pending, sending, sent, failed
    Column("attempts", Integer, nullable=False),
    Column("is_repeat", Boolean, nullable=False),  # it is not known whether it was sent before
    Column("not_before", Float, nullable=False),  # seconds since 1970
    Column("error", Text, nullable=False),
    Column("changed", Text, nullable=False),
    Index("weft_outbox_by_state", "state", "channel", "conversation", "seq"),
)

CHANNEL = Table(
    "weft_channel",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("plugin", Text, nullable=False),
    Column("owner", Text, nullable=False),  # the worker of the gateway that runs it
    Column("state", Text, nullable=False),  # starting, running, failed, stopped
    Column("since", Text, nullable=False),
    Column("starts", Integer, nullable=False),
    Column("refused", Integer, nullable=False),  # messages of senders that are not allowed, since the gateway began
    Column("error", Text, nullable=False),  # the last one
    Column("error_at", Text, nullable=False),
)
