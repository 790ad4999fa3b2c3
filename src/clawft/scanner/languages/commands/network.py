"""Programs that talk to other machines: what they fetch, from where, and what they send."""

import posixpath
import re

from clawft.scan.facts import Fact, Kind
from clawft.scan.languages.commands.addresses import base_name, received_from
from clawft.scan.languages.commands.options import Options, sources_of, split_options, tail_of
from clawft.scan.languages.commands.world import NOTHING, Call, Value, World, join_sources

__all__ = ["PROGRAMS"]

_CURL_LONG = frozenset(
    [
        "--data",
        "--data-raw",
        "--data-binary",
        "--data-urlencode",
        "--data-ascii",
        "--form",
        "--form-string",
        "--json",
        "--header",
        "--output",
        "--request",
        "--url",
        "--url-query",
        "--user",
        "--upload-file",
        "--proxy",
        "--user-agent",
        "--referer",
        "--cookie",
        "--cookie-jar",
        "--config",
        "--max-time",
        "--connect-timeout",
        "--retry",
        "--retry-delay",
        "--retry-max-time",
        "--cacert",
        "--cert",
        "--key",
        "--resolve",
        "--output-dir",
        "--write-out",
        "--range",
        "--interface",
        "--limit-rate",
        "--oauth2-bearer",
        "--socks5",
        "--socks5-hostname",
        "--connect-to",
        "--dump-header",
        "--unix-socket",
        "--capath",
        "--ciphers",
        "--proxy-user",
        "--proxy-header",
        "--max-redirs",
        "--max-filesize",
        "--doh-url",
        "--dns-servers",
        "--aws-sigv4",
        "--mail-from",
        "--mail-rcpt",
    ]
)
_WGET_LONG = frozenset(
    [
        "--output-document",
        "--post-data",
        "--post-file",
        "--body-data",
        "--body-file",
        "--header",
        "--method",
        "--directory-prefix",
        "--input-file",
        "--user-agent",
        "--user",
        "--password",
        "--http-user",
        "--http-password",
        "--output-file",
        "--tries",
        "--timeout",
        "--load-cookies",
        "--referer",
    ]
)


def _reach(world: World, call: Call, address: Value, sent: tuple[Fact, ...], *, sends: bool) -> Fact:
    kind = Kind.SEND if sends else Kind.FETCH
    return world.fact(kind, address.text, call.offset, call.name, join_sources(sent, address.sources))


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
    received = received_from(world, facts)
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
        outputs = [*outputs, *[Value(base_name(one.text)) for one in addresses]]
    outputs = [one for one in outputs if one.text not in ("-", "/dev/stdout")]
    for output in outputs:
        where = Value(posixpath.join(folder.text, output.text)) if folder else output
        world.write(where, received, call)
    return NOTHING if outputs else received


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
    received = received_from(world, facts)
    output = options.get("-O", "--output-document")
    if output and output.text in ("-", "/dev/stdout"):
        return received
    prefix = options.get("-P", "--directory-prefix")
    for one in options.operands:
        name = output.text if output else posixpath.join(prefix.text if prefix else "", base_name(one.text))
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
    received = received_from(world, [fact])
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
        path = posixpath.join(folder.text if folder else "", name.text if name else base_name(one.text))
        world.write(Value(path), received_from(world, facts), call)
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
            # Only an interpreter does what comes over the wire.
            heard = (received,) if _INTERPRETER.search(program.text) else ()
            world.fact(Kind.EXEC, program.text, call.offset, call.name, join_sources(heard, program.sources))
    return Value(f"$({call.name})", (received,), known=False)


_INTERPRETER = re.compile(
    r"(?:^|[\\/\s])(?:(?:ba|z|da|k|a|c|tc|fi)?sh|cmd|powershell|pwsh|python|perl|ruby|node|php)(?:[\d.]*|\.exe)(?:\s|$)"
)
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
    for way in options.every("-R"):  # a port over there leads to one in here
        inner = way.text.rpartition(":")[2] if way.text.count(":") > 1 else way.text
        world.fact(Kind.LISTEN, inner, call.offset, f"ssh -R {host.text.rpartition('@')[2]}", host.sources)
    sent = join_sources(call.stdin.sources, sources_of(command))
    fact = world.fact(
        Kind.CONNECT, host.text.rpartition("@")[2], call.offset, call.name, join_sources(sent, host.sources)
    )
    if sent:
        world.fact(Kind.SEND, host.text.rpartition("@")[2], call.offset, call.name, sent)
    return Value("$(ssh)", (world.output(fact),), known=False)


def run_message(world: World, call: Call) -> Value:
    """`mosquitto_pub -h HOST -m TEXT`, `logger -n HOST TEXT`, `redis-cli -h HOST`: a message to a named host."""
    host_option = "-n" if call.name == "logger" else "-h"
    options = split_options(
        call.args, "hmftpuPinqL" if call.name != "logger" else "nPpftiu", frozenset(("--server", "--host", "--port"))
    )
    host = options.get(host_option, "--server", "--host")
    if host is None or not host.text:
        return NOTHING
    files = [world.read(one, call) for one in options.every("-f", "--file") if one.text]
    given = [*[value for _, value in options.pairs], *options.operands, *files, call.stdin]
    world.fact(Kind.SEND, host.text, call.offset, call.name, sources_of(given))
    return NOTHING


def run_telnet(world: World, call: Call) -> Value:
    return run_netcat(world, call)


PROGRAMS = {
    "curl": run_curl, "curl.exe": run_curl, "wget": run_wget, "wget2": run_wget, "http": run_httpie,
    "https": run_httpie, "xh": run_httpie, "aria2c": run_aria2, "axel": run_aria2, "nc": run_netcat,
    "ncat": run_netcat, "netcat": run_netcat, "nc.traditional": run_netcat, "nc.openbsd": run_netcat,
    "pwncat": run_netcat, "telnet": run_telnet, "socat": run_socat, "ssh": run_ssh, "sshpass": run_ssh,
    "autossh": run_ssh, "mosquitto_pub": run_message, "logger": run_message, "mqttx": run_message,
    "redis-cli": run_message,
}  # fmt: skip
