"""The language of a file, by its name, its first line and its content."""

import re
from functools import cache
from itertools import islice

from clawft.scanner.regex import lazy, words

_EXTENSIONS = {
    "python": "py pyw pyi pth bzl star sage",
    "javascript": "js ts mjs cjs jsx tsx mts cts coffee jsm gs jxa",
    "shell": "sh bash zsh ksh dash command bats envrc profile bashrc zshrc zprofile zshenv bash_profile"
    " bash_aliases ebuild tool",
    "fish": "fish",
    "powershell": "ps1 psm1 psd1",
    "batch": "bat cmd",
    "ruby": "rb gemspec rake podspec",
    "perl": "pl pm t",
    "php": "php phtml php5 inc",
    "lua": "lua",
    "go": "go",
    "rust": "rs",
    "r": "r rprofile",
    "java": "java",
    "kotlin": "kt kts",
    "groovy": "groovy gradle",
    "dart": "dart",
    "nim": "nim nims",
    "elixir": "ex exs",
    "c": "c h cc cpp cxx hpp mm",
    "swift": "swift m",
    "csharp": "cs vb csx",
    "applescript": "applescript scpt",
    "notebook": "ipynb",
    "makefile": "mk mak",
    "dockerfile": "dockerfile containerfile",
    "markdown": "md markdown mdx mdc txt rst adoc org text prompt instructions rmd qmd",
    "html": "html htm xhtml svg xml xsl xslt plist xaml rels webloc csproj props targets vue svelte"
    " astro wsf hta sct wsc",
    "json": "json jsonc json5 jsonl ndjson map webmanifest mcp har",
    "yaml": "yaml yml",
    "toml": "toml",
    "text": "xsd css scss less sql csv tsv",
    "ini": "ini cfg conf properties service timer socket desktop url env npmrc gitconfig gitmodules"
    " editorconfig inf pypirc",
    "vbscript": "vbs vbe bas",
    "autohotkey": "ahk",
    "autoit": "au3",
    "haskell": "hs lhs",
    "ocaml": "ml mli",
    "erlang": "erl hrl escript",
    "fsharp": "fs fsx",
    "julia": "jl",
    "clojure": "clj cljs cljc bb edn",
    "scheme": "scm rkt ss sld",
    "elisp": "el lisp cl",
    "tcl": "tcl exp tk",
    "awk": "awk gawk",
    "sed": "sed",
    "viml": "vim vimrc",
    "gnuplot": "gp plt gnuplot",
    "cmake": "cmake",
    "nix": "nix",
    "jq": "jq",
    "sql": "sql psql ddl",
    "latex": "tex sty cls ltx bib",
    "m4": "m4 ac",
    "gdb": "gdb gdbinit",
    "registry": "reg",
    "scala": "scala sc sbt",
    "workflow": "wflow",
    "zig": "zig",
    "d": "d",
    "v": "v",
    "crystal": "cr",
    "pascal": "pas pp dpr lpr",
    "gdscript": "gd",
}  # fmt: skip
_NAMES = {
    "dockerfile": "dockerfile containerfile",
    "makefile": "makefile gnumakefile justfile",
    "cmake": "cmakelists.txt",
    "gdb": ".gdbinit",
    "viml": ".vimrc _vimrc vimrc .exrc",
    "elisp": ".emacs",
    "sql": ".sqliterc .psqlrc",
    "groovy": "jenkinsfile",
    "ruby": "rakefile gemfile vagrantfile podfile brewfile fastfile",
    "yaml": "procfile .condarc",
    "shell": "crontab pkgbuild apkbuild pre-commit post-checkout post-commit post-merge pre-push"
    " prepare-commit-msg commit-msg post-rewrite pre-rebase pre-receive post-receive post-update"
    " .bashrc .profile .zshrc .bash_profile .bash_logout",
    "toml": "pipfile cargo.lock poetry.lock uv.lock",
    "ini": "requirements.txt config .gitconfig .npmrc .curlrc .wgetrc .netrc",
    "python": "sconstruct wscript snakefile tiltfile build workspace",
    "markdown": "readme license copying notice changelog authors .cursorrules .windsurfrules .clinerules",
    "json": ".claude.json .eslintrc .babelrc .prettierrc .swcrc",
}  # fmt: skip
_BY_EXTENSION = {extension: language for language, all_of in _EXTENSIONS.items() for extension in all_of.split()}
_BY_NAME = {name: language for language, all_of in _NAMES.items() for name in all_of.split()}
# Extensions that promise prose, data or several things: what stands in such a file decides.
LOOSE = words(
    "txt text log dat data bin tmp bak old orig sample example csv tsv cache lock inc t m d v map out in"
    " disabled prompt"
)
_LOOSE_NAMES = frozenset({"config", "build", "workspace", "wscript"})
PICTURE_NAMES = words(
    "png jpg jpeg gif webp bmp ico tif tiff heic avif ttf otf woff woff2 eot pdf mp3 mp4 wav ogg flac mov "
    "avi webm m4a psd"
)


