"""The sections [tools], [permissions], [sandbox] and [mcp]: what tools may do, and how they are confined."""

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.config.secret import SecretRef

# Read-only inspection only. A second word names the one subcommand that is meant.
DEFAULT_COMMANDS = (
    "echo", "pwd", "ls", "cat", "head", "tail", "wc", "sort", "uniq", "cut", "date", "which", "grep",
    "git status", "git log", "git diff", "git show",
)  # fmt: skip
_Seconds = Annotated[float, Meta(gt=0, le=86_400)]
_Positive = Annotated[int, Meta(ge=1)]


class CommandPolicyMode(StrEnum):
    """The ways to judge commands."""

    ALLOWLIST = "allowlist"
    DENYLIST = "denylist"
    DISABLED = "disabled"


class RateLimitStrategy(StrEnum):
    """The ways to count requests."""

    FIXED_WINDOW = "fixed_window"
    SLIDING_WINDOW = "sliding_window"
    TOKEN_BUCKET = "token_bucket"


class DelegationTarget(StrEnum):
    """The targets of delegated work. PascalCase is read too."""

    LOCAL = "local"
    CLAUDE = "claude"
    FLOW = "flow"
    AUTO = "auto"

    @classmethod
    def _missing_(cls, value: object) -> "DelegationTarget | None":
        text = str(value)
        return next((member for member in cls if text == member.value.capitalize()), None)


class ExecSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[tools.exec]`: the command policy, and how commands run."""

    #: What judges a command where the sandbox does not decide: in mode `ask`, and without a sandbox. `allowlist`: what
    #: is not listed asks. `denylist`: all but `denied_patterns` runs. `disabled`: all runs, in the sandbox if it is on.
    mode: CommandPolicyMode = CommandPolicyMode.ALLOWLIST
    #: Commands that run unasked also in mode `ask` and without a sandbox; `git log` means that subcommand alone. Empty
    #: allows none, anywhere.
    allowed_commands: tuple[str, ...] = DEFAULT_COMMANDS
    #: Regular expressions; a shell text in which one is found never runs.
    denied_patterns: tuple[str, ...] = ()
    #: How long a command may run, in seconds.
    timeout_s: _Seconds = 120
    #: How much of its output reaches the model; the rest is saved to a file.
    max_output_bytes: _Positive = 32 * 1024
    #: Environment variables that commands get; nothing else of the environment reaches them.
    env: tuple[str, ...] = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "TMPDIR")
    #: Further commands of that kind, beside `allowed_commands`.
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


RuleKind = Literal["deny", "ask", "allow"]
KINDS: tuple[RuleKind, ...] = ("deny", "ask", "allow")  # each beats those after it


class PermissionsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[permissions]`: patterns such as `Bash(git push:*)`, `Edit(docs/**)`, `WebFetch(domain:example.org)`,
    `github__*`. The user's and the project's add up."""

    #: What is done without a question, though it would be asked for. What a policy refuses stays refused.
    allow: tuple[str, ...] = ()
    #: What is asked for each time, also where it would be done unasked.
    ask: tuple[str, ...] = ()
    #: What is never done.
    deny: tuple[str, ...] = ()


class TrustSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[trust]`. What a project's config says here is not followed."""

    #: Whether your own edits of prose in a folder that you trust ask too, like every other change.
    strict: bool = False


_Megabytes = Annotated[int, Meta(ge=16, le=1 << 20)]


class SandboxSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[sandbox]`."""

    #: `bubblewrap` or `landlock`; `auto` takes the first that works here. `off` runs commands with all your rights.
    mode: Literal["auto", "bubblewrap", "landlock", "off"] = "auto"
    #: Where none works: `ask` a person about each command, or `refuse` them all. `--yes` does not answer.
    if_unavailable: Literal["ask", "refuse"] = "ask"
    #: Further folders that commands may change; the project always is one.
    writable: tuple[str, ...] = ()
    #: Further files and folders that commands may read, such as a tool chain in your home folder.
    readable: tuple[str, ...] = ()
    #: How much memory one process of a command may take, and all of them together, in megabytes.
    memory_mb: _Megabytes = 4096
    #: How many processes and threads one command may have at a time.
    max_processes: Annotated[int, Meta(ge=8, le=100_000)] = 512
    #: How long a file may be that a command writes, in megabytes.
    max_file_mb: _Megabytes = 1024
    #: How much a command may write to its private /tmp and home folder, each, in megabytes.
    tmp_mb: _Megabytes = 1024


class ServerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[mcp.servers.NAME]`: a command that speaks on stdin and stdout, or a URL. Its tools are `NAME__tool`."""

    #: The program to start.
    command: str = ""
    #: Its arguments; `${PROJECT}` is the folder of the project.
    args: tuple[str, ...] = ()
    #: Variables it gets beside PATH, HOME and the locale; `${NAME}` takes the value of a variable, and `${PROJECT}` is
    #: the folder of the project unless there is a variable of that name.
    env: dict[str, str] = {}
    #: The folder it starts in, which may be `${PROJECT}`. If absent, your home; for one that is confined, the project.
    cwd: str = ""
    #: The address of a streamable HTTP server, in place of a command.
    url: str = ""
    #: HTTP headers; `${NAME}` takes the value of a variable.
    headers: dict[str, str] = {}
    #: false leaves the server alone.
    enabled: bool = True
    #: true runs its tools without asking before each call.
    trusted: bool = False
    #: `confined` runs it in the sandbox, `none` with all your rights. Unless you say so, a project's is confined.
    sandbox: Literal["none", "confined"] | None = None
    #: Hosts that it may reach from the sandbox, as `example.com`, `*.example.com` or with a port.
    hosts: tuple[str, ...] = ()
    #: Folders that it may change from the sandbox; it sees the folder it starts in, and changes nothing else.
    writable: tuple[str, ...] = ()
    #: Further files and folders that it may read from the sandbox.
    readable: tuple[str, ...] = ()
    #: How long starting it may take, in seconds.
    start_timeout_s: _Seconds = 30
    #: How long one call may take, in seconds.
    timeout_s: _Seconds = 60


class McpSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[mcp]`."""

    servers: dict[str, ServerSettings] = {}
