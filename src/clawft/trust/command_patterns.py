"""Command patterns such as `Bash(git:*)`, and the git commands that show the content of files."""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from glob import iglob
from itertools import islice

from msgspec import Struct

from clawft.files import real_path
from clawft.git import find_git_root
from clawft.skills.render.shell import Command, Word, is_command_runner
from clawft.trust.path_patterns import (
    CheckedCall,
    Glob,
    PathPattern,
    PatternError,
    Wildcard,
    is_plain,
    match_items,
    matches_glob,
    parse_glob,
    split_names,
)
from clawft.trust.readonly import find_read_only
from clawft.trust.shell_text import ShellText, read_shell_text

GitWords = Sequence[Word]
_VALUED = frozenset({"-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix"})
_FLAGS = frozenset({
    "--no-pager", "-P", "-p", "--paginate", "--bare", "--no-replace-objects", "--literal-pathspecs", "--glob-pathspecs",
    "--noglob-pathspecs", "--icase-pathspecs", "--no-optional-locks",
})  # fmt: skip
# What these print holds no content, unless an option asks for a patch.
_PLAIN = frozenset(
    """add am apply bisect branch check-ignore cherry-pick clean commit config describe fetch for-each-ref fsck gc init
    ls-files ls-remote ls-tree merge merge-base mv name-rev notes prune pull push rebase remote reset restore rev-parse
    revert rm shortlog show-ref sparse-checkout status switch symbolic-ref tag checkout version help""".split()  # noqa: SIM905
)
_PATCH_LONG = re.compile(r"--(patch|verbose|interactive|show-current-patch|lost-found|output|edit)(=.*)?")
_PATCH_SHORT = re.compile(r"-[A-Za-z]*[pvi][A-Za-z]*")
_NO_PATCH = frozenset({"branch", "remote", "fetch", "push", "pull", "ls-files", "tag"})  # -p and -v mean something else
_HISTORY = frozenset({"log", "show", "diff", "diff-tree", "diff-index", "diff-files", "reflog", "rev-list"})
# Options of these that add no content; of a `_SUMMARY` one is needed where a patch is the default.
_SUMMARY = frozenset({
    "--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--summary", "--dirstat", "--no-patch", "-s",
    "--compact-summary", "--raw", "--quiet",
})  # fmt: skip
_HARMLESS = _SUMMARY | frozenset(
    """--oneline --graph --all --decorate --no-decorate --cached --staged --no-merges --merges --first-parent --reverse
    --abbrev-commit --no-abbrev-commit --no-color --color --relative-date -i -r -z -M -n --branches --tags --remotes
    --topo-order --date-order --no-renames --exit-code --no-ext-diff --no-textconv --merge-base --follow --count
    --root""".split()  # noqa: SIM905
)
_HARMLESS_VALUED = re.compile(
    r"--(format|pretty|date|since|after|until|before|author|committer|grep|max-count|skip|abbrev|stat|diff-filter"
    r"|decorate|color|dirstat|branches|tags|remotes)=.*|-n?\d+"
)
_PATCH_BY_DEFAULT = frozenset({"show", "diff", "diff-tree", "diff-index", "diff-files"})


def is_git(words: GitWords) -> bool:
    return words[0].text.rpartition("/")[2] == "git"


def shows_contents(words: GitWords, call: CheckedCall, closed: Sequence[PathPattern]) -> bool:
    """Return whether a git command may print, or write elsewhere, what a file holds or held that `closed` forbids to
    read.

    One that names files alone which are not closed does not; whatever is not known does.
    """
    if any(word.variable or word.glob for word in words):
        return True
    rest = _skip_global([word.text for word in words[1:]])
    if rest is None or not rest:
        return rest is None
    name, options = rest[0], rest[1:]
    paths = options[options.index("--") + 1 :] if "--" in options else []
    options = options[: options.index("--")] if "--" in options else options
    if name in _HISTORY:
        stays = rest == [word.text for word in words[1:]]  # no option or `cd` makes paths mean other files
        stays = stays and not call.shell.unread and not _moves(call.shell)
        return _shows_patch(name, options) and not (stays and _names_open_files(paths, options, call, closed))
    if name == "stash":
        return options[:1] == ["show"] or any(map(_asks_for_patch, options))
    return name not in _PLAIN or (name not in _NO_PATCH and any(map(_asks_for_patch, options)))


def list_named_paths(text: str, folder: str, roots: Sequence[str]) -> Iterator[str]:
    """The paths that a word of a git command may name: `HEAD:a`, `:0:a`, `:(top)a`, `:/a`; from the folder that it runs
    in, and from each of the roots that git may start at."""
    for sign in re.finditer(r"[:)]", text):
        path = text[sign.end() :].lstrip("/!^")
        if path:
            yield from (os.path.join(base, path) for base in (folder, *roots))


