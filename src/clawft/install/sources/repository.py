"""The skills in a tree of files: a repository, an archive, a folder or a plugin. They are found from the paths and a
few files alone, so that a repository need not be fetched whole."""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct, structs

from clawft.errors import ClawftError, Diagnostic, NotFound, find_close
from clawft.skills.parse.client_plugins import MARKETPLACE, parse_marketplace
from clawft.skills.parse.model import Skill, slugify
from clawft.skills.parse.skill import parse_skill_md
from clawft.skills.parse.text import decode_text

MAX_DOCUMENTS = 5_000
MAX_DOCUMENT_BYTES = 1 << 20
_DEPTH = 5  # how deep is looked where nothing says where skills are
_CONTAINED = 3  # how deep skills may lie in a folder of skills
_SKIPPED = frozenset({"node_modules", "dist", "build", ".git", "__pycache__", ".clawhub"})
_AGENTS = (
    "agents claude cline clawft codebuddy codex commandcode continue cursor gemini github goose iflow junie kilocode "
    "kiro mux neovate openclaw opencode openhands pi qoder roo trae windsurf zcode zencoder"
)
# Where skills are kept, an earlier one before a later one; the top itself comes first.
_CONTAINERS = (
    *("skills/.curated", "skills/.experimental", "skills/.system", "skills"),
    *(f".{name}/skills" for name in _AGENTS.split()),
)
HOLDING = frozenset({"skills", ".curated", ".experimental", ".system"})
_LEGACY = "skill.json"  # the older form of a skill's file
_CLAUDE = ".claude-plugin/plugin.json"
_LISTED = 20


class RepositorySkill(Struct, frozen=True):
    """A skill in a tree: the folder it lies in, '' for the top; what it calls itself; whether it is shown unasked."""

    path: str
    name: str
    description: str = ""
    version: str = ""
    internal: bool = False
    rank: int = 0
    notes: tuple[Diagnostic, ...] = ()

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[2]


def list_documents(files: Iterable[str], base: str = "", skill: str = "") -> list[str]:
    """The files that `find_skills` has to know the content of. Raises: NotFound, ClawftError for too many of them."""
    below = _below(base)
    inside = [path for path in files if path.startswith(below)]
    if not inside:
        raise NotFound("source-path", f"There is no folder '{base}'", hint="Check its spelling, and the branch")
    documents = [path for path in inside if _is_document(path) and _is_seen(path, below)]
    if f"{below}{_LEGACY}" in inside and not any(_parent(path) == base for path in documents):
        documents.append(f"{below}{_LEGACY}")
    if len(documents) > MAX_DOCUMENTS and skill:
        documents = [path for path in documents if _parent(path).rpartition("/")[2] == skill]
    if len(documents) > MAX_DOCUMENTS:
        hint = "Name the folder of the one you mean"
        raise ClawftError("source-too-many", f"There are more than {MAX_DOCUMENTS} skills in one place", hint=hint)
    manifests = [path for path in inside if path in (below + MARKETPLACE, below + _CLAUDE)]
    plugins = [path for path in inside if path.endswith(f"/{_CLAUDE}") and path.count("/") <= below.count("/") + 4]
    return list(dict.fromkeys([*documents, *manifests, *plugins[:MAX_DOCUMENTS]]))


def find_skills(
    contents: Mapping[str, bytes], base: str = "", skill: str = "", top: str = "", *, holding: bool = False
) -> tuple[RepositorySkill, ...]:
    """The skills in a tree: the one at `base`, else those where skills are kept, else whatever is found deeper.

    `contents` has the files of `list_documents`; `skill` is which one is meant, `top` what the tree itself is called;
    `holding`: it is a folder of skills, as one is that is called `skills`, and some may lie deeper in it. Skills for a
    project's own use (`metadata.internal`) are meant only by name. Raises: NotFound.
    """
    below = _below(base)
    held = [_read(path, data, top) for path, data in contents.items() if path.endswith(_LEGACY) or _is_document(path)]
    own = [candidate for candidate in held if candidate.path == base]
    if own and (not skill or _is_meant(own[0], skill)):
        return (own[0],)
    ranked = _rank([candidate for candidate in held if candidate.path != base], contents, below)
    if holding or base.rpartition("/")[2] in HOLDING:
        ranked = [
            structs.replace(candidate, rank=0) if candidate.path[len(below) :].count("/") < _CONTAINED else candidate
            for candidate in ranked
        ]
    if skill:
        return (_pick(ranked, skill),)
    shown = [candidate for candidate in ranked if not candidate.internal]
    placed = [candidate for candidate in shown if candidate.rank < _DEEPER] or shown
    if not placed:
        hint = "A skill is a folder with a SKILL.md"
        if ranked:
            hint = f"Some are for its own use; name one to have it: {_list(ranked)}"
        where = f"'{base}'" if base else "it"
        raise NotFound("source-no-skill", f"There is no skill in {where}", hint=hint)
    return _unite(placed)


_DEEPER = len(_CONTAINERS) + 2


