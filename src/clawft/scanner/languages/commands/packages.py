"""Package managers: what they install, and from where."""

import re

from clawft.scan.facts import Fact, Kind
from clawft.scan.languages.commands.options import split_options
from clawft.scan.languages.commands.world import NOTHING, Call, Value, World, join_sources

__all__ = ["PROGRAMS"]

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
_INDEX = (
    "-i",
    "--index-url",
    "--extra-index-url",
    "--registry",
    "--index",
    "--default-index",
    "--source",
    "-s",
    "--find-links",
    "-f",
    "--repository",
    "--channel",
)
_LONG = frozenset(
    (
        *_INDEX,
        "--package",
        "-p",
        "--from",
        "--with",
        "--python",
        "--prefix",
        "--target",
        "--requirement",
        "--constraint",
        "--git",
        "--branch",
        "--tag",
        "--version",
        "--root",
        "--path",
        "--proxy",
        "--trusted-host",
        "--cert",
        "--user-install",
        "--bindir",
    )
)


def run_manager(world: World, call: Call) -> Value:
    name = re.sub(r"(?<=pip)3(\.\d+)?$|\.exe$", "", call.name)
    args = call.args
    if name == "uv":
        name, args = _uv(call)
        if not name:
            return NOTHING
    verbs = _INSTALLS.get(name, ())
    verb = ""
    if verbs != ("",):
        at = next((index for index, one in enumerate(args) if one.text in verbs), -1)
        if at < 0 or (at > 3 and name not in ("apt", "apt-get", "yum", "dnf")):
            return _other_verbs(world, call, name)
        verb, before = args[at].text, args[:at]
        args = [*args[at + 1 :], *[one for one in before if one.text.startswith("-")]]
    _install(world, call, name, verb, args)
    return Value(f"$({call.name})", (), known=False)


def _uv(call: Call) -> tuple[str, list[Value]]:
    texts = call.texts
    if texts[:1] == ["pip"]:
        return "pip", call.args[1:]
    if texts[:1] == ["add"]:
        return "pip", [Value("install"), *call.args[1:]]
    if texts[:2] in (["tool", "run"], ["tool", "install"]):
        return "uvx", call.args[2:]
    return "", []


def _other_verbs(world: World, call: Call, name: str) -> Value:
    texts = call.texts
    if (
        name in ("npm", "pip", "yarn")
        and texts[:1] == ["config"]
        and re.search(r"registry|index-url|strict-ssl", call.line)
    ):
        world.fact(Kind.INSTALL, f"{name}:*@{texts[-1].partition('=')[2] or texts[-1]}", call.offset, call.line)
    elif name in ("npm", "yarn", "pnpm", "cargo", "go", "bun", "poetry", "composer"):
        content = world.content_of("package.json")
        if texts:
            world.fact(Kind.EXEC, call.line, call.offset, call.name, content.sources if content else ())
    elif name == "gem" and texts[:1] == ["sources"]:
        world.fact(Kind.INSTALL, f"gem:*@{texts[-1]}", call.offset, call.line)
    return Value(f"$({call.name})", (), known=False)


def _install(world: World, call: Call, name: str, verb: str, args: list[Value]) -> None:
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
    for one in packages:
        _install_one(world, call, name, one, index)
    if not packages and index:
        world.fact(Kind.INSTALL, f"{name}:@{index}", call.offset, call.line)
    for one in options.every("-r", "--requirement") if name == "pip" else ():
        content = world.content_of(one.text)
        world.fact(Kind.INSTALL, f"{name}:-r {one.text}", call.offset, call.name, content.sources if content else ())


def _install_one(world: World, call: Call, name: str, package: Value, index: str) -> None:
    text = package.text
    if not text or text.startswith(("<", "[")) or text in (".", "..", "-"):
        if text in (".", "..") and (folder := world.folders.get(world.cwd)):
            world.fact(Kind.EXEC, call.line, call.offset, call.name, folder)
        return
    content = world.content_of(text) if "/" in text or _PACKAGE_FILE.search(text) else None
    sources: tuple[Fact, ...] = join_sources(package.sources, content.sources if content else ())
    world.fact(Kind.INSTALL, f"{name}:{text}@{index}" if index else f"{name}:{text}", call.offset, call.name, sources)
    if content and content.sources:
        world.fact(Kind.EXEC, call.line, call.offset, call.name, content.sources)


PROGRAMS = {**dict.fromkeys(_INSTALLS, run_manager), "pip3": run_manager, "uv": run_manager}
