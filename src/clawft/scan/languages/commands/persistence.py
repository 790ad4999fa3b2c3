"""Places that run what is put into them again, without being asked."""

import re

__all__ = ["find_persistence"]

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
