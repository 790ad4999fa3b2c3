"""What a model is told of a program that has run: its output, with a gap where it was cut, and how it ended."""

from typing import Any

from clawft.sandbox.output import FLOOD_BYTES
from clawft.sandbox.process import Finished
from clawft.tools.tool import ToolResult

__all__ = ["tell_finished"]

_EXCEEDED = {
    "processes": "it started more processes than sandbox.max_processes allows",
    "memory": "it took more memory than sandbox.memory_mb allows",
}


def tell_finished(finished: Finished, cwd: str) -> ToolResult:
    """A result: `partial` unless the program ended well and all of its output is there."""
    head, tail = finished.output[: finished.head_bytes], finished.output[finished.head_bytes :]
    if finished.truncated:
        saved = f"the whole is in {finished.saved_to}, to be read with read_file" if finished.saved_to else "it is lost"
        gap = f"\n[cut: {finished.cut_bytes} bytes are left out here; {saved}]\n"
        text = head.decode("utf-8", "replace") + gap + tail.decode("utf-8", "replace")
    else:
        text = finished.output.decode("utf-8", "replace")
    note = _note(finished)
    shown = "\n".join(filter(None, (text.rstrip("\n"), f"[{note}]" if note else ""))) or "[no output]"
    data: dict[str, Any] = {
        "exit_code": finished.code,
        "seconds": round(finished.seconds, 3),
        "timed_out": finished.timed_out,
        "truncated": finished.truncated,
    }
    if finished.saved_to:
        data["saved_to"] = finished.saved_to
    whole = finished.code == 0 and not finished.truncated and not finished.timed_out
    return ToolResult(shown, "success" if whole else "partial", data, path_resolved=cwd)


def _note(finished: Finished) -> str:
    took = f"after {finished.seconds:.1f} s"
    if finished.timed_out:
        return f"stopped {took}: its time was up"
    if finished.flooded:
        return f"stopped {took}: it wrote more than {FLOOD_BYTES} bytes"
    if finished.exceeded:
        return f"stopped {took}: {_EXCEEDED[finished.exceeded]}"
    if finished.code < 0:
        return f"ended by signal {-finished.code} {took}"
    if finished.code:
        return f"exit code {finished.code} {took}"
    return took if finished.seconds >= 1 else ""
