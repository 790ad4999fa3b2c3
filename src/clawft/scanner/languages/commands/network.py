"""Programs that talk to other machines: what they fetch, send and copy."""

import posixpath
import re

from clawft.scanner.facts import Fact, Kind
from clawft.scanner.languages.commands.world import (
    NOTHING,
    CommandCall,
    CommandContext,
    CommandOptions,
    CommandValue,
    base_name,
    is_address,
    join_sources,
    received_from,
    remote_address,
    sources_of,
    split_options,
    tail_of,
    unknown,
)
from clawft.scanner.regex import words

_CURL_LONG = (
    "--data --data-raw --data-binary --data-urlencode --data-ascii --form --form-string --json --header --output"
    " --request --url --url-query --user --upload-file --proxy --user-agent --referer --cookie --cookie-jar --config"
    " --max-time --connect-timeout --retry --retry-delay --retry-max-time --cacert --cert --key --resolve"
    " --output-dir --write-out --range --interface --limit-rate --oauth2-bearer --socks5 --socks5-hostname"
    " --connect-to --dump-header --unix-socket --capath --ciphers --proxy-user --proxy-header --max-redirs"
    " --max-filesize --doh-url --dns-servers --aws-sigv4 --mail-from --mail-rcpt"
)
_WGET_LONG = (
    "--output-document --post-data --post-file --body-data --body-file --header --method --directory-prefix"
    " --input-file --user-agent --user --password --http-user --http-password --output-file --tries --timeout"
    " --load-cookies --referer"
)


def _reach(
    world: CommandContext, call: CommandCall, address: CommandValue, sent: tuple[Fact, ...], *, sends: bool
) -> Fact:
    kind = Kind.SEND if sends else Kind.FETCH
    return world.note(call, kind, address.text, join_sources(sent, address.sources))


_CURL_HEADERS = words("-H --header -u --user -b --cookie -A --user-agent -e --referer --oauth2-bearer --url-query")


def run_curl(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "AbcCdDeEFHKmoPQrtTuUwxXyYz", _CURL_LONG)
    sent: list[CommandValue] = []
    sends = False
    for name, value in options.pairs:
        if name in _CURL_DATA:
            sends = True
            sent.append(_curl_data(world, call, name, value))
        elif name in ("-T", "--upload-file"):
            sends = True
            sent.append(world.read(value, call) if value.text not in ("-", ".") else call.stdin)
        elif name in _CURL_HEADERS:
            sent.append(_header(world, call, name, value))
        elif name in ("-k", "--insecure"):
            continue
    method = options.get("-X", "--request")
    if options.has("-G", "--get"):
        sends = False
    elif method and method.text.upper() in ("POST", "PUT", "PATCH"):
        sends = True
    addresses = [*options.every("--url"), *options.operands]
    facts = [_reach(world, call, address, sources_of(sent), sends=sends) for address in addresses]
    if not facts and (options.has("-K", "--config") or call.fed):
        facts = [_reach(world, call, unknown("", call.stdin.sources), sources_of(sent), sends=sends)]
    received = received_from(world, facts)
    return _store_curl(world, call, options, addresses, received)


_CURL_DATA = words("-d --data --data-raw --data-binary --data-urlencode --data-ascii -F --form --form-string --json")


def _curl_data(world: CommandContext, call: CommandCall, name: str, value: CommandValue) -> CommandValue:
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
    file = value.with_text(text[at + 1 :].partition(";")[0].strip('"'))
    return call.stdin if file.text == "-" else world.read(file, call)


def _header(world: CommandContext, call: CommandCall, name: str, value: CommandValue) -> CommandValue:
    if value.text.startswith("@") and name in ("-H", "--header"):
        return world.read(tail_of(value, 1), call)
    return value


