"""Where a person who watches a run answers its questions; answers from elsewhere are told too."""

import re
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import click
from anyio import to_thread

from clawft.cli.events import JsonLines, Printer, ask_line, can_ask
from clawft.cli.output import one_line
from clawft.cli.runs._open import see_to
from clawft.cli.runs._words import ask_lines, follow_up
from clawft.errors import ClawftError

if TYPE_CHECKING:
    from clawft.run.durable.runs import Runs
    from clawft.run.durable.values import Question

__all__ = ["Desk", "choices_of", "tell_answer"]

_ELSEWHERE_S = 0.5
_YES, _NO, _LATER = {"y": "once", "yes": "once"}, {"n": "no", "no": "no", "": "no"}, {"l": "", "later": ""}
_MORE = {"r": "session", "s": "session", "session": "session", "a": "always", "always": "always"}
_IN_FLIGHT = {"a": "again", "again": "again", "d": "done", "done": "done", "s": "skip", "skip": "skip"}


def choices_of(question: "Question") -> tuple[str, dict[str, str]]:
    """What is offered, and what each thing that may be typed means; '' is: not now."""
    if question.kind == "in-flight":
        return "  do it [a]gain, take it as [d]one, [s]kip it, [l]ater: ", {**_IN_FLIGHT, **_LATER}
    if question.event.grave:
        return "  [y]es, this once, [N]o, [l]ater: ", {**_YES, **_NO, **_LATER}
    text = "  [y]es, yes for the [r]est of this run, [a]lways here, [N]o, [l]ater: "
    return text, {**_YES, **_MORE, **_NO, **_LATER}


def tell_answer(question: "Question") -> str:
    return f"  {question.answer}, said {one_line(question.by) or 'somebody'}"


class Desk:
    """One person at one terminal, or nobody."""

    def __init__(self, runs: "Runs", printer: Printer | JsonLines) -> None:
        self._runs = runs
        self._printer = printer
        self._shown: set[str] = set()
        self._own: set[str] = set()

    async def take(self, question: "Question") -> None:
        """A question that is asked, or was answered. Raises: ClawftError."""
        if question.answer is not None:
            if question.key not in self._own:
                self._show(question)
                self._printer.note(tell_answer(question))
            return
        self._show(question)
        if can_ask():
            answer = await self._ask(question)
            if answer is None:
                return  # what was said elsewhere is told next
            if answer:
                await self._give(question, answer)
                return
        self._printer.note(f"  answer it: {follow_up(question, only=False)}")

    def _show(self, question: "Question") -> None:
        if question.key not in self._shown:
            self._printer.note("\n".join(ask_lines(question)))
        self._shown.add(question.key)

    async def _ask(self, question: "Question") -> str | None:
        """What the person says; '' for later; None when somebody else was quicker."""
        text, meanings = choices_of(question)
        said: list[str] = []
        async with anyio.create_task_group() as group:
            group.start_soon(self._wait_elsewhere, question, group.cancel_scope)
            while not said:
                typed = await ask_line(text)
                if not typed:  # the terminal is gone
                    said.append("")
                elif (word := typed.strip().lower()) in meanings:
                    said.append(meanings[word])
                else:
                    letters = re.findall(r"\[(.)\]", text.lower())
                    self._printer.note(f"  Please answer {', '.join(letters)}")
            group.cancel_scope.cancel()
        if not said:
            click.echo(err=True)  # the line of the question is left
        return said[0] if said else None

    async def _wait_elsewhere(self, question: "Question", scope: anyio.CancelScope) -> None:
        """End the question here, if it is answered elsewhere or its run is over."""
        store = self._runs.store
        while True:
            await anyio.sleep(_ELSEWHERE_S)
            with suppress(ClawftError):  # a database that is away has no answer
                open_ones = await to_thread.run_sync(store.questions, question.run)
                if all(one.key != question.key for one in open_ones):
                    scope.cancel()
                    return

    async def _give(self, question: "Question", answer: str) -> None:
        def give() -> None:
            self._runs.answer(question, answer)
            see_to(self._runs, [self._runs.store.get(question.run)])

        try:
            await to_thread.run_sync(give)
            self._own.add(question.key)
        except ClawftError as error:
            if error.code != "run-answered":
                raise
