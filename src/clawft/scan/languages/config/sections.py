"""Sections that start programs: systemd units, desktop entries, launchd jobs, git's own configuration, direnv-likes."""

import re
from typing import Any

from clawft.scan.facts import Kind
from clawft.scan.languages.config.sheet import Sheet, as_command, strings_of, walk
from clawft.scan.lazy import lazy

__all__ = ["read_sections"]

_GIT_RUNS = lazy(
    r"^(fsmonitor|sshcommand|pager|editor|askpass|hookspath|gitproxy|process|clean|smudge|textconv|external|helper|driver"
    r"|cmd|program|proxycommand)$",
    re.IGNORECASE,
)
_GIT_SECTION = lazy(
    r"^(core|filter|diff|merge|credential|gpg|alias|submodule|protocol|pager|sequence|interactive|url)\b", re.IGNORECASE
)
_HARMLESS = lazy(
    r"^(true|false|auto|always|never|\d+|vim?|nano|emacs|code( --wait)?|less( -\w+)*|cat|delta|store|cache|osxkeychain"
    r"|manager(-core)?|git-lfs .*|/dev/null|)$"
)


def read_sections(sheet: Sheet, tree: dict[str, Any], path: str) -> bool:
    """Note the programs that sections start; whether there were any."""
    before = len(sheet.facts) + len(sheet.children)
    if "Service" in tree and isinstance(tree["Service"], dict):
        _read_unit(sheet, tree["Service"], path)
    if isinstance(entry := tree.get("Desktop Entry"), dict):
        started = "autostart" in path or "X-GNOME-Autostart-enabled" in entry
        for command in strings_of(entry.get("Exec")):
            sheet.run(command, "Exec", hook="desktop:autostart" if started else "")
    if "ProgramArguments" in tree or ("Program" in tree and "Label" in tree):
        _read_launchd(sheet, tree)
    if "autorun" in {key.lower() for key in tree} or path.endswith("autorun.inf"):
        for keys, value in walk(tree):
            if keys and keys[-1].lower() in ("open", "shellexecute", "shell\\open\\command"):
                sheet.run(value, *keys, hook="windows:autorun", language="batch")
    if "git" in path.rpartition("/")[2] or "/.git/" in f"/{path}":
        _read_git(sheet, tree)
    if path.endswith(("mise.toml", "mise.local.toml")):
        for keys, value in walk(tree.get("hooks")):
            sheet.run(value, "hooks", *keys, hook=f"mise:{keys[0] if keys else 'hook'}")
    return len(sheet.facts) + len(sheet.children) > before


def _read_unit(sheet: Sheet, service: dict[str, Any], path: str) -> None:
    unit = path.rpartition("/")[2]
    variables = {}
    for one in strings_of(service.get("Environment")):
        name, _, value = one.strip("\"'").partition("=")
        variables[name] = value
    for key, value in service.items():
        if key.startswith("Exec"):
            for command in strings_of(value):
                sheet.run(command.lstrip("-@+!:|"), key, hook=f"systemd:{unit}", env=variables)


def _read_launchd(sheet: Sheet, tree: dict[str, Any]) -> None:
    words = strings_of(tree.get("ProgramArguments")) or strings_of(tree.get("Program"))
    starts = [
        key
        for key in ("RunAtLoad", "KeepAlive", "StartInterval", "StartCalendarInterval", "WatchPaths")
        if tree.get(key)
    ]
    hook = f"launchd:{starts[0]}" if starts else ""
    if as_command(words):
        sheet.run(words, "ProgramArguments", hook=hook, env=tree.get("EnvironmentVariables"))


def _read_git(sheet: Sheet, tree: dict[str, Any]) -> None:
    for keys, value in walk(tree):
        if len(keys) < 2 or not _GIT_SECTION.match(keys[0]):
            continue
        section, key = keys[0].split()[0].lower().strip('"'), keys[-1].rstrip("\0").lower()
        if section == "alias":
            if value.startswith("!"):
                sheet.run(value[1:], *keys)
        elif key == "hookspath":
            sheet.add(Kind.HOOK, "git:hooksPath", *keys, via=value)
        elif _GIT_RUNS.match(key) and not _HARMLESS.match(value.strip()):
            sheet.run(value.lstrip("!"), *keys, hook=f"git:{section}.{key}")
        elif section == "submodule" and key == "update" and value.startswith("!"):
            sheet.run(value[1:], *keys, hook="git:submodule.update")
        elif section == "submodule" and key == "url" and value.startswith("ext::"):
            sheet.run(value[5:], *keys, hook="git:submodule.url")
