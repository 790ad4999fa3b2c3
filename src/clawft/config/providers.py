"""The section `[providers]`: where models are, as the user writes it. What a client connects to is an Endpoint."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.config.secret import SecretRef

__all__ = ["ModelSettings", "ProviderSettings", "Section"]

_Seconds = Annotated[float, Meta(gt=0, le=86_400)]
_Amount = Annotated[float, Meta(ge=0)]


class ModelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[providers.NAME.models.MODEL]`: what is known of one model."""

    #: Tokens that fit its window.
    context_window: Annotated[int, Meta(ge=1)] | None = None
    #: The price of a million tokens it reads, in US dollars.
    input_usd_per_mtok: _Amount | None = None
    #: The price of a million tokens it writes, in US dollars.
    output_usd_per_mtok: _Amount | None = None


class ProviderSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[providers.NAME]`: models are then named `NAME/model`."""

    #: What the server speaks: `openai` (chat completions), `anthropic` (messages), or `scripted` (answers from a file).
    wire: Literal["openai", "anthropic", "scripted"] | None = None
    #: Where it is, with the version part: `http://127.0.0.1:11434/v1`.
    base_url: str = ""
    #: The key; a reference such as `{ env = "NAME" }`. Servers on this machine need none.
    api_key: SecretRef | None = None
    #: Further HTTP headers; `${NAME}` takes the value of a variable.
    headers: dict[str, str] = {}
    #: The model that `NAME` alone stands for.
    default_model: str = ""
    #: How long a request may take between two pieces of an answer, in seconds.
    timeout_s: _Seconds = 120
    #: How long connecting may take, in seconds.
    connect_timeout_s: _Seconds = 10
    #: How often a request is tried again after a failure that may pass.
    max_retries: Annotated[int, Meta(ge=0, le=20)] = 4
    #: How many requests it gets in a minute, spread evenly, from all processes together; absent for no limit.
    requests_per_minute: Annotated[float, Meta(gt=0, le=1_000_000)] | None = None
    #: How a message without text is sent: without the key, or as `null`.
    empty_content: Literal["omit", "null"] = "omit"
    #: The file that a `scripted` provider answers from.
    script: str = ""
    #: What is known of single models.
    models: dict[str, ModelSettings] = {}


Section = dict[str, ProviderSettings]
