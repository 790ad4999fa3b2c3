"""Addresses of repositories, refs and paths, read strictly; and text of a registry made safe to show."""

import re
from typing import NoReturn
from urllib.parse import quote, unquote, urljoin

from clawft.errors import ClawftError, Refused
from clawft.trust.network import InvalidUrl, is_loopback, read_host, read_url

# Control characters, direction marks, and what nobody sees.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]+"
)


def plain_line(text: str, max_chars: int = 300) -> str:
    """One line, without what a reader cannot see, and never too long."""
    line = " ".join(_HIDDEN.sub(" ", text[: 4 * max_chars]).split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


def join_url(base: str, url: str) -> str:
    """Resolve an address relative to another (RFC 3986). Raises: InvalidUrl."""
    try:
        return urljoin(base, url)
    except ValueError as error:
        raise InvalidUrl("cannot be read") from error


MAX_TEXT = 2048
MAX_PATH = 400
MAX_REF = 200
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SSH = re.compile(
    r"ssh://(?:(?P<user>[^@/]*)@)?(?P<host>\[[^\]/]*\]|[^:/\[\]@]*)(?::(?P<port>[0-9]{1,5}))?(?P<path>/.*)"
)
_SCP = re.compile(r"(?P<user>[^@/:]*)@(?P<host>\[[^\]/]*\]|[^:/\[\]@]*):(?P<path>[^/].*|/.*)")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
_REMOTE_PATH = re.compile(r"[A-Za-z0-9._~/+@=-]+")  # a shell at the other end reads it
_NOT_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?=/|$)")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def refuse(what: str, why: str, *, hint: str = "") -> NoReturn:
    """Raises: Refused `reference-unsafe`."""
    raise Refused("reference-unsafe", f"{what[:80]!a} {why}", hint=hint or "Nothing was asked for anywhere")


def is_commit(ref: str) -> bool:
    """Return whether a ref is a whole commit, which no branch can move."""
    return COMMIT.fullmatch(ref) is not None


def read_ref(text: str) -> str:
    """The name of a branch or tag, or a commit, as git would have it. Raises: Refused."""
    bad = text.startswith(("-", "/", ".")) or text.endswith(("/", ".")) or text == "@" or len(text) > MAX_REF
    if bad or not text.isprintable() or _NOT_IN_REF.search(text):
        refuse(text, "is no branch, tag or commit", hint="Write the name of a branch or a tag, or a whole commit")
    return text.lower() if is_commit(text.lower()) else text


def read_path(text: str) -> str:
    """A path below a repository or an archive, without a slash at its ends. Raises: Refused."""
    parts = text.removesuffix("/").split("/") if text else []
    if len(text) > MAX_PATH or "\\" in text or CONTROL.search(text):
        refuse(text, "is no path of a folder", hint="Write it with '/', below the top of the repository")
    for part in parts:
        if part in ("", ".", "..") or part.casefold() == ".git":
            refuse(text, "leads out of the repository, or to what is no part of it", hint="Name a folder below its top")
    return "/".join(parts)


def read_git_url(text: str) -> str:
    """The address of a repository in the one form that git is given. Raises: ClawftError; Refused."""
    if len(text) > MAX_TEXT or CONTROL.search(text):
        refuse(text, "has a control character, or is too long to be an address")
    scheme = text.partition("://")[0].lower() if "://" in text else ""
    if scheme == "ssh":
        return _read_ssh(_SSH.fullmatch("ssh" + text[3:]), text)
    if scheme == "file":
        return _read_file(text)
    if scheme in ("http", "https"):
        return _read_http(text)
    if not scheme and "::" not in text.partition("[")[0] and (match := _SCP.fullmatch(text)):
        return _read_ssh(match, text)
    refuse(text, "is no address of a repository", hint="Write https://…, ssh://…, git@host:path or git+file:///path")


def _read_ssh(match: re.Match[str] | None, text: str) -> str:
    if match is None:
        raise ClawftError(
            "reference-invalid", f"{text[:80]!a} is no address for ssh", hint="Write ssh://user@host/path"
        )
    user, host, path = match["user"], match["host"], match["path"]
    if user is not None and not _USER.fullmatch(user):
        refuse(text, "has a password, or a user that is none", hint="Use the keys of ssh: ssh://git@host/path")
    if not _REMOTE_PATH.fullmatch(path) or path.startswith("-") or "/../" in f"/{path}/":
        refuse(text, "has a path that another shell would read in its own way")
    name = _read_name(host, text)
    who = f"{user}@" if user else ""
    if not match.re.pattern.startswith("ssh"):
        return f"{who}{name}:{path}"
    port = match["port"]
    if port and not 1 <= int(port) <= 65535:
        refuse(text, "has no possible port")
    return f"ssh://{who}{name}{f':{int(port)}' if port else ''}{path}"


def _read_name(host: str, text: str) -> str:
    """A host, in ASCII: a look-alike is not taken for the one that was meant. Raises: Refused."""
    if not host.isascii():
        refuse(text, "has a host that is not written in ASCII", hint="Write it in its xn-- form if you are sure of it")
    try:
        name, address = read_host(host)
    except InvalidUrl as error:
        raise Refused("reference-unsafe", f"{text[:80]!a}: {error}", hint="Name a host") from error
    return f"[{name}]" if address is not None and ":" in name else name


def _read_file(text: str) -> str:
    path = unquote(text[len("file://") :], errors="surrogateescape")
    if not path.startswith("/") or CONTROL.search(path) or ".." in path.split("/"):
        refuse(text, "is no path of this machine", hint="Write git+file:///path/of/repository")
    return f"file://{quote(path, safe='/~._-+@=:')}"


def _read_http(text: str) -> str:
    if "@" in text.partition("://")[2].partition("/")[0]:
        hint = "Nothing secret belongs into an address. Use ssh://git@host/path, where your keys are"
        raise Refused("reference-credentials", "The address has a user or a password", hint=hint)
    _read_name(re.split(r"[/?#]|:[0-9]+(?=[/?#]|$)", text.partition("://")[2], maxsplit=1)[0], text)
    target = read_url(text)
    if "?" in target.path or ".." in unquote(target.path).split("/"):
        refuse(text, "is no plain address of a repository", hint="Write https://host/owner/repository")
    if target.scheme == "http" and not is_loopback(target.host):
        hint = "Use https://: on the way, anybody could change what comes"
        raise Refused("reference-insecure", f"{target.origin} is not encrypted", hint=hint)
    return target.url.rstrip("/")
