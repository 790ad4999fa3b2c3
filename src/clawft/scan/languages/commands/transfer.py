"""Programs that carry files and messages to other machines or from them."""

import posixpath
import re

from clawft.scan.facts import Kind
from clawft.scan.languages.commands.addresses import is_address, received_from, remote_address
from clawft.scan.languages.commands.options import sources_of, split_options
from clawft.scan.languages.commands.world import NOTHING, Call, Value, World, join_sources

__all__ = ["PROGRAMS"]


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
    if address := remote_address(target.text):
        files = [world.read(one, call) for one in sources if not remote_address(one.text)]
        world.fact(Kind.SEND, address, call.offset, call.name, join_sources(sources_of(files), target.sources))
    for one in sources:
        if address := remote_address(one.text):
            fact = world.fact(Kind.FETCH, address, call.offset, call.name, one.sources)
            name = target.text if target.text not in (".", "./") else posixpath.basename(one.text)
            world.write(Value(name), received_from(world, [fact]), call)
    return NOTHING


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
    if rest and is_address(rest[-1].text) and len(rest) > 1:
        files = [
            call.stdin if one.text == "-" else world.read(one, call) for one in rest[:-1] if not is_address(one.text)
        ]
        if files:
            world.fact(
                Kind.SEND, rest[-1].text, call.offset, call.name, join_sources(sources_of(files), rest[-1].sources)
            )
            return NOTHING
    for one in rest[:-1]:
        if is_address(one.text):
            received = received_from(world, [world.fact(Kind.FETCH, one.text, call.offset, call.name, one.sources)])
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
    return received_from(world, [fact])


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


def run_messenger(world: World, call: Call) -> Value:
    """`telegram-send`, `ntfy publish`: a message, or a file after `--file`."""
    files = [world.read(one, call) for one in call.args if "/" in one.text and not one.text.startswith(("-", "http"))]
    target = "https://api.telegram.org/bot" if "telegram" in call.name else "https://ntfy.sh"
    world.fact(
        Kind.SEND, target, call.offset, call.name, join_sources(sources_of([*files, *call.args]), call.stdin.sources)
    )
    return NOTHING


PROGRAMS = {
    "telegram-send": run_messenger, "ntfy": run_messenger,
    "scp": run_copy_remote, "rsync": run_copy_remote, "rclone": run_copy_remote, "aws": run_cloud,
    "gsutil": run_cloud, "gcloud": run_cloud, "az": run_cloud, "mc": run_cloud, "s3cmd": run_cloud,
    "azcopy": run_cloud, "ftp": run_ftp, "sftp": run_ftp, "lftp": run_ftp, "tftp": run_ftp, "ftpput": run_ftp,
    "ncftpput": run_ftp, "dig": run_dns, "nslookup": run_dns, "host": run_dns, "drill": run_dns, "kdig": run_dns,
    "getent": run_dns, "ping": run_ping, "ping6": run_ping, "mail": run_mail, "mailx": run_mail, "sendmail": run_mail,
    "mutt": run_mail, "msmtp": run_mail, "swaks": run_mail,
}  # fmt: skip
