"""The program git, run so that nothing but our words decides what it does: no config of anybody, no hook, no helper, no
prompt, no redirect, one protocol, one judged address; bounded in time, memory and the size of any file it writes.
"""

import os
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from clawft.config.tools import WebSettings
from clawft.errors import ClawftError, NotFound, Refused
from clawft.install.sources.address import plain_line
from clawft.sandbox.addresses import resolve_host
from clawft.sandbox.process import Finished, Streams, run_process
from clawft.trust.network import InvalidUrl, UrlPolicy, read_host, read_url
from clawft.trust.programs import HostPrograms

TIMEOUT_S = 180.0
_MAX_WRITTEN = 64 << 20
_OLDEST = (2, 37)  # the first that connects to a given address (http.curloptResolve)
_VERSION = re.compile(rb"git version (\d+)\.(\d+)")
_PIN = "http.curloptResolve="
_MEMORY_KB = 4 << 20
_TOO_MUCH = (b"File too large", b"signal 25", b"ut of memory")
_LIMITED = 'ulimit -c 0; ulimit -f "$1"; ulimit -v "$2" 2>/dev/null; umask 077; out=$3; shift 3; exec "$@" >"$out"'
_CONFIG = (
    *("protocol.allow=never", "protocol.version=2", "transfer.bundleURI=false", "fetch.recurseSubmodules=no"),
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null", "submodule.recurse=false"),
    *("core.askPass=", "credential.helper=", "core.bigFileThreshold=16m", "pack.threads=1"),
    *("gc.auto=0", "maintenance.auto=false", "fetch.writeCommitGraph=false", "http.followRedirects=false"),
    *("http.proxy=", "http.sslVerify=true", "http.lowSpeedLimit=1000", "http.lowSpeedTime=30"),
)
_SSH = (
    "ssh -o BatchMode=yes -o ConnectTimeout=15 -o PermitLocalCommand=no -o ForwardAgent=no -o ForwardX11=no "
    "-o ClearAllForwardings=yes"
)
_SSH_HOST = re.compile(r"(?:ssh://)?(?:[^@/]*@)?(\[[^\]]*\]|[^:/]*)(?::([0-9]+)(?=/))?")


class Git(Struct, frozen=True):
    """git for one repository: its program, its words before the command, its environment, and where it works."""

    program: str
    url: str
    config: tuple[str, ...]
    env: Mapping[str, str]
    folder: str = ""  # where it works, which is made once there is something to do

    async def run(
        self, words: Sequence[str], stdin: bytes = b"", *, max_bytes: int = _MAX_WRITTEN, max_kb: int = _MEMORY_KB
    ) -> tuple[Finished, str]:
        """Run git, and return how it ended and the file that holds its output. `max_bytes` is the limit of each file
        that it writes, `max_kb` that of its memory. Raises: ClawftError if it took too long, or wrote too much."""
        out = os.path.join(self.folder, f"out-{os.urandom(8).hex()}")
        limits = (str(max(1, max_bytes >> 9)), str(max_kb), out)
        config = [word for setting in self.config for word in ("-c", setting)]
        command = ("/bin/sh", "-c", _LIMITED, "sh", *limits, self.program, *config, *words)
        env = {**self.env, "HOME": self.folder, "XDG_CONFIG_HOME": self.folder, "GIT_DIR": self.folder}
        try:
            done = await run_process(
                command,
                cwd=self.folder,
                env=env,
                timeout_s=TIMEOUT_S,
                max_bytes=1 << 16,
                streams=Streams(stdin=stdin, merged=True),
            )
        except OSError as error:
            raise ClawftError("git-failed", f"git cannot be started: {error.strerror}") from error
        if done.timed_out:
            raise ClawftError("git-timeout", f"The repository took longer than {TIMEOUT_S:.0f} s", hint="Try again")
        if done.code and (done.code in (-25, 153) or any(sign in done.output for sign in _TOO_MUCH)):
            raise Refused("git-too-large", "The repository has more in it than is taken", hint="Nothing was installed")
        return done, out

    async def need(
        self, words: Sequence[str], stdin: bytes = b"", *, max_bytes: int = _MAX_WRITTEN, max_kb: int = _MEMORY_KB
    ) -> str:
        """Run git, and return the file that holds its output. Raises: ClawftError if git failed."""
        done, out = await self.run(words, stdin, max_bytes=max_bytes, max_kb=max_kb)
        if done.code:
            raise self.explain(done.output)
        return out

    def explain(self, output: bytes) -> ClawftError:
        """Turn git's output after a failure into an error for the user. Part of the text may come from an untrusted
        server."""
        text = output.decode("utf-8", errors="replace")
        for pattern, (kind, code, message, hint) in _FAILURES.items():
            if re.search(pattern, text):
                return kind(code, message, path=self.url, hint=hint)
        lines = [line for line in text.splitlines() if line.startswith(("fatal:", "error:"))] or text.splitlines()
        reason = plain_line(lines[0].partition(": ")[2] or lines[0], 200) if lines else "it does not say why"
        return ClawftError("git-failed", f"git failed: {reason}", path=self.url)