def split_name(path: str) -> tuple[str, str]:
    """The last part of a path in lower case, as it would be called unpacked, and its extension."""
    name = path.replace("!", "/").rpartition("/")[2].lower()
    for packed in (".gz", ".bz2", ".xz", ".zst"):
        name = name.removesuffix(packed)
    return name, name.rpartition(".")[2] if "." in name else ""


def find_promise(name: str, extension: str) -> tuple[str, bool]:
    """The language that a name promises, empty for none, and whether the content may say otherwise."""
    if language := _BY_NAME.get(name):
        return language, name in _LOOSE_NAMES
    if name.startswith("requirements") and extension in ("txt", "in"):
        return "ini", False
    stem = name.rpartition(".")[0]
    if stem in ("dockerfile", "containerfile", "makefile"):
        return _BY_NAME[stem], False
    if name.startswith(".env."):
        return "ini", False
    language = _BY_EXTENSION.get(extension, "")
    return language, not language or extension in LOOSE


def is_unknown(path: str) -> bool:
    """Return whether the name of a file tells nothing of its language, though it is meant to."""
    name, extension = split_name(path)
    return bool(extension) and extension not in _BY_EXTENSION and extension not in LOOSE and name not in _BY_NAME


_SHEBANG = lazy(r"#!\s*\S*?/?(?:env\s+(?:-\S+\s+|\w+=\S+\s+)*)?([\w.+-]+)(?:\s|$)")
_INTERPRETERS = (
    (r"(ba|da|z|k|a|mk)?sh\d*$|busybox|openrc-run|bats", "shell"), (r"(?:g|m|n)?awk", "awk"), (r"g?sed$", "sed"),
    (r"expect|tclsh|wish|jimsh", "tcl"), (r"runhaskell|runghc|stack$|cabal", "haskell"), (r"julia", "julia"),
    (r"elixir|mix$", "elixir"), (r"escript", "erlang"), (r"bb$|clj|clojure|lein", "clojure"),
    (r"racket|guile|gosh|csi|chibi-scheme|scheme", "scheme"), (r"emacs|sbcl", "elisp"), (r"ocaml", "ocaml"),
    (r"crystal", "crystal"), (r"gnuplot", "gnuplot"), (r"r?dmd$|rdmd", "d"), (r"jq$", "jq"), (r"nim", "nim"),
    (r"dart", "dart"), (r"psql|sqlite3?|mysql", "sql"), (r"fish", "fish"), (r"python|pypy|uv$|xonsh", "python"),
    (r"node|bun|deno|tsx?$|ts-node|zx|qjs|osascript-js", "javascript"), (r"ruby", "ruby"), (r"perl|raku", "perl"),
    (r"php", "php"), (r"lua|texlua", "lua"), (r"pwsh|powershell", "powershell"), (r"osascript", "applescript"),
    (r"Rscript|^R$", "r"), (r"make", "makefile"), (r"swift", "swift"), (r"scala|amm", "scala"),
    (r"groovy|kotlin|java", "java"), (r"dotnet", "csharp"), (r"cargo|rust", "rust"),
)  # fmt: skip
_HTML = lazy(r"\s*(?:<\?xml|<!doctype|<html|<svg|<script|<head|<body|<iframe|<style|<!--)", re.IGNORECASE)
_HEAD = 6000


