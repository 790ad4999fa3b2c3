"""Lists of words, written as text."""

__all__ = ["words"]


def words(text: str) -> frozenset[str]:
    """The words of a text that lists them."""
    return frozenset(text.split())
