"""The command line of a hook: with its variables filled in, and judged as every other command line is.

What the policy or a rule of the user denies is not run. What would be asked about is covered by the user's earlier
decision: they wrote the hook, or they approved the file or the skill that holds it. A text that is more than a command
line, with conditions or loops, is a script: it is judged as a program that is given to a shell, as a script in a file
would be, and a rule still holds for each command in it that can be recognized.
"""

import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from clawft.config.tools import ExecSettings
from clawft.errors import ClawftError
from clawft.files import is_within, real_path
from clawft.skills.render.shell import NotUnderstood, blank_out, parse_line
from clawft.trust.command_policy import CommandPolicy
from clawft.trust.modes import Mode
from clawft.trust.path_patterns import CheckedCall, PatternRoots
from clawft.trust.permissions import CallAuthority, PermissionRules, decide_call
from clawft.workspace import Workspace, resolve_path

_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_BREAKS = re.compile(r"[;&|\n(){}`]+|(?<![\w-])(?:if|then|elif|else|do|while|until|!|time|exec|command)(?![\w-])")
_PATH = re.compile(r"[A-Za-z0-9_.@+/~-]+")
_PLAIN = re.compile(r"[A-Za-z0-9_./:+@-]*")
_STAND_IN = "/a/folder"  # for a place whose name is no plain text, where a line is judged
_INTERPRETERS = (
    "sh", "bash", "dash", "zsh", "ksh", "python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "lua",
    "tsx", "Rscript", "env",
)  # fmt: skip
# Files of the folder that a program is started in, which say what it runs.
_MAKE, _NODE = ("GNUmakefile", "makefile", "Makefile"), ("package.json",)
_READS = {
    "make": _MAKE, "gmake": _MAKE, "just": ("justfile", "Justfile", ".justfile"), "rake": ("Rakefile",),
    "task": ("Taskfile.yml", "Taskfile.yaml"), "deno": ("deno.json", "deno.jsonc"),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _NODE),
}  # fmt: skip
_MODULES = (".py", "/__init__.py", "/__main__.py")
_WRITES = re.compile(r"[0-9&]?>[>|]?[ \t]*[^\s;&|<>()]+|\btee[ \t]+(?:-a[ \t]+)?[^\s;&|<>()]+")  # what it writes
COPIES = "CLAWFT_HOOK_COPIES"  # the variable for the folder of copies of a line's scripts
_SPELLED = re.compile(
    rf"(?:(?P<place>\$\{{?CLAUDE_PROJECT_DIR(?::?-[^}}]*)?\}}?|\$\{{?HOME\}}?)(?P<quote>[\"']?))?(?P<path>{_PATH.pattern})"
)
_STARTER = re.compile(rf"(?:^|[\s;&|(/])(?:{'|'.join(_INTERPRETERS)}|source|\.)[0-9.]*(?:\s+-\S+)*\s+[\"']?$")
_MOVES = re.compile(r"(?:^|[\s;&|(\"'`])(?:cd|pushd)\s")
_MAX_NAMED = 10_000  # files to look for


class HookLine(Struct, frozen=True):
    """A line as the shell gets it, and as it is judged; or a script, in which the shell itself fills in what is
    written."""

    line: str
    judged: str
    is_script: bool = False


def fill_line(command: str, places: Mapping[str, str]) -> HookLine:
    """Put folders in the place of `$NAME` and `${NAME}`, and the home in that of `~/`; each stays one word."""
    line, judged = [], []
    quote, at = "", 0
    while at < len(command):
        char = command[at]
        taken, value = char, None
        if char == "\\" and quote != "'":
            taken = command[at : at + 2]
        elif char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        elif char == "$" and quote != "'" and (match := _VARIABLE.match(command, at)):
            taken, value = match[0], places.get(match[1] or match[2])
        elif char == "~" and not quote and command[at + 1 : at + 2] == "/" and command[:at][-1:] in ("", " ", "\t"):
            value = places.get("HOME")
        at += len(taken)
        line.append(taken if value is None else _put(value, quote, value))
        judged.append(taken if value is None else _put(value, quote, _STAND_IN))
    made = HookLine("".join(line), "".join(judged))
    try:
        parse_line(made.judged)
    except NotUnderstood:
        return HookLine(command, command, is_script=True)
    return made


def _put(value: str, quote: str, odd: str) -> str:
    """Quote a value as one word; `odd` replaces one that is no plain text."""
    if _PLAIN.fullmatch(value):
        return value
    inner = "'" + odd.replace("'", "'\"'\"'") + "'"
    return f"{quote}{inner}{quote}"


def find_files(filled: HookLine, cwd: str, places: Mapping[str, str]) -> tuple[str, ...]:
    """The files that a line starts: programs that it names by their path, and scripts that it gives to another. Of a
    script, all that it names by a path."""
    home = places.get("HOME", "")
    found: list[str] = []
    if filled.is_script:
        text = _VARIABLE.sub(lambda match: places.get(match[1] or match[2], match[0]), filled.line).replace('"', "")
        for path in _PATH.findall(text):
            found += _find_file(path, cwd, home)
        return tuple(dict.fromkeys(found))
    for command in parse_line(filled.judged).commands:
        name, *rest = command.texts
        if "/" in name:
            found += _find_file(name, cwd, home)
        if os.path.basename(name) in _INTERPRETERS:
            found += _find_scripts(rest, cwd, home)
    return tuple(dict.fromkeys(found))


