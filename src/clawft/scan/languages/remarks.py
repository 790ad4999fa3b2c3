"""Orders in the comments and texts of code and configuration: a tool's description speaks to the agent too."""

from msgspec import structs

from clawft.scan.documents import Document
from clawft.scan.facts import Analysis
from clawft.scan.instructions import find_orders, find_remarks, is_about_attacks

__all__ = ["analyse"]

# Without one of these words no order speaks to an agent, or sends anything anywhere.
_HINTS = ("user", "instruction", "agent", "assistant", "://")


def analyse(document: Document) -> Analysis:
    """The orders in what a file says rather than does."""
    lower = document.text.lower()
    if not any(word in lower for word in _HINTS):
        return Analysis([], [])
    mention = document.mention or is_about_attacks(document.path, "")
    said = structs.replace(document, language="text", origin=(*document.origin, "remark"), mention=mention)
    return Analysis(find_orders(said, list(find_remarks(document.text))), [])
