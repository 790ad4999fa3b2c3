"""Thoughts of a model that come as `<think>…</think>` inside its text: they are kept apart from the answer."""

from collections.abc import Iterator

from clawft.agent.providers.request import Chunk, DoneChunk, ReasoningChunk, TextChunk

_OPEN, _CLOSE = "<think>", "</think>"


class ThinkSplitter:
    """Takes `<think>…</think>` out of the beginning of an answer, however it is cut into pieces.

    Only what stands before the answer is thought: an answer may speak about the tag.
    """

    def __init__(self) -> None:
        self._held = ""  # what may be the beginning of a tag
        self._is_thinking = False
        self._has_thought = False
        self._answers = False  # the answer has begun

    def feed(self, chunk: Chunk) -> Iterator[Chunk]:
        """Yield a chunk, or what it is made of."""
        if isinstance(chunk, TextChunk) and not self._answers:
            self._held += chunk.text
            yield from self._split()
            return
        if isinstance(chunk, DoneChunk) and self._held:
            yield ReasoningChunk("think", self._held) if self._is_thinking else TextChunk(self._held)
        yield chunk

    def _split(self) -> Iterator[Chunk]:
        if not self._is_thinking:
            begun = self._held.lstrip()
            if _OPEN.startswith(begun[: len(_OPEN)]) and len(begun) < len(_OPEN):
                return  # not known yet
            if not begun.startswith(_OPEN):
                yield TextChunk(begun if self._has_thought else self._held)
                self._held, self._answers = "", True
                return
            self._is_thinking = self._has_thought = True
            self._held = begun.removeprefix(_OPEN)
        thought, closed, rest = self._held.partition(_CLOSE)
        if not closed:
            thought, rest = _part_tag(self._held)
        if thought:
            yield ReasoningChunk("think", thought)
        self._held, self._is_thinking = rest, not closed
        if closed:
            yield from self._split()


def _part_tag(text: str) -> tuple[str, str]:
    """Part a text from what may be the beginning of the closing tag at its end."""
    longest = min(len(text), len(_CLOSE) - 1)
    held = next((size for size in range(longest, 0, -1) if _CLOSE.startswith(text[-size:])), 0)
    return text[: len(text) - held], text[len(text) - held :]
