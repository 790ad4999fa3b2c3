"""Package managers and git: what they install, fetch and push, and from where."""

import re

from clawft.scanner.facts import Fact, Kind
from clawft.scanner.languages.commands.world import (
    NOTHING,
    CommandCall,
    CommandContext,
    CommandValue,
    base_name,
    join_sources,
    received_from,
    remote_address,
    sources_of,
    split_options,
    unknown,
)


def run_gh(world: CommandContext, call: CommandCall) -> CommandValue:
    texts = call.texts
    verb = " ".join(texts[:2])
    if verb in ("gist create", "release upload", "issue create", "issue comment", "pr create", "pr comment"):
        options = split_options(call.args[2:], "dfbtR", "--desc --filename --body --body-file --title --repo --notes")
        files = [world.read(path, call) for path in options.every("--body-file")]
        if verb in ("gist create", "release upload"):
            files += [call.stdin if operand.text == "-" else world.read(operand, call) for operand in options.operands]
        sent = join_sources(sources_of(files), sources_of(call.args), call.stdin.sources)
        target = "https://gist.github.com" if verb == "gist create" else "https://github.com"
        world.note(call, Kind.SEND, target, sent, via="gh " + verb)
    elif texts[:1] == ["auth"] and "token" in texts:
        return unknown(
            "$(gh auth token)", (world.note(call, Kind.READ, "~/.config/gh/hosts.yml", via="gh auth token"),)
        )
    elif verb == "repo clone" and len(texts) > 2:
        _clone(world, call, CommandValue("https://github.com/" + texts[2]), texts[3:])
    elif texts[:1] == ["api"]:
        sent = join_sources(sources_of(call.args), call.stdin.sources)
        kind = (
            Kind.SEND
            if any(text in ("-f", "-F", "--input", "--field", "--raw-field") for text in texts)
            else Kind.FETCH
        )
        fact = world.note(call, kind, "https://api.github.com", sent, via="gh api")
        return received_from(world, [fact])
    return CommandValue("$(gh)", (), known=False)


def _clone(world: CommandContext, call: CommandCall, address: CommandValue, rest: list[str]) -> None:
    fact = world.note(call, Kind.FETCH, address.text, address.sources, via=call.name + " clone")
    folder = next((argument for argument in rest if not argument.startswith("-")), "")
    name = folder or base_name(address.text).removesuffix(".git")
    if name and "$" not in name:
        world.folders[world.resolve(name)] = (world.output(fact),)


def run_git(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "Cc", "--git-dir --work-tree")
    for setting in options.every("-c"):
        _git_setting(world, call, setting.text.partition("=")[0], setting)
    if not options.operands:
        return CommandValue("$(git)", (), known=False)
    at = next(index for index, argument in enumerate(call.args) if argument is options.operands[0])
    verb, rest = options.operands[0].text, call.args[at + 1 :]
    operands = split_options(rest, "mbuo", "--depth --branch --message").operands
    if verb == "clone" and operands:
        _clone(world, call, operands[0], [operand.text for operand in operands[1:]])
    elif verb in ("pull", "fetch") and operands and remote_address(operands[0].text):
        world.note(call, Kind.FETCH, operands[0].text, operands[0].sources, via="git " + verb)
    elif verb == "remote" and len(operands) > 2 and operands[0].text in ("add", "set-url"):
        world.files["git-remote:" + operands[1].text] = operands[2]
    elif verb == "push":
        _git_push(world, call, operands)
    elif verb in ("add", "commit"):
        paths = [
            world.read(operand, call) for operand in operands if verb == "add" and re.search(r"[~/]", operand.text)
        ]
        before = world.files.get("git-index", NOTHING)
        world.files["git-index"] = unknown("", join_sources(before.sources, sources_of(paths), sources_of(rest)))
    elif verb == "config" and operands:
        value = operands[1] if len(operands) > 1 else NOTHING
        _git_setting(world, call, operands[0].text, value)
        if operands[0].text.lower().startswith("credential") or ("--get" in call.texts and "credential" in call.line):
            return unknown("$(git config)", (world.note(call, Kind.READ, "~/.git-credentials", via="git config"),))
    elif verb == "credential" and operands and operands[0].text == "fill":
        return unknown("$(git credential)", (world.note(call, Kind.READ, "~/.git-credentials", via="git credential"),))
    return CommandValue(f"$(git {verb})", (), known=False)


