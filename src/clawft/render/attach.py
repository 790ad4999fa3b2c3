"""A file that is attached to a text: named, whole or its beginning, and sure to end where it says."""

import re

__all__ = ["wrap_file"]


def wrap_file(path: str, text: str, max_chars: int) -> str:
    """A file's text, whole or its beginning; nothing in it can end the wrapper."""
    body = text.replace("</file>", "<\\/file>")
    if len(body) > max_chars:
        body = f"{body[:max_chars]}\n[the rest of {len(body)} characters is left out; read_file reads it]"
    name = re.sub(r'[<>"\n]', "_", path)
    return f'<file path="{name}">\n{body}\n</file>'
