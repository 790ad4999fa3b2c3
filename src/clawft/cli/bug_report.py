"""The error message for a bug of weft: where in the code it happened and how to report it. Imported only then."""

import os
import platform
import traceback
from importlib.metadata import version

from clawft.errors import ClawftError

_OURS = os.path.dirname(os.path.dirname(__file__))
_MAX_TEXT = 300  # characters


def make_bug_error(error: BaseException, variable: str) -> ClawftError:
    """Return the error that tells the user about a bug in weft: what failed, where in the code, and to report it.

    Setting the environment variable `variable` shows the whole traceback.
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(_OURS + os.sep)] or frames
    text = str(error)[:_MAX_TEXT]
    message = f"This is a bug in weft: {type(error).__name__}{': ' if text else ''}{text}"
    system = f"weft {version('clawft')}, Python {platform.python_version()}, {platform.system()}"
    hint = f"Please report it, with what you typed: {system}. With {variable}=1 it tells all it knows"
    path = os.path.relpath(ours[-1].filename, os.path.dirname(_OURS)) if ours else ""
    return ClawftError("bug", message, path=path, line=(ours[-1].lineno or 0) if ours else 0, hint=hint)