def _git_push(world: CommandContext, call: CommandCall, operands: list[CommandValue]) -> None:
    name = operands[0] if operands else CommandValue("origin")
    remote = name if remote_address(name.text) or "/" in name.text else world.files.get("git-remote:" + name.text, name)
    content = world.files.get("git-index", NOTHING)
    target = remote.text if remote is not name or remote_address(name.text) else ""
    if target or content.sources:
        world.note(call, Kind.SEND, target, join_sources(content.sources, remote.sources, name.sources), via="git push")


def _git_setting(world: CommandContext, call: CommandCall, name: str, value: CommandValue) -> None:
    low = name.lower()
    if low in ("core.hookspath", "init.templatedir") and value.text:
        world.note(call, Kind.PERSIST, f"git config {name} {value.text}", value.sources, via="git config")
    elif low in (
        "core.sshcommand",
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "credential.helper",
    ) or low.startswith("alias."):
        text = value.text.partition("=")[2] if "=" in value.text and low in value.text.lower() else value.text
        if low == "core.fsmonitor" or low == "core.sshcommand" or text.startswith("!"):
            world.run_code(CommandValue(text.lstrip("!"), value.sources), "shell", call)
    elif low == "http.sslverify" and value.text.lower().endswith("false"):
        world.note(call, Kind.PRIVILEGE, "TLS checks off: " + call.line, via="git config")


GIT_PROGRAMS = {
    "gh": run_gh, "git": run_git,
}  # fmt: skip


_INSTALLS = {
    "pip": ("install", "download"), "pipx": ("install", "run", "inject"), "npm": ("install", "i", "add", "ci", "exec",
    "create", "init"),
    "pnpm": ("install", "i", "add", "dlx"), "yarn": ("add", "dlx", "global", "create"), "bun": ("add", "install", "i"),
    "brew": ("install", "tap", "reinstall"), "apt": ("install",), "apt-get": ("install",), "aptitude": ("install",),
    "yum": ("install",),
    "dnf": ("install",), "zypper": ("install", "in"), "apk": ("add",), "pacman": ("-S", "-Sy", "-Syu", "-U"),
    "gem": ("install",), "cargo": ("install", "add"),
    "go": ("install", "get", "run"), "snap": ("install",), "flatpak": ("install",), "conda": ("install",),
    "mamba": ("install",),
    "port": ("install",), "choco": ("install",), "winget": ("install",), "scoop": ("install",),
    "composer": ("require", "global"), "luarocks": ("install",),
    "cpan": ("",), "cpanm": ("",), "nix-env": ("-i", "-iA"), "poetry": ("add",), "helm": ("install", "repo"),
    "code": ("--install-extension",),
    "clawhub": ("install",), "mix": ("archive.install",), "dotnet": ("tool",), "easy_install": ("",), "npx": ("",),
    "uvx": ("",), "bunx": ("",), "pnpx": ("",),
}  # fmt: skip
_PACKAGE_FILE = re.compile(r"\.(whl|tgz|gz|zip|deb|rpm|gem|crate|pkg|bz2|xz)$")
_ONE_SHOT = frozenset(("npx", "uvx", "bunx", "pnpx"))
_INDEX = [
    "-i", "--index-url", "--extra-index-url", "--registry", "--index", "--default-index", "--source", "-s",
    "--find-links", "-f", "--repository", "--channel",
]  # fmt: skip
_LONG = " ".join(
    (
        *_INDEX,
        "--package -p --from --with --python --prefix --target --requirement --constraint --git --branch --tag",
        "--version --root --path --proxy --trusted-host --cert --user-install --bindir",
    )
)


