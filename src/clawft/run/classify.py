"""Stage 1, classify: how complex is what is asked? A number from 0 to 1, from the text alone."""

import re

from clawft.run.turn import Turn

__all__ = ["classify", "measure_complexity"]

_HARD = re.compile(
    r"\b(?:analy[sz]e|architect\w*|compare|debug|design|diagnose|explain why|implement|investigate|migrate|optimi[sz]e|"
    r"plan|prove|refactor|research|review|root cause|security|trade-?offs?|write a)\b",
    re.IGNORECASE,
)
_STEPS = re.compile(
    r"^\s*(?:[-*]|\d+[.)])\s|\b(?:then|after that|finally|first|second|next)\b", re.MULTILINE | re.IGNORECASE
)


async def classify(turn: Turn) -> None:
    turn.complexity = measure_complexity(turn.request.text, len(turn.session.messages), len(turn.request.images))


def measure_complexity(text: str, history: int = 0, images: int = 0) -> float:
    """Length, steps, verbs of hard work, code, pictures and how long the conversation is, added up."""
    score = min(len(text) / 4_000, 0.3)
    score += min(len(_HARD.findall(text)) * 0.12, 0.36)
    score += min(len(_STEPS.findall(text)) * 0.05, 0.2)
    score += 0.1 if "```" in text or "Traceback" in text else 0
    score += min(history / 200, 0.1) + min(images * 0.1, 0.2)
    return round(min(score, 1.0), 3)
