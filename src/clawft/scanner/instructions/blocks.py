"""The language of a code block: what its info string says, or what its lines look like."""

import re

from clawft.scan.vocabulary.words import words

__all__ = ["find_code_language", "is_command", "strip_prompts"]

_NAMES = {
    "bash": "shell", "sh": "shell", "shell": "shell", "zsh": "shell", "console": "shell", "terminal": "shell",
    "shell-session": "shell", "shellsession": "shell", "sh-session": "shell", "ksh": "shell", "dash": "shell",
    "bash-session": "shell", "command": "shell", "cmdline": "shell", "fish": "fish",
    "powershell": "powershell", "ps1": "powershell", "pwsh": "powershell", "ps": "powershell", "posh": "powershell",
    "bat": "batch", "batch": "batch", "cmd": "batch", "dos": "batch",
    "python": "python", "py": "python", "python3": "python", "pycon": "python", "ipython": "python",
    "javascript": "javascript", "js": "javascript", "typescript": "javascript", "ts": "javascript",
    "jsx": "javascript", "tsx": "javascript", "mjs": "javascript", "node": "javascript", "nodejs": "javascript",
    "ruby": "ruby", "rb": "ruby", "perl": "perl", "pl": "perl", "php": "php", "lua": "lua", "go": "go", "golang": "go",
    "rust": "rust", "rs": "rust", "r": "r", "java": "java", "kotlin": "java", "swift": "swift", "csharp": "csharp",
    "cs": "csharp", "c#": "csharp", "applescript": "applescript", "osascript": "applescript",
    "dockerfile": "dockerfile", "docker": "dockerfile", "makefile": "makefile", "make": "makefile",
    "yaml": "yaml", "yml": "yaml", "json": "json", "jsonc": "json", "json5": "json", "toml": "toml", "ini": "ini",
    "vbscript": "vbscript", "vbs": "vbscript", "vb": "vbscript", "autohotkey": "autohotkey", "ahk": "autohotkey",
    "autoit": "autoit", "haskell": "haskell", "hs": "haskell", "ocaml": "ocaml", "erlang": "erlang", "fsharp": "fsharp",
    "f#": "fsharp", "julia": "julia", "jl": "julia", "clojure": "clojure", "clj": "clojure", "scheme": "scheme",
    "racket": "scheme", "elisp": "elisp", "emacs-lisp": "elisp", "lisp": "elisp", "tcl": "tcl", "expect": "tcl",
    "awk": "awk", "sed": "sed", "vim": "viml", "viml": "viml", "gnuplot": "gnuplot", "cmake": "cmake", "nix": "nix",
    "sql": "sql", "postgresql": "sql", "psql": "sql", "tsql": "sql", "latex": "latex", "tex": "latex", "zig": "zig",
    "d": "d", "crystal": "crystal", "elixir": "elixir", "nim": "nim", "dart": "dart", "groovy": "groovy", "c": "c",
    "cpp": "c", "c++": "c", "scala": "java", "reg": "registry", "gdscript": "gdscript", "gdb": "gdb",
    "html": "html", "xml": "html", "svg": "html", "vue": "html", "markdown": "markdown", "md": "markdown",
}  # fmt: skip
_COMMANDS = words(
    """
    apk apt apt-get awk base64 bash brew bun bunx busybox cargo cat cd chmod chown claude clawdhub clawhub cp
    crontab curl cut dd deno dig doas docker echo env eval exec export find gem gh git go grep gunzip head
    host iwr kill kubectl launchctl ln ls make mkdir mv nano nc ncat netcat node nohup npm npx openclaw
    openssl osascript perl php pip pip3 pipx pnpm powershell printenv printf pwsh python python3 rm rsync ruby
    scp sed sh sleep socat source ssh sudo systemctl tar tee telnet touch unzip uv uvx wget xargs xxd yarn zip
    zsh
    """
)
_WINDOWS = words(
    """
    bitsadmin certutil cmd cscript forfiles installutil msbuild mshta msiexec regasm regsvr32 rundll32 schtasks start
    wmic wscript
    """
)
_POWERSHELL = re.compile(r"\$env:|\b(?:iex|iwr)\b|\b(?:invoke|new|set|get|start|add)-[a-z]{3,}", re.IGNORECASE)
_STARTS_POWERSHELL = re.compile(r"(?:powershell|pwsh)(?:\.exe)?[ \t]+-[^\n]*$", re.IGNORECASE)
_PROMPT = re.compile(
    r"^([ \t>]*)(?:\$|%|>>>|PS(?: [^>\n]{0,80})?>|[\w.-]{1,40}@[\w.-]{1,40}[:~ ][^\n$#]{0,80}[$#])[ \t]+", re.MULTILINE
)
MAX_GUESSED_LINES = 60


