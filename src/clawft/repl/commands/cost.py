"""`/cost`: what this session and this day used, and the budgets for both."""

from typing import TYPE_CHECKING

from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_facts

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["COST"]

_HELP = """\
Dollars count the models whose price the config knows: input_usd_per_mtok and output_usd_per_mtok of
[providers.NAME.models.MODEL]. Limits are set in [agents.budget]."""


async def _run(repl: "Repl", _rest: str) -> None:
    ledger = (await repl.runtime()).ledger
    budget = ledger.budget
    here = ledger.spent(session=repl.key) if repl.key else (0, 0.0)
    today = ledger.spent(day=ledger.now().date().isoformat())
    facts = [
        ("This session", _spent(*here) + _limits(budget.per_session_tokens, budget.per_session_usd)),
        ("Today", _spent(*today) + _limits(budget.per_day_tokens, budget.per_day_usd)),
    ]
    print_facts(repl, facts)
    if today[0] and not today[1]:
        repl.screen.print("No price is known for these models; `/help cost` tells where prices are set")


def _spent(tokens: int, usd: float) -> str:
    return f"{tokens:,} tokens" + (f", ${usd:.4f}" if usd else "")


def _limits(tokens: int | None, usd: float | None) -> str:
    limits = [f"{tokens:,} tokens"] if tokens is not None else []
    limits += [f"${usd:g}"] if usd is not None else []
    return f" (limit: {' and '.join(limits)})" if limits else ""


COST = SlashCommand("cost", "/cost", "Show tokens and cost", _run, _HELP)
