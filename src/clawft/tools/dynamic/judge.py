"""May the commands in the text of a skill run? All are judged before the first of them does (R59, D21)."""

from collections.abc import Sequence

from msgspec import Struct, structs

from clawft.config.tools import CommandPolicyMode, ExecSettings
from clawft.render import Dynamic, Filled, complete_variables, fill_command
from clawft.tools.command_places import CommandPlaces
from clawft.tools.dynamic.use import DynamicContext, Use, authority_over, looking_context
from clawft.tools.environment import command_env, find_planted
from clawft.trust.call import Call, Where
from clawft.trust.commands import CommandPolicy, Verdict
from clawft.trust.decide import decide
from clawft.trust.git import find_git_program
from clawft.trust.modes import Mode
from clawft.trust.prefixes import SETTING, suggest_setting

__all__ = ["Line", "judge_commands"]


_READING = CommandPolicy(ExecSettings())


class Line(Struct, frozen=True):
    """A command line that may run. `words` are those of its last command, by which its exit code is read."""

    text: str
    words: tuple[str, ...]


def judge_commands(
    context: DynamicContext, places: Sequence[Dynamic], use: Use, where: tuple[str, str]
) -> list[tuple[Line, ...]]:
    """The lines of each place, ready to run. `where` is the folder they run in, and the one that git looks at.

    Raises: Refused for the first that may not run; that is recorded.
    """
    judge = _Judge(context, use, *where)
    return [tuple(judge.check(place, command) for command in place.commands) for place in places]


class _Judge:
    def __init__(self, context: DynamicContext, use: Use, cwd: str, repository: str) -> None:
        self._context = context
        self._use = use
        self._cwd = cwd
        self._repository = repository
        listed = structs.replace(
            context.config.tools.exec,
            mode=CommandPolicyMode.ALLOWLIST,
            allowed_commands=context.prefixes,
            also_allowed=(),
        )
        self._policy = CommandPolicy(listed, SETTING)
        self._authority = authority_over(context, use)
        own = (cwd,) if use.folder else ()
        self._places = CommandPlaces(cwd, looking_context(context, own))
        variables = structs.replace(use.variables, skill_dir=cwd) if use.folder else use.variables
        self._variables = complete_variables(use.skill, variables)

    def check(self, place: Dynamic, command: str) -> Line:
        """A command with its arguments, if it may run. Raises: Refused."""
        filled = fill_command(command, self._use.arguments, self._variables)
        verdict = self._policy.judge(filled.judged, self._places)
        if reason := self._object(filled, verdict):
            self._use.record(self._context.audit, "denial", filled.line, "deny", reason)
            setting = suggest_setting([filled.judged], self._context.prefixes)
            hint = f"To allow it: {setting}" if setting else "The skill has to be changed, or given other arguments"
            shown = self._context.show(filled.line)
            raise self._use.refuse(place, f"The skill '{self._use.skill.name}' may not run `{shown}`: {reason}", hint)
        return Line(filled.line, verdict.commands[-1])

    def _object(self, filled: Filled, verdict: Verdict) -> str:
        """Why a command may not run, or nothing. What would have to be asked for is refused: nobody is asked here."""
        if verdict.decision != "allow":
            return verdict.reason
        home, project = self._context.workspace.home, self._context.workspace.project
        call = Call("exec_shell", {"command": filled.judged, "cwd": self._cwd}, Where(project, self._cwd, home))
        decision = decide(call, self._authority)
        if decision.decision in ("deny", "ask"):
            return decision.rule
        env = command_env(self._context.config.tools.exec, self._context.environ, {})
        if planted := find_planted(verdict.commands, env, self._context.sandbox.launcher):
            return planted
        # The list that a user wrote may hold more than what reads.
        if self._authority.mode is Mode.PLAN and _READING.judge(filled.judged, self._places).decision != "allow":
            return "mode plan only looks"
        if any(words[0] == "git" for words in verdict.commands) and (program := find_git_program(self._repository)):
            return f"what this repository says may start a program, or lead elsewhere ({program})"
        return ""
