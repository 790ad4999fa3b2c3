"""Which paths and variables hold secrets, and whose."""

import re

__all__ = ["find_secret_path", "is_secret_env"]

# What a path holds, the surest first. Matched against the path with "\\" as "/", in lower case.
_PATHS: tuple[tuple[str, str], ...] = (
    (r"(^|/)\.ssh(/|$|\b)(?!.*(known_hosts|config|\.pub)$)|(^|[/\s])id_(rsa|dsa|ecdsa|ed25519)(?!\.pub)\b", "SSH keys"),
    (r"(^|/)\.aws(/|$)(?!.*config$)|\.aws/credentials", "AWS credentials"),
    (r"(^|/)\.config/gcloud|application_default_credentials|(^|/)\.azure(/|$)", "cloud credentials"),
    (r"(^|/)\.kube(/config|/?$)", "the Kubernetes config"),
    (r"(^|/)\.docker/config\.json", "registry credentials"),
    (r"(^|/)\.(netrc|pgpass|my\.cnf|pypirc|npmrc|git-credentials|vault-token)$|_netrc$", "stored logins"),
    (r"(^|/)\.config/gh/hosts\.yml|(^|/)\.config/hub$", "the GitHub token"),
    (r"(^|/)\.gnupg(/|$)|\.(pem|p12|pfx|jks|keystore|kdbx)$|(^|/)private[_-]?key", "private keys"),
    (r"login\.keychain|/keychains/", "the keychain"),
    (r"/etc/(shadow|gshadow|sudoers)\b", "the system's password hashes"),
    (r"/(cookies(\.sqlite)?|login data|logins\.json|key[34]\.db|local state|web data)$", "browser logins and cookies"),
    (r"(google/chrome|google-chrome|chromium|bravesoftware|firefox|mozilla)[^\n]*(default|profile)", "the browser profile"),
    (r"wallet\.dat|(^|/)\.(bitcoin|ethereum|electrum|solana|exodus)(/|$)|/(exodus|electrum|atomic|ledger live|phantom|metamask)(/|$)|/keystore/utc", "cryptocurrency wallets"),
    (r"(^|/)\.(bash|zsh|python|node_repl|psql|mysql|sqlite)_history$|fish_history$|consolehost_history", "the shell history"),
    (r"(^|/)\.(openclaw|clawdbot|moltbot|clawft|claude|codex|hermes|gemini|cursor)/[^\s]*(credential|auth|token|secret|key|session)|(^|/)\.claude\.json$|(^|/)auth-profiles\.json$", "the agent's credentials"),
    (r"(^|/)\.env(\.(local|production|prod|staging|development|dev))?$|(^|/)\.envrc$", "the .env file"),
    (r"(^|/)(secrets?|credentials?|passwords?|tokens?|api[_-]?keys?)(\.(json|ya?ml|toml|txt|ini|env|csv))$", "a file of secrets"),
    (r"/library/messages|/chat\.db$|telegram desktop/tdata|/signal/|discord/local storage", "private messages"),
)  # fmt: skip
_PATTERNS = tuple((re.compile(pattern), what) for pattern, what in _PATHS)
_ENV = re.compile(
    r"(^|_)(KEY|APIKEY|TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PWD|PASS|CREDENTIALS?|CREDS?|AUTH|PAT|JWT|COOKIE|PRIVATE|DSN"
    r"|WEBHOOK|MNEMONIC|SEED|SESSION)(_|\d|$)|^(DATABASE_URL|MONGO(DB)?_UR[IL]|REDIS_URL|SSH_AUTH_SOCK)$"
)
_NO_ENV = re.compile(r"^(PWD|OLDPWD|SESSION(_ID|NAME|_MANAGER)?|XDG_SESSION.*|DESKTOP_SESSION|KEY|PUBLIC_KEY|.*_PUBLIC_KEY)$")


def find_secret_path(path: str) -> str:
    """What secret a path holds, in words; empty for an ordinary path."""
    folded = path.replace("\\", "/").lower().rstrip()
    for pattern, what in _PATTERNS:
        if pattern.search(folded):
            return what
    return ""


def is_secret_env(name: str) -> bool:
    """Whether a variable of this name holds a secret by common use; "*" stands for all of them."""
    upper = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
    return name == "*" or (_ENV.search(upper) is not None and _NO_ENV.match(upper) is None)
