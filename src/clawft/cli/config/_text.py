"""A setting's value as people read it."""

from typing import Any

import msgspec

from clawft.config.listing import Setting

__all__ = ["value_text", "with_state"]


def value_text(value: Any) -> str:
    """A text as it is; anything else as JSON has it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def with_state(setting: Setting) -> str:
    """A value as a table has it; of a secret also whether it is there."""
    if setting.value is None or (setting.configured is False and not setting.value):
        return "(not set)"
    if setting.configured is None or setting.value == "<redacted>":
        return value_text(setting.value) or '""'
    there = "stored" if str(setting.value).startswith("key:") else "set"
    return f"{setting.value} ({there if setting.configured else f'not {there}'})"
