"""What IMAP answers with: atoms, texts in quotes, literals, and lists of these."""

__all__ = ["Value", "parse_values"]

Value = bytes | list["Value"]
_MAX_DEPTH = 10
_ESCAPED = b"\\"[0]
_QUOTE = b'"'[0]


def parse_values(pieces: list[bytes]) -> list[Value]:
    """The values in a response: text, literal, text, and so on. Raises: ValueError."""
    stack: list[list[Value]] = [[]]
    for index, piece in enumerate(pieces):
        if index % 2:
            stack[-1].append(piece)
        else:
            _parse_text(piece, stack)
    if len(stack) != 1:
        raise ValueError("a list has no end")
    return stack[0]


def _parse_text(text: bytes, stack: list[list[Value]]) -> None:
    at = 0
    while at < len(text):
        char = text[at : at + 1]
        if char == b" ":
            at += 1
        elif char == b"(":
            if len(stack) > _MAX_DEPTH:
                raise ValueError("its lists are too deep")
            stack.append([])
            at += 1
        elif char == b")":
            if len(stack) < 2:
                raise ValueError("a list ends that did not begin")
            done = stack.pop()
            stack[-1].append(done)
            at += 1
        elif char == b'"':
            value, at = _read_quoted(text, at + 1)
            stack[-1].append(value)
        else:
            end = _find_end(text, at)
            stack[-1].append(text[at:end])
            at = end


def _read_quoted(text: bytes, at: int) -> tuple[bytes, int]:
    out = bytearray()
    while at < len(text):
        if text[at] == _QUOTE:
            return bytes(out), at + 1
        at += text[at] == _ESCAPED
        out += text[at : at + 1]
        at += 1
    raise ValueError("a text has no end")


def _find_end(text: bytes, at: int) -> int:
    """Where an atom ends; `BODY[HEADER.FIELDS (A B)]` is one."""
    inside = False
    for end in range(at, len(text)):
        char = text[end : end + 1]
        if char in b"[]":
            inside = char == b"["
        elif char in b" ()" and not inside:
            return end
    return len(text)
