"""Programs that talk to other machines: what they fetch, from where, and what they send."""

import posixpath
import re

from clawft.scan.facts import Fact, Kind
from clawft.scan.languages.commands.options import Options, sources_of, split_options, tail_of
from clawft.scan.languages.commands.world import NOTHING, Call, Value, World, join_sources

__all__ = ["PROGRAMS"]

_CURL_LONG = frozenset(
    ["--data", "--data-raw", "--data-binary", "--data-urlencode", "--data-ascii", "--form", "--form-string", "--json", "--header", "--output", "--request", "--url", "--url-query", "--user", "--upload-file", "--proxy", "--user-agent", "--referer", "--cookie", "--cookie-jar", "--config", "--max-time", "--connect-timeout", "--retry", "--retry-delay", "--retry-max-time", "--cacert", "--cert", "--key", "--resolve", "--output-dir", "--write-out", "--range", "--interface", "--limit-rate", "--oauth2-bearer", "--socks5", "--socks5-hostname", "--connect-to", "--dump-header", "--unix-socket", "--capath", "--ciphers", "--proxy-user", "--proxy-header", "--max-redirs", "--max-filesize", "--doh-url", "--dns-servers", "--aws-sigv4", "--mail-from", "--mail-rcpt"]
)
_WGET_LONG = frozenset(
    ["--output-document", "--post-data", "--post-file", "--body-data", "--body-file", "--header", "--method", "--directory-prefix", "--input-file", "--user-agent", "--user", "--password", "--http-user", "--http-password", "--output-file", "--tries", "--timeout", "--load-cookies", "--referer"]
)
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:/", re.IGNORECASE)
_REMOTE = re.compile(r"^(?:[\w.$-]+@)?([\w.${}\[\]-]+|\[[0-9a-f:]+\]):(?!\\)", re.IGNORECASE)


def _reach(world: World, call: Call, address: Value, sent: tuple[Fact, ...], *, sends: bool) -> Fact:
    kind = Kind.SEND if sends else Kind.FETCH
    return world.fact(kind, address.text, call.offset, call.name, join_sources(sent, address.sources))


def _received(world: World, facts: list[Fact]) -> Value:
    name = facts[0].target if facts else ""
    return Value(f"$(fetch {name})", tuple(world.output(one) for one in facts), known=False)


def run_curl(world: World, call: Call) -> Value:
    options = split_options(call.args, "AbcCdDeEFHKmoPQrtTuUwxXyYz", _CURL_LONG)
    sent: list[Value] = []
    sends = False
    for name, value in options.pairs:
        if name in _CURL_DATA:
            sends = True
            sent.append(_curl_data(world, call, name, value))
        elif name in ("-T", "--upload-file"):
            sends = True
            sent.append(world.read(value, call) if value.text not in ("-", ".") else call.stdin)
        elif name in (
            "-H",
            "--header",
            "-u",
            "--user",
            "-b",
            "--cookie",
            "-A",
            "--user-agent",
            "-e",
            "--referer",
            "--oauth2-bearer",
            "--url-query",
        ):
            sent.append(_header(world, call, name, value))
        elif name in ("-k", "--insecure"):
            continue
    method = options.get("-X", "--request")
    if options.has("-G", "--get"):
        sends = False
    elif method and method.text.upper() in ("POST", "PUT", "PATCH"):
        sends = True
    addresses = [*options.every("--url"), *options.operands]
    facts = [_reach(world, call, one, sources_of(sent), sends=sends) for one in addresses]
    if not facts and (options.has("-K", "--config") or call.fed):
        facts = [_reach(world, call, Value("", call.stdin.sources, known=False), sources_of(sent), sends=sends)]
    received = _received(world, facts)
    return _store_curl(world, call, options, addresses, received)


_CURL_DATA = frozenset(
    (
        "-d",
        "--data",
        "--data-raw",
        "--data-binary",
        "--data-urlencode",
        "--data-ascii",
        "-F",
        "--form",
        "--form-string",
        "--json",
    )
)


