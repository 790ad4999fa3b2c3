"""Constants: what a pure call or operator makes of them."""

import base64
import binascii
import codecs
import re
import urllib.parse
import zlib
from collections.abc import Callable
from typing import Any

from clawft.scanner.languages.code.values import HOLE, MAX_CONSTANTS, MAX_TEXT, ProgramValue, text_of
from clawft.scanner.regex import words

MAX_INFLATED = 1 << 20
MAX_BITS = 4096


def concat(left: ProgramValue, right: ProgramValue) -> tuple[Any, ...]:
    """The constants of two values written one after the other; a part that is unknown leaves a hole."""
    if len(left.consts) == 1 == len(right.consts):
        first, second = left.consts[0], right.consts[0]
        if type(first) is str is type(second):
            return (first + second,) if len(first) + len(second) <= MAX_TEXT else ()
    lefts = left.consts or (HOLE,)
    rights = right.consts or (HOLE,)
    if not left.consts and not right.consts:
        return ()
    found: dict[Any, None] = {}
    for first in lefts:
        for second in rights:
            if len(found) >= MAX_CONSTANTS:
                return tuple(found)
            kind = _kind(first)
            if kind == _kind(second) != "text":
                if kind == "number" or len(first) + len(second) <= MAX_TEXT:
                    found[first + second] = None
            else:
                text = text_of(first) + text_of(second)
                if len(text) <= MAX_TEXT:
                    found[text] = None
    return tuple(found)


def _kind(const: Any) -> str:
    if isinstance(const, int):
        return "number" if const.bit_length() <= MAX_BITS // 4 else "text"
    return "bytes" if isinstance(const, bytes) else "number" if isinstance(const, float) else "text"


def operate(operator: str, left: Any, right: Any) -> Any:
    """The result of an operator on two numbers; None when there is none."""
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > MAX_BITS:
        return None
    try:
        if operator == "^":
            return left ^ right
        if operator == "-":
            return left - right
        if operator == "*":
            return (
                left * right
                if not isinstance(left, str | bytes) and not isinstance(right, str | bytes)
                else _repeat(left, right)
            )
        if operator == "%":
            return left % right if isinstance(left, int) else None
        if operator in ("/", "//"):
            return left // right
        if operator == "|":
            return left | right
        if operator == "&":
            return left & right
        if operator == "<<" and right < 64:
            return left << right
        if operator == ">>":
            return left >> right
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return None


def _repeat(left: Any, right: Any) -> Any:
    if isinstance(left, int):
        left, right = right, left
    return left * right if len(left) * right <= MAX_TEXT else None


def slice_of(const: Any, bounds: list[Any]) -> Any:
    try:
        return const[slice(*[bound if isinstance(bound, int) else None for bound in bounds[:3]])]
    except (TypeError, ValueError):
        return None


# Encodings


def _padded(text: str, block: int) -> bytes:
    raw = re.sub(r"\s+", "", text)
    return (raw + "=" * (-len(raw) % block)).encode("ascii")


def _bytes(const: Any) -> bytes:
    if isinstance(const, bytes):
        return const
    return text_of(const).encode("latin-1" if all(ord(char) < 256 for char in text_of(const)) else "utf-8")


def _inflate(const: Any) -> bytes:
    data = _bytes(const)
    for bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS, zlib.MAX_WBITS | 16):
        try:
            return zlib.decompressobj(bits).decompress(data, MAX_INFLATED)
        except zlib.error:
            continue
    if data[:3] == b"BZh":
        import bz2

        return bz2.BZ2Decompressor().decompress(data, MAX_INFLATED)
    import lzma

    try:
        return lzma.LZMADecompressor().decompress(data, MAX_INFLATED)
    except lzma.LZMAError as error:
        raise ValueError("not compressed in a known way") from error


DECODERS: dict[str, Callable[[Any], Any]] = {
    "base64": lambda one: base64.b64decode(_padded(text_of(one).translate({45: "+", 95: "/"}), 4)),
    "base32": lambda one: base64.b32decode(_padded(text_of(one), 8), casefold=True),
    "base85": lambda one: base64.b85decode(_padded(text_of(one), 1)),
    "ascii85": lambda one: base64.a85decode(_bytes(one)),
    "hex": lambda one: binascii.unhexlify(re.sub(r"\s+|0x", "", text_of(one))),
    "rot13": lambda one: codecs.decode(text_of(one), "rot13"),
    "compressed": _inflate,
    "gzip": _inflate,
    "percent": lambda one: urllib.parse.unquote(text_of(one)),
}


