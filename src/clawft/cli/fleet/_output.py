"""Where the results of a fleet go: one line of JSON each, to stdout or a file that a resumed fleet goes on with."""

import os
import sys
from typing import Any, BinaryIO

import msgspec

from clawft.cli.output import escape_unsafe
from clawft.errors import ClawftError
from clawft.files import lock_file

__all__ = ["Output"]


class _Written(msgspec.Struct):
    """What of a line says whether it stays."""

    line: int
    run: str
    status: str
    verdict: str = ""


_WRITTEN = msgspec.json.Decoder(_Written)


class Output:
    """An open place for results; '' is stdout. `after`: the last line whose result is there already.

    Every method raises a ClawftError where it cannot be written, or BrokenPipeError if nobody reads any more.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(os.path.expanduser(path)) if path else ""
        self.after = 0
        self.verdicts: dict[str, int] = {}
        self._file: BinaryIO = _open(self.path) if path else sys.stdout.buffer

    def __enter__(self) -> "Output":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        try:
            if kind is not BrokenPipeError:
                self.flush()
        finally:
            if self.path:
                self._file.close()

    def clear(self) -> None:
        """Begin anew."""
        if self.path:
            self._file.truncate(0)

    def go_on(self, fleet: str) -> None:
        """Keep the results of a fleet that stand, and write after them."""
        if self.path:
            self._file.truncate(self._find_end(fleet))
            self._file.seek(0, os.SEEK_END)

    def write(self, result: dict[str, Any]) -> None:
        self._file.write(escape_unsafe(msgspec.json.encode(result).decode()).encode() + b"\n")
        self._count(result.get("verdict", ""))

    def flush(self) -> None:
        try:
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _unwritten(self.path, error.strerror or str(error)) from error

    def _find_end(self, fleet: str) -> int:
        """Where the results end that stay as they are: the next one is missing, broken off, or none that is done."""
        end = 0
        for text in self._file:
            try:
                written = _WRITTEN.decode(text)
            except (msgspec.DecodeError, ValueError):
                written = None
            if written is not None and not (written.run or fleet).startswith(fleet):
                hint = "Name another file with --output"
                raise ClawftError("fleet-output", "The file holds results of another fleet", path=self.path, hint=hint)
            if written is None or written.status != "done" or not text.endswith(b"\n"):
                break
            end += len(text)
            self.after = written.line
            self._count(written.verdict)
        return end

    def _count(self, verdict: str) -> None:
        if verdict:
            self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1


def _open(path: str) -> BinaryIO:
    if os.path.islink(path) and not path.startswith("/dev/"):  # a stranger may have put it there
        raise _unwritten(path, "it is a link")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        file: BinaryIO = os.fdopen(descriptor, "r+b")
        is_ours = lock_file(file.fileno())
    except OSError as error:
        raise _unwritten(path, error.strerror or str(error)) from error
    if not is_ours:
        file.close()
        message = "Another process writes the results of a fleet there"
        raise ClawftError("fleet-output", message, path=path, hint="Wait for it, or name another file")
    return file


def _unwritten(path: str, reason: str) -> ClawftError:
    return ClawftError("not-written", f"The file was not written: {reason}", path=path)