def _curl_data(world: World, call: Call, name: str, value: Value) -> Value:
    """The data of one option: text, or `@file` for the content of a file."""
    text = value.text
    at = text.find("@")
    if name in ("-F", "--form"):
        at = next((found + 1 for mark in ("=@", "=<") if (found := text.find(mark)) >= 0), -1)
    elif name == "--data-urlencode":
        at = at if "=" not in text[: max(at, 0)] else -1
    elif name in ("--data-raw", "--form-string") or at != 0:
        at = -1
    if at < 0:
        return value
    file = Value(text[at + 1 :].partition(";")[0].strip('"'), value.sources, value.known)
    return call.stdin if file.text == "-" else world.read(file, call)


def _header(world: World, call: Call, name: str, value: Value) -> Value:
    if value.text.startswith("@") and name in ("-H", "--header"):
        return world.read(tail_of(value, 1), call)
    return value


def _store_curl(world: World, call: Call, options: Options, addresses: list[Value], received: Value) -> Value:
    folder = options.get("--output-dir")
    outputs = options.every("-o", "--output")
    if options.has("-O", "--remote-name", "--remote-name-all") or (options.has("-J") and not outputs):
        outputs = [*outputs, *[Value(_base_name(one.text)) for one in addresses]]
    outputs = [one for one in outputs if one.text not in ("-", "/dev/stdout")]
    for output in outputs:
        where = Value(posixpath.join(folder.text, output.text)) if folder else output
        world.write(where, received, call)
    return NOTHING if outputs else received


def _base_name(address: str) -> str:
    return address.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2] or "index.html"


def run_wget(world: World, call: Call) -> Value:
    options = split_options(call.args, "OPioaUtTeQ", _WGET_LONG)
    data = [*options.every("--post-data", "--body-data")]
    data += [world.read(one, call) for one in options.every("--post-file", "--body-file")]
    headers = options.every(
        "--header", "--user", "--password", "--http-user", "--http-password", "--user-agent", "-U", "--referer"
    )
    sent = sources_of([*data, *headers])
    method = options.get("--method")
    sends = bool(data) or bool(method and method.text.upper() in ("POST", "PUT", "PATCH"))
    facts = [_reach(world, call, one, sent, sends=sends) for one in options.operands]
    if not facts and options.has("-i", "--input-file"):
        facts = [_reach(world, call, Value("", known=False), sent, sends=sends)]
    received = _received(world, facts)
    output = options.get("-O", "--output-document")
    if output and output.text in ("-", "/dev/stdout"):
        return received
    prefix = options.get("-P", "--directory-prefix")
    for one in options.operands:
        name = output.text if output else posixpath.join(prefix.text if prefix else "", _base_name(one.text))
        world.write(Value(name), received, call)
    return NOTHING


def run_httpie(world: World, call: Call) -> Value:
    """`http`, `https`, `xh`: METHOD URL name=value name@file Header:value."""
    options = split_options(call.args, "oapfs", frozenset(("--output", "--auth", "--session", "--verify", "--raw")))
    operands = [one for one in options.operands if one.text not in ("GET", "HEAD", "DELETE")]
    sends = any(one.text in ("POST", "PUT", "PATCH") for one in operands) or call.fed or options.has("--raw")
    operands = [one for one in operands if one.text not in ("POST", "PUT", "PATCH")]
    sent = [*options.every("-a", "--auth", "--raw"), *([call.stdin] if call.fed else [])]
    for one in operands[1:]:
        name, mark, rest = one.text.partition("@")
        if mark and "=" not in name and ":" not in name:
            sent.append(world.read(Value(rest, one.sources), call))
            sends = True
        else:
            sent.append(one)
            sends = sends or ("=" in one.text and "==" not in one.text)
    if not operands:
        return NOTHING
    fact = _reach(world, call, operands[0], sources_of(sent), sends=sends)
    received = _received(world, [fact])
    output = options.get("-o", "--output")
    if output:
        world.write(output, received, call)
    return received


def run_aria2(world: World, call: Call) -> Value:
    options = split_options(call.args, "odijxskt", frozenset(("--out", "--dir", "--header", "--input-file")))
    sent = sources_of(options.every("--header"))
    facts = [_reach(world, call, one, sent, sends=False) for one in options.operands]
    name, folder = options.get("-o", "--out"), options.get("-d", "--dir")
    for one in options.operands:
        path = posixpath.join(folder.text if folder else "", name.text if name else _base_name(one.text))
        world.write(Value(path), _received(world, facts), call)
    return NOTHING


