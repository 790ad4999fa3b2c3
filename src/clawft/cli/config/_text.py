"""A setting's value as people read it."""

from typing import Any

import msgspec

from clawft.config.listing import Setting

__all__ = ["value_text", "with_state"]


def value_text(value: Any) -> str:
    """A text as it is; anything else as JSON has it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def with_state(setting: Setting) -> str:
    """A value; of a secret also whether it is there."""
    text = value_text(setting.value)
    if setting.configured is None or setting.value == "<redacted>":
        return text
    return f"{text} ({'set' if setting.configured else 'not set'})" if text else "(not set)"
