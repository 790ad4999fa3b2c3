"""Places that run what is put into them again, without being asked."""

import re

__all__ = ["find_commands", "find_persistence"]

_PLACES = re.compile(
    r"(?:^|/)\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|kshrc|cshrc|tcshrc"
    r"|xinitrc|xsession|xprofile|inputrc|vimrc)$|(?:^|/)config\.fish$|/fish/conf\.d/|/etc/(?:profile|bash\.bashrc|zshrc|zshenv|rc\.local"
    r"|environment|crontab|anacrontab|ld\.so\.preload|inittab)\b|/etc/(?:profile\.d|cron[.\w]*|init\.d|systemd|xdg/autostart|update-motd\.d)/"
    r"|/var/spool/cron|/systemd/(?:system|user)/|/(?:usr/)?lib/systemd/|library/launch(?:agents|daemons)|/startupitems/"
    r"|\.config/autostart/|\.git/hooks/|/git-core/templates/hooks|\.ssh/(?:authorized_keys|rc)\b"
    r"|\\currentversion\\(?:run|runonce|winlogon|policies\\explorer\\run)|start menu[\\/]programs[\\/]startup"
    r"|microsoft\.powershell_profile"
    r"|windowspowershell[\\/]profile|sitecustomize\.py$|usercustomize\.py$|site-packages/[^/]*\.pth$"
    r"|(?:^|/)\.husky/[a-z-]+$",
    re.IGNORECASE,
)


def find_persistence(path: str) -> str:
    """The place that runs a file of this path again; empty when there is none."""
    return path if _PLACES.search(path) else ""


_CRON_LINE = re.compile(r"^[ \t]*(?:@\w+|(?:[\d*/,-]+[ \t]+){5})[ \t]*([^\n]+)$", re.MULTILINE)
_CRON_USER = re.compile(r"[a-z_][a-z0-9_-]*[ \t]+(?=\S)")
_UNIT_LINE = re.compile(r"^(?:Exec(?:Start|StartPre|StartPost|Stop|Reload)?)=[-@+!:]*([^\n]+)$", re.MULTILINE)
_ARGUMENTS = re.compile(r"<key>ProgramArguments</key>\s*<array>(.{0,8000}?)</array>", re.DOTALL)
_STRING = re.compile(r"<string>([^<]*)</string>")


def find_commands(path: str, text: str) -> list[str]:
    """The command lines of a crontab, a unit or a launch agent: what such a place runs."""
    if "cron" in path:
        users = "/cron" in path or "crontab" in path.rpartition("/")[2]
        lines = [match[1] for match in _CRON_LINE.finditer(text)]
        return [_CRON_USER.sub("", line, count=1) for line in lines] if users else lines
    if path.endswith(".plist"):
        found = [_STRING.findall(match[1]) for match in _ARGUMENTS.finditer(text)]
        return [_plain(words[-1] if "-c" in words else " ".join(words)) for words in found if words]
    if path.endswith((".service", ".timer", ".desktop")):
        return [match[1] for match in _UNIT_LINE.finditer(text)]
    return []


def _plain(text: str) -> str:
    """Text of a property list without its entities."""
    for mark, char in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&")):
        text = text.replace(mark, char)
    return text
