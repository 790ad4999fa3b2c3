"""Places that run something again: what a file written there is."""

import re

__all__ = ["find_place"]

_PLACES = tuple(
    (re.compile(pattern, re.IGNORECASE), what)
    for pattern, what in (
        (r"(^|/)(etc/cron|var/spool/cron|crontab)", "crontab"),
        (r"/(LaunchAgents|LaunchDaemons)/", "launch agent"),
        (r"(^|/)(systemd/(user|system)/|etc/init\.d/|etc/rc\.local)", "systemd unit"),
        (
            r"(^|/)\.(bash_?rc|zshrc|zshenv|zprofile|profile|bash_profile|bash_login|bash_logout|zlogin|kshrc|cshrc|xprofile|xinitrc)$",
            "shell rc file",
        ),
        (r"(^|/)(\.config/fish/config\.fish|fish/conf\.d/)|/etc/(profile|bash\.bashrc|zsh/)", "shell rc file"),
        (r"start menu.programs.startup|/\.config/autostart/", "login item"),
        (r"(^|/)\.git/hooks/|\.husky/", "git hook"),
        (r"(^|/)(sitecustomize|usercustomize)\.py$|site-packages/[^/]+\.pth$", "python startup file"),
        (r"microsoft\.powershell_profile|/etc/ld\.so\.preload", "startup file"),
        (r"(^|/)\.ssh/(authorized_keys|rc)$", "ssh login"),
    )
)


def find_place(path: str) -> str:
    """Which place that runs things again a path is; empty for an ordinary one."""
    folded = path.replace("\\", "/")
    for pattern, what in _PLACES:
        if pattern.search(folded):
            return what
    return ""
