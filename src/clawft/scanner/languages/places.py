"""Places that run things by themselves: what a file is used for, told by its name and folder alone.

A shell start-up file, a git hook or a build script needs no configuration that names it. For each such file this says
which event runs it and in which language it is written.
"""

import re

from msgspec import Struct

from clawft.scanner.facts import Document
from clawft.scanner.regex import lazy


class AutorunFile(Struct, frozen=True):
    """A file that runs by itself."""

    hook: str  # the event, as in Kind.HOOK
    language: str  # what the file is written in
    marks: tuple[str, ...] = ()  # words of which it holds one, when the name alone may mean something else


_GIT_EVENTS = (
    r"(?:applypatch-msg|pre-applypatch|post-applypatch|pre-commit|pre-merge-commit|prepare-commit-msg|commit-msg"
    r"|post-commit|pre-rebase|post-checkout|post-merge|pre-push|pre-receive|update|post-receive|post-update|post-rewrite"
    r"|pre-auto-gc|fsmonitor-watchman)"
)
_SCRIPTS: tuple[tuple[str, str, str], ...] = (
    (
        r"(^|/)(dot[_-]|\.)(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin"
        r"|zlogout|kshrc|xprofile|xinitrc|xsessionrc)$|(^|/)etc/profile\.d/[^/]+$|(^|/)etc/rc\.local$",
        "shell:startup",
        "shell",
    ),
    (r"(^|/)fish/(config\.fish|conf\.d/[^/]+\.fish)$", "shell:startup", "fish"),
    (r"(^|/)(microsoft\.)?(powershell_)?profile\.ps1$", "shell:startup", "powershell"),
    (r"(^|/)\.envrc$", "direnv", "shell"),
    (r"(^|/)hook\.md$", "openclaw:hook", "markdown"),
    (rf"(^|/)(\.husky|[\w.-]{{0,40}}hooks?)/({_GIT_EVENTS})$", "git:{3}", "shell"),
    (r"(^|/)(site|user)customize\.py$", "python:startup", "python"),
    (r"(^|/)\.(pythonrc|pythonstartup)(\.py)?$|\.pth$", "python:startup", "python"),
    (r"(^|/)conftest\.py$", "pytest:conftest", "python"),
    (r"(^|/)setup\.py$", "pip:setup", "python"),
    (r"(^|/)build\.rs$", "cargo:build", "rust"),
    (r"(^|/)extconf\.rb$", "gem:extconf", "ruby"),
    (r"\.gemspec$", "gem:gemspec", "ruby"),
    (r"(^|/)\.(irbrc|pryrc)$", "ruby:startup", "ruby"),
    (r"(^|/)\.?rprofile(\.site)?$", "r:startup", "r"),
    (r"(^|/)\.pnpmfile\.c?js$|(^|/)\.pnp\.c?js$", "npm:pnpmfile", "javascript"),
    (r"(^|/)\.(nvim|exrc)\.lua$", "vim:startup", "lua"),
    (r"(^|/)(start[ -]?up|launchagents|login ?items)/[^/]+\.(bat|cmd)$", "windows:startup", "batch"),
)  # fmt: skip
_PLACES = tuple((lazy(pattern), hook, language) for pattern, hook, language in _SCRIPTS)
_MARKS = {"pip:setup": ("setuptools", "distutils")}
# Only a name with one of these in it can be a place: one quick look at each file.
_MARKED = lazy(
    r"rc$|\.rc|profile|bash|zsh|zlog|fish|xinit|envrc|hook|husky|customize|pythonstartup|pythonrc|conftest|setup\.py"
    r"|build\.rs|extconf|gemspec|\.pnp|lua$|start|launchagents|login|pth$"
)

