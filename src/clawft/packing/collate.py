# ruff: noqa: RUF001 (signs that look alike stand in their order)
"""Names in the order that JavaScript's localeCompare puts them in: the hashes of other tools depend on it.

That is Unicode's order of letters, as ICU has it for no language in particular. Exact for ASCII, and for other names in
letters with accents, Greek, Cyrillic, kana, hangul, the ideographs in common use, and signs. Rare letters are taken by
their code points.
"""

import unicodedata
from functools import cache

__all__ = ["Key", "locale_key"]

Key = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]

_SIGNS = (
    " _-‐‒–—―⁓〜〰,、;⁏:!¡?¿‽.。·'‹›\"〝〞〟«»()[]{}〈〉《》「」『』【】〔〕〖〗〘〙〚〛‖§¶@*/\\&#%‰‱†‡•‣‧′‵〃※"
    "`´˜^¯¨¸°©®℗←→↑↓↔↕↖↗↘↙∀∂∃∅∆∇∈∋∏∑+±÷×<=>¬|¦~−∓∕⁄∖∗∘∙√∝∞∠∥∧∨∩∪∫∴∵∼≃≅≈≒≡≤≥≦≧≪≫"
)
_LETTERS = (
    "¤¢$£¥₣₤₦₩₪₫€₮₱₲₴₹₺₽₿0123456789abcdeəfghiıjklmnŋopqĸrstŧuvwxyzþαβγδεζηθικλμνξοπρστυφχψω"
    "абвгдђѓеєжзѕиійјклљмнњопрстћќуўфхцчџшщъыьэюя"
)
_MARKS = "\u0332\u0313\u0314\u0301\u0300\u0306\u0302\u030c\u030a\u0342\u0308\u030b\u0303\u0307\u0338\u0327\u0328\u0304"
_WHOLE = {unicodedata.normalize("NFD", one): one for one in "йѓќў"}  # letters, not letters with an accent
_WHOLE_CAPITALS = frozenset("ЙЃЌЎ")
_STROKE = 15  # the mark \u0338
_SPELLED = {  # as other letters, with an accent of this weight
    **{"æ": ("ae", _STROKE), "œ": ("oe", _STROKE), "ß": ("ss", _STROKE), "ø": ("o", _STROKE), "đ": ("d", _STROKE)},
    **{"ð": ("d", _STROKE + 1), "ħ": ("h", _STROKE), "ł": ("l", _STROKE), "ґ": ("г", _STROKE)},
    **{one: ("'", index) for index, one in enumerate("‘’‚‛", 1)},
    **{one: ('"', index) for index, one in enumerate("“”„‟", 1)},
    **{"ſ": ("s", 0), "ς": ("σ", 0)},
}
_SCRIPTS = (  # in their order; what is in none comes before digits when it is a sign, and last when it is a letter
    range(0x1C80, 0x1D00),  # Georgian capitals
    range(0x10A0, 0x1100),
    range(0x0530, 0x0590),  # Armenian
    range(0x0590, 0x0600),  # Hebrew
    range(0x0600, 0x0700),  # Arabic
    range(0x0900, 0x0F00),  # of India, Thai, Lao
    range(0x1100, 0x1200),  # hangul, taken apart
    range(0x3040, 0x3100),  # kana
    range(0x3100, 0x3130),  # bopomofo
    range(0x2E80, 0x40000),  # ideographs
)
_VARIANTS = {"<wide>": 1, "<narrow>": 1, "<circle>": 2}
_STEP = 1 << 21  # more than there are code points
_KANA_RANK, _IDEOGRAPHS = 7, 9
_ROOM = 64  # for those that follow one ideograph
_SCALE = _ROOM << 18  # of all ideographs
_KANA = 0x60  # from hiragana to katakana
_SMALL_KANA = "ぁぃぅぇぉっゃゅょゎゕゖ"
_KANA_OF_SMALL = str.maketrans(_SMALL_KANA, "あいうえおつやゆよわかけ")


