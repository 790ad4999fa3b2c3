"""Arguments that are safe for the default commands: the options that only read, of GNU, BSD and busybox alike.

An option that is not named here may write, run a program, read a list of files or never end (`sort -o`, `git diff
--output`, `git log --ext-diff`, `tail -f`, `grep -f`, `date -s`), so it is asked for. Long options count only when
written out: `--outp` is `--output` to GNU.
"""

import re
from typing import Literal

from msgspec import Struct

from clawft.skills.render.shell import Word


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RUNS_GPG = re.compile(r"%[ +-]?G")  # in a format of git's


class ReadOnlyUsage(Struct, frozen=True):
    """The options of a command that only read; what its operands are."""

    flags: str = ""  # letters that take no value
    valued: str = ""  # letters with a value, in the same word or the next
    attached: str = ""  # letters whose value can only be in the same word
    long: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()  # after `=`, or in the next word
    count: bool = False  # `-5`
    operands: Literal["paths", "text", "pattern", "format", "none"] = "paths"
    max_operands: int | None = None
    harmless: bool = False  # no option of it does harm, so a glob may expand to any
    deep: str = ""  # letters that make it read all below a folder; `recursive` is the long form


class ReadOnlyArguments(Struct, frozen=True):
    """The arguments as read: an objection to one of them, or none, and the words that name files."""

    objection: str = ""
    paths: tuple[Word, ...] = ()
    deep: bool = False  # what stands below the paths is read too


def find_read_only(texts: tuple[str, ...]) -> tuple[int, ReadOnlyUsage] | None:
    """The usage of a command, and how many words name it."""
    for length in (2, 1):
        usage = _USAGES.get(texts[:length])
        if usage is not None:
            return length, usage
    return None


def shorten(text: str) -> str:
    """A text of the line, to be quoted in a reason."""
    return text if len(text) <= 60 else text[:59] + "…"


def read_arguments(usage: ReadOnlyUsage, words: tuple[Word, ...]) -> ReadOnlyArguments:
    """Judge the options and sort out the operands."""
    if usage.operands == "text":
        return ReadOnlyArguments(paths=tuple(word for word in words if word.glob or word.tilde))
    reader = _Reader(usage)
    for word in words:
        objection = reader.take(word)
        if objection:
            return ReadOnlyArguments(objection)
    return reader.finish()


class _Reader:
    def __init__(self, usage: ReadOnlyUsage) -> None:
        self._usage = usage
        self._operands: list[Word] = []
        self._options_over = self._value_due = self._has_pattern = self._deep = False

    def take(self, word: Word) -> str:
        """Take the next word; gives the objection to it."""
        due, self._value_due = self._value_due, False
        if due:
            # Where programs might disagree on what is a value, what looks like an option is not taken for one.
            unclear = word.glob or (word.text.startswith("-") and not re.fullmatch(r"-\d*", word.text))
            return f"'{shorten(word.text)}' may be an option" if unclear else ""
        if self._options_over or not word.text.startswith("-") or word.text == "-":
            return self._operand(word)
        if word.text == "--":
            self._options_over = True
            return ""
        known = self._long(word.text[2:]) if word.text.startswith("--") else self._cluster(word.text[1:])
        known = known and not _RUNS_GPG.search(word.text)
        return "" if known else f"the option '{shorten(word.text)}' may do more than read"

    def finish(self) -> ReadOnlyArguments:
        operands = self._operands
        limit = self._usage.max_operands
        if limit is not None and (len(operands) > limit or any(word.glob for word in operands)):
            return ReadOnlyArguments(f"more than {limit} operand may write a file")
        if self._usage.operands == "pattern" and not self._has_pattern and operands and not operands[0].glob:
            operands = operands[1:]
        if self._deep and not operands:
            operands = [Word(".")]
        return ReadOnlyArguments(paths=() if self._usage.operands == "format" else tuple(operands), deep=self._deep)

    def _operand(self, word: Word) -> str:
        if self._usage.operands == "none" or (self._usage.operands == "format" and not word.text.startswith("+")):
            return f"the operand '{shorten(word.text)}' may do more than read"
        if word.glob and word.text[:1] in "*?[" and not self._options_over and not self._usage.harmless:
            return f"'{shorten(word.text)}' may match a file named like an option (write './{shorten(word.text)}')"
        self._operands.append(word)
        return ""

    def _long(self, text: str) -> bool:
        name, equals, _ = text.partition("=")
        self._has_pattern = self._has_pattern or name == "regexp"
        self._deep = self._deep or (name == "recursive" and bool(self._usage.deep))
        if name in self._usage.long_valued:
            self._value_due = not equals
            return True
        return name in self._usage.long

    def _cluster(self, text: str) -> bool:
        if self._usage.count and text.isdigit():
            return True
        for index, letter in enumerate(text):
            self._has_pattern = self._has_pattern or letter == "e"
            self._deep = self._deep or letter in self._usage.deep
            if letter in self._usage.valued:
                self._value_due = index == len(text) - 1
                return True
            if letter in self._usage.attached:
                return True
            if letter not in self._usage.flags:
                return False
        return True


_GIT_DIFF_LONG = """abbrev binary cached check color color-moved color-words compact-summary cumulative diff-algorithm
    dirstat exit-code find-copies find-copies-harder find-renames full-index function-context histogram
    ignore-all-space ignore-blank-lines ignore-cr-at-eol ignore-space-at-eol ignore-space-change ignore-submodules
    irreversible-delete merge-base minimal name-only name-status no-abbrev no-color no-ext-diff no-indent-heuristic
    no-patch no-prefix no-relative no-renames no-textconv numstat patch patch-with-raw patch-with-stat patience
    pickaxe-all pickaxe-regex quiet raw relative shortstat staged stat summary text word-diff"""
