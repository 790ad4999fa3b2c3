"""Skills that MCP servers offer (SEP-2640): check the entry, fetch its files, and place approved copies."""

import hashlib
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import unquote

import anyio
import msgspec
from msgspec import Struct

from clawft.agent.mcp.remote import clean_text, cut_text
from clawft.agent.mcp.skills_extension import ENTRY_FILE, MAX_BYTES, MAX_FILES, ServedFile, ServedSkill, read_front
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import NEW, exchange_folders, remove_folder, remove_tree, replace_file
from clawft.install.archive.target import ArchiveLimits, UnpackTarget
from clawft.skills.discovery.digest import compute_digest, join_digest
from clawft.skills.discovery.mcp_copies import ORIGIN_FILE, McpSkillOrigin, find_place, served_folder
from clawft.skills.parse.model import LEFT_OUT, LEFT_OUT_FILES, is_canonical, is_safe_folder

LIMITS = ArchiveLimits(MAX_FILES, MAX_BYTES, MAX_BYTES)
_MAX_URI = 1_000
_MAX_FRONT = 64 * 1024
_MAX_DESCRIPTION = 1_024
_URI = re.compile(r"[a-z][a-z0-9+.-]{0,31}://[A-Za-z0-9._~!$&'()*+,;=:@%/\[\]\u00a1-\U0001ffff -]+")
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


class OfferedSkill(Struct, frozen=True):
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
        ordered = sorted((file.path.encode(), file) for file in files)
        return (
            join_digest((path, False, (served_file.sha256.encode(), served_file.size)) for path, served_file in ordered)
            if files
            else ""
        )


def parse_entry(server: str, entry: Any) -> OfferedSkill:
    """An entry of a listing, or what is wrong with it."""
    fields = entry if isinstance(entry, dict) else {}
    uri = fields.get("uri")
    shown = cut_text(" ".join(clean_text(uri).split()), 200) if isinstance(uri, str) else ""
    try:
        skill = _read_skill(fields)
    except ClawftError as error:
        problem = Diagnostic(error.code, "error", str(error), shown, 0, error.hint)
        return OfferedSkill(server, shown, shown.removesuffix(f"/{ENTRY_FILE}").rpartition("/")[2], problem=problem)
    description = cut_text(" ".join(clean_text(skill.front["description"]).split()), _MAX_DESCRIPTION)
    addresses = tuple(resource["uri"] for resource in fields["resources"])
    return OfferedSkill(server, skill.uri, skill.front["name"], description, skill, addresses)


def _read_skill(fields: dict[str, Any]) -> ServedSkill:
    """Raises: Refused."""
    root = _read_root(fields.get("uri"))
    front = _read_front(fields.get("frontmatter"), unquote(root.rpartition("/")[2]))
    return ServedSkill(root, front, _read_files(root, fields.get("resources")))


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
    files = tuple(_read_file(root, resource) for resource in resources)
    if sum(file.size for file in files) > MAX_BYTES:
        raise _refuse("mcp-skill-limits", f"Its files have more than {MAX_BYTES >> 20} MB")
    _check_paths(files)
    if not any(file.path == ENTRY_FILE for file in files):
        raise _refuse("mcp-skill-resources", "Its entry lists its files without SKILL.md")
    return files


def _read_file(root: str, resource: Any) -> ServedFile:
    uri, digest, size = (
        (resource.get(key) for key in ("uri", "digest", "size")) if isinstance(resource, dict) else (None,) * 3
    )
    if not isinstance(uri, str) or not uri.startswith(f"{root}/"):
        raise _refuse("mcp-skill-resources", "Its entry lists a file that does not lie in its folder")
    found = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    if found is None or type(size) is not int or not 0 <= size <= 1 << 62:
        raise _refuse("mcp-skill-resources", f"Its entry lists {uri[:120]!a} without a digest and a size")
    return ServedFile("/".join(_split(uri, len(root) + 1)), found[1], size)


def _check_paths(files: tuple[ServedFile, ...]) -> None:
    """Raises: Refused where two are one on some systems, or where no digest would cover one."""
    target = UnpackTarget("", "", LIMITS)
    for file in files:
        if LEFT_OUT_FILES.intersection(file.path.split("/")) or not LEFT_OUT.isdisjoint(file.path.lower().split("/")):
            raise _refuse("mcp-skill-resources", f"Its entry lists {file.path[:80]!a}, which is no part of a skill")
        try:
            claimed = target.claim(file.path)
        except Refused as error:
            raise _refuse("mcp-skill-resources", str(error)) from error
        if claimed != file.path:
            raise _refuse("mcp-skill-resources", f"Its entry lists {file.path[:80]!a}, which is no part of a skill")