def _rank(held: list[RepositorySkill], contents: Mapping[str, bytes], below: str) -> list[RepositorySkill]:
    """Those that are skills of their own, in order: what lies in another skill is a part of that."""
    folders = {skill.path for skill in held}
    own = [skill for skill in held if not any(above in folders for above in _above(skill.path, below))]
    plugins = tuple(_plugin_folders(contents, below))
    ranks = ((skill, _rank_of(skill.path[len(below) :], plugins)) for skill in own)
    return sorted((structs.replace(skill, rank=rank) for skill, rank in ranks), key=lambda one: (one.rank, one.path))


def _rank_of(path: str, plugins: tuple[str, ...]) -> int:
    if "/" not in path:
        return 0
    for number, container in enumerate(_CONTAINERS, 1):
        if path.startswith(f"{container}/") and path[len(container) :].count("/") <= _CONTAINED:
            return number
    if any(path == plugin or path.startswith(f"{plugin}/") for plugin in plugins):
        return _DEEPER - 1
    return _DEEPER


def _plugin_folders(contents: Mapping[str, bytes], below: str) -> Iterable[str]:
    """Yield the folders where the plugins of a marketplace, and the plugin at this place itself, have their skills."""
    plugins, listed = parse_marketplace(contents.get(below + MARKETPLACE, b""))
    for plugin in ("", *plugins):
        at = f"{plugin}/" if plugin else ""
        named = _named_skills(contents.get(f"{below}{at}{_CLAUDE}", b""))
        yield from (f"{at}{path}" for path in (*named, *listed))
        if plugin:
            yield f"{at}skills"


def _named_skills(manifest: bytes) -> tuple[str, ...]:
    """The folders of skills that a plugin of Claude Code names."""
    try:
        raw = msgspec.json.decode(manifest) if manifest else {}
    except (msgspec.DecodeError, RecursionError):
        return ()
    named = raw.get("skills") if isinstance(raw, dict) else None
    paths = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    plain = (path.removeprefix("./").strip("/") for path in paths if isinstance(path, str))
    return tuple(path for path in plain if path and ".." not in path.split("/"))


def _unite(placed: list[RepositorySkill]) -> tuple[RepositorySkill, ...]:
    """Keep one skill of each name, with a note about every duplicate."""
    first: dict[str, RepositorySkill] = {}
    for candidate in placed:
        if (known := first.get(candidate.name)) is None:
            first[candidate.name] = candidate
            continue
        message = f"There is another '{candidate.name}' at '{candidate.path}'; this is the one at '{known.path}'"
        note = Diagnostic("source-duplicate", "note", message, hint="Name the folder to have the other one")
        first[candidate.name] = structs.replace(known, notes=(*known.notes, note))
    return tuple(first.values())


def _pick(ranked: list[RepositorySkill], skill: str) -> RepositorySkill:
    """The one of a name, by its own word or that of its folder. Raises: NotFound."""
    named = [candidate for candidate in ranked if candidate.name == skill] or [
        candidate for candidate in ranked if _is_meant(candidate, skill)
    ]
    if not named:
        close = find_close(skill, (candidate.name for candidate in ranked))
        why = f"did you mean '{close}'? " if close else ""
        hint = f"{why}There are: {_list(ranked)}" if ranked else "It has no skill at all"
        raise NotFound("source-skill", f"There is no skill '{skill}'", hint=hint)
    return _unite([structs.replace(candidate, name=named[0].name) for candidate in named])[0]


def _is_meant(one: RepositorySkill, skill: str) -> bool:
    return skill in (one.name, one.folder, one.path)


def _list(held: list[RepositorySkill]) -> str:
    names = list(dict.fromkeys(candidate.name for candidate in held))
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _read(path: str, data: bytes, top: str) -> RepositorySkill:
    """Parse a skill's name and description from its file; a broken one is named after its folder, and reported when it
    is installed."""
    folder = _parent(path)
    called = folder.rpartition("/")[2] or top
    try:
        if path.endswith(_LEGACY):
            raise ValueError(path)  # the whole of it is more than this file
        skill: Skill | None = parse_skill_md(decode_text(data, path).text, called or "skill", path=path)
    except (ClawftError, ValueError, RecursionError):
        skill = None
    name = (skill.name if skill else "") or slugify(called) or "skill"
    if skill is None:
        return RepositorySkill(folder, name)
    # One that says nothing of it has the version that all begin with.
    version = skill.version if b"version" in data.partition(b"\n---")[0] else ""
    return RepositorySkill(folder, name, skill.description or "", version, skill.internal)


def _is_document(path: str) -> bool:
    return path.rpartition("/")[2].lower() == "skill.md"


def _is_seen(path: str, below: str) -> bool:
    """Return whether a skill may lie there: not among what is built or brought along, and not too deep."""
    parts = path[len(below) :].split("/")[:-1]
    return len(parts) <= _DEPTH + 1 and _SKIPPED.isdisjoint(parts)


def _above(path: str, below: str) -> Iterable[str]:
    """The folders that a folder lies in, down from `below`."""
    while (path := _parent(path)) and path.startswith(below):
        yield path


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _below(base: str) -> str:
    return f"{base}/" if base else ""
