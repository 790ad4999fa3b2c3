"""What the name of a file promises: its language, or that it is a picture, or nothing."""

__all__ = ["LOOSE", "PICTURE_NAMES", "find_promise", "is_unknown", "split_name"]

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
_LOOSE_WORDS = (
    "txt text log dat data bin tmp bak old orig sample example csv tsv cache lock inc t m d v map out in"
    " disabled prompt"
)
LOOSE = frozenset(_LOOSE_WORDS.split())
_LOOSE_NAMES = frozenset({"config", "build", "workspace", "wscript"})
_PICTURE_WORDS = (
    "png jpg jpeg gif webp bmp ico tif tiff heic avif ttf otf woff woff2 eot pdf mp3 mp4 wav ogg flac mov "
    "avi webm m4a psd"
)
PICTURE_NAMES = frozenset(_PICTURE_WORDS.split())


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
    """Whether the name of a file tells nothing of its language, though it is meant to."""
    name, extension = split_name(path)
    return bool(extension) and extension not in _BY_EXTENSION and extension not in LOOSE and name not in _BY_NAME