def find_language(path: str, text: str) -> str:
    """The language of the text of a file: a key of `languages.ANALYSERS`, or "text" for data of another kind."""
    name, extension = split_name(path)
    if text.startswith("#!") and (language := _by_shebang(text)):
        return language
    if name == "skill.md":
        return "markdown"
    promised, loose = find_promise(name, extension)
    if loose:
        return guess_language(text, default=promised or "text")
    if promised == "markdown" and text.startswith("<") and _HTML.match(text) and not text.startswith("<!--"):
        return "html"
    if promised == "json":
        if text.lstrip("\ufeff \t\n")[:1] not in ("{", "[", '"', "/", ""):
            return guess_language(text, default="json")
        if '"nbformat"' in text and '"cells"' in text:
            return "notebook"
    return promised


def _by_shebang(text: str) -> str:
    match = _SHEBANG.match(text[:256])
    if not match:
        return ""
    for pattern, language in _INTERPRETERS:
        if _compile(pattern).match(match[1]):
            return language
    return ""


_COMMANDS = (
    r"curl|wget|sudo|bash|sh|zsh|eval|export|chmod|rm|nc|ncat|apt(?:-get)?|brew|pip3?|npm|npx|source|python3?|node|crontab|scp|ssh|tar"
    r"|cat|cp|mv|mkdir|nohup|base64|openssl|dig|echo|printf|kill|launchctl|osascript|docker|git"
)
# What tells a language, with the words of which one has to be there: each sign counts at most three times in the head
# of the text.
_SIGNS: dict[str, tuple[tuple[int, tuple[str, ...], str], ...]] = {
    "python": (
        (3, ("import ",), r"^[ \t]*(?:import [\w.]+(?: as \w+)?(?:, ?[\w.]+)*[ \t]*(?:#|;|$)|from [\w.]+ import )"),
        (3, ("def ", "__name__"), r"^[ \t]*(?:async )?def \w+\([^\n]*:[ \t]*(?:#|$)|^if __name__"),
        (3, ("elif ", "except"), r"^[ \t]*(?:elif |except\b)[^\n]*:[ \t]*$"),
        (
            3,
            ("system(", "subprocess", "exec(", "eval(", "import__(", "open(", "print(", "urllib"),
            r"\b(?:os\.system|subprocess\.\w+|exec|eval|__import__|os\.popen|open|print|urllib\.request\.\w+)\(",
        ),
    ),
    "javascript": (
        (
            3,
            ("require(", "const ", "let ", "var ", "=>", "function"),
            r"\brequire\(['\"]|^[ \t]*(?:const|let|var) [\w{\[][^\n]*=|=>|\bfunction\s*\w*\(",
        ),
        (3, ("import ", "export "), r"^[ \t]*(?:import [^\n]* from ['\"]|export (?:default|const|function|async))"),
        (3, ("log(", "fetch(", "atob(", "process."), r"\b(?:console\.log|fetch|atob)\(|process\.(?:env|argv)"),
    ),
    "shell": (
        (3, (), rf"^[ \t]*(?:{_COMMANDS}) [-\w\"'$~/<>.@:{{=]"),
        (
            4,
            ("|", "/dev/tcp/", "$("),
            r"\|[ \t]*(?:sudo )?(?:/\w+/)*(?:ba|z|da)?sh\b|/dev/tcp/|\$\((?:curl|cat|echo|whoami|hostname)",
        ),
        (4, ("2>&1", ">/dev/null", "base64 -"), r"2>&1|>/dev/null|\bbase64 -(?:d|D)\b"),
        (3, (), r"^[ \t]*(?:fi|done|esac|then)[ \t]*(?:;|$)|^[ \t]*(?:if \[|for \w+ in |while |set -[eux]|\w+=\$\()"),
    ),
    "powershell": (
        (
            4,
            ("invoke-", "new-object", "get-childitem", "set-", "start-process"),
            r"(?i)\b(?:Invoke-(?:WebRequest|Expression|RestMethod)|New-Object|Get-ChildItem|Set-\w+|Start-Process)",
        ),
        (4, ("downloadstring", "iex", "$env:"), r"(?i)\bDownloadString|\biex\b|\$env:"),
    ),
    "batch": (
        (
            4,
            ("echo off", "setlocal", "goto ", "rem ", "%\\"),
            r"(?i)^[ \t]*@?echo off|^[ \t]*(?:setlocal|goto \w|rem )|%[a-z_]+%\\",
        ),
    ),
    "php": ((9, ("<?",), r"<\?php|<\?="),),
    "perl": ((3, ("use ", "my "), r"^[ \t]*(?:use (?:strict|warnings|[A-Z]\w+)|my [$@%])"),),
    "ruby": ((3, ("require ", "def ", "puts ", "end"), r"^[ \t]*(?:require ['\"]|def \w+[^\n:]*$|puts |end$)"),),
    "lua": ((3, ("local ", "os.execute(", "io.popen("), r"^[ \t]*local \w+ ?=|\bos\.execute\(|\bio\.popen\("),),
    "go": ((6, ("package ",), r"^package \w+$"),),
    "applescript": ((4, ("do shell script", "tell application "), r"\bdo shell script\b|^tell application "),),
    "dockerfile": (
        (4, ("from ",), r"^FROM [\w./:-]+(?: AS \w+)?$"),
        (2, ("run ", "entrypoint ", "cmd ", "copy ", "add "), r"^(?:RUN|ENTRYPOINT|CMD|COPY|ADD) "),
    ),
    "makefile": ((3, ("\n\t",), r"^[\w.-]+:[^=\n]*\n\t"),),
    "html": ((4, ("<",), r"(?i)<(?:script|iframe|svg|html|body|img|a)[ >/]"),),
    "markdown": ((3, ("#", "](", "```", "---\nname:"), r"^#{1,4} \w|\]\((?:https?:|\.|#)|^```|^---\nname:"),),
    "ini": ((2, ("[",), r"^\[[\w .-]+\]$"), (1, ("=",), r"^[A-Za-z_][\w.-]* ?= ?\S")),
    "yaml": ((2, (":",), r"^[A-Za-z_][\w-]*:(?: [^\n]+)?\n(?:[A-Za-z_][\w-]*:|  +[\w-])"),),
}


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