def run_netcat(world: World, call: Call) -> Value:
    options = split_options(call.args, "ecpswiXxqoIOTV", frozenset(("--exec", "--sh-exec", "--source-port", "--proxy")))
    numbers = options.every("-p", "--source-port")
    if options.has("-l", "--listen"):
        port = next((one.text for one in [*numbers, *reversed(options.operands)] if one.text.isdigit()), "")
        fact = world.fact(Kind.LISTEN, port, call.offset, call.name, call.stdin.sources)
    else:
        if not options.operands:
            return NOTHING
        host = options.operands[0]
        port = options.operands[1].text if len(options.operands) > 1 else ""
        address = f"{host.text}:{port}" if port else host.text
        if options.has("-z"):
            return NOTHING
        fact = world.fact(Kind.CONNECT, address, call.offset, call.name, join_sources(call.stdin.sources, host.sources))
        if call.stdin.sources:
            world.fact(Kind.SEND, address, call.offset, call.name, join_sources(call.stdin.sources, host.sources))
    received = world.output(fact)
    for program in options.every("-e", "-c", "--exec", "--sh-exec"):
        if program.text and not (program.text.isdigit() or call.name == "telnet"):
            world.fact(Kind.EXEC, program.text, call.offset, call.name, (received, *program.sources))
    return Value(f"$({call.name})", (received,), known=False)


_SOCAT = re.compile(r"^(tcp|udp|openssl|ssl|sctp|tcp4|tcp6|udp4|socks4a?|proxy)(?:-connect)?:([^,]+)", re.IGNORECASE)
_SOCAT_LISTEN = re.compile(r"^(?:tcp|udp|openssl|ssl|tcp4|tcp6|udp4)-(?:listen|l|recvfrom|recv):(\d+)", re.IGNORECASE)
_SOCAT_EXEC = re.compile(r"^(?:exec|system|shell):(.+)", re.IGNORECASE | re.DOTALL)


def run_socat(world: World, call: Call) -> Value:
    ends: list[Fact] = []
    commands: list[Value] = []
    for arg in call.args:
        text = arg.text
        if match := _SOCAT_LISTEN.match(text):
            ends.append(world.fact(Kind.LISTEN, match[1], call.offset, call.name))
        elif match := _SOCAT.match(text):
            ends.append(
                world.fact(
                    Kind.CONNECT, match[2], call.offset, call.name, join_sources(call.stdin.sources, arg.sources)
                )
            )
        elif match := _SOCAT_EXEC.match(text):
            commands.append(Value(match[1].partition(",")[0].strip("'\""), arg.sources))
        elif text.lower().startswith(("file:", "open:", "gopen:")):
            ends.append(
                world.fact(Kind.READ, world.resolve(text.partition(":")[2].partition(",")[0]), call.offset, call.name)
            )
    outputs = tuple(world.output(one) for one in ends)
    for command in commands:
        world.fact(Kind.EXEC, command.text, call.offset, call.name, join_sources(outputs, command.sources))
    reads = tuple(one for one in ends if one.kind is Kind.READ)
    for end in ends:
        if end.kind is Kind.CONNECT and reads:
            world.fact(Kind.SEND, end.target, call.offset, call.name, reads)
    return Value("$(socat)", outputs, known=False)


def run_ssh(world: World, call: Call) -> Value:
    options = split_options(call.args, "BbcDEeFIiJLlmOoPpQRSWw")
    if not options.operands:
        return NOTHING
    host, *command = options.operands
    sent = join_sources(call.stdin.sources, sources_of(command))
    fact = world.fact(
        Kind.CONNECT, host.text.rpartition("@")[2], call.offset, call.name, join_sources(sent, host.sources)
    )
    if sent:
        world.fact(Kind.SEND, host.text.rpartition("@")[2], call.offset, call.name, sent)
    return Value("$(ssh)", (world.output(fact),), known=False)


