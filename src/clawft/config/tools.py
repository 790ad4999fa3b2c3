"""The section `[tools]`: what commands may run, what may be fetched, who is delegated to."""

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.config.secret import SecretRef

__all__ = [
    "DEFAULT_COMMANDS",
    "CommandPolicyMode",
    "DelegateSettings",
    "DelegationTarget",
    "ExecSettings",
    "RateLimit",
    "RateLimitStrategy",
    "SearchSettings",
    "Section",
    "ToolsSettings",
    "WebSettings",
]

# D56: read-only inspection only. A second word names the one subcommand that is meant.
DEFAULT_COMMANDS = (
    "echo", "pwd", "ls", "cat", "head", "tail", "wc", "sort", "uniq", "cut", "date", "which", "grep",
    "git status", "git log", "git diff", "git show",
)  # fmt: skip
_Seconds = Annotated[float, Meta(gt=0, le=86_400)]
_Positive = Annotated[int, Meta(ge=1)]


class CommandPolicyMode(StrEnum):
    """How commands are judged (R162)."""

    ALLOWLIST = "allowlist"
    DENYLIST = "denylist"
    DISABLED = "disabled"


class RateLimitStrategy(StrEnum):
    """How requests are counted (R162)."""

    FIXED_WINDOW = "fixed_window"
    SLIDING_WINDOW = "sliding_window"
    TOKEN_BUCKET = "token_bucket"


class DelegationTarget(StrEnum):
    """Who does delegated work (R161). PascalCase is read too."""

    LOCAL = "local"
    CLAUDE = "claude"
    FLOW = "flow"
    AUTO = "auto"

    @classmethod
    def _missing_(cls, value: object) -> "DelegationTarget | None":
        text = str(value)
        return next((one for one in cls if text == one.value.capitalize()), None)


class ExecSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[tools.exec]`: the command policy, and how commands run."""

    #: `allowlist`: what is not listed asks. `denylist`: all but `denied_patterns` runs. `disabled`: all runs unasked.
    mode: CommandPolicyMode = CommandPolicyMode.ALLOWLIST
    #: Commands that run without being asked for; `git log` means that subcommand alone. Empty allows none.
    allowed_commands: tuple[str, ...] = DEFAULT_COMMANDS
    #: Regular expressions; a command line in which one is found never runs.
    denied_patterns: tuple[str, ...] = ()
    #: How long a command may run, in seconds.
    timeout_s: _Seconds = 120
    #: How much of its output reaches the model; the rest is saved to a file.
    max_output_bytes: _Positive = 32 * 1024
    #: Environment variables that commands get; nothing else of the environment reaches them.
    env: tuple[str, ...] = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "TMPDIR")
    #: Further commands that run without being asked for, beside `allowed_commands`.
    also_allowed: tuple[str, ...] = ()


class RateLimit(Struct, frozen=True, forbid_unknown_fields=True):
    """`[tools.web.rate_limit]`."""

    #: How requests are counted: `fixed_window`, `sliding_window` or `token_bucket`.
    strategy: RateLimitStrategy = RateLimitStrategy.FIXED_WINDOW
    #: How many requests fit one window.
    max_requests: _Positive = 60
    #: The length of a window, in seconds.
    window_s: _Seconds = 60


class SearchSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[tools.web.search]`: without an engine `web_search` is not offered."""

    #: Which engine is asked: `searxng` or `brave`.
    engine: Literal["searxng", "brave"] | None = None
    #: Where it is; needed for SearXNG, which may stand on this machine.
    base_url: str = ""
    #: The key; needed for Brave.
    api_key: SecretRef | None = None


class WebSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[tools.web]`: the URL policy, and how pages are fetched."""

    #: Schemes that may be fetched.
    allowed_schemes: tuple[str, ...] = ("https", "http")
    #: Hosts that may not be fetched, exactly as written.
    blocked_domains: tuple[str, ...] = ()
    #: Refuse addresses of private, local and reserved networks.
    block_private_ips: bool = True
    #: How long a fetch may take, in seconds.
    timeout_s: _Seconds = 30
    #: How much of a page is read.
    max_bytes: _Positive = 5 * 1024 * 1024
    #: How many redirects are followed; each is judged anew.
    max_redirects: Annotated[int, Meta(ge=0, le=20)] = 5
    rate_limit: RateLimit = RateLimit()
    search: SearchSettings = SearchSettings()


class DelegateSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[tools.delegate]`."""

    #: Who does it: `local` (a fresh agent here), `claude` (its command line), `flow` (your `command`), or `auto`.
    target: DelegationTarget = DelegationTarget.AUTO
    #: The command of `flow`; the task is its last argument.
    command: tuple[str, ...] = ()
    #: How long delegated work may take, in seconds.
    timeout_s: _Seconds = 600


class ToolsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[tools]`."""

    exec: ExecSettings = ExecSettings()
    web: WebSettings = WebSettings()
    delegate: DelegateSettings = DelegateSettings()


Section = ToolsSettings
