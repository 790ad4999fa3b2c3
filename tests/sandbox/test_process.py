"""Programs are bounded in time and output, get only their own environment, and leave nothing behind."""

import os
import sys
from pathlib import Path

import anyio
import pytest

from clawft.sandbox.process import FLOOD_BYTES, Finished, Streams, run_process

pytestmark = pytest.mark.anyio

ENV = {"PATH": os.defpath}


async def run(command: str | tuple[str, ...], cwd: Path, timeout_s: float = 30, **streams: object) -> Finished:
    return await run_process(
        command,
        cwd=str(cwd),
        env=ENV,
        timeout_s=timeout_s,
        max_bytes=1000,
        streams=Streams(**streams),  # type: ignore[arg-type]
    )


def is_running(pid: int) -> bool:
    """Whether a process is there and not just waiting to be reaped by its new parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def until_gone(pid: int) -> bool:
    with anyio.move_on_after(60):
        while is_running(pid):
            await anyio.lowlevel.checkpoint()
        return True
    return False


async def test_output_errors_and_code_are_returned(tmp_path: Path) -> None:
    finished = await run("echo out; echo err >&2; exit 3", tmp_path, merged=False)
    assert (finished.code, finished.output, finished.errors) == (3, b"out\n", b"err\n")
    assert not finished.truncated
    assert not finished.timed_out


async def test_errors_join_the_output_in_order(tmp_path: Path) -> None:
    finished = await run("echo 1; echo 2 >&2; echo 3", tmp_path)
    assert (finished.output, finished.errors) == (b"1\n2\n3\n", b"")


async def test_words_are_run_without_a_shell(tmp_path: Path) -> None:
    assert (await run(("echo", "$HOME; id"), tmp_path)).output == b"$HOME; id\n"


async def test_program_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await run(("no-such-program",), tmp_path)


async def test_only_the_given_environment_is_seen(tmp_path: Path) -> None:
    finished = await run(("/usr/bin/env",), tmp_path)
    assert finished.output == f"PATH={os.defpath}\n".encode()


async def test_stdin_is_fed_and_closed(tmp_path: Path) -> None:
    text = os.urandom(300_000)
    finished = await run("wc -c", tmp_path, stdin=text)
    assert finished.output.strip() == b"300000"


async def test_program_that_reads_no_stdin_ends_well(tmp_path: Path) -> None:
    assert (await run("exit 0", tmp_path, stdin=b"x" * 1_000_000)).code == 0


async def test_without_stdin_a_reader_sees_the_end_at_once(tmp_path: Path) -> None:
    assert (await run("cat; echo done", tmp_path)).output == b"done\n"


async def test_program_has_no_terminal(tmp_path: Path) -> None:
    assert (await run("(: </dev/tty) 2>/dev/null || echo none", tmp_path)).output == b"none\n"


async def test_long_output_keeps_start_and_end_and_is_saved_whole(tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    finished = await run("echo START; seq 10000; echo END", tmp_path, spill_path=str(saved))
    whole = b"START\n" + b"".join(b"%d\n" % n for n in range(1, 10001)) + b"END\n"
    assert saved.read_bytes() == whole
    assert saved.stat().st_mode & 0o777 == 0o600
    assert (finished.truncated, finished.saved_to, finished.head_bytes) == (True, str(saved), 500)
    assert finished.output == whole[:500] + whole[-500:]
    assert finished.cut_bytes == len(whole) - 1000


async def test_short_output_makes_no_file(tmp_path: Path) -> None:
    finished = await run("head -c 1000 /dev/zero", tmp_path, spill_path=str(tmp_path / "saved"))
    assert (len(finished.output), finished.truncated, finished.saved_to) == (1000, False, "")
    assert not (tmp_path / "saved").exists()


async def test_file_that_cannot_be_written_loses_the_middle_only(tmp_path: Path) -> None:
    finished = await run("seq 10000", tmp_path, spill_path=str(tmp_path / "no" / "saved"))
    assert (finished.code, finished.truncated, finished.saved_to) == (0, True, "")
    assert finished.output.endswith(b"10000\n")


async def test_flood_is_ended(tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    finished = await run(("yes",), tmp_path, spill_path=str(saved))
    assert finished.flooded
    assert finished.code < 0
    assert saved.stat().st_size < FLOOD_BYTES + 100_000


async def test_flood_of_errors_is_ended(tmp_path: Path) -> None:
    assert (await run("yes >&2", tmp_path, merged=False)).flooded


async def test_hanging_program_is_ended_at_its_time(tmp_path: Path) -> None:
    finished = await run("echo before; sleep 600", tmp_path, timeout_s=1)
    assert (finished.timed_out, finished.output) == (True, b"before\n")
    assert finished.seconds < 60


async def test_program_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    finished = await run("trap '' TERM; echo $$; while :; do sleep 600; done", tmp_path, timeout_s=1)
    assert finished.timed_out
    assert await until_gone(int(finished.output))


async def test_program_may_say_a_last_word(tmp_path: Path) -> None:
    line = "trap 'echo bye; exit 0' TERM; echo here; while :; do sleep 0.05; done"
    finished = await run(line, tmp_path, timeout_s=1)
    assert finished.output.endswith(b"bye\n")


async def test_background_child_that_holds_the_pipe_is_ended_and_not_waited_for(tmp_path: Path) -> None:
    finished = await run("sleep 600 & echo $!", tmp_path)
    assert (finished.code, finished.timed_out) == (0, False)
    assert await until_gone(int(finished.output))


async def test_stubborn_background_child_is_ended_too(tmp_path: Path) -> None:
    finished = await run("(trap '' TERM; sleep 600) >/dev/null 2>&1 & echo $!", tmp_path)
    assert await until_gone(int(finished.output))


async def test_process_that_left_the_group_is_not_waited_for(tmp_path: Path) -> None:
    code = "import os,sys,time; os.setsid(); print(os.getpid(), flush=True); time.sleep(600)"
    line = f'"{sys.executable}" -I -c "{code}" & read x < fifo'
    os.mkfifo(tmp_path / "fifo")
    finished = await run(f"({line}) | (head -n 1; echo go > fifo)", tmp_path, timeout_s=60)
    pid = int(finished.output)
    assert not finished.timed_out
    os.kill(pid, 9)


async def test_cancelled_wait_ends_the_program(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, "echo $$ > tmp; mv tmp pid; sleep 600 & sleep 600", tmp_path)
        with anyio.fail_after(60):
            while not pid_file.exists():
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert await until_gone(int(pid_file.read_text()))


async def test_no_zombies_and_no_open_pipes_are_left(tmp_path: Path) -> None:
    await run("true", tmp_path)
    before = sorted(os.listdir("/proc/self/fd"))
    finished = [await run("echo $$; sleep 600 & exit 1", tmp_path, merged=False) for _ in range(5)]
    assert len(os.listdir("/proc/self/fd")) == len(before)
    assert not any(Path(f"/proc/{int(one.output)}").exists() for one in finished)


async def test_bytes_that_are_no_text_come_through(tmp_path: Path) -> None:
    assert (await run(r"printf '\377\000\376'", tmp_path)).output == b"\xff\x00\xfe"


async def test_many_programs_run_side_by_side(tmp_path: Path) -> None:
    results: list[Finished] = []

    async def one() -> None:
        results.append(await run("sleep 0.2; echo x", tmp_path))

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(one)
    assert [finished.output for finished in results] == [b"x\n"] * 50