def run_copy_remote(world: World, call: Call) -> Value:
    """`scp`, `rsync`, `rclone copy`: to another machine or from it."""
    options = split_options(
        call.args,
        "cFiJloPSDXe" if call.name == "scp" else "eBTf",
        frozenset(("--rsh", "--exclude", "--include", "--files-from", "--password-file", "--config")),
    )
    operands = options.operands
    if call.name == "rclone":
        operands = operands[1:]
    if len(operands) < 2:
        return NOTHING
    *sources, target = operands
    if address := _remote_address(target.text):
        files = [world.read(one, call) for one in sources if not _remote_address(one.text)]
        world.fact(Kind.SEND, address, call.offset, call.name, join_sources(sources_of(files), target.sources))
    for one in sources:
        if address := _remote_address(one.text):
            fact = world.fact(Kind.FETCH, address, call.offset, call.name, one.sources)
            name = target.text if target.text not in (".", "./") else posixpath.basename(one.text)
            world.write(Value(name), _received(world, [fact]), call)
    return NOTHING


def _remote_address(text: str) -> str:
    if _SCHEME.match(text):
        return text
    match = _REMOTE.match(text)
    return (
        "" if match is None or len(match[1]) < 2 else text.rpartition("@")[2] if "@" in text.partition(":")[0] else text
    )


def run_cloud(world: World, call: Call) -> Value:
    """`aws s3 cp`, `gsutil cp`, `az storage blob upload`, `gcloud storage cp`, `mc cp`."""
    operands = split_options(
        call.args,
        "",
        frozenset(
            (
                "--endpoint-url",
                "--profile",
                "--region",
                "--file",
                "--name",
                "-f",
                "-n",
                "-c",
                "--container-name",
                "--account-name",
            )
        ),
    ).operands
    verbs = ("cp", "mv", "sync", "rsync", "upload", "put", "pipe")
    places = [index for index, one in enumerate(operands) if one.text in verbs]
    if not places:
        return Value(f"$({call.name})", (), known=False)
    rest = operands[places[0] + 1 :]
    if rest and _SCHEME.match(rest[-1].text) and len(rest) > 1:
        files = [
            call.stdin if one.text == "-" else world.read(one, call) for one in rest[:-1] if not _SCHEME.match(one.text)
        ]
        if files:
            world.fact(
                Kind.SEND, rest[-1].text, call.offset, call.name, join_sources(sources_of(files), rest[-1].sources)
            )
            return NOTHING
    for one in rest[:-1]:
        if _SCHEME.match(one.text):
            received = _received(world, [world.fact(Kind.FETCH, one.text, call.offset, call.name, one.sources)])
            if rest[-1].text == "-":
                return received
            world.write(rest[-1], received, call)
    return NOTHING


def run_ftp(world: World, call: Call) -> Value:
    options = split_options(call.args, "ubPio" if call.name != "lftp" else "uepc")
    if not options.operands:
        return NOTHING
    host = options.operands[0]
    files = (
        [world.read(one, call) for one in options.operands[1:]]
        if call.name in ("ftp-upload", "ftpput", "ncftpput")
        else []
    )
    scripts = options.every("-e", "-c") if call.name == "lftp" else []
    puts = [
        Value(match[1])
        for one in scripts
        for match in re.finditer(r"\b(?:put|mirror -R|mput)\s+(?:-\S+\s+)*([^\s;]+)", one.text)
    ]
    puts += [Value(match[1]) for match in re.finditer(r"^\s*(?:put|mput|send)\s+(\S+)", call.stdin.text, re.MULTILINE)]
    files += [world.read(one, call) for one in puts]
    kind = Kind.SEND if files or call.stdin.sources else Kind.CONNECT
    fact = world.fact(
        kind, host.text, call.offset, call.name, join_sources(sources_of(files), call.stdin.sources, host.sources)
    )
    return _received(world, [fact])


def run_dns(world: World, call: Call) -> Value:
    """A name that is looked up is sent to whoever answers for it."""
    names = [one for one in call.args if not one.text.startswith(("+", "-")) and ("." in one.text or one.sources)]
    sent = [one for one in names if one.sources]
    for one in sent:
        world.fact(Kind.SEND, _suffix(one.text), call.offset, call.name, one.sources)
    fetched = [
        world.fact(Kind.FETCH, one.text, call.offset, call.name)
        for one in names
        if not one.sources and not one.text.startswith("@")
    ]
    return Value(f"$({call.name})", tuple(fetched), known=False)