def _skip_global(words: Sequence[str]) -> list[str] | None:
    """The subcommand and what follows it; None where an option may make another command of it."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] in ("--version", "--help", "-h", "-v"):
            return []
        if words[at] in _VALUED:
            at += 2
        elif words[at] in _FLAGS or words[at].partition("=")[0] in _VALUED:
            at += 1
        else:
            return None  # -c may set an alias, --exec-path bring other programs
    return list(words[at:])


def _asks_for_patch(option: str) -> bool:
    return bool(_PATCH_LONG.fullmatch(option) or _PATCH_SHORT.fullmatch(option))


def _shows_patch(name: str, options: Sequence[str]) -> bool:
    flags = [option for option in options if option.startswith("-")]
    if name == "rev-list":
        return any(flag.startswith("--objects") for flag in flags)
    if not all(flag in _HARMLESS or _HARMLESS_VALUED.fullmatch(flag) for flag in flags):
        return True
    return name in _PATCH_BY_DEFAULT and _SUMMARY.isdisjoint(flag.partition("=")[0] for flag in flags)


def _names_open_files(
    paths: Sequence[str], options: Sequence[str], call: CheckedCall, closed: Sequence[PathPattern]
) -> bool:
    """Return whether a command is bound to files that are there and may be read."""
    if not paths or "--follow" in options or "--no-index" in options or not call.cwd:
        return False
    for path in paths:
        full, real = call.resolve(path, call.cwd)
        if path.startswith(":") or set(path) & set("*?[\\") or not os.path.isfile(real) or real != full:
            return False
        if any(pattern.forbids(full, call.where) for pattern in closed):
            return False
    return True


_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh", "fish"})
# They print, test or go on: nothing is changed, and no program is started.
_NEUTRAL = frozenset(": [ [[ break cd continue echo exit false printf pwd return shift test true wait".split())  # noqa: SIM905
_STARTERS = frozenset(
    [
        ".",
        "alias",
        "compgen",
        "complete",
        "enable",
        "eval",
        "hash",
        "make",
        "mapfile",
        "parallel",
        "readarray",
        "source",
        "trap",
        "xargs",
    ]
)
# Variables that choose which programs are found, what they load, or what they start.
_STEERS = re.compile(
    r"PATH|IFS|ENV|BASH_.*|LD_.*|DYLD_.*|GIT_.*|PYTHON.*|NODE_.*|PERL5.*|RUBY.*|JAVA_.*|.*PAGER|.*EDITOR|VISUAL|BROWSER|SHELL"
)
_RUN_BY_SHELL = frozenset({"BASH_ENV", "ENV", "PROMPT_COMMAND", "PS4"})
_WRAPPERS = frozenset({"eval", "exec", "builtin", "coproc", "trap", "!"})
_MANY = re.compile(r"[\s;|&<>()`$]")  # in a word that the shell reads as code
_MAX_DEPTH = 3
_MAX_FOUND = 2_000
Words = tuple[Word, ...]


class CommandPattern(Struct, frozen=True):
    """One command: its name, and what may follow. `relative`: a path in it means another file in another folder."""

    name: Glob
    rest: tuple[Glob | Wildcard, ...]
    relative: bool = False


class CommandPatterns(Struct, frozen=True):
    """`git:*`, `git log *`, `npm test`; several may stand in the brackets, divided by a comma and a blank."""

    meant: tuple[CommandPattern, ...]

    @classmethod
    def parse(cls, argument: str, folders: Mapping[str, str]) -> "CommandPatterns":
        """Raises: PatternError."""
        return cls(tuple(_read(part.strip(), folders) for part in re.split(r",\s+", argument)))

    @staticmethod
    def cover(matchers: "Sequence[CommandPatterns]", call: CheckedCall) -> bool:
        """Return whether every command of the line is meant by one of them, and none opens a file by a redirect."""
        shell = call.shell
        if not (matchers and shell.commands) or shell.unread or any(map(_STEERS.fullmatch, shell.assigned)):
            return False
        moves = _moves(shell)
        return all(
            all(redirect.target.text == "/dev/null" for redirect in command.redirects)
            and (
                _does_nothing(command, shell)
                or any(matcher.mean(command.words, call, moves=moves) for matcher in matchers)
            )
            for command in shell.commands
        )

    def covers(self, call: CheckedCall) -> bool:
        return CommandPatterns.cover((self,), call)

    def touches(self, call: CheckedCall) -> bool:
        return any(self.mean(words, call) for words in _all_commands(call.shell))

    def mean(self, words: Words, call: CheckedCall, *, moves: bool = False) -> bool:
        """Return whether a command is one of these; `moves`: `cd` stands in the line, so nobody knows where it
        starts."""
        name, rest = words[0].text, words[1:]
        return any(
            _is_named(pattern.name, name, call, moves=moves)
            and match_items(pattern.rest, rest, _is_word)
            and (not pattern.relative or (not moves and call.at_start))
            for pattern in self.meant
        )


def names_path(paths: PathPattern, call: CheckedCall, *, writing: bool) -> bool:
    """Return whether a word of a command line is a path that is meant; `writing`: of commands that do more than
    read."""
    words = [
        (word, is_git(command))
        for command in _all_commands(call.shell)
        if not writing or find_read_only(tuple(part.text for part in command)) is None
        for word in command[1:]
    ]
    for command in call.shell.commands:
        words += [(redirect.target, False) for redirect in command.redirects if not writing or redirect.kind != "<"]
    return any(paths.forbids(path, call.where) for word, of_git in words for path in _paths_of(word, call, of_git))


def find_shown(closed: Sequence[PathPattern], call: CheckedCall) -> str:
    """The git command of a line that may show what is forbidden to read; '' if there is none."""
    for command in _all_commands(call.shell) if closed else ():
        if is_git(command) and shows_contents(command, call, closed):
            return " ".join(word.text for word in command[:2])
    return ""


def _paths_of(word: Word, call: CheckedCall, of_git: bool) -> Iterator[str]:
    """Yield the paths that a word may refer to: itself, the value after its `=`, and all that a glob finds; what it
    names to git."""
    if of_git:
        roots = [root for root in (call.where.project, find_git_root(call.cwd) if call.cwd else None) if root]
        for path in list_named_paths(word.text, call.cwd, roots):
            yield from call.resolve(path)
    for text in {word.text, word.text.partition("=")[2]} - {""}:
        full, real = call.resolve(text, call.cwd)
        yield from (full, real)
        if word.glob and full:
            yield from (path for found in islice(iglob(full), _MAX_FOUND) for path in (found, real_path(found)))


def _read(text: str, folders: Mapping[str, str]) -> CommandPattern:
    plain, more = (text[:-2], True) if text.endswith(":*") else (text, False)
    try:
        words = shlex.split(plain) if any(char in plain for char in "'\"") else plain.split()
    except ValueError as error:
        raise PatternError("a quote in it never ends") from error
    if not words or not words[0].strip("*"):
        raise PatternError("it names no command")
    if any(char in ";|&<>()`\n" for word in words for char in word):
        raise PatternError("it is no single plain command")
    rest = [Wildcard.REST if word in ("*", "**") else parse_glob(word, folders) for word in words[1:]]
    if more or words[-1].endswith("*"):
        rest.append(Wildcard.REST)
    return CommandPattern(parse_glob(words[0], folders), tuple(rest), any(map(_is_relative, words[1:])))


def _is_relative(word: str) -> bool:
    return "/" in word and not word.startswith(("/", "-", "$", "{", "*")) and "://" not in word


def _is_word(glob: Glob, word: Word) -> bool:
    return not (word.glob or word.tilde or word.variable) and matches_glob(glob, word.text)


def _is_named(glob: Glob, name: str, call: CheckedCall, *, moves: bool) -> bool:
    """Return whether the name of a command is meant. One with a folder in it is compared by the file that it
    leads to."""
    if "/" not in name or "/" not in glob:
        return "/" not in name and "/" not in glob and matches_glob(glob, name)
    if not call.cwd or (moves and not name.startswith("/")):
        return False
    paths = PathPattern("/" if glob[0] == "/" else "project", split_names(glob))
    full, real = call.resolve(name, call.cwd)
    # A plain path may be a link itself: it is what was written.
    as_written = is_plain(glob) and ".." not in name.split("/")
    return paths.matches_path(full if as_written else real, call.where, inside=False)


def explain_doubt(shell: ShellText) -> str:
    """Return why a text may run other commands than those that can be read in it; '' where it runs no others."""
    if shell.unread:
        return shell.unread
    if variable := next(iter(shell.assigned & _RUN_BY_SHELL), ""):
        return f"the shell runs what '{variable}=' holds"
    for words in _all_commands(shell):
        name = words[0].text
        if name in _STARTERS or (is_git(words) and any(word.text.startswith("-c") for word in words[1:2])):
            return f"'{name}' may start other programs"
        if name in _SHELLS and not (len(words) > 2 and words[1].text == "-c" and not words[2].variable):
            return f"what '{name}' runs is not in the text"
    return ""


def _moves(shell: ShellText) -> bool:
    return any(command.words[0].text in ("cd", "pushd", "popd") for command in shell.commands)


def _does_nothing(command: Command, shell: ShellText) -> bool:
    """Return whether a command only prints, tests or moves on, or is a function of the text itself."""
    return command.words[0].text in _NEUTRAL or command.words[0].text in shell.functions


def _all_commands(shell: ShellText) -> Iterator[Words]:
    """Every command that a text runs, or may run through another; the names with and without their folders."""
    for command in shell.commands:
        yield from _expand(command.words, 0)


def _expand(words: Words, depth: int) -> Iterator[Words]:
    yield words
    name = words[0].text.rpartition("/")[2]
    if name != words[0].text:
        yield Word(name), *words[1:]
    if not (is_command_runner(name) or name in _WRAPPERS) or depth == _MAX_DEPTH:
        return
    for index, later in enumerate(words[1:], 1):
        base = later.text.rpartition("/")[2]
        if base:
            yield Word(base), *words[index + 1 :]
        if (name in _SHELLS or name in ("eval", "trap")) and _MANY.search(later.text):
            for command in read_shell_text(later.text).commands:
                yield from _expand(command.words, depth + 1)
