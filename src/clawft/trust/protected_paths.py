"""Names of files and folders that give power or hold secrets, wherever they stand: for file tools and the sandbox."""

import os
import sys
import unicodedata
from functools import cache

__all__ = [
    "AGENT_FOLDERS",
    "POWER_FILES",
    "POWER_FOLDERS",
    "fold_name",
    "is_power",
    "is_private",
    "is_secret_name",
    "own_folders",
    "steers_home",
]

# A command that could make or change these would be obeyed by git, or by the next agent.
AGENT_FOLDERS = (".git", ".clawft", ".claude", ".agents")

# What is written here runs, or speaks to an agent, without anybody being asked again.
POWER_FOLDERS = frozenset({
    *AGENT_FOLDERS, ".hg", ".svn", ".github", ".husky", ".codex", ".gemini", ".opencode",
    ".cursor", ".goose", ".openclaw", ".omniagent", ".wundr", ".windsurf", ".continue", ".roo", ".kiro", ".vscode",
    ".idea", ".devcontainer", ".direnv", ".config", ".local", "launchagents",
})  # fmt: skip
POWER_FILES = frozenset({
    "agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", ".cursorrules", ".windsurfrules",
    ".clinerules", ".mcp.json", ".envrc", ".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout",
    ".bash_aliases", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login",
    ".inputrc", ".vimrc", ".exrc", ".nvimrc", ".gitconfig", ".gitmodules", ".pre-commit-config.yaml", ".yarnrc",
    ".yarnrc.yml", ".crontab",
})  # fmt: skip
# What is read here is a secret that was given to nobody (DESIGN.md, "Power").
_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store"})
_SECRET_FILES = frozenset({
    ".env", ".netrc", "_netrc", ".git-credentials", ".pgpass", ".pypirc", ".npmrc", "id_rsa", "id_dsa", "id_ecdsa",
    "id_ed25519", ".vault-token", ".dockercfg", ".s3cfg", ".boto", ".my.cnf", ".mylogin.cnf", ".databrickscfg",
    ".terraformrc", ".htpasswd", "master.key",
})  # fmt: skip
_HOME_PROGRAMS = frozenset({"bin", "sbin"})
_ENV_EXAMPLES = (".example", ".sample", ".template", ".dist", ".defaults")


def is_private(relative: str) -> bool:
    """Whether a path below the project names a place for keys and passwords."""
    names = [fold_name(name) for name in relative.split("/")]
    in_folder = not _SECRET_FOLDERS.isdisjoint(names) or "/.config/gcloud/" in "/" + "/".join(names) + "/"
    return in_folder or is_secret_name(names[-1])


def is_power(relative: str) -> bool:
    """Whether what stands at a path below the project steers programs or agents."""
    names = [fold_name(name) for name in relative.split("/")]
    return names[-1] in POWER_FILES or not POWER_FOLDERS.isdisjoint(names)


def steers_home(name: str) -> bool:
    """Whether what stands right in the home folder under a name is obeyed by shells and programs, or searched for
    them: too many have a place of their own there to name each."""
    return name.startswith(".") or fold_name(name) in _HOME_PROGRAMS


def own_folders() -> tuple[str, ...]:
    """Where this program itself lies, which may be inside a project: what is changed there runs with all rights."""
    return _find_own(sys.prefix)


@cache
def _find_own(prefix: str) -> tuple[str, ...]:
    installed = (os.path.join(prefix, name) for name in ("bin", "lib", "lib64", "pyvenv.cfg"))
    package = os.path.dirname(os.path.dirname(__file__))
    return tuple(dict.fromkeys(os.path.realpath(one) for one in (*installed, package)))


def is_secret_name(name: str) -> bool:
    """Whether a folded name is that of a file or folder of secrets."""
    if name in _SECRET_FILES or name in _SECRET_FOLDERS:
        return True
    return (name.startswith(".env.") and not name.endswith(_ENV_EXAMPLES)) or name.endswith(".kdbx")


def fold_name(name: str) -> str:
    """A name as file systems that are lax about case, width and invisible characters compare it."""
    if name.isascii():
        return name.lower().rstrip(". ")
    visible = (char for char in unicodedata.normalize("NFKC", name) if unicodedata.category(char) != "Cf")
    return "".join(visible).casefold().rstrip(". ")