def decode(encoding: str, const: Any) -> Any:
    """A constant decoded; None when it is not of that encoding."""
    if isinstance(const, str) and HOLE in const:
        return None
    try:
        return DECODERS[encoding](const)
    except (ValueError, TypeError, KeyError, EOFError, OSError, zlib.error, MemoryError):
        return None


# Methods and functions on constants. Each gets the constant and the constants of its arguments.


def _pack(template: Any, *parts: Any) -> Any:
    form = text_of(template).lower()
    if form.startswith("h") and parts:
        return binascii.unhexlify(text_of(parts[0]))
    if form.startswith(("c", "u", "w")):
        return "".join(chr(part) for part in parts if isinstance(part, int))
    if form.startswith("m") and parts:
        return base64.b64encode(_bytes(parts[0])).decode()
    return text_of(parts[0]) if parts and form.startswith("a") else None


def _unpack(const: Any, template: Any = "") -> Any:
    form = text_of(template)
    if form.startswith("m"):
        return decode("base64", const)
    return decode("hex", const) if form.lower().startswith("h") else const if form.lower().startswith("a") else None


def _replace(const: Any, old: Any = "", new: Any = "", *_: Any) -> Any:
    if not isinstance(const, str | bytes) or not old:
        return const
    result = text_of(const).replace(text_of(old), text_of(new))
    return result if len(result) <= MAX_TEXT else None


def _decode_as(const: Any, name: Any = "utf-8", *_: Any) -> Any:
    encoding = text_of(name).lower().replace("-", "_").replace("_codec", "")
    known = {
        "base64": "base64",
        "b64": "base64",
        "hex": "hex",
        "rot13": "rot13",
        "rot_13": "rot13",
        "zlib": "compressed",
        "zip": "compressed",
    }
    if encoding in known:
        return decode(known[encoding], const)
    if encoding in ("unicode_escape", "string_escape", "raw_unicode_escape"):
        return codecs.decode(_bytes(const), "unicode_escape")
    return text_of(const)


def _substring(const: Any, start: Any = 0, end: Any = None, *_: Any) -> Any:
    return const[start:end] if isinstance(start, int) and (end is None or isinstance(end, int)) else None


def _char_at(const: Any, index: Any = 0, *_: Any) -> Any:
    return const[index] if isinstance(index, int) and 0 <= index < len(const) else ""


def _translate(const: Any, *tables: Any) -> Any:
    """A letter for a letter; a table of thirteen places is the usual one."""
    if len(tables) >= 2 and isinstance(tables[0], str) and isinstance(tables[1], str):
        source, target = _spread(tables[0]), _spread(tables[1])
        return text_of(const).translate({ord(char): other for char, other in zip(source, target, strict=False)})
    return None


