"""Formats of one entry per line: requirements, crontabs, sudoers, ssh and git attributes, start-up files of tools."""

import re
from collections.abc import Callable
from html import unescape

from clawft.scan.facts import Kind
from clawft.scan.languages.config.packages import add_requirement
from clawft.scan.languages.config.sheet import Sheet
from clawft.scan.lazy import lazy

__all__ = ["read_lines"]

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


def read_lines(sheet: Sheet, form: str) -> None:
    """Note what the lines of a format install and run."""
    reader = _READERS.get(form)
    if reader is not None:
        reader(sheet)


def _read_requirements(sheet: Sheet) -> None:
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


def _read_crontab(sheet: Sheet) -> None:
    for match in _CRON.finditer(sheet.document.text):
        command = _CRON_USER.sub("", match[1]) if "cron.d" in sheet.document.path else match[1]
        sheet.run(command, hook="cron")


def _read_sudoers(sheet: Sheet) -> None:
    for match in _SUDOERS.finditer(sheet.document.text):
        sheet.add(Kind.PRIVILEGE, "sudo without a password", via=match[0].strip())


def _read_ssh(sheet: Sheet) -> None:
    for match in _SSH.finditer(sheet.document.text):
        sheet.run(match[2], match[1], hook=f"ssh:{match[1].split()[0]}")


def _read_attributes(sheet: Sheet) -> None:
    for match in _ATTRIBUTE.finditer(sheet.document.text):
        if match[2] not in ("lfs", "git-crypt", "git-lfs", "union", "ours", "python", "markdown", "astextplain"):
            sheet.add(Kind.HOOK, f"git:{match[1]}", via=match[0].strip())


def _read_pth(sheet: Sheet) -> None:
    for match in _PTH.finditer(sheet.document.text):
        sheet.add(Kind.HOOK, "python:startup", via=match[1])
        sheet.hold(match[1], "python", "hook")


def _read_debugger(sheet: Sheet) -> None:
    for match in _DEBUGGER.finditer(sheet.document.text):
        python = match[0].lstrip().startswith(("python", "script"))
        sheet.run(match[1], hook="debugger:startup", language="python" if python else "shell")


def _read_vim(sheet: Sheet) -> None:
    for match in _VIM.finditer(sheet.document.text):
        sheet.run(match[1], hook="vim:startup")


def _read_packages(sheet: Sheet) -> None:
    for match in _PACKAGE.finditer(sheet.document.text):
        manager = "gem" if match[1] in ("gem", "source") else "brew"
        if match[1] == "source":
            sheet.add(Kind.INSTALL, f"gem:*@{match[2]}", via=match[2])
        elif match[1] in ("brew", "cask", "tap", "gem"):
            sheet.add(Kind.INSTALL, f"{manager}:{match[3] or match[2]}", via=match[3] or match[2])


def _read_registry(sheet: Sheet) -> None:
    text = sheet.document.text
    for key in _REGISTRY_KEY.finditer(text):
        end = text.find("\n[", key.end())
        for match in _REGISTRY_RUN.finditer(text, key.end(), end if end >= 0 else len(text)):
            sheet.add(Kind.PERSIST, "the registry", via=match[0])
            sheet.run(match[1].replace("\\\\", "\\").replace('\\"', '"'), hook="windows:run", language="batch")


def _read_idea(sheet: Sheet) -> None:
    for match in _IDEA.finditer(sheet.document.text):
        sheet.run(unescape(match[1]))


def _read_recipes(sheet: Sheet) -> None:
    for match in _RECIPE.finditer(sheet.document.text):
        sheet.run(match[1].lstrip("@-"))


def _read_vagrant(sheet: Sheet) -> None:
    for match in _INLINE.finditer(sheet.document.text):
        sheet.run(match[2] if match[1] else match[4], hook="vagrant:provision")


_READERS: dict[str, Callable[[Sheet], None]] = {
    "requirements": _read_requirements,
    "crontab": _read_crontab,
    "sudoers": _read_sudoers,
    "ssh": _read_ssh,
    "gitattributes": _read_attributes,
    "pth": _read_pth,
    "debugger": _read_debugger,
    "vim": _read_vim,
    "packages": _read_packages,
    "registry": _read_registry,
    "idea": _read_idea,
    "justfile": _read_recipes,
    "vagrant": _read_vagrant,
}
