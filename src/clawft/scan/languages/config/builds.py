"""Build files that run commands while something is built: MSBuild, Maven, Gradle, CMake, Jenkins, Terraform."""

import re
from html import unescape

from clawft.scan.languages.config.sheet import Sheet
from clawft.scan.lazy import lazy

__all__ = ["BUILDS", "read_build"]

_STRINGS = lazy(r"\"((?:[^\"\\\n]|\\.){1,4000})\"|'((?:[^'\\\n]|\\.){1,4000})'")
_MSBUILD = lazy(
    r"<Exec\b[^<>]{0,400}?\bCommand=\"([^\"]{1,4000})\"|<(?:Pre|Post)BuildEvent>([^<]{1,4000})</|<Command>([^<]{1,4000})</Command>",
    re.IGNORECASE,
)
_MAVEN = lazy(r"<executable>([^<]{1,400})</executable>|<argument>([^<]{1,4000})</argument>")
_GRADLE = lazy(r"\b(?:commandLine|executable|args)\b[ \t(=]*([^\n]{1,4000})|([\"'][^\n]{1,2000}[\"'])\.execute\(")
_CMAKE = lazy(r"\bCOMMAND[ \t]+([^\n]{1,4000})")
_JENKINS = lazy(
    r"\b(?:sh|bat|powershell|pwsh)[ \t]*\(?[ \t]*(?:script:[ \t]*)?('''|\"\"\"|'|\")(.{1,8000}?)\1", re.DOTALL
)
_HEREDOC = lazy(r"\bcommand\s{0,20}=\s{0,20}<<[-~]?(\w{1,40})\n((?:[^\n]*\n){1,200}?)[ \t]*\1\b")
_TERRAFORM = lazy(
    r"^[ \t]*(?:command|program|inline|user_data|interpreter)[ \t]*=[ \t]*(\[[^\]]{1,4000}\]|[^\n]{1,4000})",
    re.MULTILINE,
)
_MAX = 500


def read_build(sheet: Sheet, form: str) -> None:
    """Note the commands that a build runs."""
    for command in BUILDS[form](sheet.document.text)[:_MAX]:
        if command.strip():
            sheet.run(command, hook=f"{form}:build")


def _read_msbuild(text: str) -> list[str]:
    return [unescape(match[1] or match[2] or match[3]) for match in _MSBUILD.finditer(text)]


def _read_maven(text: str) -> list[str]:
    words = [unescape(match[1] or match[2]) for match in _MAVEN.finditer(text)]
    return [word for word in words if " " in word]


def _read_gradle(text: str) -> list[str]:
    return [line for match in _GRADLE.finditer(text) for line in _join(match[1] or match[2])]


def _read_cmake(text: str) -> list[str]:
    return [match[1].strip().rstrip(")") for match in _CMAKE.finditer(text)]


def _read_jenkins(text: str) -> list[str]:
    return [match[2] for match in _JENKINS.finditer(text)]


def _read_terraform(text: str) -> list[str]:
    return [
        *(line for match in _TERRAFORM.finditer(text) for line in _join(match[1])),
        *(match[2] for match in _HEREDOC.finditer(text)),
    ]


def _join(words: str) -> list[str]:
    """The command in a list of quoted words: the long one, or all of them."""
    found = [(match[1] or match[2] or "").replace('\\"', '"') for match in _STRINGS.finditer(words)]
    long = [one for one in found if " " in one]
    return long or ([" ".join(found)] if found else [])


BUILDS = {
    "msbuild": _read_msbuild,
    "maven": _read_maven,
    "gradle": _read_gradle,
    "cmake": _read_cmake,
    "jenkins": _read_jenkins,
    "terraform": _read_terraform,
}
