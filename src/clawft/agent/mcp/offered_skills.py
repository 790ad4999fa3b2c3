"""What a server says of a skill it offers (SEP-2640), checked by its word alone: addresses, names, files and limits.

Nothing is fetched here. An entry that breaks a rule stays in the listing, with the reason, and is never used.
"""

import re
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from clawft.discovery.digest import join_digest
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.format.names import LEFT_OUT, LEFT_OUT_FILES, is_canonical, is_safe_folder
from clawft.mcp.plain import clean_text, cut_text
from clawft.mcp.skills_extension import ENTRY_FILE, MAX_BYTES, MAX_FILES, ServedFile, ServedSkill
from clawft.packing.limits import Limits
from clawft.packing.target import Target

__all__ = ["LIMITS", "Offered", "parse_entry"]

LIMITS = Limits(MAX_FILES, MAX_BYTES, MAX_BYTES)
_MAX_URI = 1_000
_MAX_FRONT = 64 * 1024
_MAX_DESCRIPTION = 1_024
_URI = re.compile(r"[a-z][a-z0-9+.-]{0,31}://[A-Za-z0-9._~!$&'()*+,;=:@%/\[\]\u00a1-\U0001ffff -]+")
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


class Offered(Struct, frozen=True):
    """A skill that a server offers. Who it is: the name that the user gave to the server, and its address there.

    `skill` is what the server promises of it; without one, `problem` tells why it cannot be used.
    """

    server: str
    uri: str
    name: str
    description: str = ""
    skill: ServedSkill | None = None
    addresses: tuple[str, ...] = ()  # of its files, as the server writes them
    problem: Diagnostic | None = None

    @property
    def digest(self) -> str:
        """The digest that its folder has if every file is what the server promises: what an approval is bound to."""
        files = self.skill.files if self.skill else ()
        ordered = sorted((one.path.encode(), one) for one in files)
        return join_digest((path, False, (one.sha256.encode(), one.size)) for path, one in ordered) if files else ""


def parse_entry(server: str, entry: Any) -> Offered:
    """An entry of a listing, or what is wrong with it."""
    said = entry if isinstance(entry, dict) else {}
    uri = said.get("uri")
    shown = cut_text(" ".join(clean_text(uri).split()), 200) if isinstance(uri, str) else ""
    try:
        skill = _read_skill(said)
    except ClawftError as error:
        problem = Diagnostic(error.code, "error", str(error), shown, 0, error.hint)
        return Offered(server, shown, shown.removesuffix(f"/{ENTRY_FILE}").rpartition("/")[2], problem=problem)
    description = cut_text(" ".join(clean_text(skill.front["description"]).split()), _MAX_DESCRIPTION)
    addresses = tuple(one["uri"] for one in said["resources"])
    return Offered(server, skill.uri, skill.front["name"], description, skill, addresses)


def _read_skill(said: dict[str, Any]) -> ServedSkill:
    """Raises: Refused."""
    root = _read_root(said.get("uri"))
    front = _read_front(said.get("frontmatter"), unquote(root.rpartition("/")[2]))
    return ServedSkill(root, front, _read_files(root, said.get("resources")))


def _read_root(uri: Any) -> str:
    """The address of the folder of a SKILL.md. Raises: Refused."""
    if not isinstance(uri, str) or not uri.endswith(f"/{ENTRY_FILE}"):
        raise _refuse("mcp-skill-uri", "Its address is not that of a SKILL.md")
    root = uri.removesuffix(f"/{ENTRY_FILE}")
    _split(root, root.find("://") + 3)
    return root


def _split(uri: str, start: int) -> list[str]:
    """The names in an address from an index on. Raises: Refused for what leads elsewhere, or hides something."""
    plain = len(uri) <= _MAX_URI and _URI.fullmatch(uri) and not _PERCENT.search(uri) and clean_text(uri) == uri
    names = [unquote(part, errors="surrogateescape") for part in uri[start:].split("/")] if plain else []
    odd = any(name in ("", ".", "..") or "/" in name or not name.isprintable() for name in names)
    if not names or odd:
        raise _refuse("mcp-skill-uri", f"An address of it is none that a file of a skill has: {uri[:120]!a}")
    return names


def _read_front(front: Any, name: str) -> dict[str, Any]:
    """Raises: Refused."""
    if not isinstance(front, dict) or not isinstance(front.get("description"), str) or not front["description"].strip():
        raise _refuse("mcp-skill-frontmatter", "Its entry has no frontmatter with a description")
    if front.get("name") != name:
        raise _refuse("mcp-skill-name", f"The last folder of its address, {name[:64]!a}, is not its name")
    if not is_canonical(name) or not is_safe_folder(name):
        raise _refuse("mcp-skill-name", f"{name[:64]!a} is no name of a skill: letters, digits and single hyphens")
    try:
        size = len(msgspec.json.encode(front))
    except (RecursionError, ValueError, TypeError):
        size = _MAX_FRONT + 1
    if size > _MAX_FRONT:
        raise _refuse("mcp-skill-frontmatter", f"Its frontmatter takes more than {_MAX_FRONT >> 10} KB")
    return front


def _read_files(root: str, resources: Any) -> tuple[ServedFile, ...]:
    """Raises: Refused."""
    if resources == "dynamic" or resources is None:
        message = "Its files are made anew each time, so that no approval could be bound to them"
        raise _refuse("mcp-skill-dynamic", message, "Have its author publish the digests of its files")
    if not isinstance(resources, list) or not resources:
        raise _refuse("mcp-skill-resources", "Its entry does not list its files")
    if len(resources) > MAX_FILES:
        raise _refuse("mcp-skill-limits", f"It has more than {MAX_FILES} files")
    files = tuple(_read_file(root, one) for one in resources)
    if sum(one.size for one in files) > MAX_BYTES:
        raise _refuse("mcp-skill-limits", f"Its files have more than {MAX_BYTES >> 20} MB")
    _check_paths(files)
    if not any(one.path == ENTRY_FILE for one in files):
        raise _refuse("mcp-skill-resources", "Its entry lists its files without SKILL.md")
    return files


def _read_file(root: str, said: Any) -> ServedFile:
    uri, digest, size = (said.get(key) for key in ("uri", "digest", "size")) if isinstance(said, dict) else (None,) * 3
    if not isinstance(uri, str) or not uri.startswith(f"{root}/"):
        raise _refuse("mcp-skill-resources", "Its entry lists a file that does not lie in its folder")
    found = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    if found is None or type(size) is not int or not 0 <= size <= 1 << 62:
        raise _refuse("mcp-skill-resources", f"Its entry lists {uri[:120]!a} without a digest and a size")
    return ServedFile("/".join(_split(uri, len(root) + 1)), found[1], size)


def _check_paths(files: tuple[ServedFile, ...]) -> None:
    """Raises: Refused where two are one on some systems, or where no digest would cover one."""
    target = Target("", "", LIMITS)
    for one in files:
        if LEFT_OUT_FILES.intersection(one.path.split("/")) or not LEFT_OUT.isdisjoint(one.path.lower().split("/")):
            raise _refuse("mcp-skill-resources", f"Its entry lists {one.path[:80]!a}, which is no part of a skill")
        try:
            claimed = target.claim(one.path)
        except Refused as error:
            raise _refuse("mcp-skill-resources", str(error)) from error
        if claimed != one.path:
            raise _refuse("mcp-skill-resources", f"Its entry lists {one.path[:80]!a}, which is no part of a skill")


def _refuse(code: str, message: str, hint: str = "") -> Refused:
    return Refused(code, message, hint=hint)