_GIT_DIFF_VALUED = """anchored diff-filter dst-prefix inter-hunk-context line-prefix src-prefix unified
    word-diff-regex"""
_GIT_LOG_LONG = """abbrev-commit all all-match author-date-order boundary branches cc cherry cherry-mark cherry-pick
    children date-order decorate dense extended-regexp first-parent fixed-strings follow format full-history graph
    invert-grep left-only left-right merges no-abbrev-commit no-decorate no-graph no-merges no-notes no-walk oneline
    parents perl-regexp pretty reflog regexp-ignore-case relative-date remotes reverse right-only simplify-by-decoration
    simplify-merges source sparse tags topo-order walk-reflogs"""
_GIT_LOG_VALUED = "after author before committer date grep max-count since skip until"
_GIT_DIFF = ReadOnlyUsage("RWabcmpqsuwz", "GSU", "BCDMXl", _names(_GIT_DIFF_LONG), _names(_GIT_DIFF_VALUED))
_GIT_LOG = ReadOnlyUsage(
    "EFPRWabcgimpqstuwz", "GSUn", "BCDMXl",
    _names(_GIT_DIFF_LONG + " " + _GIT_LOG_LONG), _names(_GIT_DIFF_VALUED + " " + _GIT_LOG_VALUED), count=True,
)  # fmt: skip
_GREP_LONG = """basic-regexp byte-offset color colour count extended-regexp files-with-matches
    files-without-match fixed-strings ignore-case initial-tab invert-match line-buffered line-number line-regexp
    no-filename no-ignore-case no-messages null null-data only-matching perl-regexp quiet recursive silent text
    with-filename word-regexp help version"""
_SORT_LONG = """check debug dictionary-order general-numeric-sort human-numeric-sort ignore-case
    ignore-leading-blanks ignore-nonprinting merge month-sort numeric-sort random-sort reverse stable unique
    version-sort zero-terminated help version"""
_LS_LONG = """all almost-all author classify color context dereference dereference-command-line directory escape
    file-type full-time group-directories-first hide-control-chars human-readable inode kibibytes literal no-group
    numeric-uid-gid quote-name recursive reverse si size zero help version"""

_USAGES: dict[tuple[str, ...], ReadOnlyUsage] = {
    ("echo",): ReadOnlyUsage(operands="text"),
    ("which",): ReadOnlyUsage(operands="text"),
    ("pwd",): ReadOnlyUsage("LP", long=_names("logical physical help version"), operands="none"),
    ("ls",): ReadOnlyUsage(
        "1ABCFGHLNQRSUXZabcdfghiklmnopqrstuvx", long=_names(_LS_LONG), harmless=True,
        long_valued=_names("block-size format hide ignore indicator-style quoting-style sort time time-style width"),
    ),
    ("cat",): ReadOnlyUsage(
        "AETbenstuv", harmless=True,
        long=_names("number number-nonblank show-all show-ends show-nonprinting show-tabs squeeze-blank help version"),
    ),
    ("head",): ReadOnlyUsage(
        "qvz", "cn", long=_names("quiet silent verbose zero-terminated help version"), count=True, harmless=True,
        long_valued=_names("bytes lines"),
    ),
    ("tail",): ReadOnlyUsage(
        "qvz", "cn", long=_names("quiet silent verbose zero-terminated help version"), count=True,
        long_valued=_names("bytes lines"),
    ),
    ("wc",): ReadOnlyUsage(
        "Lclmw", long=_names("bytes chars lines max-line-length words help version"), long_valued=_names("total")
    ),
    ("sort",): ReadOnlyUsage(
        "CMRVbcdfghimnrsuz", "kt", long=_names(_SORT_LONG), long_valued=_names("field-separator key sort")
    ),
    ("uniq",): ReadOnlyUsage(
        "Dcdiuz", "fsw",
        long=_names("all-repeated count group ignore-case repeated unique zero-terminated help version"),
        long_valued=_names("check-chars skip-chars skip-fields"), max_operands=1,
    ),
    ("cut",): ReadOnlyUsage(
        "nsz", "bcdf", long=_names("complement only-delimited zero-terminated help version"), harmless=True,
        long_valued=_names("bytes characters delimiter fields output-delimiter"),
    ),
    ("date",): ReadOnlyUsage(
        "Ru", "d", "I", _names("debug iso-8601 rfc-2822 rfc-email universal utc uct help version"),
        _names("date rfc-3339"), operands="format",
    ),
    ("grep",): ReadOnlyUsage(
        "EFGHILPTUZabchilnoqrsvwxyz", "ABem", "C", long=_names(_GREP_LONG), count=True, operands="pattern",
        long_valued=_names("after-context before-context binary-files context exclude exclude-dir include label "
                           "max-count regexp"), deep="r",
    ),
    ("git", "status"): ReadOnlyUsage(
        "bsz", attached="u", long=_names("ahead-behind branch column find-renames ignore-submodules ignored long "
        "no-ahead-behind no-column no-renames porcelain renames short show-stash untracked-files"),
    ),
    ("git", "log"): _GIT_LOG,
    ("git", "show"): _GIT_LOG,
    ("git", "diff"): _GIT_DIFF,
}  # fmt: skip