def _suffix(name: str) -> str:
    """The part of a name that is known before it is looked up."""
    parts = re.split(r"\$\([^)]*\)?|\$\{[^}]*\}?|\$\w+", name)
    return parts[-1].lstrip(".") or name


def run_ping(world: World, call: Call) -> Value:
    options = split_options(call.args, "cipstWwIMQ")
    pattern = options.get("-p")
    host = options.operands[-1] if options.operands else NOTHING
    sources = join_sources(host.sources, pattern.sources if pattern else ())
    if sources:
        world.fact(Kind.SEND, _suffix(host.text), call.offset, call.name, sources)
    return Value("$(ping)", (), known=False)


def run_mail(world: World, call: Call) -> Value:
    options = split_options(call.args, "sacbrtfoAS")
    files = [world.read(one, call) for one in options.every("-a", "-A") if one.text]
    sent = join_sources(call.stdin.sources, sources_of(files), sources_of(options.every("-s")))
    to = next((one.text for one in [*options.operands, *options.every("-t")] if one.text), "")
    if to or call.fed:
        world.fact(Kind.SEND, f"mailto:{to}", call.offset, call.name, sent)
    return NOTHING


def run_telnet(world: World, call: Call) -> Value:
    return run_netcat(world, call)


def run_gh(world: World, call: Call) -> Value:
    texts = call.texts
    verb = " ".join(texts[:2])
    if verb in ("gist create", "release upload", "issue create", "issue comment", "pr create", "pr comment"):
        options = split_options(
            call.args[2:],
            "dfbtR",
            frozenset(("--desc", "--filename", "--body", "--body-file", "--title", "--repo", "--notes")),
        )
        files = [world.read(one, call) for one in options.every("--body-file")]
        if verb in ("gist create", "release upload"):
            files += [call.stdin if one.text == "-" else world.read(one, call) for one in options.operands]
        sent = join_sources(sources_of(files), sources_of(call.args), call.stdin.sources)
        target = "https://gist.github.com" if verb == "gist create" else "https://github.com"
        world.fact(Kind.SEND, target, call.offset, "gh " + verb, sent)
    elif texts[:1] == ["auth"] and "token" in texts:
        return Value(
            "$(gh auth token)",
            (world.fact(Kind.READ, "~/.config/gh/hosts.yml", call.offset, "gh auth token"),),
            known=False,
        )
    elif verb == "repo clone" and len(texts) > 2:
        _clone(world, call, Value("https://github.com/" + texts[2]), texts[3:])
    elif texts[:1] == ["api"]:
        sent = join_sources(sources_of(call.args), call.stdin.sources)
        kind = (
            Kind.SEND if any(one in ("-f", "-F", "--input", "--field", "--raw-field") for one in texts) else Kind.FETCH
        )
        fact = world.fact(kind, "https://api.github.com", call.offset, "gh api", sent)
        return _received(world, [fact])
    return Value("$(gh)", (), known=False)


def _clone(world: World, call: Call, address: Value, rest: list[str]) -> None:
    fact = world.fact(Kind.FETCH, address.text, call.offset, call.name + " clone", address.sources)
    folder = next((one for one in rest if not one.startswith("-")), "")
    name = folder or _base_name(address.text).removesuffix(".git")
    if name and "$" not in name:
        world.folders[world.resolve(name)] = (world.output(fact),)


