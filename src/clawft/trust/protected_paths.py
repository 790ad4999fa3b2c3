"""Protected paths: files that steer programs or hold secrets, and files that hold private keys."""

import os
import re
import stat
import sys
import unicodedata
from functools import cache

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
# What is read here is a secret that was given to nobody.
_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store"})
_SECRET_IN_CONFIG = frozenset({"gcloud", "gh"})
_SECRET_FILES = frozenset({
    ".env", ".netrc", "_netrc", ".git-credentials", ".pgpass", ".pypirc", ".npmrc", "id_rsa", "id_dsa", "id_ecdsa",
    "id_ed25519", ".vault-token", ".dockercfg", ".s3cfg", ".boto", ".my.cnf", ".mylogin.cnf", ".databrickscfg",
    ".terraformrc", ".htpasswd", "master.key",
})  # fmt: skip
_HOME_PROGRAMS = frozenset({"bin", "sbin"})
_ENV_EXAMPLES = (".example", ".sample", ".template", ".dist", ".defaults")


def is_private(relative: str) -> bool:
    """Return whether a path below the project names a place for keys and passwords."""
    names = [fold_name(name) for name in relative.split("/")]
    in_folder = not _SECRET_FOLDERS.isdisjoint(names) or any(map(is_secret_place, names, names[1:]))
    return in_folder or is_secret_name(names[-1])


def is_secret_place(folder: str, name: str) -> bool:
    """Return whether a folded name in a folder of a folded name is that of a folder of secrets, which it is nowhere
    else."""
    return folder == ".config" and name in _SECRET_IN_CONFIG


def is_protected(relative: str) -> bool:
    """Return whether what stands at a path below the project steers programs or agents."""
    names = [fold_name(name) for name in relative.split("/")]
    return names[-1] in POWER_FILES or not POWER_FOLDERS.isdisjoint(names)


def steers_home(name: str) -> bool:
    """Return whether what stands right in the home folder under a name is obeyed by shells and programs, or searched
    for them: too many have a place of their own there to name each."""
    return name.startswith(".") or fold_name(name) in _HOME_PROGRAMS


def steers_in_home(path: str, home: str) -> bool:
    """Return whether a real path lies at or below such a place of a real home folder, whatever the project is."""
    return path.startswith(home + "/") and steers_home(path[len(home) + 1 :].partition("/")[0])


def own_folders() -> tuple[str, ...]:
    """Return weft's own folders, which may be inside a project: a change there runs with all rights."""
    return _find_own(sys.prefix)


@cache
def _find_own(prefix: str) -> tuple[str, ...]:
    installed = (os.path.join(prefix, name) for name in ("bin", "lib", "lib64", "pyvenv.cfg"))
    package = os.path.dirname(os.path.dirname(__file__))
    return tuple(dict.fromkeys(os.path.realpath(folder) for folder in (*installed, package)))


def is_secret_name(name: str) -> bool:
    """Return whether a folded name is that of a file or folder of secrets."""
    if name in _SECRET_FILES or name in _SECRET_FOLDERS:
        return True
    return (name.startswith(".env.") and not name.endswith(_ENV_EXAMPLES)) or name.endswith(".kdbx")


def fold_name(name: str) -> str:
    """A name as file systems that are lax about case, width and invisible characters compare it."""
    if name.isascii():
        return name.lower().rstrip(". ")
    visible = (char for char in unicodedata.normalize("NFKC", name) if unicodedata.category(char) != "Cf")
    return "".join(visible).casefold().rstrip(". ")


MAX_HEAD = 64 * 1024  # of a file that is looked at: a bundle may begin with certificates
_NAMED = re.compile(r"key|rsa|dsa|ed25519|private|secret|credential|service|account|token")
_ENDS = (
    ".pem", ".key", ".p8", ".p12", ".pfx", ".ppk", ".jks", ".keystore", ".der", ".crt", ".cer", ".cert", ".asc", ".gpg",
    ".pgp",
)  # fmt: skip
_BEGIN = rb"(?:-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-|AGE-SECRET-KEY-1)"
_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:#[^\n]*\n\s*)*" + _BEGIN)
_ANYWHERE = re.compile(rb"^" + _BEGIN, re.MULTILINE)
_ACCOUNT = re.compile(rb'"private_key"\s*:\s*"-----BEGIN ')
_STORES = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")  # Java's
_DER_KEY = re.compile(rb"\x30(?:[\x00-\x7f]|\x81.|\x82..|\x83...)\x02\x01[\x00\x01][\x02\x04\x30]", re.DOTALL)


def may_hold_key(name: str) -> bool:
    """Return whether a folded name is one that private keys have; public keys are recognized by their content."""
    return name.endswith(_ENDS) or name.startswith("id_") or bool(_NAMED.search(name))


def is_private_key(name: str, head: bytes) -> bool:
    """Return whether a file of a folded name that begins so is a private key, or holds one among certificates."""
    if name.endswith((".p12", ".pfx")):
        return head.startswith(b"\x30")
    if name.endswith(_ENDS) or name.startswith("id_"):
        return bool(_ANYWHERE.search(head) or _DER_KEY.match(head)) or head.startswith(_STORES)
    return bool(_FIRST.match(head) or (name.endswith(".json") and _ACCOUNT.search(head)))


def holds_private_key(path: str, name: str) -> bool:
    """Return whether a file on disk, which may be anything, holds a private key. Raises: OSError."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # to open a device may do something
        return False
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return is_private_key(name, os.read(descriptor, MAX_HEAD))
    finally:
        os.close(descriptor)