def starts_file_of(command: str, project: str, home: str) -> bool:
    """Return whether a line spells out a file of the project to be started. Only where programs and their scripts
    stand: else the project could have a file of any name, and keep a line back that is none of its business."""
    places = {"CLAUDE_PROJECT_DIR": ".", "HOME": home}
    filled = fill_line(command, places)
    if filled.is_script:
        text = _VARIABLE.sub(lambda match: places.get(match[1] or match[2], match[0]), filled.line).replace('"', "")
        started = [word for word in _PATH.findall(text) if word.startswith("./")]
    else:
        commands = [command.texts for command in parse_line(filled.judged).commands]
        started = [name for name, *_ in commands if "/" in name]
        script_words = [rest[0] for name, *rest in commands if rest and os.path.basename(name) in _INTERPRETERS]
        started += [word for word in script_words if not word.startswith("-")]
    files = [path for word in started for path in _find_file(word, project, home)]
    return any(is_within(real_path(path), project) for path in files)


def find_named(command: str, cwd: str, home: str) -> tuple[str, ...]:
    """All files that a line could run: every file that it names, also from a folder that it names, modules for Python,
    and what some programs look for by themselves. Rather one too many: an approval is bound to them.

    Raises: ClawftError for a line that names too much to look for.
    """
    places = {"CLAUDE_PROJECT_DIR": ".", "HOME": home}
    filled = fill_line(command, places)
    parsed = () if filled.is_script else parse_line(filled.judged).commands
    words = [word for parsed_command in parsed if parsed_command.texts[0] != "tee" for word in parsed_command.texts]
    words += [each.target.text for parsed_command in parsed for each in parsed_command.redirects if each.kind == "<"]
    text = _WRITES.sub(" ", _VARIABLE.sub(lambda match: places.get(match[1] or match[2], match[0]), filled.line))
    pieces = _PATH.findall(text.replace('"', "").replace("'", ""))
    names = dict.fromkeys((*words, *pieces))
    names |= dict.fromkeys(
        name.lstrip("/") for name in names if name.startswith("/")
    )  # `${CLAUDE_PROJECT_DIR:-.}/x.sh`
    names |= dict.fromkeys(each for piece in pieces for each in _READS.get(os.path.basename(piece), ()))
    for before, module in pairwise(pieces):
        if before == "-m":
            names |= dict.fromkeys(f"{module.replace('.', '/')}{end}" for end in _MODULES)
    folders = dict.fromkeys((cwd, *(one for name in names if os.path.isdir(one := resolve_path(name, cwd, home)))))
    if len(folders) * len(names) > _MAX_NAMED:
        raise ClawftError(
            "hook-command", "A command names too many files and folders to be approved", hint="Shorten it"
        )
    return tuple(dict.fromkeys(path for at in folders for name in names for path in _find_file(name, at, home)))


def name_copies(command: str, root: str, copies: Mapping[str, str], project: str, workspace: Workspace) -> str:
    """Name the copies of scripts in a line, in the place of the scripts, however it spells their paths.

    The copies lie below `root`; `project` is the real path. What a line leads to in another way, such as a Makefile or
    a script in a folder that it changes to, stays what it is.
    """
    moves = _MOVES.search(command) is not None

    def put(match: re.Match[str]) -> str:
        place, path = match["place"] or "", match["path"]
        full = (workspace.home if "HOME" in place else project if place else "") + path
        copy = copies.get(resolve_path(full, project, workspace.home))
        is_relative = not place and not path.startswith(("/", "~"))
        is_script = "/" in path or _STARTER.search(command, 0, match.start())
        if copy is None or (is_relative and (moves or not is_script)):
            return match[0]
        spelled = copy if _PLAIN.fullmatch(copy) else f"${{{COPIES}}}{copy.removeprefix(root)}"
        return spelled + (match["quote"] or "")

    return _SPELLED.sub(put, command)


def _find_scripts(arguments: Sequence[str], cwd: str, home: str) -> list[str]:
    """The script that an interpreter is given, and files that its options name; what follows is for the script."""
    found: list[str] = []
    before = ""
    for argument in arguments:
        files = [] if argument.startswith("-") else _find_file(argument, cwd, home)
        found += files
        if files and not before.startswith("-"):
            break
        before = argument
    return found


def _find_file(path: str, cwd: str, home: str) -> list[str]:
    full = resolve_path(path, cwd, home)
    return [full] if os.path.isfile(full) else []


class LinePolicy:
    """The user's command policy and rules, for the lines of hooks."""

    def __init__(self, settings: ExecSettings, rules: PermissionRules, workspace: Workspace) -> None:
        """Raises: ClawftError for settings that make no sense."""
        self._policy = CommandPolicy(settings)
        self._rules = rules
        self._workspace = workspace
        self.project = real_path(workspace.project)  # where they run, wherever the user is

    def object_to(self, filled: HookLine) -> str:
        """Return why a line may not be run, or ''."""
        if filled.is_script:
            return self._object_to_script(filled.line)
        verdict = self._policy.judge(filled.judged)
        return verdict.reason if verdict.decision == "deny" else self._find_rule(filled.judged)

    def _object_to_script(self, text: str) -> str:
        shown = text.replace("\n", " ").replace("\t", " ")
        if blank_out(shown) != shown:  # nobody can agree to what does not show
            return "it has characters that do not show"
        if objection := self._policy.object_to(("bash", "-c", text)):
            return objection
        pieces = ("bash -c script", *(part.strip() for part in _BREAKS.split(text)))
        return next(filter(None, map(self._find_rule, filter(None, pieces))), "")

    def _find_rule(self, line: str) -> str:
        """The rule that denies a line, or nothing."""
        where = PatternRoots(self._workspace.project, self.project, self._workspace.home)
        call = CheckedCall("exec_shell", {"command": line, "cwd": self.project}, where)
        decision = decide_call(call, CallAuthority(Mode.AUTO_EDIT, self._rules))
        return decision.rule if decision.decision == "deny" else ""
