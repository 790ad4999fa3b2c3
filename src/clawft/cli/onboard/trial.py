"""One small call of a model, to see that it answers: what it costs in time, or what keeps it from answering."""

import time
from collections.abc import Mapping
from contextlib import aclosing

import anyio
from msgspec import Struct
from msgspec.structs import replace

from clawft.config.providers import ProviderSettings
from clawft.errors import ClawftError
from clawft.messages import Message
from clawft.providers import open_provider
from clawft.providers.request import Done, ProviderError, Request
from clawft.providers.select import parse_model

__all__ = ["TRIAL_S", "Trial", "run_trial"]

TRIAL_S = 20.0
_QUESTION = "Answer with one word: ready"


class Trial(Struct, frozen=True):
    """How a call went. Without an error the model answered."""

    model: str
    seconds: float
    error: ClawftError | None = None


async def run_trial(
    model: str, providers: Mapping[str, ProviderSettings], environ: Mapping[str, str], base_dir: str
) -> Trial:
    """Ask a model for one word; nothing is tried again, and nothing is waited for longer than 20 s."""
    started = time.monotonic()
    error: ClawftError | None = None
    try:
        with anyio.fail_after(TRIAL_S):
            await _call(model, providers, environ, base_dir)
    except TimeoutError:
        hint = "See that the model is loaded and not too large for the machine"
        error = ProviderError("provider-timeout", f"{model} gave no answer within {TRIAL_S:g} s", hint=hint)
    except ClawftError as problem:
        error = problem
    return Trial(model, time.monotonic() - started, error)


async def _call(
    model: str, providers: Mapping[str, ProviderSettings], environ: Mapping[str, str], base_dir: str
) -> None:
    name = parse_model(model).provider
    patient = providers.get(name) or ProviderSettings()
    hasty = {**providers, name: replace(patient, max_retries=0)} if name != "offline" else providers
    provider, own_name = open_provider(model, hasty, environ, base_dir=base_dir)
    request = Request(own_name, (Message("user", _QUESTION),), max_tokens=16)
    try:
        async with aclosing(provider.stream(request)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Done):
                    return
    finally:
        await provider.close()
