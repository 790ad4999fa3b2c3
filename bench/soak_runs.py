"""`make soak`, third part: kill workers again and again while runs are under way; each finishes, no step is repeated.

Effects are counted where they happen: the model's server counts what it is asked, and each command that must not be
repeated adds a line to a file. What was in flight when its worker was killed is asked about, and answered at random.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from chaos import COMMANDS, Chaos, Process, ten_steps
from clawft.agent.sessions import SessionStore
from clawft.errors import ClawftError
from clawft.jobs.engine import RecordedStep
from clawft.jobs.run_state import PendingQuestion
from postgres import Postgres

STALL_S = 60.0  # without any progress, something is lost
ANSWERS = 5  # of the model, in each run
SLACK_S = 0.002  # times are recorded in milliseconds


def main(runs: int = 200, rounds: int = 30, workers: int = 3, seed: int | None = None, *, server: bool = False) -> int:
    """Kill in so many rounds. Returns how many things were not as they must be."""
    seed = random.randrange(1 << 32) if seed is None else seed
    where = "PostgreSQL, which is stopped too" if server else "a file"
    print(
        f"soak of runs: {runs} runs of 10 steps on {where}, {rounds} rounds, {workers} workers, seed {seed}", flush=True
    )
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="clawft-soak-"))
        postgres = stack.enter_context(Postgres()) if server else None
        settings = "concurrency = 8" + (f'\ndatabase = "{postgres.url()}"' if postgres else "")
        slow = partial(ten_steps, wait_s=0.1)
        chaos = stack.enter_context(Chaos(Path(folder), script=slow, runs=settings))
        soak = Soak(chaos, workers, random.Random(seed), postgres)
        soak.run(runs, rounds)
        wrong = soak.check()
    print(f"soak of runs: {soak.summary()}", flush=True)
    for line in wrong:
        print(f"WRONG  {line}")
    return len(wrong)


class Soak:
    """Workers that are killed and replaced, and a person who answers what is asked."""

    def __init__(self, chaos: Chaos, workers: int, chance: random.Random, postgres: Postgres | None = None) -> None:
        self.chaos = chaos
        self.postgres = postgres
        self.workers = workers
        self.chance = chance
        self.alive: list[Process] = []
        self.kills = 0
        self.answers: dict[tuple[str, str], str] = {}
        self.started = time.monotonic()
        self.counts: Counter[str] = Counter()

    def run(self, runs: int, rounds: int) -> None:
        self.labels = [f"r{number}" for number in range(runs)]
        self.chaos.start(*self.labels)
        for _ in range(self.workers):
            self.alive.append(self.chaos.work())
        for number in range(1, rounds + 1):
            goal = runs * ANSWERS * number // (rounds + 1)
            self._wait(partial(self._is_as_far, goal))
            self._pause(self.chance.uniform(0, 0.3))
            self._kill()
            if self.postgres is not None and self.chance.random() < 0.5:
                self.postgres.stop(self.chance.choice(("fast", "immediate")))
                self._pause(self.chance.uniform(0, 2))
                self.postgres.start()
                self.chaos.runs.database.dispose()
                self.counts["stops"] += 1
            counts = self.chaos.runs.store.counts()
            print(f"  round {number}: {self.kills} kills, {len(self.chaos.calls)} answers, "
                  f"{counts}, {len(self.answers)} questions", flush=True)  # fmt: skip
        self._wait(self._are_over)
        self.seconds = time.monotonic() - self.started

    def _kill(self) -> None:
        for process in self.chance.sample(self.alive, self.chance.randint(1, self.workers)):
            process.kill()
            self.kills += 1
            self.alive[self.alive.index(process)] = self.chaos.work()

    def _is_as_far(self, goal: int) -> bool:
        return len(self.chaos.calls) >= goal

    def _are_over(self) -> bool:
        return self.chaos.runs.store.counts() == {"done": len(self.labels)}

    def _wait(self, is_reached: Callable[[], bool]) -> None:
        """Until something is reached, answering meanwhile. Raises: AssertionError when nothing moves any more."""
        moved, last = time.monotonic(), -1
        while not is_reached():
            self._answer()
            for at, process in enumerate(self.alive):
                if process.popen.poll() is not None:  # begun while the server was away, as a service manager would
                    assert "runs-unreachable" in process.said, process.said
                    self.alive[at] = self.chaos.work()
            now = len(self.chaos.calls) + len(self.answers)
            moved, last = (moved, last) if now == last else (time.monotonic(), now)
            assert time.monotonic() - moved < STALL_S, f"nothing moves: {self._tell_stuck()}"
            failed = self.chaos.runs.store.list(statuses=("failed", "cancelled"), limit=1)
            assert not failed, f"a run has failed: {failed[0]}"
            time.sleep(0.1)

    def _tell_stuck(self) -> str:
        stuck = self.chaos.runs.store.list(statuses=("queued", "running", "waiting"), limit=3)
        said = "\n".join(one.said[-2000:] for one in self.alive)
        return f"{self.chaos.runs.store.counts()}\n{stuck}\n{said}"

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        with suppress(ClawftError):  # the server may be stopped
            self._answer()
        time.sleep(max(0.0, end - time.monotonic()))

    def _answer(self) -> None:
        for question in self.chaos.questions():
            if (question.run, question.key) not in self.answers:
                answer = self.chance.choice(question.choices)
                self.chaos.runs.answer(question, answer)
                self.answers[question.run, question.key] = answer

    # what must hold

    def check(self) -> list[str]:
        """What is not as it must be."""
        effects, recorded = self.chaos.effects, self.chaos.recorded_at()
        self.asked: dict[str, list[PendingQuestion]] = defaultdict(list)
        for question in self.chaos.questions(open_only=False):
            self.asked[question.run].append(question)
        times: dict[tuple[str, str], list[float]] = defaultdict(list)
        for label, name, at in effects:
            times[label, name].append(at)
        wrong: list[str] = []
        for label in self.labels:
            wrong += [f"{label}: {one}" for one in self._check_run(label, times, recorded)]
        for process in self.chaos.processes:
            wrong += [f"a worker says: {process.said}"] if "Traceback" in process.said else []
        return wrong

    def _check_run(
        self, label: str, times: dict[tuple[str, str], list[float]], recorded: dict[tuple[str, str], float]
    ) -> list[str]:
        run = self.chaos.get(label)
        wrong: list[str] = [] if run.status == "done" and run.steps == 10 else [f"{run.status}, {run.steps} steps"]
        for run_label, place, at in self.chaos.calls:
            if run_label == label:
                self.counts["calls"] += 1
                done = recorded.get((run.id, str(place + 1)), 0.0)
                wrong += [f"answer {place + 1} was asked for after it was recorded"] if at > done + SLACK_S else []
        for key, name in COMMANDS.items():
            wrong += self._check_command(run.id, key, times[label, name], recorded.get((run.id, key), 0.0))
        written = self.chaos.project / "out" / f"{label}.txt"
        wrong += [] if written.exists() and written.read_text() == label else ["its file is not there"]
        return wrong + self._check_session(run.session, run.id)

    def _check_command(self, run: str, key: str, times: list[float], recorded: float) -> list[str]:
        """Done once, unless it was in flight: then it was asked about, and the answers tell how often it may be."""
        self.counts["effects"] += len(times)
        if any(at > recorded + SLACK_S for at in times):
            return [f"{key} was done after it was recorded"]
        said = [one.answer for one in self.asked[run] if one.key.startswith(f"{key}~")]
        intents = [one.value for one in self._recorded(run, f"{key}!")]
        flagged = {one.key.partition("~")[2] for one in self.asked[run] if one.key.startswith(f"{key}~")}
        self.counts["flagged"] += len(said)
        self.counts["twice"] += len(times) > 1
        again = said.count("again")
        least = 1 if again == len(said) else 0  # the last time, nobody cut it short
        wrong: list[str] = []
        if not least <= len(times) <= 1 + again:
            told = [one.value["result"] for one in self._recorded(run, key)]
            wrong = [f"{key} was done {len(times)} times; answers: {said}; it told {told}"]
        lost = [one for one in intents[: again if again < len(said) else -1] if one not in flagged]
        return wrong + ([f"{key} was in flight with {lost}, and nobody was asked"] if lost else [])

    def _recorded(self, run: str, name: str) -> list[RecordedStep]:
        recorded = self.chaos.runs.recorded(self.chaos.runs.store.get(run))
        return [one for one in recorded if one.name == name]

    def _check_session(self, session: str, run: str) -> list[str]:
        try:
            turns = SessionStore(str(self.chaos.user_dir / "sessions")).read(session).turns
        except ClawftError as error:
            return [f"its session: {error}"]
        return [] if [turn.run for turn in turns] == [run] else [f"its session has {len(turns)} turns"]

    def summary(self) -> str:
        given = Counter(self.answers.values())
        steps = len(self.labels) * 10
        repeated = self.counts["calls"] - len(self.labels) * ANSWERS
        return (
            f"{len(self.labels)} runs over after {self.kills} kills in {self.seconds:.0f} s ({steps} steps); "
            f"{self.counts['effects']} effects of {len(self.labels) * len(COMMANDS)} commands, "
            f"{self.counts['flagged']} in flight and asked about "
            f"({', '.join(f'{given[one]} {one}' for one in sorted(given))}), "
            f"{self.counts['twice']} done twice as told; "
            f"{repeated} answers of the model asked for again that were not recorded"
            + (f"; the server was stopped {self.counts['stops']} times" if self.postgres else "")
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--postgres", action="store_true", help="on a server, which is stopped now and then")
    given = parser.parse_args()
    sys.exit(1 if main(given.runs, given.rounds, given.workers, given.seed, server=given.postgres) else 0)