def _store_curl(
    world: CommandContext,
    call: CommandCall,
    options: CommandOptions,
    addresses: list[CommandValue],
    received: CommandValue,
) -> CommandValue:
    folder = options.get("--output-dir")
    outputs = options.every("-o", "--output")
    if options.has("-O", "--remote-name", "--remote-name-all") or (options.has("-J") and not outputs):
        outputs = [*outputs, *[CommandValue(base_name(address.text)) for address in addresses]]
    outputs = [output for output in outputs if output.text not in ("-", "/dev/stdout")]
    for output in outputs:
        where = CommandValue(posixpath.join(folder.text, output.text)) if folder else output
        world.write(where, received, call)
    return NOTHING if outputs else received


def run_wget(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "OPioaUtTeQ", _WGET_LONG)
    data = [*options.every("--post-data", "--body-data")]
    data += [world.read(path, call) for path in options.every("--post-file", "--body-file")]
    headers = options.every(
        "--header", "--user", "--password", "--http-user", "--http-password", "--user-agent", "-U", "--referer"
    )
    sent = sources_of([*data, *headers])
    method = options.get("--method")
    sends = bool(data) or bool(method and method.text.upper() in ("POST", "PUT", "PATCH"))
    facts = [_reach(world, call, operand, sent, sends=sends) for operand in options.operands]
    if not facts and options.has("-i", "--input-file"):
        facts = [_reach(world, call, CommandValue("", known=False), sent, sends=sends)]
    received = received_from(world, facts)
    output = options.get("-O", "--output-document")
    if output and output.text in ("-", "/dev/stdout"):
        return received
    prefix = options.get("-P", "--directory-prefix")
    for operand in options.operands:
        name = output.text if output else posixpath.join(prefix.text if prefix else "", base_name(operand.text))
        world.write(CommandValue(name), received, call)
    return NOTHING


def run_httpie(world: CommandContext, call: CommandCall) -> CommandValue:
    """`http`, `https`, `xh`: METHOD URL name=value name@file Header:value."""
    options = split_options(call.args, "oapfs", "--output --auth --session --verify --raw")
    operands = [operand for operand in options.operands if operand.text not in ("GET", "HEAD", "DELETE")]
    sends = any(operand.text in ("POST", "PUT", "PATCH") for operand in operands) or call.fed or options.has("--raw")
    operands = [operand for operand in operands if operand.text not in ("POST", "PUT", "PATCH")]
    sent = [*options.every("-a", "--auth", "--raw"), *([call.stdin] if call.fed else [])]
    for operand in operands[1:]:
        name, mark, rest = operand.text.partition("@")
        if mark and "=" not in name and ":" not in name:
            sent.append(world.read(CommandValue(rest, operand.sources), call))
            sends = True
        else:
            sent.append(operand)
            sends = sends or ("=" in operand.text and "==" not in operand.text)
    if not operands:
        return NOTHING
    fact = _reach(world, call, operands[0], sources_of(sent), sends=sends)
    received = received_from(world, [fact])
    output = options.get("-o", "--output")
    if output:
        world.write(output, received, call)
    return received


def run_aria2(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "odijxskt", "--out --dir --header --input-file")
    sent = sources_of(options.every("--header"))
    facts = [_reach(world, call, operand, sent, sends=False) for operand in options.operands]
    name, folder = options.get("-o", "--out"), options.get("-d", "--dir")
    for operand in options.operands:
        path = posixpath.join(folder.text if folder else "", name.text if name else base_name(operand.text))
        world.write(CommandValue(path), received_from(world, facts), call)
    return NOTHING


