"""Which git commands show what files hold or held, from git's objects, where no rule and no sandbox hides a file."""

import os
import re
from collections.abc import Iterator, Sequence

from clawft.trust.call import Call
from clawft.trust.path_patterns import Paths
from clawft.trust.shell import Word

__all__ = ["is_git", "list_named_paths", "shows_contents"]

Words = Sequence[Word]
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


def is_git(words: Words) -> bool:
    return words[0].text.rpartition("/")[2] == "git"


def shows_contents(words: Words, call: Call, closed: Sequence[Paths]) -> bool:
    """Whether a git command may print, or write elsewhere, what a file holds or held that `closed` forbids to read.

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
        stays = stays and call.line is not None and all(one.words[0].text != "cd" for one in call.line.commands)
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
    given = [one for one in options if one.startswith("-")]
    if name == "rev-list":
        return any(one.startswith("--objects") for one in given)
    if not all(one in _HARMLESS or _HARMLESS_VALUED.fullmatch(one) for one in given):
        return True
    return name in _PATCH_BY_DEFAULT and _SUMMARY.isdisjoint(one.partition("=")[0] for one in given)


def _names_open_files(paths: Sequence[str], options: Sequence[str], call: Call, closed: Sequence[Paths]) -> bool:
    """Whether a command is bound to files that are there and may be read."""
    if not paths or "--follow" in options or "--no-index" in options or not call.cwd:
        return False
    for path in paths:
        full, real = call.resolve(path, call.cwd)
        if path.startswith(":") or set(path) & set("*?[\\") or not os.path.isfile(real) or real != full:
            return False
        if any(one.forbids(full, call.where) for one in closed):
            return False
    return True
