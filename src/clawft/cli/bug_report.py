"""An error that nobody foresaw: a bug of weft, told in the few words that a report of it needs."""

import os
import platform
import traceback
from importlib.metadata import version

from clawft.errors import ClawftError

__all__ = ["describe_bug"]

_OURS = os.path.dirname(os.path.dirname(__file__))
_MAX_TEXT = 300  # characters


def describe_bug(error: BaseException, variable: str) -> ClawftError:
    """What went wrong, where in the code, and what to do: report it. The variable has all of it shown."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)
    ours = [one for one in frames if one.filename.startswith(_OURS + os.sep)] or frames
    text = str(error)[:_MAX_TEXT]
    message = f"This is a bug in weft: {type(error).__name__}{': ' if text else ''}{text}"
    system = f"weft {version('clawft')}, Python {platform.python_version()}, {platform.system()}"
    hint = f"Please report it, with what you typed: {system}. With {variable}=1 it tells all it knows"
    path = os.path.relpath(ours[-1].filename, os.path.dirname(_OURS)) if ours else ""
    return ClawftError("bug", message, path=path, line=(ours[-1].lineno or 0) if ours else 0, hint=hint)