def run_netcat(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "ecpswiXxqoIOTV", "--exec --sh-exec --source-port --proxy")
    numbers = options.every("-p", "--source-port")
    if options.has("-l", "--listen"):
        port = next((number.text for number in [*numbers, *reversed(options.operands)] if number.text.isdigit()), "")
        fact = world.note(call, Kind.LISTEN, port, call.stdin.sources)
    else:
        if not options.operands:
            return NOTHING
        host = options.operands[0]
        port = options.operands[1].text if len(options.operands) > 1 else ""
        address = f"{host.text}:{port}" if port else host.text
        if options.has("-z"):
            return NOTHING
        fact = world.note(call, Kind.CONNECT, address, join_sources(call.stdin.sources, host.sources))
        if call.stdin.sources:
            world.note(call, Kind.SEND, address, join_sources(call.stdin.sources, host.sources))
    received = world.output(fact)
    for program in options.every("-e", "-c", "--exec", "--sh-exec"):
        if program.text and not (program.text.isdigit() or call.name == "telnet"):
            # Only an interpreter does what comes over the wire.
            executed = (received,) if _INTERPRETER.search(program.text) else ()
            world.note(call, Kind.EXEC, program.text, join_sources(executed, program.sources))
    return call.output((received,))


_INTERPRETER = re.compile(
    r"(?:^|[\\/\s])(?:(?:ba|z|da|k|a|c|tc|fi)?sh|cmd|powershell|pwsh|python|perl|ruby|node|php)(?:[\d.]*|\.exe)(?:\s|$)"
)
_SOCAT = re.compile(r"^(tcp|udp|openssl|ssl|sctp|tcp4|tcp6|udp4|socks4a?|proxy)(?:-connect)?:([^,]+)", re.IGNORECASE)
_SOCAT_LISTEN = re.compile(r"^(?:tcp|udp|openssl|ssl|tcp4|tcp6|udp4)-(?:listen|l|recvfrom|recv):(\d+)", re.IGNORECASE)
_SOCAT_EXEC = re.compile(r"^(?:exec|system|shell):(.+)", re.IGNORECASE | re.DOTALL)


def run_socat(world: CommandContext, call: CommandCall) -> CommandValue:
    ends: list[Fact] = []
    commands: list[CommandValue] = []
    for arg in call.args:
        text = arg.text
        if match := _SOCAT_LISTEN.match(text):
            ends.append(world.note(call, Kind.LISTEN, match[1]))
        elif match := _SOCAT.match(text):
            ends.append(world.note(call, Kind.CONNECT, match[2], join_sources(call.stdin.sources, arg.sources)))
        elif match := _SOCAT_EXEC.match(text):
            commands.append(CommandValue(match[1].partition(",")[0].strip("'\""), arg.sources))
        elif text.lower().startswith(("file:", "open:", "gopen:")):
            ends.append(world.note(call, Kind.READ, world.resolve(text.partition(":")[2].partition(",")[0])))
    outputs = tuple(world.output(end) for end in ends)
    for command in commands:
        world.note(call, Kind.EXEC, command.text, join_sources(outputs, command.sources))
    reads = tuple(end for end in ends if end.kind is Kind.READ)
    for end in ends:
        if end.kind is Kind.CONNECT and reads:
            world.note(call, Kind.SEND, end.target, reads)
    return unknown("$(socat)", outputs)


def run_ssh(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "BbcDEeFIiJLlmOoPpQRSWw")
    if not options.operands:
        return NOTHING
    host, *command = options.operands
    for way in options.every("-R"):  # a port over there leads to one in here
        inner = way.text.rpartition(":")[2] if way.text.count(":") > 1 else way.text
        world.note(call, Kind.LISTEN, inner, host.sources, via=f"ssh -R {host.text.rpartition('@')[2]}")
    sent = join_sources(call.stdin.sources, sources_of(command))
    fact = world.note(call, Kind.CONNECT, host.text.rpartition("@")[2], join_sources(sent, host.sources))
    if sent:
        world.note(call, Kind.SEND, host.text.rpartition("@")[2], sent)
    return unknown("$(ssh)", (world.output(fact),))