def run_package_installer(world: CommandContext, call: CommandCall) -> CommandValue:
    name = re.sub(r"(?<=pip)3(\.\d+)?$|\.exe$", "", call.name)
    args = call.args
    if name == "uv":
        name, args = _uv(call)
        if not name:
            return NOTHING
    verbs = _INSTALLS.get(name, ())
    verb = ""
    if verbs != ("",):
        at = next((index for index, argument in enumerate(args) if argument.text in verbs), -1)
        if at < 0 or (at > 3 and name not in ("apt", "apt-get", "yum", "dnf")):
            return _other_verbs(world, call, name)
        verb, before = args[at].text, args[:at]
        args = [*args[at + 1 :], *[word for word in before if word.text.startswith("-")]]
    _install(world, call, name, verb, args)
    return call.output(())


def _uv(call: CommandCall) -> tuple[str, list[CommandValue]]:
    texts = call.texts
    if texts[:1] == ["pip"]:
        return "pip", call.args[1:]
    if texts[:1] == ["add"]:
        return "pip", [CommandValue("install"), *call.args[1:]]
    if texts[:2] in (["tool", "run"], ["tool", "install"]):
        return "uvx", call.args[2:]
    return "", []


def _other_verbs(world: CommandContext, call: CommandCall, name: str) -> CommandValue:
    texts = call.texts
    if (
        name in ("npm", "pip", "yarn")
        and texts[:1] == ["config"]
        and re.search(r"registry|index-url|strict-ssl", call.line)
    ):
        world.note(call, Kind.INSTALL, f"{name}:*@{texts[-1].partition('=')[2] or texts[-1]}", via=call.line)
    elif name in ("npm", "yarn", "pnpm", "cargo", "go", "bun", "poetry", "composer"):
        if texts:
            world.note(call, Kind.EXEC, call.line, world.sources_in("package.json"))
    elif name == "gem" and texts[:1] == ["sources"]:
        world.note(call, Kind.INSTALL, f"gem:*@{texts[-1]}", via=call.line)
    return call.output(())


def _install(world: CommandContext, call: CommandCall, name: str, verb: str, args: list[CommandValue]) -> None:
    short = (
        "ifrcpt"
        if name == "pip"
        else "p"
        if name in ("npx", "uvx", "bunx")
        else "s"
        if name in ("gem", "winget")
        else ""
    )
    options = split_options(args, short, _LONG)
    index = next((value.text for key in _INDEX for value in options.every(key) if "://" in value.text), "")
    packages = options.operands
    named = options.every("--package", "-p", "--from", "--with", "--git")
    if name in _ONE_SHOT or verb in ("exec", "dlx", "run", "create", "init"):
        packages = named or packages[:1]
    else:
        packages = [*packages, *options.every("--git")]
    for package in packages:
        _install_one(world, call, name, package, index)
    if not packages and index:
        world.note(call, Kind.INSTALL, f"{name}:@{index}", via=call.line)
    for requirements in options.every("-r", "--requirement") if name == "pip" else ():
        world.note(call, Kind.INSTALL, f"{name}:-r {requirements.text}", world.sources_in(requirements.text))


def _install_one(world: CommandContext, call: CommandCall, name: str, package: CommandValue, index: str) -> None:
    text = package.text
    if not text or text.startswith(("<", "[")) or text in (".", "..", "-"):
        if text in (".", "..") and (folder := world.folders.get(world.cwd)):
            world.note(call, Kind.EXEC, call.line, folder)
        return
    content = world.content_of(text) if "/" in text or _PACKAGE_FILE.search(text) else None
    sources: tuple[Fact, ...] = join_sources(package.sources, content.sources if content else ())
    world.note(call, Kind.INSTALL, f"{name}:{text}@{index}" if index else f"{name}:{text}", sources)
    if content and content.sources:
        world.note(call, Kind.EXEC, call.line, content.sources)


INSTALLER_PROGRAMS = {
    **dict.fromkeys(_INSTALLS, run_package_installer),
    "pip3": run_package_installer,
    "uv": run_package_installer,
}
