"""What a file is, by its content first and its name second (a first, simple form)."""

__all__ = ["find_language"]

_EXTENSIONS = {
    "py": "python", "js": "javascript", "ts": "javascript", "mjs": "javascript", "cjs": "javascript",
    "sh": "shell", "bash": "shell", "zsh": "shell", "fish": "fish", "ps1": "powershell", "bat": "batch", "cmd": "batch",
    "rb": "ruby", "pl": "perl", "php": "php", "lua": "lua", "go": "go", "rs": "rust", "r": "r",
    "applescript": "applescript", "ipynb": "notebook", "md": "markdown", "html": "html", "svg": "html",
    "json": "json", "yaml": "yaml", "yml": "yaml", "toml": "toml",
}  # fmt: skip


def find_language(path: str, data: bytes) -> str:
    """The language of a file: a key of `languages.ANALYSERS`, or "text", or "binary"."""
    return _EXTENSIONS.get(path.rpartition(".")[2].lower(), "text")
