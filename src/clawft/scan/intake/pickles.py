"""Pickles read as a list of instructions, never loaded: what they would import and call."""

import io
import pickletools
import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.intake.parts import Mark, Part, Passage, Room, Unread

__all__ = ["open_pickle"]

MAX_STEPS = 200_000
_EXEC = re.compile(
    r"(?:os|posix|nt|subprocess|pty|commands)\.(?:system|popen|Popen|run|call|check_\w+|exec\w*|spawn\w*|getoutput|getstatusoutput|startfile)$"
)
_EVAL = re.compile(r"(?:builtins|__builtin__)\.(?:eval|exec|compile|__import__)$|runpy\.\w+$|code\.\w+$|timeit\.\w+$")
_OTHER = re.compile(
    r"(?:builtins|__builtin__)\.(?:getattr|open|globals)$|(?:socket|urllib|requests|httpx|shutil|ctypes|webbrowser|importlib|marshal|os|sys"
    r"|subprocess|asyncio|multiprocessing|pip|torch\.hub|numpy\.testing|cProfile|pdb|bdb|doctest)\b.*"
)
_HARMLESS = re.compile(r"os\.(?:path\.\w+|PathLike|fspath|stat_result)$|sys\.(?:intern|maxsize)$")


def open_pickle(data: bytes, room: Room) -> Iterator[Part]:
    """What a pickle would import, and the strings it would call that with."""
    del room
    strings: list[str] = []
    memo: dict[int, str] = {}
    named: dict[str, None] = {}
    whole = True
    try:
        for step, (code, argument, _) in enumerate(pickletools.genops(io.BytesIO(data))):
            if step > MAX_STEPS:
                whole = False
                break
            _follow(code.name, argument, strings, memo, named)
    except Exception:  # pickletools raises ValueError, but also what a broken number or text makes of itself
        whole = False
    found = [one for one in named if not _HARMLESS.match(one)]
    called = [one for one in found if _EXEC.match(one) or _EVAL.match(one) or _OTHER.match(one)]
    for name in called:
        yield Mark(Kind.LOAD, name, f"a pickle that calls {name} when it is loaded")
    texts = [one for one in dict.fromkeys(strings) if len(one) >= 4 and one not in " ".join(found)]
    if any(_EXEC.match(one) for one in called):
        yield from (Passage(one, "shell", "exec") for one in texts[:50])
    elif any(_EVAL.match(one) for one in called):
        yield from (Passage(one, "python", "eval") for one in texts[:50])
    elif any(re.search(r"https?://|/dev/tcp|\.ssh", one) for one in texts):
        yield Passage("\n".join(texts[:500]), "text", "strings")
    if not whole:
        yield Unread("The pickle is broken, or too long to be read whole")


def _follow(name: str, argument: object, strings: list[str], memo: dict[int, str], named: dict[str, None]) -> None:
    """One instruction: keep texts, and put together the names of what is imported."""
    if name in ("GLOBAL", "INST"):
        named[str(argument).replace(" ", ".", 1)] = None
    elif name == "STACK_GLOBAL":
        if len(strings) >= 2:
            named[f"{strings[-2]}.{strings[-1]}"] = None
    elif name in ("MEMOIZE", "BINPUT", "PUT", "LONG_BINPUT"):
        if strings:
            memo[len(memo) if name == "MEMOIZE" else int(str(argument))] = strings[-1]
    elif name in ("BINGET", "GET", "LONG_BINGET"):
        if (known := memo.get(int(str(argument)))) is not None:
            strings.append(known)
    elif isinstance(argument, str):
        strings.append(argument[:20_000])
    elif isinstance(argument, bytes | bytearray) and argument[:4000].isascii():
        strings.append(argument[:20_000].decode("ascii", "replace"))
