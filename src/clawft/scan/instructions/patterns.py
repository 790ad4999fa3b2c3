"""How patterns over sentences are written: alternatives on several lines."""

import re

__all__ = ["compile_all", "either"]


def either(*lines: str) -> str:
    """Alternatives, written over as many lines as they need."""
    return "(?:" + "|".join(lines) + ")"


def compile_all(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in patterns)
