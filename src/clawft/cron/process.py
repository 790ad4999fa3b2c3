"""One run of a job: a real `weft` of its own, so that nothing it does can take the scheduler down."""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from clawft.cron.jobs import Job, Status
from clawft.messages import TurnFailed, TurnFinished
from clawft.sandbox.process import Finished, Streams, run_process

__all__ = ["TIMEOUT_S", "Launcher", "Outcome", "job_words"]

TIMEOUT_S = 3600.0
_MAX_OUTPUT = 2 << 20  # of the events; the last one counts, and all are in the session
_MAX_ERROR = 500  # characters
_STATUSES: dict[int, Status] = {0: "ok", 3: "refused", 130: "interrupted"}


class Outcome(Struct, frozen=True):
    """How a run ended. `text` is the answer."""

    status: Status
    exit_code: int | None = None
    session: str = ""
    text: str = ""
    error: str = ""


class Launcher(Struct, frozen=True):
    """How jobs are started: `program` is `weft` as words."""

    program: tuple[str, ...]
    environ: Mapping[str, str]
    user_dir: str
    timeout_s: float = TIMEOUT_S

    async def run(self, job: Job, started: datetime) -> Outcome:
        """Run a job to its end, or to the end of its time."""
        session = job.session_key(started)
        # Wherever the scheduler was started, the job sees the project it was added in.
        env = {**self.environ, "CLAWFT_HOME": self.user_dir, "CLAWFT_PROJECT": job.cwd}
        # A message goes in through a pipe: any text is a text there, and no other user sees it.
        streams = Streams(stdin=b"" if job.task.skill else job.task.text.encode(), merged=False)
        try:
            finished = await run_process(
                (*self.program, *job_words(job, session)),
                cwd=job.cwd,
                env=env,
                timeout_s=self.timeout_s,
                max_bytes=_MAX_OUTPUT,
                streams=streams,
            )
        except (OSError, ValueError) as error:
            gone = not os.path.isdir(job.cwd)
            why = f"its folder {job.cwd} is gone" if gone else f"it cannot be started: {error}"
            return Outcome("failed", session=session, error=why)
        return _read_outcome(finished, session, self.timeout_s)


def job_words(job: Job, session: str) -> Sequence[str]:
    """The arguments of `weft` that run a job."""
    task = job.task
    shared = [f"--session={session}", "--format=json"]
    shared += [f"--agent={task.agent}"] * bool(task.agent)
    shared += [f"--model={task.model}"] * bool(task.model)
    shared += ["--yes"] * task.yes
    if task.skill:
        return ["skills", "run", *shared, f"--args={task.text}", "--", task.skill]
    return ["agent", *shared, "--message=-"]


def _read_outcome(finished: Finished, session: str, timeout_s: float) -> Outcome:
    last = _last_event(finished.output)
    session = last.session if last and last.session else session
    if finished.timed_out:
        return Outcome("timeout", finished.code, session, error=f"ended after {timeout_s:g} seconds")
    status = _STATUSES.get(finished.code, "failed")
    if isinstance(last, TurnFinished):
        return Outcome(status, finished.code, session, last.text, _why(finished) if status != "ok" else "")
    if isinstance(last, TurnFailed):
        return Outcome(status, finished.code, session, error=f"{last.code}: {last.message}"[:_MAX_ERROR])
    return Outcome(status, finished.code, session, error=_why(finished) if status != "ok" else "")


def _last_event(output: bytes) -> TurnFinished | TurnFailed | None:
    """The event that ended the turn, if the output has one."""
    lines = output.rstrip().rsplit(b"\n", 1)
    try:
        return msgspec.json.decode(lines[-1], type=TurnFinished | TurnFailed)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _why(finished: Finished) -> str:
    """One line on why a run failed: what it said of an error, or the last thing it said."""
    lines = [line.strip() for line in finished.errors.decode(errors="replace").splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith(("error[", "refused:"))), lines[-1] if lines else "")
    ending = f"signal {-finished.code}" if finished.code < 0 else f"exit code {finished.code}"
    return (said or f"it ended with {ending}")[:_MAX_ERROR]
