"""Programs that turn text into text, with constants decoded."""

import base64
import binascii
import codecs
import re
import zlib
from functools import partial

from clawft.scanner.facts import Kind
from clawft.scanner.languages.commands.world import (
    MAX_TEXT,
    NOTHING,
    CommandCall,
    CommandContext,
    CommandValue,
    join_sources,
    sources_of,
    split_options,
    unknown,
)

_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|c.|.)", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}


def unescape_ansi(text: str) -> str:
    """The text of `$'…'`, `echo -e` and `printf`."""
    return _ANSI.sub(_unescape_one, text) if "\\" in text else text


def _unescape_one(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        value = int(code[1:], 16)
        return chr(value) if value < 0x110000 and not 0xD800 <= value < 0xE000 else ""
    if code[0].isdigit() and code[0] < "8":
        return chr(int(code, 8) & 255)
    return _ANSI_LETTERS.get(code, code if code in "\\'\"?" else "\\" + code)


_FORMAT = re.compile(r"%(?:[-+ 0#]*)(?:\d+)?(?:\.\d+)?([a-zA-Z%])|\\c")
_SED = re.compile(r"^s(.)((?:\\.|(?!\1).)*)\1((?:\\.|(?!\1).)*)\1([gIi0-9]*)$", re.DOTALL)


def gather(world: CommandContext, call: CommandCall, paths: list[CommandValue]) -> CommandValue:
    """The text of files, or of the input when none is named."""
    if not paths:
        return call.stdin
    values = [call.stdin if path.text == "-" else world.read(path, call) for path in paths]
    if len(values) == 1:
        return values[0]
    return world.join(values)


def decode_bytes(data: bytes) -> str:
    """Bytes as text; one character each when they are no UTF-8, so that nothing is lost."""
    for encoding in ("utf-8", "latin-1"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return ""


def decode_base64(text: str) -> bytes | None:
    cleaned = re.sub(r"[^A-Za-z0-9+/]", "", text)
    try:
        return base64.b64decode(cleaned + "=" * (-len(cleaned) % 4))
    except (ValueError, binascii.Error):
        return None


def _as_bytes(text: str) -> bytes:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _decoded(
    world: CommandContext, call: CommandCall, content: CommandValue, how: str, text: str | None
) -> CommandValue:
    """Decode a value: a fact, and the text when it is known."""
    fact = world.note(call, Kind.DECODE, how, content.sources)
    if text is None:
        return call.output(join_sources((fact,), content.sources))
    return world.make(text, join_sources((fact,), content.sources))


def run_echo(world: CommandContext, call: CommandCall) -> CommandValue:
    args = call.args
    escapes = False
    while args and re.fullmatch(r"-[neE]+", args[0].text):
        escapes = escapes or "e" in args[0].text
        args = args[1:]
    text = " ".join(argument.text for argument in args)
    known = all(argument.known for argument in args)
    return world.make(unescape_ansi(text) if escapes else text, sources_of(args), known=known)


def run_printf(world: CommandContext, call: CommandCall) -> CommandValue:
    args = call.args
    if len(args) > 1 and args[0].text == "-v":
        args = args[2:]
    args = args[1:] if args and args[0].text == "--" else args
    if not args:
        return NOTHING
    pattern, rest = unescape_ansi(args[0].text), [argument.text for argument in args[1:]]
    known = all(argument.known for argument in args)
    if "%" not in pattern:
        return world.make(pattern, args[0].sources, known=known)
    pieces: list[str] = []
    for _ in range(256):
        taken = [0]
        pieces.append(_FORMAT.sub(partial(_format_one, rest=rest, taken=taken), pattern))
        del rest[: taken[0]]
        if not rest or not taken[0]:
            break
    return world.make("".join(pieces), sources_of(args), known=known)


def _format_one(match: re.Match[str], rest: list[str], taken: list[int]) -> str:
    letter = match[1]
    if letter in (None, "%"):
        return "%" if letter else ""
    text = rest[taken[0]] if taken[0] < len(rest) else ""
    taken[0] += 1
    if letter == "b":
        return unescape_ansi(text)
    if letter in "dixXou":
        try:
            number = int(text, 0)
        except ValueError:
            return text
        return f"{number:{letter}}" if letter in "xXo" and abs(number) < 1 << 64 else text
    return text[:1] if letter == "c" else text


def run_base64(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "wbio", "--wrap --break --input --output -in -out")
    content = gather(world, call, [*options.operands, *options.every("-i", "--input")])
    if content is NOTHING and options.has("-i") and call.fed:
        content = call.stdin
    how = call.name.removeprefix("g").removesuffix(".exe")
    if not options.has("-d", "-D", "--decode", "-di", "--d"):
        text = (
            base64.b64encode(_as_bytes(content.text)).decode()
            if content.known and how == "base64"
            else f"$({call.name})"
        )
        return world.make(text, content.sources, known=content.known and how == "base64")
    result = _decoded(world, call, content, how, _decode_radix(how, content.text) if content.known else None)
    if output := options.get("-o", "--output"):
        world.write(output, result, call)
        return NOTHING
    return result


def _decode_radix(how: str, text: str) -> str | None:
    text = re.sub(r"[^A-Za-z0-9+/=_-]", "", text).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        if how == "base32":
            return decode_bytes(base64.b32decode(text.upper() + "=" * (-len(text) % 8)))
        return decode_bytes(base64.b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error):
        return None


def run_xxd(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "closg")
    content = gather(world, call, options.operands[:1])
    if not options.has("-r"):
        known = content.known and options.has("-p")
        text = _as_bytes(content.text).hex() if known else "$(xxd)"
        return world.make(text, content.sources, known=known)
    return _decoded(world, call, content, "hex", _decode_hex(content.text) if content.known else None)


def _decode_hex(text: str) -> str | None:
    digits = re.sub(r"\\x|0x|[^0-9a-fA-F]", "", text)
    return decode_bytes(bytes.fromhex(digits[: len(digits) // 2 * 2])) if digits else None


def run_openssl(world: CommandContext, call: CommandCall) -> CommandValue:
    texts = call.texts
    options = split_options(call.args[1:], "", "-in -out -k -pass -K -iv -S -connect -key -inkey -md -iter")
    if texts[:1] == ["s_client"]:
        address = options.get("-connect")
        fact = world.note(
            call, Kind.CONNECT, address.text if address else "", call.stdin.sources, via="openssl s_client"
        )
        if call.stdin.sources:
            world.note(call, Kind.SEND, fact.target, call.stdin.sources, via="openssl s_client")
        return unknown("$(openssl)", (world.output(fact),))
    source = options.get("-in")
    content = world.read(source, call) if source else call.stdin
    decodes = "-d" in texts
    plain = not any(
        text.startswith(("-aes", "-des", "-chacha", "-bf", "-rc4", "-camellia")) or text in ("-k", "-pass")
        for text in texts
    )
    if decodes and plain:
        result = _decoded(
            world, call, content, "base64", _decode_radix("base64", content.text) if content.known else None
        )
    elif decodes:
        result = _decoded(world, call, content, "openssl", None)
    else:
        result = unknown("$(openssl)", content.sources)
    if output := options.get("-out"):
        world.write(output, result, call)
        return NOTHING
    return result


def run_unpack_stream(world: CommandContext, call: CommandCall) -> CommandValue:
    """`gunzip`, `zcat`, `xz -d` and their kin as filters; `gzip` passes on what it packs."""
    options = split_options(call.args, "S")
    content = gather(world, call, options.operands)
    unpacks = call.name not in ("gzip", "bzip2", "xz", "zstd") or options.has("-d", "--decompress", "--uncompress")
    to_output = options.has("-c", "--stdout") or call.name.endswith("cat") or not options.operands
    result = (
        content if not unpacks else _decoded(world, call, content, "gzip", _inflate(content) if content.known else None)
    )
    if not unpacks:
        result = call.output(content.sources)
    if to_output:
        return result
    for operand in options.operands:
        name = re.sub(r"\.(gz|bz2|xz|zst|Z)$", "", operand.text) if unpacks else operand.text + ".gz"
        world.files[world.resolve(name)] = result
    return NOTHING


def _inflate(content: CommandValue) -> str | None:
    try:
        return decode_bytes(zlib.decompressobj(47).decompress(_as_bytes(content.text), MAX_TEXT))
    except zlib.error:
        return None


def run_rev(world: CommandContext, call: CommandCall) -> CommandValue:
    content = gather(world, call, call.args)
    if not content.known:
        return call.output(content.sources)
    lines = content.text.split("\n")
    lines = lines[::-1] if call.name == "tac" else [line[::-1] for line in lines]
    return _decoded(world, call, content, "reversed", "\n".join(lines))


def run_tr(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args)
    content = call.stdin
    if not content.known or not options.operands:
        return call.output(content.sources)
    first = _tr_set(options.operands[0].text)
    if options.has("-d"):
        return world.make("".join(char for char in content.text if char not in first), content.sources)
    if len(options.operands) < 2 or options.has("-s", "-c"):
        return world.make(content.text, content.sources)
    second = _tr_set(options.operands[1].text)
    if not second:
        return world.make(content.text, content.sources)
    table = {ord(char): second[min(at, len(second) - 1)] for at, char in reversed(list(enumerate(first)))}
    text = content.text.translate(table)
    if len(table) > 8 and text.lower() != content.text.lower():
        rot = codecs.encode(content.text, "rot13") == text
        return _decoded(world, call, content, "rot13" if rot else "substitution", text)
    return world.make(text, content.sources)


_TR_CLASSES = {
    "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "[:lower:]": "abcdefghijklmnopqrstuvwxyz", "[:digit:]": "0123456789",
    "[:space:]": " \t\n\r\f\v", "[:blank:]": " \t",
}  # fmt: skip


def _tr_set(text: str) -> str:
    for name, chars in _TR_CLASSES.items():
        text = text.replace(name, chars)
    text = unescape_ansi(text)[:600]
    return re.sub(
        r"(.)-(.)",
        lambda m: "".join(map(chr, range(ord(m[1]), min(ord(m[2]), ord(m[1]) + 255) + 1))) or m[0],
        text,
        flags=re.DOTALL,
    )


_SED_RUNS = re.compile(r"(?:^|[\d$/;{}])\s{0,9}e\s|[^\w\s][gp\d]{0,4}e[gp\d]{0,4}$")  # `1e command`, `s/a/command/e`


def run_sed(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "ef", "--expression --file")
    scripts = options.every("-e", "--expression")
    paths = options.operands
    if not scripts and not options.has("-f", "--file"):
        scripts, paths = paths[:1], paths[1:]
    for script in scripts:
        if script.known and _SED_RUNS.search(script.text):
            world.child(script.text, "sed", "exec", call.offset)
    if options.has("-i", "--in-place"):
        for path in [file for file in paths if file.text]:
            world.write(path, unknown("$(sed)", sources_of(scripts)), call)
        return NOTHING
    content = gather(world, call, paths)
    text, known = content.text, content.known and all(script.known for script in scripts)
    for script in scripts if known else ():
        for step in script.text.split(";"):
            changed = _substitute(step.strip(), text)
            known = known and changed is not None
            text = changed if changed is not None else text
    return world.make(text if known else "$(sed)", join_sources(content.sources, sources_of(scripts)), known=known)


def _substitute(script: str, text: str) -> str | None:
    """One `s/a/b/g` of plain text; None for all else."""
    match = _SED.match(script) if len(script) < 400 else None
    if match is None or re.search(r"[*+?^$\[\](){}|]|\\\d|(?<!\\)\.", match[2]) or re.search(r"[&]|\\\d", match[3]):
        return None
    old, new = re.sub(r"\\(.)", r"\1", match[2]), re.sub(r"\\(.)", r"\1", match[3])
    if not old:
        return None
    return (
        text.replace(old, new) if "g" in match[4] else "\n".join(line.replace(old, new, 1) for line in text.split("\n"))
    )


def run_head(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "nc", "--lines --bytes")
    return gather(world, call, options.operands)


def run_cut(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "cdfb", "--delimiter --fields --characters")
    content = gather(world, call, options.operands)
    span = options.get("-c", "-b", "--characters")
    match = re.fullmatch(r"(\d*)(-?)(\d*)", span.text) if span else None
    if not content.known or match is None:
        return call.output(content.sources)
    begin = int(match[1][:6] or 1) - 1
    end = int(match[3][:6]) if match[3] else None if match[2] else begin + 1
    return world.make("\n".join(line[max(begin, 0) : end] for line in content.text.split("\n")), content.sources)


def run_filter(_world: CommandContext, call: CommandCall) -> CommandValue:
    """Programs that pass on some form of what they read: their arguments and files are part of it."""
    values = (
        call.args
        if call.name in ("jq", "yq", "envsubst", "paste", "expr", "m4", "basename", "dirname", "realpath", "seq")
        else []
    )
    return call.output(join_sources(call.stdin.sources, sources_of(values)))


def run_crypt(world: CommandContext, call: CommandCall) -> CommandValue:
    """`gpg`, `age`, `7z`-like programs that read files and write an unreadable form of them."""
    options = split_options(call.args, "orupki", "--output --recipient --passphrase --passphrase-file --batch")
    files = [operand for operand in options.operands if operand.text]
    content = gather(world, call, files)
    decodes = options.has("-d", "--decrypt")
    result = _decoded(world, call, content, call.name, None) if decodes else call.output(content.sources)
    output = options.get("-o", "--output")
    if output:
        world.write(output, result, call)
    elif files and not decodes and not options.has("-a", "--armor"):
        world.files[world.resolve(files[-1].text + ".gpg")] = result
    return result


TEXT_PROGRAMS = {
    "echo": run_echo, "printf": run_printf, "print": run_echo, "base64": run_base64, "gbase64": run_base64,
    "base32": run_base64,
    "basenc": run_base64, "uudecode": run_base64, "xxd": run_xxd, "openssl": run_openssl, "gunzip": run_unpack_stream,
    "zcat": run_unpack_stream, "gzcat": run_unpack_stream, "gzip": run_unpack_stream, "bunzip2": run_unpack_stream,
    "bzcat": run_unpack_stream, "bzip2": run_unpack_stream, "xz": run_unpack_stream, "unxz": run_unpack_stream,
    "xzcat": run_unpack_stream, "zstd": run_unpack_stream, "zstdcat": run_unpack_stream, "rev": run_rev, "tac": run_rev,
    "tr": run_tr, "sed": run_sed, "gsed": run_sed, "head": run_head, "tail": run_head, "cut": run_cut,
    "gpg": run_crypt, "gpg2": run_crypt,
    "age": run_crypt, "ccrypt": run_crypt,
    **dict.fromkeys(("jq", "yq", "envsubst", "paste", "expr", "m4", "fold", "fmt", "nl", "uniq", "wc", "column",
    "iconv", "pv", "basename",
                     "dirname", "realpath", "seq", "shuf", "od", "hexdump"), run_filter),
}  # fmt: skip
