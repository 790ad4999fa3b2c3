"""`/runs [ID]`: what runs in the background of this project; to see, watch, answer and end it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager, closing, suppress
from typing import TYPE_CHECKING

from anyio import to_thread

from clawft.app.jobs import open_app_runs
from clawft.cli.output import one_line
from clawft.cli.repl.command import complete_names, print_lines
from clawft.cli.repl.context import ReplContext
from clawft.cli.run_display import ask_lines, count_words, follow_up, list_lines
from clawft.cli.run_watch import choices_of, render_answer
from clawft.cli.runs import LETS, check_answer, find_question, show_lines
from clawft.errors import ClawftError
from clawft.jobs import is_installed, is_used, missing
from clawft.jobs.recent_runs import load_recent_runs_of_file
from clawft.jobs.run_state import PendingQuestion, Run
from clawft.messages import Event

if TYPE_CHECKING:
    from clawft.jobs.runs import Runs


_LISTED = 20
_NEWEST = 5_000  # runs of all projects that are looked through
_WORDS = ("watch", "answer", "cancel")


async def run_runs(repl: ReplContext, rest: str) -> None:
    if not is_installed():
        raise missing()
    word, _, more = rest.partition(" ")
    if not is_used(repl.app.own_config.runs, repl.app.workspace.user_dir):
        repl.screen.print("No runs yet. Start one: weft agent --background -m TEXT")
        return
    async with _open(repl) as runs:
        if word == "watch":
            await _watch(repl, runs, more)
        elif word == "answer":
            await _answer(repl, runs, more.split())
        elif word == "cancel":
            await _cancel(repl, runs, more)
        elif rest:
            await _show(repl, runs, rest)
        else:
            await _list(repl, runs)


@asynccontextmanager
async def _open(repl: ReplContext) -> AsyncIterator["Runs"]:
    with closing(await to_thread.run_sync(open_app_runs, repl.app)) as runs:
        yield runs


async def _list(repl: ReplContext, runs: "Runs") -> None:
    def load() -> tuple[list[Run], list[PendingQuestion]]:
        project = repl.app.workspace.project
        own = [run for run in runs.store.list(limit=_NEWEST) if run.request.project == project]
        own.sort(key=lambda one: one.status != "waiting")
        asked = runs.store.questions()
        return own, [pending for pending in asked if any(pending.run == run.id for run in own)]

    own, asked = await to_thread.run_sync(load)
    shown = own[:_LISTED]
    print_lines(repl, list_lines(shown, asked, repl.screen.width) if shown else ())
    counts: dict[str, int] = {}
    for listed_run in own:
        counts[listed_run.status] = counts.get(listed_run.status, 0) + 1
    repl.screen.print(count_words(counts, " of this project"))
    names = [pending.run for pending in asked]
    for question in asked:
        way = follow_up(question, only=names.count(question.run) == 1, command="/runs answer")
        repl.screen.print(f"  {way}")


async def _show(repl: ReplContext, runs: "Runs", text: str) -> None:
    def load() -> list[str]:
        run = runs.store.get(runs.store.resolve(text.strip()))
        return show_lines(runs, run, repl.screen.width, answer="/runs answer")

    print_lines(repl, await to_thread.run_sync(load))


async def _answer(repl: ReplContext, runs: "Runs", words: list[str]) -> None:
    if len(words) not in (2, 3):
        repl.screen.print("Say: /runs answer ID [KEY] ANSWER")
        return
    key = words[1].strip("'") if len(words) == 3 else ""

    def load() -> PendingQuestion:
        found = find_question(runs, runs.store.resolve(words[0]), key)
        check_answer(found, words[-1])
        return found

    question = await to_thread.run_sync(load)
    _print_question(repl, question)
    if question.event.dangerous and words[-1] in LETS and not await _agrees(repl):
        repl.screen.print("Nothing was answered")
        return
    await _give(runs, question, words[-1])
    repl.screen.print(f"Answered: {words[-1]}. It goes on; follow it: /runs watch {question.run}")


async def _agrees(repl: ReplContext) -> bool:
    """Return whether a person means it, who has seen the question."""
    with suppress(EOFError):
        return (await repl.reader.ask("  Do it? [y]es, [N]o: ")).strip().lower() in ("y", "yes")
    return False


async def _give(runs: "Runs", question: PendingQuestion, answer: str) -> None:
    def give() -> None:
        runs.answer(question, answer)
        runs.ensure_worker(runs.store.get(question.run).queue)

    await to_thread.run_sync(give)


def _print_question(repl: ReplContext, question: PendingQuestion) -> None:
    print_lines(repl, ask_lines(question))


async def _cancel(repl: ReplContext, runs: "Runs", text: str) -> None:
    def cancel() -> Run:
        return runs.cancel(runs.store.resolve(text.strip()))

    run = await to_thread.run_sync(cancel)
    ending = "is being ended" if run.status == "running" else f"is {run.status}"
    repl.screen.print(f"{run.id} {ending}")


async def _watch(repl: ReplContext, runs: "Runs", text: str) -> None:
    run = await to_thread.run_sync(lambda: runs.store.get(runs.store.resolve(text.strip())))
    if run.status in ("queued", "running"):
        await to_thread.run_sync(runs.ensure_worker, run.queue)
    repl.notices.suppress(run.id)
    try:
        await repl.display.show(_tell(repl, runs, run.id))
    except (asyncio.CancelledError, KeyboardInterrupt) as left:
        if isinstance(left, asyncio.CancelledError) and (task := asyncio.current_task()):
            task.uncancel()  # to leave is no failure
        repl.notices.mention(run.id)
        repl.screen.print(f"left; it goes on. To see it again: /runs watch {run.id}")


async def _tell(repl: ReplContext, runs: "Runs", run: str) -> AsyncGenerator[Event]:
    """The events of a run; its questions are put in between."""
    from clawft.jobs.events import follow

    own: set[str] = set()
    async with aclosing(follow(runs.store, run)) as events:
        async for event in events:
            if isinstance(event, PendingQuestion):
                if event.key not in own and await _put(repl, runs, event):
                    own.add(event.key)
            elif isinstance(event, Run):
                _end(repl, event)
            else:
                yield event


async def _put(repl: ReplContext, runs: "Runs", question: PendingQuestion) -> bool:
    """Ask a question, or tell how it was answered; whether it was answered here."""
    with repl.display.holding():
        _print_question(repl, question)
        if question.answer is not None:
            repl.screen.print(render_answer(question))
            return False
        text, meanings = choices_of(question)
        typed = None
        while typed not in meanings:
            try:
                typed = (await repl.reader.ask(text)).strip().lower()
            except EOFError:
                return False
    if not meanings[typed]:
        return False
    with suppress(ClawftError):  # already answered elsewhere, which is reported next
        await _give(runs, question, meanings[typed])
        return True
    return False


def _end(repl: ReplContext, run: Run) -> None:
    """Print how a run failed or was cancelled, which its events do not show."""
    if run.error is not None:
        repl.display.note(f"It failed: {one_line(run.error.message)}")
    elif run.status == "cancelled":
        repl.display.note(f"It was cancelled. To go on with it: weft runs resume {run.id}")


def complete_runs(repl: ReplContext, partial: str) -> Iterable[str]:
    word, space, more = partial.partition(" ")
    ids = [run.id for run in load_recent_runs_of_file(repl.app.workspace.user_dir, _LISTED)]
    if space:
        return complete_names(ids, more) if word in _WORDS else ()
    return complete_names([*_WORDS, *ids], partial)