def run_git(world: World, call: Call) -> Value:
    options = split_options(call.args, "Cc", frozenset(("--git-dir", "--work-tree")))
    for one in options.every("-c"):
        _git_setting(world, call, one.text.partition("=")[0], one)
    if not options.operands:
        return Value("$(git)", (), known=False)
    at = next(index for index, one in enumerate(call.args) if one is options.operands[0])
    verb, rest = options.operands[0].text, call.args[at + 1 :]
    operands = split_options(rest, "mbuo", frozenset(("--depth", "--branch", "--message"))).operands
    if verb == "clone" and operands:
        _clone(world, call, operands[0], [one.text for one in operands[1:]])
    elif verb in ("pull", "fetch") and operands and _remote_address(operands[0].text):
        world.fact(Kind.FETCH, operands[0].text, call.offset, "git " + verb, operands[0].sources)
    elif verb == "remote" and len(operands) > 2 and operands[0].text in ("add", "set-url"):
        world.files["git-remote:" + operands[1].text] = operands[2]
    elif verb == "push":
        _git_push(world, call, operands)
    elif verb in ("add", "commit"):
        paths = [world.read(one, call) for one in operands if verb == "add" and re.search(r"[~/]", one.text)]
        before = world.files.get("git-index", NOTHING)
        world.files["git-index"] = Value(
            "", join_sources(before.sources, sources_of(paths), sources_of(rest)), known=False
        )
    elif verb == "config" and operands:
        value = operands[1] if len(operands) > 1 else NOTHING
        _git_setting(world, call, operands[0].text, value)
        if operands[0].text.lower().startswith("credential") or ("--get" in call.texts and "credential" in call.line):
            return Value(
                "$(git config)", (world.fact(Kind.READ, "~/.git-credentials", call.offset, "git config"),), known=False
            )
    elif verb == "credential" and operands and operands[0].text == "fill":
        return Value(
            "$(git credential)",
            (world.fact(Kind.READ, "~/.git-credentials", call.offset, "git credential"),),
            known=False,
        )
    return Value(f"$(git {verb})", (), known=False)


def _git_push(world: World, call: Call, operands: list[Value]) -> None:
    name = operands[0] if operands else Value("origin")
    remote = (
        name if _remote_address(name.text) or "/" in name.text else world.files.get("git-remote:" + name.text, name)
    )
    content = world.files.get("git-index", NOTHING)
    target = remote.text if remote is not name or _remote_address(name.text) else ""
    if target or content.sources:
        world.fact(
            Kind.SEND, target, call.offset, "git push", join_sources(content.sources, remote.sources, name.sources)
        )


def _git_setting(world: World, call: Call, name: str, value: Value) -> None:
    low = name.lower()
    if low in ("core.hookspath", "init.templatedir") and value.text:
        world.fact(Kind.PERSIST, f"git config {name} {value.text}", call.offset, "git config", value.sources)
    elif low in (
        "core.sshcommand",
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "credential.helper",
    ) or low.startswith("alias."):
        text = value.text.partition("=")[2] if "=" in value.text and low in value.text.lower() else value.text
        if low == "core.fsmonitor" or low == "core.sshcommand" or text.startswith("!"):
            world.run_code(Value(text.lstrip("!"), value.sources), "shell", call)
    elif low == "http.sslverify" and value.text.lower().endswith("false"):
        world.fact(Kind.PRIVILEGE, "TLS checks off: " + call.line, call.offset, "git config")


PROGRAMS = {
    "curl": run_curl, "curl.exe": run_curl, "wget": run_wget, "wget2": run_wget, "http": run_httpie, "https": run_httpie,
    "xh": run_httpie, "aria2c": run_aria2, "axel": run_aria2, "nc": run_netcat, "ncat": run_netcat, "netcat": run_netcat,
    "nc.traditional": run_netcat, "nc.openbsd": run_netcat, "pwncat": run_netcat, "telnet": run_telnet, "socat": run_socat,
    "ssh": run_ssh, "sshpass": run_ssh, "scp": run_copy_remote, "rsync": run_copy_remote, "rclone": run_copy_remote, "aws": run_cloud,
    "gsutil": run_cloud, "gcloud": run_cloud, "az": run_cloud, "mc": run_cloud, "s3cmd": run_cloud, "azcopy": run_cloud,
    "ftp": run_ftp, "sftp": run_ftp, "lftp": run_ftp, "tftp": run_ftp, "ftpput": run_ftp, "ncftpput": run_ftp,
    "dig": run_dns, "nslookup": run_dns, "host": run_dns, "drill": run_dns, "kdig": run_dns, "getent": run_dns,
    "ping": run_ping, "ping6": run_ping, "mail": run_mail, "mailx": run_mail, "sendmail": run_mail, "mutt": run_mail,
    "msmtp": run_mail, "swaks": run_mail, "gh": run_gh, "git": run_git,
}  # fmt: skip
