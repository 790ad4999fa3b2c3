"""Could git, by only looking, start a program or show what lies elsewhere? A repository may be a stranger's.

Its config may hold only settings that are known to do neither. What git would read is found as git finds it, and
where that is not sure, all that it might read is judged.
"""

import os
import re
import struct

from clawft.errors import Unreadable
from clawft.files import read_regular
from clawft.git import MAX_INDEX_BYTES, parse_index

__all__ = ["find_git_program"]

MAX_BYTES = 1 << 20
_HEAD = re.compile(rb'[ \t]*\[([A-Za-z0-9.-]+)(?:[ \t]+"[^"\\\]]*")?\][ \t]*')
_SETTING = re.compile(rb"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=.*)?")
_HARMLESS = {
    section: frozenset(keys.split())
    for section, keys in {
        "core": """abbrev autocrlf bare bigfilethreshold commentchar compression eol filemode ignorecase
            logallrefupdates loosecompression precomposeunicode protecthfs protectntfs quotepath repositoryformatversion
            safecrlf sharedrepository sparsecheckout sparsecheckoutcone symlinks untrackedcache whitespace""",
        "remote": "fetch mirror prune push pushurl skipdefaultupdate skipfetchall tagopt url gh-resolved",
        "branch": "base description gh-merge-base merge pushremote rebase remote vscode-merge-base",
        "user": "email name signingkey useconfigonly",
        "author": "email name",
        "committer": "email name",
        "submodule": "active url",
        "extensions": "worktreeconfig",
        "init": "defaultbranch",
        "pull": "ff rebase",
        "push": "autosetupremote default followtags",
        "fetch": "prune prunetags",
        "merge": "conflictstyle ff",
        "rebase": "autosquash autostash updaterefs",
        "rerere": "enabled",
        "commit": "gpgsign verbose",
        "tag": "gpgsign sort",
        "color": "branch diff status ui",
        "gc": "auto",
        "maintenance": "auto strategy",
        "lfs": "access locksverify repositoryformatversion",
    }.items()
}
_GITLINK = 0xE000


def find_git_program(folder: str) -> str:
    """What makes it unsafe to look with git from a folder; '' where nothing does.

    git goes on to the folder above where it finds no whole repository, so all of them are judged.
    """
    current = folder
    while True:
        try:
            if reason := _judge_folder(current):
                return reason
        except (OSError, Unreadable) as error:
            return f"{os.path.basename(_path_of(error)) or '.git'} cannot be read"
        parent = os.path.dirname(current)
        if parent == current:
            return ""
        current = parent


def _path_of(error: OSError | Unreadable) -> str:
    return str(error.filename or "") if isinstance(error, OSError) else error.diagnostic.path


def _judge_folder(folder: str) -> str:
    marker = os.path.join(folder, ".git")
    if os.path.islink(marker):
        return ".git is a link"
    if os.path.isdir(marker):
        return "commondir" if _exists(marker, "commondir") else _judge_repository(marker, folder)
    if os.path.lexists(marker):
        return _judge_linked(marker, folder)
    if all(_exists(folder, name) for name in ("HEAD", "objects", "refs")):
        return _judge_repository(folder, folder)  # to an older git any folder of this form is a repository
    return ""


def _judge_linked(marker: str, folder: str) -> str:
    """A worktree: `.git` is a file that names a folder, which names it in turn, and stands in the repository."""
    named = _read(marker).removeprefix(b"gitdir:")
    real = os.path.realpath(os.path.join(folder, os.fsdecode(named.strip())))
    if not _exists(real, "gitdir", "commondir"):
        return ".git leads elsewhere"
    back = os.path.join(real, os.fsdecode(_read(os.path.join(real, "gitdir")).strip()))
    common = os.path.realpath(os.path.join(real, os.fsdecode(_read(os.path.join(real, "commondir")).strip())))
    if os.path.realpath(back) != os.path.realpath(marker) or not real.startswith(common + "/"):
        return ".git leads elsewhere"
    return _judge_repository(real, folder) or _judge_repository(common, folder)


def _judge_repository(where: str, tree: str) -> str:
    """A folder with what git keeps, and the folder of the files it is about."""
    for name in ("config", "config.worktree"):
        if _exists(where, name) and (setting := _find_setting(_read(os.path.join(where, name)))):
            return setting
    if _exists(where, "hooks/post-index-change"):
        return "post-index-change"
    if _exists(where, "objects/info/alternates"):
        return "alternates"
    for name in ("", "objects", "objects/pack"):
        if _exists(where, name) and (link := _find_link(os.path.join(where, name))):
            return f"'{link}' is a link"
    return _judge_index(where, tree) if _exists(where, "index") else ""


def _exists(folder: str, *names: str) -> bool:
    return all(os.path.lexists(os.path.join(folder, name)) for name in names)


def _read(path: str, max_bytes: int = MAX_BYTES) -> bytes:
    return read_regular(path, max_bytes)[0]


def _find_link(folder: str) -> str:
    with os.scandir(folder) as entries:
        return next((one.name for one in entries if one.is_symlink()), "")


def _find_setting(text: bytes) -> str:
    """The first setting that is not known to be harmless, or a line of a form that people do not write."""
    section = b""
    for number, line in enumerate(text.split(b"\n"), 1):
        rest = line.removesuffix(b"\r")
        if head := _HEAD.match(rest):
            section, rest = head[1].lower(), rest[head.end() :]
        rest = rest.strip(b" \t")
        if not rest or rest[:1] in b"#;":
            continue
        setting = _SETTING.fullmatch(rest)
        if setting is None or rest.endswith(b"\\") or b"\r" in rest or b"\0" in rest:
            return f"line {number} of its config"
        name = setting[1].decode("ascii").lower()
        if name not in _HARMLESS.get(section.decode("ascii"), ()):
            return f"{section.decode('ascii')}.{name}"
    return ""


def _judge_index(where: str, tree: str) -> str:
    """Whether there is a repository inside of this one: git looks into that as well, and at its config."""
    index = _read(os.path.join(where, "index"), MAX_INDEX_BYTES)
    try:
        entries, end = parse_index(index)
    except (ValueError, struct.error, IndexError):
        return "index"
    links = [entry.path for entry in entries if entry.mode & 0xF000 == _GITLINK]
    if b"link" in _extensions(index, end):
        return "index"
    return next((f"submodule {name}" for name in links if _exists(tree, f"{name}/.git")), "")


def _extensions(index: bytes, at: int) -> list[bytes]:
    found = []
    while at + 8 <= len(index) - 20:
        name, size = struct.unpack_from(">4sI", index, at)
        found.append(name)
        at += 8 + size
    return found