def locale_key(name: str) -> Key:
    """Sorts as localeCompare does: by letters, then by accents, then small before capital letters."""
    if name.isascii():
        places = _get_ascii()
        return (
            tuple([places[char] for char in name if char in places]),
            (),
            tuple([4 if "A" <= char <= "Z" else 0 for char in name if char in places]),
        )
    primary: list[int] = []
    accents: list[int] = []
    forms: list[int] = []
    for char, compatible in _take_apart(name):
        mark = _weigh_mark(char)
        if mark is not None:
            accents.append(mark)
            continue
        plain, form = _get_form(char)
        letters, accent = _SPELLED.get(plain, (plain, 0))
        found = [place for one in letters if (place := _get_place(one))]
        primary += found
        accents += [0, *[accent] * bool(accent), 0][: len(found) + bool(accent)]
        forms += [4 * form + compatible + 8 * (letters != plain)] * len(found)
    while accents and not accents[-1]:
        accents.pop()
    return tuple(primary), tuple(accents), tuple(forms)


@cache
def _get_ascii() -> dict[str, int]:
    """The place of every ASCII character that counts: control characters do not."""
    return {char: _get_place(char.lower()) for char in map(chr, range(0x20, 0x7F))}


@cache
def _get_places() -> dict[str, int]:
    signs = {char: 1 + index for index, char in enumerate(_SIGNS)}
    return signs | {char: _STEP + 0x200000 + index for index, char in enumerate(_LETTERS)}


def _get_place(char: str) -> int:
    """Where a character stands among all, 0 when it does not count."""
    place = _get_places().get(char)
    if place is not None:
        return place
    code, kind = ord(char), unicodedata.category(char)
    if char == "ー":  # before all other kana
        code = _SCRIPTS[_KANA_RANK].start
    if kind in ("Cc", "Cf") or 0xFE00 <= code <= 0xFE0F:
        return 0
    if kind[0] not in "LMN":
        return len(_SIGNS) + 1 + code
    rank = next((index for index, script in enumerate(_SCRIPTS) if code in script), len(_SCRIPTS))
    if rank == _IDEOGRAPHS:
        return rank * _STEP + _SCALE + _get_moved().get(code, code * _ROOM)
    return (rank + 3) * _STEP + code + 2 * _SCALE * (rank > _IDEOGRAPHS)


@cache
def _get_moved() -> dict[int, int]:
    """Where ideographs stand that follow another than the one before them."""
    from clawft.packing.ideographs import MOVED  # few names have any

    words = MOVED.split()
    return {ord(one): ord(word[0]) * _ROOM + at for word in words for at, one in enumerate(word) if at}


def _take_apart(name: str) -> list[tuple[str, int]]:
    """The characters of a name without their accents, which follow; each with which variant it is, 0 for none."""
    text = unicodedata.normalize("NFD", name)
    for apart, whole in _WHOLE.items():
        text = text.replace(apart, whole).replace(apart[0].upper() + apart[1:], whole.upper())
    taken: list[tuple[str, int]] = []
    for char in text:
        apart = unicodedata.normalize("NFKD", char) if char.upper() not in _WHOLE_CAPITALS else char
        variant = 0 if apart == char else _VARIANTS.get(unicodedata.decomposition(char).partition(" ")[0], 3)
        taken += [(one, variant) for one in apart]
    return taken


def _weigh_mark(char: str) -> int | None:
    """How an accent counts, None for what is none."""
    if not ("\u0300" <= char <= "\u036f" or char in "\u3099\u309a"):
        return None
    at = _MARKS.find(char)
    return at + 1 if at >= 0 else ord(char)


def _get_form(char: str) -> tuple[str, int]:
    """A character as it counts for the order, and which of its forms it is."""
    if char.isdigit():
        return str(unicodedata.digit(char)), 0
    if "\u30a1" <= char <= "\u30f6":
        plain, form = chr(ord(char) - _KANA), 2
    else:
        plain, form = char.lower(), int(char != char.lower())
    if len(plain) != 1:  # a few capitals have two small letters
        return char, form
    return plain.translate(_KANA_OF_SMALL), form + int("\u3041" <= plain <= "\u3096" and plain not in _SMALL_KANA)
