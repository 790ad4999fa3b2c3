"""The command policy as the mode of a session has it: `plan` runs only what reads, `ask` only what is listed."""

from collections.abc import Callable

from msgspec import structs

from clawft.config.tools import CommandPolicyMode, ExecSettings
from clawft.trust.commands import CommandPolicy, Places, Verdict
from clawft.trust.modes import Mode

__all__ = ["Judge", "judge_by_mode"]

Judge = Callable[[str, Places | None, Mode], Verdict]
_WORST = ("allow", "ask", "deny")


def judge_by_mode(settings: ExecSettings, policy: CommandPolicy) -> Judge:
    """A judge of command lines; `policy` is made of the same settings. A mode only makes it stricter."""
    listed = policy
    if settings.mode is not CommandPolicyMode.ALLOWLIST:
        listed = CommandPolicy(structs.replace(settings, mode=CommandPolicyMode.ALLOWLIST))
    # The list that a user wrote may hold more than what reads.
    reading = CommandPolicy(ExecSettings())

    def judge(line: str, places: Places | None, mode: Mode) -> Verdict:
        policies = {Mode.PLAN: (listed, reading), Mode.ASK: (policy, listed)}.get(mode, (policy,))
        return max((one.judge(line, places) for one in policies), key=lambda one: _WORST.index(one.decision))

    return judge
