"""Server-sent events: bytes in any pieces -> the data of each event. Bounded, since servers may be hostile."""

from clawft.providers.request import ProviderError

__all__ = ["MAX_EVENT_BYTES", "SseParser"]

MAX_EVENT_BYTES = 4 * 1024 * 1024  # a whole tool call may come in one event
_BOM = b"\xef\xbb\xbf"


class SseParser:
    """Feed it bytes as they come; it gives the data of every event that is complete.

    Lines end with LF, CRLF or CR. Names of events are dropped: both wires repeat them inside the data.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_event_bytes
        self._rest = bytearray()  # a line without its end
        self._searched = 0  # how much of the rest is known to hold no end of a line
        self._data: list[bytes] = []
        self._size = 0
        self._at_start = True
        self.lines = 0  # a server that sends lines is alive, even when it says nothing

    def feed(self, chunk: bytes) -> list[str]:
        """The data of events that this piece completes. Raises: ProviderError."""
        self._rest += chunk
        events: list[str] = []
        while (line := self._take_line()) is not None:
            self._read_line(line, events)
        if self._size + len(self._rest) > self._max_bytes:
            raise ProviderError("provider-bad-answer", f"The answer holds an event of over {self._max_bytes} bytes")
        return events

    def finish(self) -> list[str]:
        """The data of an event that the end of the stream completes: some servers forget the last blank line."""
        events: list[str] = []
        for line in (bytes(self._rest).rstrip(b"\r"), b""):
            self._read_line(line, events)
        self._rest.clear()
        return events

    def _take_line(self) -> bytes | None:
        if self._at_start and not self._skip_bom():
            return None
        end = _find_end(self._rest, self._searched)
        is_cr = end >= 0 and self._rest[end] == 0x0D
        if end < 0 or (is_cr and end + 1 == len(self._rest)):  # whether an LF follows is not known yet
            self._searched = len(self._rest) if end < 0 else end
            return None
        line = bytes(self._rest[:end])
        del self._rest[: end + (2 if is_cr and self._rest[end + 1] == 0x0A else 1)]
        self._searched = 0
        return line

    def _skip_bom(self) -> bool:
        """Whether it is known that no byte order mark opens the stream any more."""
        if len(self._rest) < len(_BOM) and _BOM.startswith(self._rest):
            return False
        if self._rest.startswith(_BOM):
            del self._rest[: len(_BOM)]
        self._at_start = False
        return True

    def _read_line(self, line: bytes, events: list[str]) -> None:
        self.lines += 1
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(value) + 1
            if self._size > self._max_bytes:
                raise ProviderError("provider-bad-answer", f"The answer holds an event of over {self._max_bytes} bytes")
        elif not line and self._data:
            events.append(b"\n".join(self._data).decode("utf-8", "replace"))
            self._data.clear()
            self._size = 0


def _find_end(text: bytearray, start: int) -> int:
    """Where the next CR or LF stands."""
    newline = text.find(b"\n", start)
    carriage = text.find(b"\r", start, newline if newline >= 0 else len(text))
    return carriage if carriage >= 0 else newline
