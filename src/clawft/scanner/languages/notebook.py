"""Notebooks: their cells as documents of the language each is run in, their texts, and what they have put out."""

import json
import re
from collections.abc import Iterator

import msgspec
from msgspec import structs

from clawft.scanner.facts import Analysis, Document, make_child

MAX_CELLS = 5_000
_LANGUAGES = {
    "python": "python python3 ipython julia pypy capture time timeit prun", "r": "r ir",
    "javascript": "javascript typescript deno js node", "shell": "bash sh zsh system sx !", "batch": "cmd",
    "powershell": "powershell pwsh .net-powershell", "html": "html svg", "markdown": "markdown latex", "ruby": "ruby",
    "perl": "perl", "go": "go", "rust": "rust", "php": "php", "lua": "lua", "java": "java kotlin scala",
    "csharp": "c# .net-csharp",
}  # fmt: skip
_NAMED = {name: language for language, names in _LANGUAGES.items() for name in names.split()}  # kernels and cell magics
_CELL_MAGIC = re.compile(r"\s*%%(!|[\w.]+)[ \t]*([^\n]*)\n?")
_LINE_COMMAND = re.compile(r"^[ \t]*(?:[\w, ]{1,80}=[ \t]*)?(?:!!?|%(?:sx|system)[ \t])(.*)$")
_LINE_INSTALL = re.compile(r"^[ \t]*%((?:pip|conda|mamba|uv)[ \t].*)$")
_LINE_MAGIC = re.compile(r"^([ \t]*)%\w")
_SHELL_CALL = re.compile(r"get_ipython\(\)\s*\.\s*(?:system|getoutput|getoutputlines)\(\s*([\"'])(.{1,2000}?)\1\s*\)")


def analyse(document: Document) -> Analysis:
    """The cells of a notebook as documents; a notebook that is none is left to the reader of JSON."""
    try:
        book = msgspec.json.decode(document.text.encode("utf-8", "replace"))
        cells = _list_cells(book)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return Analysis([], [structs.replace(document, language="json", origin=(*document.origin, "notebook"))])
    kernel = _find_kernel(book)
    children: list[Document] = []
    code: list[tuple[int, str]] = []
    at = 0
    for cell in cells[:MAX_CELLS]:
        source = _join(cell.get("source", cell.get("input", "")))
        at = _find(document.text, source, at)
        found = _split_code(source, kernel) if cell.get("cell_type") == "code" else iter([("markdown", source)])
        for language, text in (*found, *_list_outputs(cell)):
            if language == kernel:
                code.append((at, text))
            elif text.strip():
                children.append(make_child(document, text, language, "cell", at))
    if code:
        children.append(_join_code(document, code, kernel))
    gaps = [f"Only {MAX_CELLS} of {len(cells)} cells were read"] if len(cells) > MAX_CELLS else []
    return Analysis([], children, gaps)


def _join_code(document: Document, code: list[tuple[int, str]], kernel: str) -> Document:
    """The code of all cells as one text: they share their names. Each stands on the line of its cell, if it can."""
    pieces: list[str] = []
    line, tracked = document.line, not document.flat
    for at, text in code:
        there = document.line_at(at)
        tracked = tracked and there >= line
        pieces.append("\n" * (there - line) if tracked else "")
        pieces.append(text.rstrip("\n") + "\n")
        line = there + pieces[-1].count("\n")
    joined = "".join(pieces)
    if tracked:
        return structs.replace(make_child(document, joined, kernel, "cell", 0, flat=False), line=document.line)
    return make_child(document, "".join(f"{text}\n" for _, text in code), kernel, "cell", code[0][0])


def _list_cells(book: object) -> list[dict[str, object]]:
    """The cells, also those of the old form that kept them in worksheets. Raises: ValueError when there are none."""
    if not isinstance(book, dict):
        raise ValueError
    cells = book.get("cells")
    if cells is None:
        sheets = book.get("worksheets")
        cells = (
            [cell for sheet in sheets if isinstance(sheet, dict) for cell in sheet.get("cells", ())] if sheets else None
        )
    if not isinstance(cells, list):
        raise ValueError
    return [cell for cell in cells if isinstance(cell, dict)]


def _find_kernel(book: dict[str, object]) -> str:
    metadata = book.get("metadata")
    names: list[object] = []
    if isinstance(metadata, dict):
        for key, field in (("language_info", "name"), ("kernelspec", "language"), ("kernelspec", "name")):
            part = metadata.get(key)
            names.append(part.get(field) if isinstance(part, dict) else None)
    return next((_NAMED[str(name).lower()] for name in names if str(name).lower() in _NAMED), "python")


def _join(source: object) -> str:
    if isinstance(source, list):
        return "".join(line for line in source if isinstance(line, str))
    return source if isinstance(source, str) else ""


def _find(text: str, source: str, after: int) -> int:
    """Find the line of a cell in the file: its first line as JSON writes it, or where the last one was."""
    first = source.partition("\n")[0].strip()[:200]
    if not first:
        return after
    found = text.find(json.dumps(first, ensure_ascii=False)[1:-1], after)
    return found if found >= 0 else after


def _split_code(source: str, kernel: str) -> Iterator[tuple[str, str]]:
    """The parts of a code cell by language: a cell magic takes it whole, lines of commands stand out."""
    magic = _CELL_MAGIC.match(source)
    if magic:
        words = magic[2].split()
        name = words[0].rpartition("/")[2] if magic[1] == "script" and words else magic[1].lower()
        source = source[magic.end() :]
        if _NAMED.get(name, kernel) != kernel:
            yield _NAMED[name], source
            return
    lines: list[str] = []
    commands: list[str] = []
    for line in source.split("\n"):
        command = _LINE_COMMAND.match(line) or _LINE_INSTALL.match(line)
        if command and kernel == "python":
            commands.append(command[1])
            lines.append("pass")
        else:
            lines.append(_LINE_MAGIC.sub(r"\1# %", line) if kernel == "python" else line)
    commands += [call[2] for call in _SHELL_CALL.finditer(source)]
    if commands:
        yield "shell", "\n".join(commands)
    yield kernel, "\n".join(lines)


def _list_outputs(cell: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the outputs of a cell: an agent that opens the notebook reads it, too."""
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        yield "markdown", _join(output.get("text"))
        shown = output.get("data")
        if isinstance(shown, dict):
            yield "markdown", _join(shown.get("text/plain")) + "\n" + _join(shown.get("text/markdown"))
            yield "html", _join(shown.get("text/html")) + _join(shown.get("image/svg+xml"))
            yield "javascript", _join(shown.get("application/javascript"))
