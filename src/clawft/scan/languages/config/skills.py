"""What the head of a skill, or the manifest of a plugin, asks to install and run."""

from typing import Any

from clawft.scan.facts import Kind
from clawft.scan.languages.config.sheet import Sheet, strings_of

__all__ = ["read_frontmatter"]

_MANAGERS = {
    **dict.fromkeys(("brew", "homebrew", "cask"), "brew"),
    **dict.fromkeys(("node", "npm", "pnpm", "yarn", "bun", "npx"), "npm"),
    **dict.fromkeys(("pip", "pip3", "python"), "pip"),
    **dict.fromkeys(("uv", "uvx"), "uv"),
    **{name: name for name in ("pipx", "go", "apt", "cargo", "gem", "winget", "choco", "scoop")},
}
_NAMES = ("package", "packages", "formula", "module", "crate", "cask", "name", "tap")
_COMMANDS = ("command", "commands", "cmd", "run", "script", "shell", "exec", "bash", "postInstall", "post_install")


def read_frontmatter(sheet: Sheet, tree: dict[str, Any]) -> bool:
    """Note the programs of a skill's tools, and its install blocks; whether there were any of these."""
    _read_tools(sheet, tree.get("tools"))
    before = len(sheet.facts) + len(sheet.children)
    metadata = tree.get("metadata")
    holders = [tree, metadata]
    if isinstance(metadata, dict):
        holders.extend(metadata.values())
    for holder in holders:
        if not isinstance(holder, dict):
            continue
        for key in ("install", "installer", "setup", "dependencies", "prerequisites"):
            if isinstance(block := holder.get(key), list | dict) and (holder is not tree or "description" in tree):
                _read_install(sheet, block, key)
    return len(sheet.facts) + len(sheet.children) > before


def _read_tools(sheet: Sheet, tools: Any) -> None:
    """Strings that look like commands are read in any case; a list of words looks like nothing."""
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict) and "name" in tool:
            sheet.run(tool.get("command"), "tools", "command")


def _read_install(sheet: Sheet, block: Any, *keys: str) -> None:
    for entry in block if isinstance(block, list) else [block]:
        if isinstance(entry, str):
            if " " in entry.strip():
                sheet.run(entry, *keys)
        elif isinstance(entry, dict):
            _read_entry(sheet, entry, *keys)


def _read_entry(sheet: Sheet, entry: dict[str, Any], *keys: str) -> None:
    kind = str(entry.get("kind", entry.get("type", entry.get("manager", "")))).lower()
    for key in _COMMANDS:
        for line in strings_of(entry.get(key)):
            if " " in line.strip() or "/" in line:
                sheet.run(line, *keys, key)
    address = next((entry[key] for key in ("url", "download", "source", "archive") if _is_address(entry.get(key))), "")
    if kind in _MANAGERS:
        for key in _NAMES:
            for name in strings_of(entry.get(key)):
                if key != "tap" or "/" in name:
                    sheet.add(Kind.INSTALL, f"{_MANAGERS[kind]}:{name}", *keys, via=name)
    if address:
        fetched = sheet.add(Kind.FETCH, address, *keys, via=kind or "download")
        sheet.add(Kind.INSTALL, f"{_MANAGERS.get(kind, 'download')}:{address}", *keys, via=address, sources=(fetched,))


def _is_address(value: Any) -> bool:
    return isinstance(value, str) and "://" in value