def find_code_language(info: str, code: str) -> str:
    """The language of a block of code: a key of `languages.ANALYSERS`, or "text"."""
    name = info.lower().strip("{}. ").split(" ", 1)[0].split(",", 1)[0].split("{", 1)[0].split(":", 1)[0]
    if name in _NAMES:
        return _NAMES[name]
    if name and name not in ("text", "txt", "plaintext", "plain", "output", "log", "none", "copy", "sh-output"):
        return "text"
    return _guess(code)


def _guess(code: str) -> str:
    """Shell or PowerShell when lines begin with commands, Python or JavaScript when they begin so, else plain text."""
    start = code[:400].lstrip()
    if start.startswith(("#!/usr/bin/env python", "#!/usr/bin/python", "import ", "from ", "def ")) and "\n" in start:
        return "python" if re.match(r"#!|import [\w., ]+\n|from [\w.]+ import|def \w+\(", start) else "text"
    if start.startswith(("const ", "let ", "require(", "function ", "#!/usr/bin/env node")):
        return "javascript"
    if start.startswith("{") or start.startswith("["):
        return "json" if code.rstrip().endswith(("}", "]")) else "text"
    if start.startswith("#!"):
        return "shell"
    if _is_of_windows(start) or (_STARTS_POWERSHELL.match(start) and ("|" not in start or '"' in start)):
        return "batch"
    lines = code.split("\n", MAX_GUESSED_LINES)[:MAX_GUESSED_LINES]
    if any(is_command(line) for line in lines):
        return "powershell" if _POWERSHELL.search(code[:4000]) and "curl " not in code[:4000] else "shell"
    return (
        "powershell"
        if re.search(r"\b(?:iex|iwr|invoke-(?:expression|webrequest))\b", code[:4000], re.IGNORECASE)
        else "text"
    )


def is_command(line: str) -> bool:
    """Whether a line begins like a command: a prompt, a variable set for one, a path to run, or a program known."""
    line = line.lstrip(" \t>")
    if line.startswith(("$ ", "% ", "./", "sudo ")):
        return True
    word, _, rest = line.partition(" ")
    if word.rstrip(";") not in _COMMANDS or not rest:
        return _is_of_windows(line)
    # "Find the file." and "make sure that" are sentences, not commands.
    return (
        word not in ("find", "make", "go", "head", "host", "cut", "touch", "kill", "source", "sleep", "node")
        or rest[:1] in "-./~$*"
        or " -" in rest
    )


def _is_of_windows(line: str) -> bool:
    """Whether a line begins with a program of Windows that is given a switch or an address."""
    word, _, rest = line.partition(" ")
    return word.lower().removesuffix(".exe") in _WINDOWS and re.search(r"(?:^| )[/-]\w|://|,", rest[:400]) is not None


def strip_prompts(code: str) -> str:
    """Commands without the prompts before them; every offset stays."""
    return _PROMPT.sub(lambda match: " " * len(match[0]), code) if _PROMPT.search(code) else code
