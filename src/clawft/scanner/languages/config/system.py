"""System configuration: entries per line and sections that start programs."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

from clawft.scanner.facts import Kind
from clawft.scanner.languages.config.packages import add_requirement
from clawft.scanner.languages.config.sheet import ConfigSheet, as_command, strings_of, walk
from clawft.scanner.regex import lazy

_CRON = lazy(
    r"^[ \t]*(?:@(?:reboot|hourly|daily|weekly|monthly|yearly|annually|midnight)"
    r"|(?:[\d*,/A-Za-z-]+[ \t]+){4}[\d*,/A-Za-z-]+)[ \t]+(.+)$",
    re.MULTILINE,
)
_CRON_USER = lazy(r"^(root|[a-z_][a-z0-9_-]{0,31})[ \t]+(?=[/\w$({\[])")
_SUDOERS = lazy(r"^[^#\n]*\bNOPASSWD\s*:\s*ALL\b.*$|^[^#\n]*!authenticate.*$", re.MULTILINE)
_SSH = lazy(
    r"^[ \t]*(ProxyCommand|LocalCommand|KnownHostsCommand|Match[^\n]{0,200}?\bexec)[ \t=]+(.+)$",
    re.IGNORECASE | re.MULTILINE,
)
_ATTRIBUTE = lazy(r"^[^#\s][^\n]*?\b(filter|diff|merge)=([\w.-]+)", re.MULTILINE)
_PTH = lazy(r"^(import[ \t;].*)$", re.MULTILINE)
_DEBUGGER = lazy(
    r"^[ \t]*(?:shell|!|platform shell|make|pipe|command script import|script|python|source)[ \t]+(.+)$", re.MULTILINE
)
_VIM = lazy(r"^[^\"\n]*?(?::?!|\bsystem(?:list)?\(\s*['\"]|\bjob_start\(\s*['\"])([^'\"\n]+)", re.MULTILINE)
_OPTION = lazy(r"^(--?[\w-]+)(?:[ =]+(\S+))?")
_PACKAGE = lazy(
    r"""^[ \t]*(brew|cask|tap|gem|source)[ \t(]+["']([^"'\n]{1,300})["']"""
    r"""(?:[ \t]*,[^\n]*?["']((?:https?|git)[^"'\n]{1,300})["'])?""",
    re.MULTILINE,
)
_IDEA = lazy(r'name="(?:SCRIPT_TEXT|SCRIPT_PATH|SCRIPT_OPTIONS|COMMAND|PROGRAM|PARAMETERS)" value="([^"\n]{1,4000})"')
_RECIPE = lazy(r"^(?:[ \t]+|[\w-]{1,40}:[ \t]+)(\S.*)$", re.MULTILINE)
_INLINE = lazy(
    r"inline:\s*(?:([\"'])([^\n]{1,4000}?)\1\s*$|<<[-~]?['\"]?(\w+)['\"]?\n(.{1,20000}?)^\s*\3)",
    re.MULTILINE | re.DOTALL,
)
_REGISTRY_RUN = lazy(r'^"[^"\n]*"="((?:[^"\\\n]|\\.)*)"', re.MULTILINE)
_REGISTRY_KEY = lazy(
    r"^\[[^\]\n]*\\(?:Run|RunOnce|Winlogon|Command|Open\\Command|AppInit_DLLs)\]", re.IGNORECASE | re.MULTILINE
)


def read_lines(sheet: ConfigSheet, form: str) -> None:
    """Note what the lines of a format install and run."""
    reader = _READERS.get(form)
    if reader is not None:
        reader(sheet)


def _read_requirements(sheet: ConfigSheet) -> None:
    index = ""
    lines = sheet.document.text.replace("\\\n", "  ").split("\n")
    for line in lines:
        if match := _OPTION.match(line.strip()):
            option, address = match[1], match[2] or ""
            if option in ("-i", "--index-url", "--extra-index-url", "-f", "--find-links") and "://" in address:
                extra = "+" if "extra" in option or option in ("-f", "--find-links") else "*"
                index = f"@{address}" if extra == "*" else index
                sheet.add(Kind.INSTALL, f"pip:{extra}@{address}", option, via=address)
            elif option in ("-e", "--editable") and "://" in address:
                add_requirement(sheet, address)
    for line in lines:
        if (stripped := line.strip()) and stripped[0] not in "#-":
            add_requirement(sheet, stripped, index=index)


def _read_crontab(sheet: ConfigSheet) -> None:
    for match in _CRON.finditer(sheet.document.text):
        command = _CRON_USER.sub("", match[1]) if "cron.d" in sheet.document.path else match[1]
        sheet.run(command, hook="cron")


def _read_sudoers(sheet: ConfigSheet) -> None:
    for match in _SUDOERS.finditer(sheet.document.text):
        sheet.add(Kind.PRIVILEGE, "sudo without a password", via=match[0].strip())


def _read_ssh(sheet: ConfigSheet) -> None:
    for match in _SSH.finditer(sheet.document.text):
        sheet.run(match[2], match[1], hook=f"ssh:{match[1].split()[0]}")


def _read_attributes(sheet: ConfigSheet) -> None:
    for match in _ATTRIBUTE.finditer(sheet.document.text):
        if match[2] not in ("lfs", "git-crypt", "git-lfs", "union", "ours", "python", "markdown", "astextplain"):
            sheet.add(Kind.HOOK, f"git:{match[1]}", via=match[0].strip())


def _read_pth(sheet: ConfigSheet) -> None:
    for match in _PTH.finditer(sheet.document.text):
        sheet.add(Kind.HOOK, "python:startup", via=match[1])
        sheet.hold(match[1], "python", "hook")


def _read_debugger(sheet: ConfigSheet) -> None:
    for match in _DEBUGGER.finditer(sheet.document.text):
        python = match[0].lstrip().startswith(("python", "script"))
        sheet.run(match[1], hook="debugger:startup", language="python" if python else "shell")


def _read_vim(sheet: ConfigSheet) -> None:
    for match in _VIM.finditer(sheet.document.text):
        sheet.run(match[1], hook="vim:startup")


def _read_packages(sheet: ConfigSheet) -> None:
    for match in _PACKAGE.finditer(sheet.document.text):
        installer = "gem" if match[1] in ("gem", "source") else "brew"
        if match[1] == "source":
            sheet.add(Kind.INSTALL, f"gem:*@{match[2]}", via=match[2])
        elif match[1] in ("brew", "cask", "tap", "gem"):
            sheet.add(Kind.INSTALL, f"{installer}:{match[3] or match[2]}", via=match[3] or match[2])


def _read_registry(sheet: ConfigSheet) -> None:
    text = sheet.document.text
    for key in _REGISTRY_KEY.finditer(text):
        end = text.find("\n[", key.end())
        for match in _REGISTRY_RUN.finditer(text, key.end(), end if end >= 0 else len(text)):
            sheet.add(Kind.PERSIST, "the registry", via=match[0])
            sheet.run(match[1].replace("\\\\", "\\").replace('\\"', '"'), hook="windows:run", language="batch")


def _read_idea(sheet: ConfigSheet) -> None:
    for match in _IDEA.finditer(sheet.document.text):
        sheet.run(unescape(match[1]))


def _read_recipes(sheet: ConfigSheet) -> None:
    for match in _RECIPE.finditer(sheet.document.text):
        sheet.run(match[1].lstrip("@-"))


def _read_vagrant(sheet: ConfigSheet) -> None:
    for match in _INLINE.finditer(sheet.document.text):
        sheet.run(match[2] if match[1] else match[4], hook="vagrant:provision")


_READERS: dict[str, Callable[[ConfigSheet], None]] = {
    "requirements": _read_requirements, "crontab": _read_crontab, "sudoers": _read_sudoers, "ssh": _read_ssh,
    "gitattributes": _read_attributes, "pth": _read_pth, "debugger": _read_debugger, "vim": _read_vim,
    "packages": _read_packages, "registry": _read_registry, "idea": _read_idea, "justfile": _read_recipes,
    "vagrant": _read_vagrant,
}  # fmt: skip


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


def read_sections(sheet: ConfigSheet, tree: dict[str, Any], path: str) -> None:
    """Note the programs that sections start."""
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


def _read_unit(sheet: ConfigSheet, service: dict[str, Any], path: str) -> None:
    unit = path.rpartition("/")[2]
    variables = {}
    for variable in strings_of(service.get("Environment")):
        name, _, value = variable.strip("\"'").partition("=")
        variables[name] = value
    for key, value in service.items():
        if key.startswith("Exec"):
            for command in strings_of(value):
                sheet.run(command.lstrip("-@+!:|"), key, hook=f"systemd:{unit}", env=variables)


def _read_launchd(sheet: ConfigSheet, tree: dict[str, Any]) -> None:
    words = strings_of(tree.get("ProgramArguments")) or strings_of(tree.get("Program"))
    starts = [
        key
        for key in ("RunAtLoad", "KeepAlive", "StartInterval", "StartCalendarInterval", "WatchPaths")
        if tree.get(key)
    ]
    hook = f"launchd:{starts[0]}" if starts else ""
    if as_command(words):
        sheet.run(words, "ProgramArguments", hook=hook, env=tree.get("EnvironmentVariables"))


def _read_git(sheet: ConfigSheet, tree: dict[str, Any]) -> None:
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
