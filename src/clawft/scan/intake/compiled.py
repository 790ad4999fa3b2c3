"""What compiled Python would do: said again as Python, and compared with the source that stands beside it.

Which value flows where is not read from bytecode, so all that is read counts as flowing into all that is sent. That
says too much rather than too little, and only for bytecode that no source explains.
"""

import re
from collections.abc import Iterator

from clawft.scan.documents import Document
from clawft.scan.facts import Kind
from clawft.scan.intake.bytecode import Code, read_code
from clawft.scan.intake.parts import Mark, Part, Passage, Unread

__all__ = ["explain_bytecode", "find_source"]

_PYCACHE = re.compile(r"(?:^|/)__pycache__/([^/]+?)\.[\w-]+(?:\.opt-\d)?\.pyc$")
_WORD = re.compile(r"[^\W\d_][\w.-]{3,}")
_MAGIC_NAME = re.compile(r"__\w+__$|_\w+__\w+$|[.<]")
_ACTING = re.compile(
    r"system|popen|Popen|subprocess|exec|eval|compile|__import__|urlopen|urlretrieve|requests|httpx|aiohttp|socket|connect"
    r"|check_output|check_call|spawn\w*|environ|getenv|b64decode|marshal|pickle|ctypes|rmtree|unlink|ftplib|smtplib|dup2"
)
_TELLING = re.compile(
    r"https?://|/dev/tcp|\.ssh|\.aws|id_rsa|\.env\b|curl |wget |/bin/(?:ba)?sh|\| ?(?:ba)?sh\b|base64"
)


def find_source(path: str) -> str:
    """The path of the source that a .pyc would be made of."""
    match = _PYCACHE.search(path)
    if match:
        return f"{path[: match.start()]}/{match[1]}.py".lstrip("/")
    return re.sub(r"\.pyc$", ".py", path)


def explain_bytecode(data: bytes, source: Document | None) -> Iterator[Part]:
    """What a .pyc adds to its source; all of it when there is none."""
    codes, whole = read_code(data)
    if source is not None and whole:
        missing = _list_missing(codes, source.text)
        if not missing:
            return
        acting = [one for one in missing if _ACTING.fullmatch(one) or _TELLING.search(one)]
        target = "bytecode-differs" if acting else "bytecode-stale"
        yield Mark(Kind.HIDDEN, target, f"not in the source: {', '.join((acting or missing)[:6]):.200}")
        if not acting:
            return
    else:
        yield Mark(Kind.BINARY, "Python bytecode", f"compiled Python without its source, {len(codes)} functions")
    if not whole:
        yield Unread("The bytecode is broken or of an unknown version")
    if text := _render(codes):
        yield Passage(text, "python", "bytecode")


def _list_missing(codes: list[Code], text: str) -> list[str]:
    """The names and the strings of bytecode that its source does not hold."""
    known = set(re.findall(r"\w+", text))
    missing: dict[str, None] = {}
    for code in codes:
        for name in code.names:
            if not _MAGIC_NAME.match(name) and not known.issuperset(name.split(".")):
                missing[name] = None
        for string in code.strings:
            if string not in text and any(word not in text for word in _WORD.findall(string[:5000])):
                missing[string] = None
    return [one for one in missing if one.strip() and one != "return"]  # the name of an annotation


def _render(codes: list[Code]) -> str:
    """Python that does no less than the bytecode: what is read, then every call over what it may be given."""
    names = {name for code in codes for name in code.names}
    strings = list(dict.fromkeys(one for code in codes for one in code.strings if one.strip()))[:400]
    numbers = [one for code in codes for one in code.numbers]
    lines = [
        f"import {one}"
        for one in sorted(names)
        if re.fullmatch(r"os|subprocess|socket|urllib(\.\w+)*|requests|base64|shutil", one)
    ]
    held = _render_reads(names, strings, lines)
    given = f"({', '.join(held)},)" if held else "''"
    commands = [one for one in strings if " " in one.strip() or "/" in one]
    addresses = [one for one in strings if re.match(r"(?:https?|wss?|ftp)://", one)]
    if names & {
        "system",
        "popen",
        "Popen",
        "run",
        "call",
        "check_output",
        "check_call",
        "getoutput",
        "execvp",
        "spawn",
    }:
        lines += [f"os.system({one!r})" for one in commands if one not in addresses]
        if words := [one for one in strings if re.fullmatch(r"[\w./:@=|&;$~+-]{1,200}", one)]:
            lines.append(f"subprocess.run({words!r})")
    for address in addresses:
        verb = "post" if held or names & {"post", "put", "Request", "urlencode"} else "get"
        lines.append(f"requests.{verb}({address!r}, {'data' if verb == 'post' else 'params'}={given})")
    if names & {"exec", "eval", "compile", "loads"}:
        packed = names & {"b64decode", "decompress", "fromhex", "unhexlify"}
        lines += [
            f"exec(base64.b64decode({one!r}))" if packed else f"exec({one!r})" for one in strings if len(one) >= 16
        ]
    if "connect" in names:
        hosts = [one for one in strings if re.fullmatch(r"[\w-]+(\.[\w-]+)+", one)]
        port = next((one for one in numbers if 0 < one < 65536), 0)
        lines += [f"socket.socket().connect(({one!r}, {port}))\nsocket.socket().send({given})" for one in hosts]
    if names & {"rmtree", "unlink", "remove"}:
        lines += [f"shutil.rmtree({one!r})" for one in strings if re.match(r"[~/.$\w-]+$", one) and "/" in one + "/"]
    lines += [f"_ = {one!r}" for one in strings]
    return "\n".join(lines)


def _render_reads(names: set[str], strings: list[str], lines: list[str]) -> list[str]:
    """Assignments of all that is read; the variables that hold it."""
    held: list[str] = []

    def hold(expression: str) -> None:
        held.append(f"v{len(held)}")
        lines.append(f"{held[-1]} = {expression}")

    if names & {"environ", "getenv", "environb"}:
        variables = [one for one in strings if re.fullmatch(r"[A-Z][A-Z0-9_]{2,}", one)]
        for one in variables or [""]:
            hold(f"os.environ[{one!r}]" if one else "dict(os.environ)")
    if names & {"open", "read_text", "read_bytes", "read", "expanduser", "Path", "copy"}:
        for one in strings:
            if re.fullmatch(r"[~/.$\\\w][^\n:|;]{2,200}", one) and ("/" in one or "." in one) and " " not in one:
                hold(f"open(os.path.expanduser({one!r})).read()")
    return held