def _refuse(code: str, message: str, hint: str = "") -> Refused:
    return Refused(code, message, hint=hint)


_AT_ONCE = 8
_AGAIN = "Nothing of it was kept. If it was changed just now, try again"

Read = Callable[[str, str, int], Awaitable[bytes]]  # the server, an address, how many bytes at most


async def fetch_files(read: Read, offered: OfferedSkill, folder: str) -> None:
    """Read every file that a skill lists into a new folder; SKILL.md first, which has to say what the listing says.

    Raises: Refused for what is not as it was promised, RemoteError, OSError. Then the folder is to be removed.
    """
    skill = offered.skill
    assert skill is not None, "what is refused is not read"
    os.mkdir(folder, 0o700)
    target = UnpackTarget(folder, offered.uri, LIMITS)
    listed = zip(skill.files, offered.addresses, strict=True)
    pending = sorted(listed, key=lambda one: one[0].path != ENTRY_FILE)

    async def take() -> None:
        file, address = pending.pop(0)
        data = await read(offered.server, address, file.size)
        _check(offered, file, data)
        if file.path == ENTRY_FILE and not is_same_front(read_front(data), skill.front):
            message = f"The SKILL.md of '{offered.name}' does not say what the listing of its server says"
            raise Refused("mcp-skill-frontmatter", message, path=offered.uri, hint=_AGAIN)
        target.write(target.claim(file.path), data, executable=False)

    async def take_all() -> None:
        while pending:
            await take()

    await take()
    try:
        async with anyio.create_task_group() as group:
            for _ in range(min(_AT_ONCE, len(pending))):
                group.start_soon(take_all)
    except ExceptionGroup as error:
        raise error.exceptions[0] from error
    if compute_digest(folder).value != offered.digest:
        message = f"'{offered.name}' is not what the listing of its server says"
        raise Refused("mcp-skill-digest", message, path=offered.uri, hint=_AGAIN)


def is_same_front(written: Any, listed: Any) -> bool:
    """Return whether a frontmatter is, field by field, what a listing says; true is not 1 here."""
    if isinstance(written, dict) and isinstance(listed, dict):
        return written.keys() == listed.keys() and all(is_same_front(written[key], listed[key]) for key in written)
    if isinstance(written, list) and isinstance(listed, list):
        return len(written) == len(listed) and all(map(is_same_front, written, listed))
    return isinstance(written, bool) == isinstance(listed, bool) and bool(written == listed)


def _check(offered: OfferedSkill, file: ServedFile, data: bytes) -> None:
    """Raises: Refused."""
    if len(data) != file.size or hashlib.sha256(data).hexdigest() != file.sha256:
        message = f"The file {file.path[:120]!a} of '{offered.name}' is not what the listing of its server says"
        raise Refused("mcp-skill-digest", message, path=offered.uri, hint=_AGAIN)


@contextmanager
def open_stage(user_dir: str) -> Iterator[str]:
    """A hidden folder for what is looked at, removed on leaving with all that is still in it. Raises: OSError."""
    base = served_folder(user_dir)
    folder = f"{base}/{NEW}{os.urandom(8).hex()}"
    os.makedirs(base, mode=0o700, exist_ok=True)
    os.mkdir(folder, 0o700)
    try:
        yield folder
    finally:
        remove_tree(folder)
        _remove_empty(base)


def place_skill(user_dir: str, origin: McpSkillOrigin, staged: str) -> None:
    """Put the folder of a skill into its place; one that was there goes to the stage. Raises: OSError."""
    place = find_place(user_dir, origin)
    os.makedirs(place, mode=0o700, exist_ok=True)
    replace_file(f"{place}/{ORIGIN_FILE}", msgspec.json.encode(origin))
    target = f"{place}/{os.path.basename(staged)}"
    if os.path.isdir(target):
        exchange_folders(staged, target)
    else:
        os.rename(staged, target)


def remove_served(user_dir: str, origin: McpSkillOrigin) -> None:
    """Remove what lies here of a skill. Raises: OSError."""
    place = find_place(user_dir, origin)
    remove_folder(place)
    _remove_empty(os.path.dirname(place), served_folder(user_dir))


def _remove_empty(*folders: str) -> None:
    for folder in folders:
        with suppress(OSError):  # another skill is in it
            os.rmdir(folder)
