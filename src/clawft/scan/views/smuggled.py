"""Texts carried by characters that cannot be seen: tag characters, variation selectors, bits of zero width."""

from collections import Counter

__all__ = ["is_readable", "read_bits", "read_selectors", "read_tags"]

MAX_CARRIED = 64 << 10


def is_readable(text: str) -> bool:
    """Whether a text is made of printable characters, most of them letters, and no chance result."""
    if len(text) < 4:
        return False
    letters = sum(one.isalnum() or one in " \n\t" for one in text)
    printable = sum(one.isprintable() or one in "\n\t\r" for one in text)
    return printable >= 0.97 * len(text) and letters >= 0.6 * len(text)


def read_tags(run: str) -> str:
    """The ASCII text that tag characters stand for."""
    return "".join(chr(ord(one) - 0xE0000) for one in run if 0xE0020 <= ord(one) <= 0xE007E)


def read_selectors(run: str) -> str:
    """The text whose bytes variation selectors stand for: a byte each, or half a byte each."""
    values = [ord(one) - 0xFE00 if ord(one) < 0xE0000 else ord(one) - 0xE0100 + 16 for one in run[:MAX_CARRIED]]
    tries = [bytes(values)]
    if max(values) < 16 and len(values) % 2 == 0:
        tries.append(bytes(high << 4 | low for high, low in zip(values[::2], values[1::2], strict=True)))
    for one in tries:
        text = one.decode("utf-8", "replace")
        if is_readable(text):
            return text
    return ""


def read_bits(run: str) -> str:
    """The text that two, three or four kinds of characters carry as bits; empty if that makes no sense."""
    run = run[:MAX_CARRIED]
    kinds = [one for one, _ in Counter(run).most_common(4)]
    if len(kinds) < 2 or len(run) < 24:
        return ""
    for pair in ((kinds[0], kinds[1]), (kinds[1], kinds[0])):
        bits = "".join("0" if c == pair[0] else "1" for c in run if c in pair)
        for text in (_by_size(bits, 8), _by_size(bits, 7), _by_size(bits, 16), _by_separator(run, kinds, pair)):
            if is_readable(text):
                return text
    return _by_pairs(run, sorted(set(run))) if len(set(run)) in (3, 4) else ""


def _by_size(bits: str, size: int) -> str:
    values = (int(bits[at : at + size], 2) for at in range(0, len(bits) - size + 1, size))
    return "".join(chr(value) if value < 0xD800 else "\0" for value in values)


def _by_separator(run: str, kinds: list[str], pair: tuple[str, str]) -> str:
    """A third kind of character parts the letters."""
    if len(kinds) < 3:
        return ""
    groups = ["".join("0" if c == pair[0] else "1" for c in group if c in pair) for group in run.split(kinds[2])]
    return "".join(chr(int(group, 2)) for group in groups if group and len(group) <= 20 and int(group, 2) < 0xD800)


def _by_pairs(run: str, kinds: list[str]) -> str:
    """Each of four kinds stands for two bits."""
    values = [kinds.index(one) for one in run]
    packed = [
        values[at] << 6 | values[at + 1] << 4 | values[at + 2] << 2 | values[at + 3]
        for at in range(0, len(values) - 3, 4)
    ]
    text = bytes(packed).decode("utf-8", "replace")
    return text if is_readable(text) else ""