_PRIVATE = "Check its spelling. If it is private, use git@host:path with a key that ssh knows"
_FAILURES: dict[str, tuple[type[ClawftError], str, str, str]] = {
    "Host key verification failed": (
        Refused,
        "git-host-key",
        "ssh does not know the key of that host",
        "Connect to it once with ssh, and compare the key with the one it publishes",
    ),
    "dubious ownership|unsafe repository": (
        Refused,
        "git-owner",
        "The repository belongs to another user of this machine",
        "Clone it yourself, then install from the clone",
    ),
    r"returned error: 30\d|redirect": (
        Refused,
        "git-redirect",
        "The repository has moved, and where to is not followed",
        "Use the address it has now; some hosts want '.git' at its end",
    ),
    "prompts disabled|Authentication failed|Permission denied|could not read Username|[Nn]ot found|returned error: 40"
    "|does not appear to be a git repository|does not exist|repository .* not exported": (
        NotFound,
        "git-not-found",
        "There is no such repository, or it is private",
        _PRIVATE,
    ),
    "Could not resolve host|Failed to connect|Connection refused|timed out|Network is unreachable|unable to connect": (
        ClawftError,
        "git-unreachable",
        "The host of the repository does not answer",
        "Check the connection, then try again",
    ),
    "transport '.*' not allowed": (Refused, "git-protocol", "The repository wants another protocol", ""),
}


async def open_git(url: str, settings: WebSettings, host_programs: HostPrograms, *, typed: bool) -> Git:
    """git for an address that was read strictly; `typed`: a person named it, so it may be on a private network.

    Raises: ClawftError where there is no git; Refused for an address that must not be asked.
    """
    program = host_programs.find("git")
    if not program:
        hint = "Install git, or install the skill from an archive"
        raise ClawftError("git-missing", "git is needed to install from a repository, and is not here", hint=hint)
    scheme = "ssh" if "://" not in url else url.partition("://")[0]
    pins, command = await _judge(url, scheme, settings, typed=typed)
    env = {
        "PATH": os.pathsep.join([os.path.dirname(program), os.defpath]),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_ALLOW_PROTOCOL": scheme,
        "GIT_SSH_COMMAND": command,
        "GIT_SSH_VARIANT": "ssh",
    }
    if scheme == "ssh" and "SSH_AUTH_SOCK" in host_programs.environ:
        env["SSH_AUTH_SOCK"] = host_programs.environ["SSH_AUTH_SOCK"]
    return Git(program, url, (*_CONFIG, f"protocol.{scheme}.allow=always", *pins), env)


async def _judge(url: str, scheme: str, settings: WebSettings, *, typed: bool) -> tuple[list[str], str]:
    """Check a repository's address, and return the git options that restrict git to the checked addresses, and the ssh
    command to use. Raises: Refused, ClawftError."""
    if scheme == "file":
        if not typed:
            hint = "If you trust it, install it yourself by its path"
            raise Refused(
                "git-local", "A lock that is not yours names a repository of this machine", path=url, hint=hint
            )
        return [], _SSH
    host, port = _host_of(url, scheme)
    addresses = await _find_addresses(host, port, settings, scheme=scheme, typed=typed)
    if scheme == "ssh":
        # The host that the user typed may be an alias for another one, by their own ssh config.
        alias = host if port == 22 else f"[{host}]:{port}"
        pinned = f" -o HostName={addresses[0]} -o HostKeyAlias={alias} -o ProxyCommand=none" if addresses else ""
        return [], f"{_SSH}{pinned}"
    if host in addresses:
        return [], _SSH
    shown = [f"[{address}]" if ":" in address else address for address in addresses]
    return [f"{_PIN}{host}:{port}:{','.join(shown)}"], _SSH


def _host_of(url: str, scheme: str) -> tuple[str, int]:
    if scheme != "ssh":
        target = read_url(url)
        return target.host, target.connect_port
    match = _SSH_HOST.match(url)
    if match is None:
        raise InvalidUrl("has no host")
    return read_host(match[1])[0], int(match[2] or 22)


async def _find_addresses(host: str, port: int, settings: WebSettings, *, scheme: str, typed: bool) -> Sequence[str]:
    """The addresses of a host, all judged; none where ssh is to find them. Raises: Refused, ClawftError."""
    policy = UrlPolicy(structs.replace(settings, block_private_ips=settings.block_private_ips and not typed))
    target = policy.read_allowed(f"https://[{host}]/" if ":" in host else f"https://{host}/")
    if scheme == "ssh" and typed:
        return ()
    addresses = (host,) if target.address else await resolve_host(host, port)
    for address in addresses:
        if violation := policy.check_address(address):
            raise violation
    return addresses


async def check_version(git: Git) -> None:
    """Raises: ClawftError for a git that does not know how to be held to an address, where it has to be."""
    if not any(setting.startswith(_PIN) for setting in git.config):
        return
    with open(await git.need(["--version"]), "rb") as file:
        found = _VERSION.match(file.read(100))
    if found is None or (int(found[1]), int(found[2])) < _OLDEST:
        hint = f"Version {_OLDEST[0]}.{_OLDEST[1]} or later is needed"
        raise ClawftError("git-version", "This git is too old to be held to one address", hint=hint)