def _spread(letters: str) -> str:
    return re.sub(r"(\w)-(\w)", lambda found: "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1))), letters)


_METHODS: dict[str, Callable[..., Any]] = {
    "decode": _decode_as,
    "encode": lambda one, *_: _bytes(one) if isinstance(one, bytes) else text_of(one).encode("utf-8", "replace"),
    "strip trim chomp": lambda one, *_: one.strip(),
    "rstrip": lambda one, *_: one.rstrip(),
    "lstrip": lambda one, *_: one.lstrip(),
    "lower toLowerCase downcase": lambda one, *_: one.lower(),
    "upper toUpperCase upcase": lambda one, *_: one.upper(),
    "replace replaceAll gsub sub": _replace,
    "swapcase": lambda one, *_: one.swapcase(),
    "reverse reversed reverse!": lambda one, *_: one[::-1],
    "substring slice substr": _substring,
    "charAt": _char_at,
    "charCodeAt codePointAt": lambda one, index=0, *_: ord(one[index]),
    "ord": lambda one, *_: ord(one[0]),
    "chr": lambda one, *_: chr(one),
    "removeprefix": lambda one, prefix="", *_: one.removeprefix(prefix),
    "removesuffix": lambda one, suffix="", *_: one.removesuffix(suffix),
    "tr": _translate,
    "unpack1 unpack": _unpack,
    "pack": lambda one, form="", *_: _pack(form, one),
    "hex": lambda one, *_: one.hex() if isinstance(one, bytes) else int(one, 16),
    "concat": lambda one, *more: text_of(one)[:MAX_TEXT] + "".join(map(text_of, more))[:MAX_TEXT],
    "repeat": lambda one, times=1, *_: _repeat(one, times),
    "zfill": lambda one, width=0, *_: one.zfill(min(width, 99)),
    "title": lambda one, *_: one.title(),
    "capitalize": lambda one, *_: one.capitalize(),
    "as_posix valueOf as_str unwrap freeze expanduser resolve absolute": lambda one, *_: one,
    "toString": lambda one, name="", *_: text_of(one) if name not in ("base64", "hex") else None,
    "to_s to_string": lambda one, *_: text_of(one),
}
METHODS = {name: method for names, method in _METHODS.items() for name in names.split()}
# Methods that do not look at what a text holds.
_BLIND = words("strip decode encode expanduser resolve absolute as_posix replace to_s toString format")


def fold_method(name: str, const: Any, arguments: list[Any]) -> Any:
    """Apply a method to a constant; None if the method is unknown or does not apply."""
    method = METHODS.get(name)
    if method is None or (isinstance(const, str) and HOLE in const and name not in _BLIND):
        return None
    try:
        return method(const, *arguments)
    except (ValueError, TypeError, AttributeError, IndexError, LookupError, OverflowError):
        return None


def characters(values: list[ProgramValue]) -> tuple[Any, ...]:
    """The text that a list of character codes spells."""
    codes: list[Any] = []
    for value in values:
        codes += (
            [inner.const for _, inner in value.items]
            if value.items is not None
            else list(value.const)
            if isinstance(value.const, bytes)
            else [value.const]
        )
    if not codes or not all(isinstance(code, int) and 0 <= code < 0x110000 for code in codes):
        return ()
    return ("".join(map(chr, codes)),)


def joined(separator: str, value: ProgramValue) -> tuple[Any, ...]:
    """The elements of a list as one text."""
    if value.items is None:
        return tuple(separator.join(text) for text in value.texts()) if separator == "" else value.consts
    values = [item for _, item in value.items[:20_000]]
    if all(len(value.consts) <= 1 for value in values):
        text = separator.join(text_of(value.consts[0]) if value.consts else HOLE for value in values)
        return (text,) if len(text) <= MAX_TEXT else ()
    result = ProgramValue(("",))
    for index, argument in enumerate(values[:100]):
        if index and separator:
            result = ProgramValue(concat(result, ProgramValue((separator,))))
        result = ProgramValue(concat(result, argument if argument.consts else ProgramValue((HOLE,))))
    return result.consts


def formatted(template: str, values: list[ProgramValue], named: dict[str, ProgramValue]) -> tuple[Any, ...]:
    """A template with its places filled: %s, {}, {name}, {0}."""
    result = ProgramValue(("",))
    position = index = 0
    for found in _PLACES.finditer(template):
        result = ProgramValue(
            concat(result, ProgramValue((template[position : found.start()].replace("{{", "{").replace("}}", "}"),)))
        )
        position = found.end()
        key = found[1] or found[2] or ""
        if key.isdigit():
            value = values[int(key)] if int(key) < len(values) else None
        elif key:
            value = named.get(key)
        else:
            value = values[index] if index < len(values) else None
            index += 1
        result = ProgramValue(concat(result, value if value is not None and value.consts else ProgramValue((HOLE,))))
    return concat(result, ProgramValue((template[position:],)))


_PLACES = re.compile(
    r"%(?:\((\w{1,80})\))?[-+0-9.]{0,20}[sdifrxXcvq@p]"
    r"|(?<!\{)\{(\w{0,80})(?:[.\[][^{}]{0,80})?(?:[:!][^{}]{0,80})?\}(?!\})"
)
