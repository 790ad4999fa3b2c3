"""Secrets: the paths and variables that hold them, and whose they are."""

import re
from functools import lru_cache

from clawft.scanner.regex import lazy

# What a path holds, the surest first. Matched against the path with "\\" as "/", in lower case.
_PATHS: dict[str, tuple[str, ...]] = {
    "SSH keys": (
        r"(^|/)\.ssh(/|$|\b)(?!.*(known_hosts|config|\.pub)$)",
        r"(^|[/\s])id_(rsa|dsa|ecdsa|ed25519)(?!\.pub)\b",
    ),
    "AWS credentials": (r"(^|/)\.aws(/|$)(?!.*config$)", r"\.aws/credentials"),
    "cloud credentials": (r"(^|/)\.config/gcloud", r"application_default_credentials", r"(^|/)\.azure(/|$)"),
    "the Kubernetes config": (r"(^|/)\.kube(/config|/?$)",),
    "registry credentials": (r"(^|/)\.docker/config\.json",),
    "stored logins": (r"(^|/)\.(netrc|pgpass|my\.cnf|pypirc|npmrc|git-credentials|vault-token)$", r"_netrc$"),
    "the GitHub token": (r"(^|/)\.config/gh/hosts\.yml", r"(^|/)\.config/hub$"),
    "private keys": (
        r"(^|/)\.gnupg(/|$)",
        r"(?<!/public)(?<!_pub)(?<!cert)(?<!chain)(?<!/ca)\.(pem|p12|pfx|jks|keystore|kdbx)$",
        r"(^|/)private[_-]?key",
    ),
    "the keychain": (r"login\.keychain", r"/keychains/"),
    "the system's password hashes": (r"/etc/(shadow|gshadow|sudoers)\b",),
    "browser logins and cookies": (r"/(cookies(\.sqlite)?|login data|logins\.json|key[34]\.db|local state|web data)$",),
    "the browser profile": (
        r"(google/chrome|google-chrome|chromium|bravesoftware|firefox|mozilla)[^\n]*(default|profile)",
    ),
    "cryptocurrency wallets": (
        r"wallet\.dat",
        r"(^|/)\.(bitcoin|ethereum|electrum|solana|exodus)(/|$)",
        r"/(exodus|electrum|atomic|ledger live|phantom|metamask)(/|$)",
        r"/keystore/utc",
    ),
    "the shell history": (
        r"(^|/)\.(bash|zsh|python|node_repl|psql|mysql|sqlite)_history$",
        r"fish_history$",
        r"consolehost_history",
    ),
    "the agent's credentials": (
        r"(^|/)\.(openclaw|clawdbot|moltbot|clawft|claude|codex|hermes|gemini|cursor)/[^\s]*"
        r"(credential|auth|token|secret|key|session)",
        r"(^|/)\.claude\.json$",
        r"(^|/)auth-profiles\.json$",
    ),
    "the .env file": (r"(^|/)\.env(\.(local|production|prod|staging|development|dev))?$", r"(^|/)\.envrc$"),
    "a file of secrets": (
        r"(^|/)(secrets?|credentials?|passwords?|tokens?|api[_-]?keys?)(\.(json|ya?ml|toml|txt|ini|env|csv))$",
    ),
    "private messages": (
        r"/library/messages",
        r"/chat\.db$",
        r"telegram desktop/tdata",
        r"/signal/",
        r"discord/local storage",
    ),
}
_PATTERNS = tuple((lazy("|".join(patterns)), what) for what, patterns in _PATHS.items())
_ENV = lazy(
    r"(^|_)(KEY|APIKEY|TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PWD|PASS|CREDENTIALS?|CREDS?|AUTH|PAT|JWT|COOKIE|PRIVATE|DSN"
    r"|WEBHOOK|MNEMONIC|SEED|SESSION)(_|\d|$)|^(DATABASE_URL|MONGO(DB)?_UR[IL]|REDIS_URL|SSH_AUTH_SOCK)$"
)
_NO_ENV = lazy(r"^(PWD|OLDPWD|SESSION(_ID|NAME|_MANAGER)?|XDG_SESSION.*|DESKTOP_SESSION|KEY|PUBLIC_KEY|.*_PUBLIC_KEY)$")
_MAX_CACHED_LENGTH = 300  # longer paths are rare, and are not remembered


def find_secret_path(path: str) -> str:
    """Return the kind of secret a path holds, in words; empty for an ordinary path."""
    return _find_path(path) if len(path) <= _MAX_CACHED_LENGTH else _find_path.__wrapped__(path)


@lru_cache(1024)
def _find_path(path: str) -> str:
    folded = path.replace("\\", "/").lower().rstrip()
    for pattern, what in _PATTERNS:
        if pattern.search(folded):
            return what
    return ""


def is_secret_env(name: str) -> bool:
    """Return whether a variable of this name holds a secret by common use; "*" is all of them."""
    upper = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
    return name == "*" or (_ENV.search(upper) is not None and _NO_ENV.match(upper) is None)