def run_message(world: CommandContext, call: CommandCall) -> CommandValue:
    """`mosquitto_pub -h HOST -m TEXT`, `logger -n HOST TEXT`, `redis-cli -h HOST`: a message to a named host."""
    host_option = "-n" if call.name == "logger" else "-h"
    options = split_options(call.args, "hmftpuPinqL" if call.name != "logger" else "nPpftiu", "--server --host --port")
    host = options.get(host_option, "--server", "--host")
    if host is None or not host.text:
        return NOTHING
    files = [world.read(path, call) for path in options.every("-f", "--file") if path.text]
    content = [*[value for _, value in options.pairs], *options.operands, *files, call.stdin]
    world.note(call, Kind.SEND, host.text, sources_of(content))
    return NOTHING


NETWORK_PROGRAMS = {
    "curl": run_curl, "curl.exe": run_curl, "wget": run_wget, "wget2": run_wget, "http": run_httpie,
    "https": run_httpie, "xh": run_httpie, "aria2c": run_aria2, "axel": run_aria2, "nc": run_netcat, "ncat": run_netcat,
    "netcat": run_netcat, "nc.traditional": run_netcat, "nc.openbsd": run_netcat, "pwncat": run_netcat,
    "telnet": run_netcat, "socat": run_socat, "ssh": run_ssh, "sshpass": run_ssh, "autossh": run_ssh,
    "mosquitto_pub": run_message, "logger": run_message, "mqttx": run_message, "redis-cli": run_message,
}  # fmt: skip


def run_copy_remote(world: CommandContext, call: CommandCall) -> CommandValue:
    """`scp`, `rsync`, `rclone copy`: to another machine or from it."""
    options = split_options(
        call.args,
        "cFiJloPSDXe" if call.name == "scp" else "eBTf",
        "--rsh --exclude --include --files-from --password-file --config",
    )
    operands = options.operands
    if call.name == "rclone":
        operands = operands[1:]
    if len(operands) < 2:
        return NOTHING
    *sources, target = operands
    if address := remote_address(target.text):
        files = [world.read(source, call) for source in sources if not remote_address(source.text)]
        world.note(call, Kind.SEND, address, join_sources(sources_of(files), target.sources))
    for source in sources:
        if address := remote_address(source.text):
            fact = world.note(call, Kind.FETCH, address, source.sources)
            name = target.text if target.text not in (".", "./") else posixpath.basename(source.text)
            world.write(CommandValue(name), received_from(world, [fact]), call)
    return NOTHING


def run_cloud(world: CommandContext, call: CommandCall) -> CommandValue:
    """`aws s3 cp`, `gsutil cp`, `az storage blob upload`, `gcloud storage cp`, `mc cp`."""
    operands = split_options(
        call.args, "", "--endpoint-url --profile --region --file --name -f -n -c --container-name --account-name"
    ).operands
    verbs = ("cp", "mv", "sync", "rsync", "upload", "put", "pipe")
    places = [index for index, operand in enumerate(operands) if operand.text in verbs]
    if not places:
        return call.output(())
    rest = operands[places[0] + 1 :]
    if rest and is_address(rest[-1].text) and len(rest) > 1:
        files = [
            call.stdin if source.text == "-" else world.read(source, call)
            for source in rest[:-1]
            if not is_address(source.text)
        ]
        if files:
            world.note(call, Kind.SEND, rest[-1].text, join_sources(sources_of(files), rest[-1].sources))
            return NOTHING
    for source in rest[:-1]:
        if is_address(source.text):
            received = received_from(world, [world.note(call, Kind.FETCH, source.text, source.sources)])
            if rest[-1].text == "-":
                return received
            world.write(rest[-1], received, call)
    return NOTHING


