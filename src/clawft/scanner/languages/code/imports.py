"""Imports: the names that each binds and what they refer to, as dotted paths."""

from typing import Any

from clawft.scanner.languages.code.lexer import LINE, NAME, OPERATOR, STRING
from clawft.scanner.languages.code.syntax import Syntax

Pair = tuple[str, str]  # the name bound here, its dotted path


def read_import(values: list[Any], kinds: list[int], at: int, limit: int, syntax: Syntax) -> tuple[list[Pair], int]:
    """The names that the import at a token binds, and the token after it; the same token when it is no import."""
    end = _statement_end(values, kinds, at, limit)
    language = syntax.name
    words = [(kinds[index], values[index]) for index in range(at, end) if kinds[index] != LINE]
    if language in ("python", "nim"):
        return _python(words), end
    if language == "javascript":
        return (
            (_javascript(words), end)
            if values[at] == "import" and any(kind == STRING for kind, _ in words)
            else ([], at)
        )
    if language == "go" and values[at] == "import":
        return _go(words), end
    if language == "rust" and values[at] == "use":
        return _tree([str(value) for _, value in words[1:]]), end
    if language in ("java", "kotlin", "groovy", "swift", "csharp", "dart", "perl") and values[at] in (
        "import",
        "use",
        "using",
    ):
        return _dotted(words, language, at, end)
    if language == "php" and values[at] == "use":
        return [
            (str(value).rpartition("\\")[2], str(value).replace("\\", ".").strip("."))
            for kind, value in words[1:]
            if kind == NAME
        ][:1], end
    return [], at


def _statement_end(values: list[Any], kinds: list[int], at: int, limit: int) -> int:
    depth = 0
    for index in range(at, min(limit, at + 400)):
        value = values[index]
        if kinds[index] == OPERATOR:
            depth += (value in ("(", "{")) - (value in (")", "}"))
            if value == ";" and depth <= 0:
                return index
        elif kinds[index] == LINE and depth <= 0 and index > at:
            return index
    return min(limit, at + 400)


def _python(words: list[tuple[int, Any]]) -> list[Pair]:
    texts = [str(value) for _, value in words]
    if texts[0] == "from" and "import" in texts:
        split = texts.index("import")
        module = "".join(texts[1:split]).lstrip(".")
        return [(bound, f"{module}.{name}" if module else name) for bound, name in _renamed(texts[split + 1 :])]
    if texts[0] != "import":
        return []
    return [
        (bound, name) if bound != name else (name.split(".")[0], name.split(".")[0])
        for bound, name in _renamed(texts[1:])
    ]


def _renamed(texts: list[str]) -> list[Pair]:
    """`a.b as c, d` as pairs of the bound name and the full one."""
    pairs: list[Pair] = []
    name, bound, after_as = "", "", False
    for text in [*texts, ","]:
        if text == ",":
            if name:
                pairs.append((bound or name, name))
            name, bound, after_as = "", "", False
        elif text == "as":
            after_as = True
        elif text in "(){};":
            continue
        elif after_as:
            bound = text
        else:
            name += text
    return pairs


def _javascript(words: list[tuple[int, Any]]) -> list[Pair]:
    module = module_name(next(str(value) for kind, value in words if kind == STRING))
    pairs: list[Pair] = []
    braces = False
    texts = [str(value) for kind, value in words[1:] if kind != STRING]
    inner: list[str] = []
    for text in texts:
        if text in "{}":
            braces = text == "{"
        elif text == "from":
            break
        elif braces:
            inner.append(text)
        elif text not in (",", "*", "as", "type", "="):
            pairs.append((text, module))
    pairs += [(bound, module if name == "default" else f"{module}.{name}") for bound, name in _renamed(inner)]
    return pairs


def module_name(name: str) -> str:
    """A module as its name, without the scheme, the folder and the ending."""
    name = name.removeprefix("node:")
    if name.startswith((".", "/")):
        name = name.rpartition("/")[2]
        for ending in (".mjs", ".cjs", ".js", ".ts", ".tsx", ".jsx", ".json"):
            name = name.removesuffix(ending)
    return name.replace("/", ".")


def _go(words: list[tuple[int, Any]]) -> list[Pair]:
    pairs: list[Pair] = []
    alias = ""
    for kind, value in words[1:]:
        if kind == STRING:
            module = str(value).rpartition("/")[2]
            pairs.append((module if alias in ("", "_", ".") else alias, module))
            alias = ""
        elif kind == NAME or value == ".":
            alias = str(value)
    return pairs


def _tree(texts: list[str]) -> list[Pair]:
    """Rust: `std::{fs, process::Command as C}`."""
    pairs: list[Pair] = []
    stack: list[str] = []
    prefix, path, bound, after_as = "", "", "", False
    for text in [*texts, ","]:
        if text in (",", "}", ";"):
            if path:
                whole = (prefix + path).removesuffix(".self")
                pairs.append((bound or whole.rpartition(".")[2], whole))
            path, bound, after_as = "", "", False
            if text == "}" and stack:
                prefix = stack.pop()
        elif text == "{":
            stack.append(prefix)
            prefix, path = prefix + path, ""
        elif text == "as":
            after_as = True
        elif after_as:
            bound = text
        else:
            path += "." if text == "::" else text
    return pairs


def _dotted(words: list[tuple[int, Any]], language: str, at: int, end: int) -> tuple[list[Pair], int]:
    texts = [str(value) for kind, value in words[1:] if kind in (NAME, OPERATOR)]
    if language == "perl":
        return [], end
    if "(" in texts:
        return [], at
    texts = [text for text in texts if text not in ("static", "class", "func", "struct")]
    if "=" in texts:
        split = texts.index("=")
        return [("".join(texts[:split]), "".join(texts[split + 1 :]))], end
    alias = texts[texts.index("as") + 1] if "as" in texts[:-1] else ""
    path = "".join(texts[: texts.index("as")] if alias else texts).replace("::", ".")
    return ([(alias or path.rpartition(".")[2], path)] if path and not path.endswith("*") else []), end
