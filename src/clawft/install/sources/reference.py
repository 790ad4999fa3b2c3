"""The parser of skill references that users type. Every text has one meaning; an option, a git remote helper, a path
out of a folder or a deceptive host is refused here, before any request is made."""

import os
import re
from collections.abc import Mapping
from typing import NoReturn
from urllib.parse import unquote

from msgspec import structs

from clawft.config.registries import CLAWHUB, RegistrySettings
from clawft.errors import ClawftError, NotFound, Refused, find_close
from clawft.install.sources.address import CONTROL, MAX_TEXT, read_git_url, read_path, read_ref, refuse
from clawft.install.sources.model import SkillReference
from clawft.trust.network import UrlTarget, read_url
from clawft.workspace import resolve_path

ARCHIVES = (".skill", ".zip", ".tar.gz", ".tgz")
SKILLS_SH = "skills-sh:"  # before a slug: what ClawHub knows of a repository that skills.sh lists
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
_PUBLISHED = re.compile(
    rf"(?:@?(?P<owner>{_NAME})/)?(?P<slug>{_NAME})(?:@(?P<version>[A-Za-z0-9][A-Za-z0-9.+_-]{{0,127}}))?"
)
_PREFIX = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9_-]{0,63}):(?!//|:)(?P<rest>.*)")
_SHORTHAND = re.compile(r"(?P<owner>[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}))/(?P<repo>[A-Za-z0-9._-]{1,100})(?P<path>/.*)?")
_SKILL = re.compile(r"[^/\\#@:\s][^/\\#@:]{0,127}")
_TRANSPORT_PREFIX = re.compile(r"[A-Za-z0-9+.-]+::")
_SCP = re.compile(r"[^/:@]+@(?:\[[^\]]*\]|[^/:@]+):")
_IN_TREE = frozenset({"tree", "blob", "commit"})


def parse_reference(text: str, registries: Mapping[str, RegistrySettings], cwd: str, home: str) -> SkillReference:
    """Take a reference apart; `registries` are those that may be asked, the default one first.

    Raises: ClawftError; NotFound for a registry, file or folder that is not there; Refused for what is unsafe.
    """
    if len(text) > MAX_TEXT:
        refuse(text, f"is longer than {MAX_TEXT} characters")
    if CONTROL.search(text):
        refuse(text, "has a control character, or one that cannot be seen")
    if text.startswith("-"):
        refuse(text, "is an option, and no reference")
    if _TRANSPORT_PREFIX.match(text.removeprefix("git+")):
        refuse(text, "names a helper of git, which could start any program")
    if (local := _find_local(text, cwd, home)) is not None:
        return local
    if "://" in text or _SCP.match(text):
        return _parse_address(text)
    return _parse_name(text, registries)


def _find_local(text: str, cwd: str, home: str) -> SkillReference | None:
    """A path, or the name of an archive; a bare word is none, even where there is such a folder."""
    is_path = text in (".", "..", "~") or text.startswith(("./", "../", "/", "~/"))
    is_archive = text.lower().endswith(ARCHIVES) and "://" not in text and not _SCP.match(text)
    if not is_path and not is_archive:
        return None
    place = resolve_path(text, cwd, home)
    if os.path.isdir(place):
        return SkillReference(text, "folder", url=place) if is_path else None
    if os.path.isfile(place):
        at = os.path.dirname(place) if os.path.basename(place) == "SKILL.md" else ""
        return SkillReference(text, "folder", url=at) if at else SkillReference(text, "archive", url=place)
    hint = "It begins with a path, so it is looked for on this machine" if is_path else "Check its spelling"
    raise NotFound("reference-missing", "There is no such folder or archive", path=place, hint=hint)


def _parse_address(text: str) -> SkillReference:
    """Whatever has a scheme, and `git@host:path`. Raises: ClawftError."""
    bare, _, fragment = text.partition("#")
    scheme, _, rest = bare.partition("://")
    if _SCP.match(bare):
        return _git(text, bare, fragment)
    if scheme.lower() in ("git+https", "git+http", "git+ssh", "git+file", "ssh"):
        return _git(text, f"{scheme.lower().removeprefix('git+')}://{rest}", fragment)
    if scheme.lower() == "file":
        _invalid(text, "Write the path itself, or git+file:// for a repository")
    if scheme.lower() not in ("http", "https"):
        refuse(text, "has a scheme that is not used", hint="Write https://, ssh:// or git+https://")
    return _parse_web(text, bare, fragment)


def _parse_web(text: str, bare: str, fragment: str) -> SkillReference:
    """A page of GitHub or GitLab, a repository, an archive, or a site that lists its skills. Raises: ClawftError."""
    host = re.split(r"[/?#]", bare.partition("://")[2], maxsplit=1)[0]
    if "@" in host:
        hint = "Nothing secret belongs into an address. For a private repository use ssh://git@host/path"
        raise Refused("reference-credentials", "The address has a user or a password", hint=hint)
    if not host.isascii():
        refuse(text, "has a host that is not written in ASCII", hint="Write it in its xn-- form if you are sure of it")
    target = read_url(bare)
    path = target.path.partition("?")[0]
    if any(part in (".", "..") for part in re.split(r"[/\\]", unquote(path))):
        refuse(text, "leads upwards")
    if path.rstrip("/").endswith(".git"):
        return _git(text, target.url, fragment)
    if path.lower().endswith((*ARCHIVES, "/skill.md")) and "blob" not in path.split("/"):
        return SkillReference(text, "archive", url=target.url)
    return _parse_page(text, target, fragment) or SkillReference(text, "well-known", url=target.url)


def _parse_page(text: str, target: UrlTarget, fragment: str) -> SkillReference | None:
    """A repository, or a folder in it, as GitHub and GitLab show them. Raises: ClawftError."""
    parts = [unquote(part) for part in target.path.partition("?")[0].split("/") if part]
    if target.host in ("github.com", "www.github.com"):
        if len(parts) < 2 or (len(parts) > 2 and (parts[2] not in _IN_TREE or len(parts) < 4)):
            _invalid(text, "This page of GitHub is no repository and no folder of one")
        return _shown(text, f"https://github.com/{parts[0]}/{parts[1]}", parts[3:], fragment)
    if "-" in parts and len(parts) > (at := parts.index("-")) + 2 and parts[at + 1] in _IN_TREE and at >= 2:
        return _shown(text, f"{target.origin}/{'/'.join(parts[:at])}", parts[at + 2 :], fragment)
    if target.host == "gitlab.com" and len(parts) >= 2 and "-" not in parts:
        return _shown(text, f"{target.origin}/{'/'.join(parts)}", [], fragment)
    return None


def _shown(text: str, repository: str, tree: list[str], fragment: str) -> SkillReference:
    """Parse the address of a repository page. `tree`: the ref and the path as the page shows them; a ref with a slash
    is separated from the path when it is resolved."""
    found = _git(text, f"{repository.removesuffix('.git')}.git", fragment)
    if not tree:
        return found
    if found.ref or found.path:
        _invalid(text, "It names a branch twice")
    return structs.replace(found, ref=read_ref(tree[0]), path=_read_folder("/".join(tree[1:])))


def _git(text: str, url: str, fragment: str) -> SkillReference:
    ref, _, path = fragment.partition(":")
    return SkillReference(
        text, "git", url=read_git_url(url), ref=read_ref(unquote(ref)) if ref else "", path=_read_folder(unquote(path))
    )


def _read_folder(path: str) -> str:
    """Parse a folder in a repository; the path of a SKILL.md means the folder it is in. Raises: Refused."""
    folder, _, name = read_path(path).rpartition("/")
    return folder if name.lower() == "skill.md" else read_path(path)


def _parse_name(text: str, registries: Mapping[str, RegistrySettings]) -> SkillReference:
    """Parse a reference without a scheme: a name in a registry, or GitHub's short form. Raises: ClawftError."""
    if text.startswith(SKILLS_SH):
        return _parse_skills_sh(text, registries)
    if prefix := _PREFIX.fullmatch(text):
        name, rest = prefix["name"], prefix["rest"]
        if name in ("github", "gitlab") and name not in registries:
            return _parse_forge(text, rest, f"{name}.com")
        return _parse_published(text, rest, name, registries)
    if "/" in text.partition("#")[0] and not text.startswith("@"):
        return _parse_forge(text, text, "github.com")
    default = next(iter(registries), "")
    return _parse_published(text, text, default or CLAWHUB, registries)


def _parse_published(text: str, rest: str, name: str, registries: Mapping[str, RegistrySettings]) -> SkillReference:
    """`[@owner/]slug[@version]` in a registry. Raises: ClawftError."""
    if name not in registries:
        close = find_close(name, registries)
        why = f"did you mean '{close}:'? " if close else ""
        listed = ", ".join(registries) or "none"
        hint = f"{why}There are: {listed}. Others go under [registries.{name}] in your config"
        raise NotFound("reference-registry", f"No registry '{name}' is in use", hint=hint)
    match = _PUBLISHED.fullmatch(rest)
    if match is None or ".." in rest:
        _invalid(text, "Write NAME, @owner/NAME or either with @VERSION; a path begins with './', '/' or '~/'")
    version = "" if match["version"] in (None, "latest") else match["version"]
    return SkillReference(
        text, registries[name].kind, registry=name, owner=match["owner"] or "", slug=match["slug"], version=version
    )


def _parse_skills_sh(text: str, registries: Mapping[str, RegistrySettings]) -> SkillReference:
    parts = text.removeprefix(SKILLS_SH).split("/")
    if len(parts) != 3 or ".." in text or not all(re.fullmatch(_NAME, part) for part in parts):
        _invalid(text, "Write skills-sh:owner/repository/skill")
    if CLAWHUB not in registries:
        hint = "Remove 'enabled = false' from [registries.clawhub] in your config"
        raise NotFound("reference-registry", "ClawHub answers for skills.sh, and is not in use", hint=hint)
    return SkillReference(text, registries[CLAWHUB].kind, registry=CLAWHUB, slug=text)


def _parse_forge(text: str, rest: str, host: str) -> SkillReference:
    """`owner/repository[/sub/path][@skill][#ref]`. Raises: ClawftError."""
    bare, _, fragment = rest.partition("#")
    place, _, skill = bare.partition("@")
    match = _SHORTHAND.fullmatch(place)
    if match is None or match["repo"] in (".", "..") or ("@" in bare and not _SKILL.fullmatch(skill)):
        _invalid(text, "Write owner/repository, owner/repository/folder or owner/repository@skill, each with #branch")
    found = _git(text, f"https://{host}/{match['owner']}/{match['repo'].removesuffix('.git')}.git", fragment)
    path = _read_folder((match["path"] or "")[1:])
    if path and found.path:
        _invalid(text, "It names a folder twice")
    return structs.replace(found, path=path or found.path, skill=skill)


def _invalid(text: str, hint: str) -> NoReturn:
    raise ClawftError("reference-invalid", f"{text[:80]!a} is nothing that can be installed from", hint=hint)