_PROSE = lazy(
    r"(?<![A-Za-z'])(?:[A-Za-z']{1,24}+[,;:]? ){4}"
    r"|[\u0400-\u04ff\u0600-\u06ff]{2,30} |[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]{4}"
)


_FIRST_COMMAND = lazy(rf"\s*(?:[$>#] )?(?:{_COMMANDS}|import|from|const|let|var|if|for|while|set|def|function)\b")
_SENTENCE = lazy(r"\W*(?:\w{1,12}>\W*)?(?:[A-Za-z']+[,:;]? ){5}")


def _starts_as_prose(head: str) -> bool:
    """Return whether a text begins with a sentence; a command in it is found there, too."""
    return _SENTENCE.match(head) is not None and _FIRST_COMMAND.match(head) is None


def _score(head: str) -> dict[str, int]:
    """Score how much the head of a text looks like each language."""
    lower = head.lower()
    scores: dict[str, int] = {}
    for language, signs in _SIGNS.items():
        for weight, marks, pattern in signs:
            if marks and not any(mark in lower for mark in marks):
                continue
            if found := sum(1 for _ in islice(_compile(pattern).finditer(head), 3)):
                scores[language] = scores.get(language, 0) + weight * found
    return scores


def guess_language(text: str, *, default: str = "markdown") -> str:
    """The language of a text without a name, by what stands in it; `default` if nothing tells."""
    head = text[:_HEAD].lstrip("\ufeff")
    if head.startswith("#!") and (language := _by_shebang(head)):
        return language
    start = head.lstrip()[:1]
    if start in ("{", "[") and text.rstrip()[-1:] in ("}", "]") and ('"' in head or start == "["):
        if '"nbformat"' in text and '"cells"' in text:
            return "notebook"
        if re.match(r"\s*[\[{]\s*(?:[\"\]}\[{]|-?\d)", head):
            return "json"
    if start == "<" and _HTML.match(head):
        return "html"
    scores = _score(head)
    if scores:
        best = max(scores, key=lambda language: scores[language])
        if scores[best] >= 3 and not (best in ("shell", "python", "javascript") and _starts_as_prose(head)):
            return best
    return "markdown" if _PROSE.search(head) else default