_FORMATS: tuple[tuple[str, str], ...] = (
    (r"\.(plist)$", "plist"),
    (r"(^|/)(requirements|constraints|dev-requirements|test-requirements)[\w.-]*\.(txt|in|pip)$", "requirements"),
    (r"(^|/)requirements/[\w.-]+\.txt$", "requirements"),
    (r"(^|/)(crontab|[\w.-]*\.cron(tab)?)$|(^|/)cron\.d/[^/]+$|(^|/)spool/cron/", "crontab"),
    (r"(^|/)sudoers$|(^|/)sudoers\.d/[^/]+$", "sudoers"),
    (r"\.(service|timer|socket|path|desktop)$|(^|/)autorun\.inf$", "ini"),
    (r"(^|/)(pip\.conf|pip\.ini|setup\.cfg|tox\.ini|\.npmrc|npmrc|\.yarnrc|\.pypirc|\.condarc)$", "ini"),
    (r"(^|/)\.gitconfig$|(^|/)\.git/config$|(^|/)\.gitmodules$|(^|/)gitconfig$", "ini"),
    (r"(^|/)\.gitattributes$", "gitattributes"),
    (r"(^|/)\.ssh/config$|(^|/)ssh_config(\.d/[^/]+)?$", "ssh"),
    (r"\.pth$", "pth"),
    (r"(^|/)\.(gdbinit|lldbinit)$", "debugger"),
    (r"(^|/)\.?_?(g?vimrc|exrc|nvimrc)$|(^|/)nvim/init\.vim$", "vim"),
    (r"(^|/)\.env(\.[\w.-]+)?$|\.env$", "env"),
    (r"\.(ini|cfg|conf|cnf|properties|editorconfig)$", "ini"),
    (r"(^|/)(pipfile|cargo\.lock|poetry\.lock|uv\.lock)$", "toml"),
    (r"(^|/)binding\.gyp$|(^|/)\.(babelrc|eslintrc)$", "json"),
    (r"\.(jsonc|json5|jsonl|ndjson|code-workspace|sublime-project|webmanifest)$", "json"),
    (r"(^|/)(brewfile|gemfile)$", "packages"),
    (r"\.reg$", "registry"),
    (r"(^|/)\.idea/.*\.xml$|\.run\.xml$", "idea"),
    (r"(^|/)\.?(justfile|procfile)$", "justfile"),
    (r"(^|/)vagrantfile$", "vagrant"),
    (r"\.(cs|vb|fs|vcx)proj$|\.(targets|props)$", "msbuild"),
    (r"(^|/)pom\.xml$", "maven"),
    (r"\.gradle(\.kts)?$", "gradle"),
    (r"(^|/)cmakelists\.txt$|\.cmake$", "cmake"),
    (r"(^|/)jenkinsfile$|\.jenkinsfile$", "jenkins"),
    (r"\.(tf|hcl)$", "terraform"),
)  # fmt: skip
_NAMED = tuple((lazy(pattern), form) for pattern, form in _FORMATS)
_ANY_NAMED = lazy("|".join(pattern for pattern, _ in _FORMATS))


# Places that run again what is written there, each with the name that a program's report calls it by.
_PERSISTENT = tuple(
    (lazy(pattern, re.IGNORECASE), place)
    for pattern, place in (
        (r"(^|/)(etc/(cron|anacrontab)|var/spool/cron|crontab)", "crontab"),
        (r"/Launch(Agents|Daemons)|/StartupItems/", "launch agent"),
        (r"(^|/)(systemd/(user|system)/|lib/systemd/|etc/(systemd/|init\.d/|inittab\b|rc\.local))", "systemd unit"),
        (
            r"(^|/)\.((bash_?|zsh|ksh|csh|tcsh|xinit|input|vim)rc|zshenv|zprofile|zlogin|profile|bash_(profile|login|logout|aliases)"
            r"|xprofile|xsession)$|(^|/)config\.fish$|fish/conf\.d/|/etc/(profile|bash\.bashrc|zsh|environment\b|update-motd\.d/)",
            "shell rc file",
        ),
        (r"start menu.programs.startup|/\.config/autostart/|/etc/xdg/autostart/", "login item"),
        (r"(^|/)\.git/hooks/|\.husky/|/git-core/templates/hooks", "git hook"),
        (r"(^|/)(sitecustomize|usercustomize)\.py$|site-packages/[^/]*\.pth$", "python startup file"),
        (r"microsoft\.powershell_profile|windowspowershell/profile|/etc/ld\.so\.preload", "startup file"),
        (r"/currentversion/(run|runonce|winlogon|policies/explorer/run)/", "startup file"),
        (r"(^|/)\.ssh/(authorized_keys|rc)\b", "ssh login"),
    )
)


def find_persistent_place(path: str) -> str:
    """Return the kind of place that a path is, when what is written there runs again; empty for an ordinary one."""
    path = path.replace("\\", "/")
    return next((place for pattern, place in _PERSISTENT if pattern.search(path)), "")


def plain_path(path: str) -> str:
    """A path for comparison: inside the innermost archive, in lower case, with forward slashes."""
    return path.rpartition("!")[2].replace("\\", "/").lower()


def name_of(document: Document) -> str:
    """The path by which a document is used: its own, or that of the file it is written to; empty for mere parts."""
    how = document.origin[-1] if document.origin else ""
    if how == "written":
        return document.context
    return document.path if how in ("", "archive", "symlink") else ""


def find_place(path: str) -> AutorunFile | None:
    """The place that a file is, when it runs by itself."""
    path = plain_path(path)
    if _MARKED.search(path):
        for pattern, hook, language in _PLACES:
            if match := pattern.search(path):
                hook = hook.format("", *match.groups()) if "{" in hook else hook
                return AutorunFile(hook, language, _MARKS.get(hook, ()))
    return None


def find_format(path: str) -> str:
    """The format of a configuration that only its name tells; empty when the name says nothing."""
    path = plain_path(path)
    if _ANY_NAMED.search(path):
        for pattern, form in _NAMED:
            if pattern.search(path):
                return form
    return ""
