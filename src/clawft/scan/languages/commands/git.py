"""`git` and `gh`: what they fetch, push, and run on their own."""

import re

from clawft.scan.facts import Kind
from clawft.scan.languages.commands.addresses import base_name, received_from, remote_address
from clawft.scan.languages.commands.options import sources_of, split_options
from clawft.scan.languages.commands.world import NOTHING, Call, Value, World, join_sources

__all__ = ["PROGRAMS"]


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
        return received_from(world, [fact])
    return Value("$(gh)", (), known=False)


def _clone(world: World, call: Call, address: Value, rest: list[str]) -> None:
    fact = world.fact(Kind.FETCH, address.text, call.offset, call.name + " clone", address.sources)
    folder = next((one for one in rest if not one.startswith("-")), "")
    name = folder or base_name(address.text).removesuffix(".git")
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
    elif verb in ("pull", "fetch") and operands and remote_address(operands[0].text):
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
    remote = name if remote_address(name.text) or "/" in name.text else world.files.get("git-remote:" + name.text, name)
    content = world.files.get("git-index", NOTHING)
    target = remote.text if remote is not name or remote_address(name.text) else ""
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
    "gh": run_gh, "git": run_git,
}  # fmt: skip
