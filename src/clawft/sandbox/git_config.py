"""Settings of a repository that a confined program changed: a few keys are known to be harmless, and no other comes in.

Settings of git name programs, files and other settings in many ways, and every version adds some. So only keys of a
table merge, and only with plain values; where git fetches from and pushes to is asked about.
"""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from clawft.sandbox.git_refs import is_ref_name
from clawft.sandbox.process import AskChange

Key = tuple[str, str, str]  # section, subsection, name
_HEADER = re.compile(r'[ \t]*\[([A-Za-z0-9.-]+)(?:[ \t]+"([^"\\\n]*)")?\][ \t]*')
_SETTING = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*?))?[ \t\r]*")
_PLAIN = re.compile(r"""[^\x00-\x1f\x7f\\"#;]{0,1000}""")
_REMOTE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,200}")
_URL = re.compile(r"(?:https?|ssh|git|file)://[^\s]+|[\w.-]+@[\w.-]+:[\w./~+-]+|\.{0,2}/[^\s:]*")
_BOOLEAN = frozenset(("true", "false"))
# What `git init` and `git clone` write into a new repository.
_NEW = {
    "core.repositoryformatversion": frozenset("0"),
    **{f"core.{name}": _BOOLEAN for name in ("filemode", "logallrefupdates", "ignorecase", "precomposeunicode")},
    "core.symlinks": _BOOLEAN,
    "core.bare": _BOOLEAN,
}


class ConfigLine(Struct, frozen=True):
    """One line: its own text, the header at its start, and the setting in it. A line of another form has no setting,
    but a text that is neither empty nor a comment."""

    text: str
    header: str = ""
    section: tuple[str, str] = ("", "")
    key: Key | None = None
    value: str = ""

    @property
    def is_odd(self) -> bool:
        rest = self.text[len(self.header) :].strip()
        return self.key is None and bool(rest) and rest[0] not in "#;"


def parse_config(content: bytes) -> list[ConfigLine]:
    """The lines of a config, as people and git itself write them."""
    lines, section = [], ("", "")
    for text in content.decode("utf-8", "surrogateescape").split("\n"):
        header = _HEADER.match(text)
        if header:
            section = header[1].lower(), header[2] or ""
        start = header[0] if header else ""
        found = _SETTING.fullmatch(text, len(start))
        if found is None or text.endswith("\\"):
            lines.append(ConfigLine(text, start, section))
        else:
            lines.append(ConfigLine(text, start, section, (*section, found[1].lower()), found[2] or ""))
    return lines


def list_values(lines: Iterable[ConfigLine]) -> dict[Key, list[str]]:
    """The values of each key."""
    found: dict[Key, list[str]] = {}
    for line in lines:
        if line.key:
            found.setdefault(line.key, []).append(line.value)
    return found


def merge_config(
    real: bytes, shown: bytes, changed: bytes, ask: AskChange, problems: list[str], *, is_new: bool = False
) -> bytes:
    """The real config with the harmless part of what was changed from `shown` to `changed`."""
    lines, before, after = parse_config(real), parse_config(shown), parse_config(changed)
    old, new = list_values(before), list_values(after)
    wanted = {key: new.get(key, []) for key in {**old, **new} if old.get(key) != new.get(key)}
    known_odd = {line.text for line in before if line.is_odd}
    problems += [
        f"the line {line.text[:80]!r} of the config" for line in after if line.is_odd and line.text not in known_odd
    ]
    remotes = {key[1] for key in list_values(lines) if key[0] == "remote"}
    accepted = _choose_remotes(wanted, remotes, ask, problems)
    remotes |= {key[1] for key in accepted}
    for key, values in sorted(wanted.items()):
        if key in accepted or key[0] == "remote":
            continue
        if _is_harmless(key, values, remotes) or (is_new and _is_usual(key, values)):
            accepted[key] = values
        else:
            problems.append(f"the setting {show_key(key)}")
    for key, values in accepted.items():
        lines = _set_values(lines, key, values)
    return "\n".join(line.text for line in lines).encode("utf-8", "surrogateescape")


def show_key(key: Key) -> str:
    return ".".join(filter(None, key))


def _choose_remotes(
    wanted: dict[Key, list[str]], remotes: set[str], ask: AskChange, problems: list[str]
) -> dict[Key, list[str]]:
    """The changes of remotes that a person agreed to, one question for each remote."""
    accepted: dict[Key, list[str]] = {}
    for name in sorted({key[1] for key in wanted if key[0] == "remote"}):
        changes = {key: values for key, values in wanted.items() if key[:2] == ("remote", name)}
        usable = {key: values for key, values in changes.items() if _is_remote(name, key[2], values)}
        problems += [f"the setting {show_key(key)}" for key in sorted(set(changes) - set(usable))]
        if name not in remotes and ("remote", name, "url") not in usable:
            continue
        urls = [value for key, values in usable.items() if key[2] != "fetch" for value in values]
        what = (
            f"Set the remote '{name}' of this repository to {', '.join(urls)}"
            if urls
            else f"Change the remote '{name}'"
        )
        if ask(what, "a command changed where git fetches from and pushes to"):
            accepted |= usable
        else:
            problems.append(f"the remote '{name}', which was not approved")
    return accepted


def _is_remote(name: str, setting: str, values: Sequence[str]) -> bool:
    if not _REMOTE.fullmatch(name) or ".." in name:
        return False
    if setting == "fetch":
        return all(value == f"+refs/heads/*:refs/remotes/{name}/*" for value in values)
    return setting in ("url", "pushurl") and all(
        _URL.fullmatch(value) and _PLAIN.fullmatch(value) and "::" not in value for value in values
    )


def _is_harmless(key: Key, values: Sequence[str], remotes: set[str]) -> bool:
    section, branch, name = key
    if section != "branch" or not is_ref_name(f"refs/heads/{branch}"):
        return False
    if name in ("remote", "pushremote"):
        return all(value == "." or value in remotes for value in values)
    if name == "merge":
        return all(map(is_ref_name, values))
    if name == "rebase":
        return _BOOLEAN.issuperset(values)
    return name == "description" and all(map(_PLAIN.fullmatch, values))


def _is_usual(key: Key, values: Sequence[str]) -> bool:
    return len(values) == 1 and values[0] in _NEW.get(show_key(key), ())


def _set_values(lines: list[ConfigLine], key: Key, values: Sequence[str]) -> list[ConfigLine]:
    """Lines with just these values of a key, at the end of its section."""
    left = [line for line in lines if line.key != key or line.header]
    left = [ConfigLine(line.header, line.header, line.section) if line.key == key else line for line in left]
    added = [ConfigLine(f"\t{key[2]} = {value}", "", key[:2], key, value) for value in values]
    at = max((number for number, line in enumerate(left) if line.section == key[:2] and line.text.strip()), default=-1)
    if at < 0:
        if not added:
            return left
        header = f'[{key[0]} "{key[1]}"]' if key[1] else f"[{key[0]}]"
        end = len(left) - 1 if left and not left[-1].text else len(left)
        return [*left[:end], ConfigLine(header, header, key[:2]), *added, ConfigLine("")]
    left[at + 1 : at + 1] = added
    if not any(line.section == key[:2] and line.text[len(line.header) :].strip() for line in left):
        left = [line for line in left if line.section != key[:2]]
    return left
