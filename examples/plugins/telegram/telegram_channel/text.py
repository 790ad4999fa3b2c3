"""Texts as Telegram counts them: in units of UTF-16."""

__all__ = ["cut_units", "split_text"]

MAX_UNITS = 4096  # of one message


def split_text(text: str, most: int = MAX_UNITS) -> list[str]:
    """A text in parts that each fit into one message: between paragraphs, lines or words, where there are such."""
    parts = []
    rest = text.strip()
    while rest:
        fits = _count_fitting(rest, most)
        if fits < len(rest):
            fits = _find_break(rest, fits)
        part, rest = rest[:fits].rstrip(), rest[fits:].lstrip("\n").lstrip(" ")
        if part:
            parts.append(part)
    return parts


def cut_units(text: str, offset: int, length: int) -> str:
    """The part of a text that an entity covers; offset and length are units."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units[offset * 2 : (offset + length) * 2].decode("utf-16-le", "replace")


def _count_fitting(text: str, most: int) -> int:
    """How many characters of a text fit; those beyond the first plane are two units, and are not torn apart."""
    units = 0
    for index, char in enumerate(text):
        units += 1 + (char > "\uffff")
        if units > most:
            return index
    return len(text)


def _find_break(text: str, fits: int) -> int:
    """The best place to break before what does not fit, unless far too little would be left."""
    for mark in ("\n\n", "\n", " "):
        at = text.rfind(mark, fits // 2, fits)
        if at > 0:
            return at + len(mark)
    return fits