def run_ftp(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "ubPio" if call.name != "lftp" else "uepc")
    if not options.operands:
        return NOTHING
    host = options.operands[0]
    files = (
        [world.read(operand, call) for operand in options.operands[1:]]
        if call.name in ("ftp-upload", "ftpput", "ncftpput")
        else []
    )
    scripts = options.every("-e", "-c") if call.name == "lftp" else []
    puts = [
        CommandValue(match[1])
        for script in scripts
        for match in re.finditer(r"\b(?:put|mirror -R|mput)\s+(?:-\S+\s+)*([^\s;]+)", script.text)
    ]
    puts += [
        CommandValue(match[1]) for match in re.finditer(r"^\s*(?:put|mput|send)\s+(\S+)", call.stdin.text, re.MULTILINE)
    ]
    files += [world.read(put, call) for put in puts]
    kind = Kind.SEND if files or call.stdin.sources else Kind.CONNECT
    fact = world.note(call, kind, host.text, join_sources(sources_of(files), call.stdin.sources, host.sources))
    return received_from(world, [fact])


def run_dns(world: CommandContext, call: CommandCall) -> CommandValue:
    """A name that is looked up is sent to the server of its domain."""
    names = [
        argument
        for argument in call.args
        if not argument.text.startswith(("+", "-")) and ("." in argument.text or argument.sources)
    ]
    sent = [name for name in names if name.sources]
    for source in sent:
        world.note(call, Kind.SEND, _suffix(source.text), source.sources)
    fetched = [
        world.note(call, Kind.FETCH, name.text) for name in names if not name.sources and not name.text.startswith("@")
    ]
    return call.output(tuple(fetched))


def _suffix(name: str) -> str:
    """The part of a name that is known before it is looked up."""
    parts = re.split(r"\$\([^)]*\)?|\$\{[^}]*\}?|\$\w+", name)
    return parts[-1].lstrip(".") or name


def run_ping(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "cipstWwIMQ")
    pattern = options.get("-p")
    host = options.operands[-1] if options.operands else NOTHING
    sources = join_sources(host.sources, pattern.sources if pattern else ())
    if sources:
        world.note(call, Kind.SEND, _suffix(host.text), sources)
    return CommandValue("$(ping)", (), known=False)


def run_mail(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "sacbrtfoAS")
    files = [world.read(attachment, call) for attachment in options.every("-a", "-A") if attachment.text]
    sent = join_sources(call.stdin.sources, sources_of(files), sources_of(options.every("-s")))
    to = next((operand.text for operand in [*options.operands, *options.every("-t")] if operand.text), "")
    if to or call.fed:
        world.note(call, Kind.SEND, f"mailto:{to}", sent)
    return NOTHING


def run_messenger(world: CommandContext, call: CommandCall) -> CommandValue:
    """`telegram-send`, `ntfy publish`: a message, or a file after `--file`."""
    files = [
        world.read(argument, call)
        for argument in call.args
        if "/" in argument.text and not argument.text.startswith(("-", "http"))
    ]
    target = "https://api.telegram.org/bot" if "telegram" in call.name else "https://ntfy.sh"
    world.note(call, Kind.SEND, target, join_sources(sources_of([*files, *call.args]), call.stdin.sources))
    return NOTHING


TRANSFER_PROGRAMS = {
    "telegram-send": run_messenger, "ntfy": run_messenger, "scp": run_copy_remote, "rsync": run_copy_remote,
    "rclone": run_copy_remote, "aws": run_cloud, "gsutil": run_cloud, "gcloud": run_cloud, "az": run_cloud,
    "mc": run_cloud, "s3cmd": run_cloud, "azcopy": run_cloud, "ftp": run_ftp, "sftp": run_ftp, "lftp": run_ftp,
    "tftp": run_ftp, "ftpput": run_ftp, "ncftpput": run_ftp, "dig": run_dns, "nslookup": run_dns, "host": run_dns,
    "drill": run_dns, "kdig": run_dns, "getent": run_dns, "ping": run_ping, "ping6": run_ping, "mail": run_mail,
    "mailx": run_mail, "sendmail": run_mail, "mutt": run_mail, "msmtp": run_mail, "swaks": run_mail,
}  # fmt: skip
