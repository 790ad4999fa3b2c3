"""What a memory is (R137): six verbs and an atomic append, so that a plugin may keep memories elsewhere.

A value is text: it is what a model reads and what people edit.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

__all__ = ["MemoryBackend", "MemoryResult", "Metadata"]

Metadata = Mapping[str, Any]


class MemoryResult(Struct, frozen=True):
    """One thing found. `score` is from 0 to 1, and higher is better."""

    key: str
    value: str
    score: float
    metadata: dict[str, Any] | None = None


class MemoryBackend(Protocol):
    """Where lasting facts are kept. All methods are sync and may wait for a disk; call them from a thread."""

    @property
    def name(self) -> str: ...

    def store(self, key: str, value: str, metadata: Metadata | None = None) -> None:
        """Keep a value; one that was there is replaced. Raises: ClawftError."""

    def append(self, key: str, value: str) -> None:
        """Add a paragraph to a value. Two that do so at once both succeed. Raises: ClawftError."""

    def retrieve(self, key: str) -> str | None:
        """The value of exactly this key. Raises: ClawftError."""

    def search(self, query: str, limit: int) -> Sequence[MemoryResult]:
        """What fits a query, best first. Raises: ClawftError."""

    def delete(self, key: str) -> bool:
        """Forget a key; whether there was one. Raises: ClawftError."""

    def list_keys(self, prefix: str = "") -> Sequence[str]:
        """Every key that begins with `prefix`, in the order they stand. Raises: ClawftError."""
