"""A confined program, under both sandboxes: what it sees, what it may change, and that it ends as others do."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest

from clawft.errors import ClawftError
from clawft.sandbox.confinement import Confinement

pytestmark = pytest.mark.anyio
Box = Any


async def test_output_errors_code_and_signal_are_those_of_the_program(box: Box) -> None:
    done = await box.run("echo out; echo err >&2; exit 7", merged=False)
    assert (done.code, done.output, done.errors) == (7, b"out\n", b"err\n")
    assert (await box.run("kill -9 $$")).code == -9
    assert (await box.run("cat", stdin=b"given")).output == b"given"
    assert (await box.run("exit 200")).code == 200


async def test_what_the_project_holds_can_be_changed(box: Box) -> None:
    (box.project / "src").mkdir()
    (box.project / "file").write_text("old")
    done = await box.run(
        "echo new > file && echo made > src/made && mkdir src/deep && mv src/made src/deep && cat file"
    )
    assert (done.code, done.output) == (0, b"new\n")
    assert (box.project / "src/deep/made").read_text() == "made\n"


async def test_nothing_outside_the_project_can_be_changed(box: Box) -> None:
    outside = box.folder / "outside"
    outside.write_text("old")
    (box.project / "link").symlink_to(outside)
    for target in (outside, "link", "/usr/clawft-test", "/etc/clawft-test", box.home / "made", "/clawft-test"):
        await box.run(f"echo new > {target}")
    assert outside.read_text() == "old"
    made = [Path("/usr/clawft-test"), Path("/etc/clawft-test"), Path("/clawft-test"), box.home / "made"]
    assert not any(one.exists() for one in made)


@pytest.mark.parametrize("place", ["{folder}/outside", "{home}/.bashrc", "{user_dir}/approvals.json", "/etc/shadow"])
async def test_what_is_outside_the_project_cannot_be_read(box: Box, place: str) -> None:
    for path in (box.folder / "outside", box.home / ".bashrc", box.user_dir / "approvals.json"):
        path.write_text("s3cret")
    target = place.format(folder=box.folder, home=box.home, user_dir=box.user_dir)
    (box.project / "link").symlink_to(target)
    done = await box.run(f"cat {target} link")
    assert done.code != 0
    assert b"s3cret" not in done.output
    assert b"root:" not in done.output


async def test_only_its_own_environment_is_seen(box: Box, environ: dict[str, str]) -> None:
    environ["MARKED"] = "s3cret-marker"
    said = await box.say("env; tr '\\0' '\\n' < /proc/self/environ; cat /proc/1/environ /proc/$PPID/environ")
    assert "PATH=/usr/bin:/bin" in said
    assert "s3cret-marker" not in said


async def test_environment_is_on_no_command_line(box: Box) -> None:
    box.env["TOKEN"] = "s3cret-in-the-environment"
    found: list[int] = []

    async def look() -> None:
        while not found:
            found.extend(box.find_running("s3cret-in-the-environment"))
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look)
        assert (await box.run('test -n "$TOKEN" && sleep 0.1')).code == 0
        tasks.cancel_scope.cancel()
    assert found == []


async def test_a_library_named_by_the_environment_is_not_loaded_outside(box: Box) -> None:
    box.env["LD_PRELOAD"] = f"{box.project}/missing.so"
    box.env["PYTHONSTARTUP"] = f"{box.project}/start.py"
    done = await box.run("true")
    assert done.code == 0
    assert done.output.count(b"cannot be preloaded") <= 1  # by the shell inside, and by nothing before it


async def test_other_processes_are_out_of_sight_and_reach(box: Box) -> None:
    ours = os.getpid()
    said = await box.say(
        f"cat /proc/{ours}/cmdline /proc/{ours}/environ; ls /proc/{ours}/fd; kill -0 {ours} && echo hit"
    )
    assert "hit" not in said
    assert "pytest" not in said


async def test_it_has_no_power_over_the_system(box: Box) -> None:
    said = await box.say(
        "mount -t tmpfs none /tmp; unshare -U true; chroot / true; grep -E 'Cap(Eff|Bnd)|NoNew' /proc/self/status"
    )
    assert "CapEff:\t0000000000000000" in said
    assert "NoNewPrivs:\t1" in said


async def test_it_makes_no_program_that_runs_with_the_rights_of_its_owner(box: Box) -> None:
    (box.project / "src").mkdir()
    await box.run("cp /bin/true src/a; chmod u+s src/a; chmod 6755 src/a; chmod g+s src")
    await box.run('umask 0; /usr/bin/python3 -c \'import os; os.write(os.open("src/b", 65, 0o4755), b"x")\'')
    assert [(box.project / name).stat().st_mode & 0o6000 for name in ("src/a", "src/b")] == [0, 0]
    assert (await box.run("chmod 755 src/a && src/a")).code == 0


async def test_it_reaches_no_network_nor_any_service_of_the_machine(box: Box, tmp_path: Path) -> None:
    import socket

    with socket.socket() as listener, socket.socket(socket.AF_UNIX) as local:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        local.bind(f"{tmp_path}/service.sock")
        local.listen()
        port = listener.getsockname()[1]
        script = f"""
import socket
there = ((2, ("127.0.0.1", {port})), (2, ("1.1.1.1", 80)), (1, "{tmp_path}/service.sock"), (40, (2, 80)))
for family, address in there:
    try:
        socket.socket(family).connect(address)
        print("reached", address)
    except OSError as error:
        print("refused")
"""
        (box.project / "reach.py").write_text(script)
        said = await box.say("/usr/bin/python3 reach.py")
    assert said.split() == ["refused"] * 4


async def test_nothing_of_it_lives_on(box: Box) -> None:
    mark = f"86{os.getpid() % 1000:03}"
    twice = f"(setsid sh -c 'sleep {mark}2 & sleep {mark}3' &)"
    done = await box.run(f"setsid sleep {mark}1 & {twice}; nohup sleep {mark}4 >/dev/null 2>&1 & echo done")
    assert done.output.endswith(b"done\n")
    assert not done.timed_out
    assert box.find_running(mark) == []


async def test_what_is_stopped_or_cancelled_leaves_nothing(box: Box) -> None:
    mark = f"87{os.getpid() % 1000:03}"
    done = await box.run(f"echo begun; setsid sleep {mark}1 & trap '' TERM; sleep {mark}2; sleep {mark}3", timeout_s=2)
    assert (done.timed_out, done.output) == (True, b"begun\n")
    with anyio.move_on_after(0.5):
        await box.run(f"setsid sleep {mark}4 & sleep {mark}5")
    assert box.find_running(mark) == []


async def test_private_temporary_files_are_gone_afterwards(box: Box) -> None:
    done = await box.run('echo kept > "$TMPDIR/clawft-probe" && cat "$TMPDIR/clawft-probe" && echo x > "$HOME/x"; pwd')
    assert done.output.decode().splitlines() == ["kept", str(box.project)]
    assert not Path("/tmp/clawft-probe").exists()
    assert not (box.home / "x").exists()
    assert "clawft-probe" not in await box.say('ls -A "$TMPDIR"')


async def test_a_project_elsewhere_leaves_tmp_to_the_program(box: Box) -> None:
    with TemporaryDirectory(dir="/var/tmp") as folder:
        (Path(folder) / "src").mkdir()
        mine = Path("/tmp", Path(folder).name)
        done = await box.sandbox.run(
            f"echo a > {mine} && cat {mine} && mktemp -d >/dev/null && echo x > $HOME/x && echo made > src/made && pwd",
            cwd=folder,
            env=box.env,
            timeout_s=30,
            max_bytes=1000,
            confinement=Confinement(writable=(folder,)),
        )
        assert (Path(folder) / "src/made").read_text() == "made\n"
    assert (done.code, done.output.decode()) == (0, f"a\n{folder}\n")
    assert not mine.exists()


async def test_words_run_without_a_shell_and_options_are_only_words(box: Box) -> None:
    done = await box.sandbox.run(("echo", "$HOME;", "--bind", "/"), cwd="/", env=box.env, timeout_s=30, max_bytes=1000)
    assert done.output == b"$HOME; --bind /\n"


async def test_a_program_that_does_not_exist_is_told(box: Box) -> None:
    done = await box.sandbox.run(("no-such-program",), cwd="/", env=box.env, timeout_s=30, max_bytes=1000)
    assert done.code == 127
    assert b"no-such-program" in done.output


async def test_readable_and_writable_folders_are_granted_and_nothing_beside_them(box: Box) -> None:
    for name in ("tools", "shared"):
        (box.folder / name / "deep").mkdir(parents=True)
        (box.folder / name / "deep" / "file").write_text(name)
    granted = Confinement(readable=(f"{box.folder}/tools",), writable=(f"{box.folder}/shared", str(box.project)))
    reading, writing = "cat tools/deep/file shared/deep/file", "echo x > tools/deep/x; echo y > shared/deep/y"
    said = await box.say(f"cd {box.folder}; {reading}; {writing}", granted)
    assert said.startswith("toolsshared")
    assert not (box.folder / "tools/deep/x").exists()
    assert (box.folder / "shared/deep/y").read_text() == "y\n"


async def test_settings_grant_further_folders(box: Box) -> None:
    (box.home / "chain").mkdir()
    (box.home / "chain/tool").write_text("found")
    done = await box.run(f"cat {box.home}/chain/tool", sandbox=box.open(readable=("~/chain",)))
    assert done.output == b"found"


async def test_this_programs_own_folder_is_never_seen_even_if_a_grant_holds_it(box: Box) -> None:
    (box.user_dir / "trust.key").write_text("s3cret")
    (box.user_dir / "skills/one").mkdir(parents=True)
    (box.user_dir / "skills/one/script.sh").write_text("echo skill")
    granted = Confinement(readable=(str(box.home), str(box.user_dir), f"{box.user_dir}/skills/one", str(box.project)))
    said = await box.say(
        f"cat {box.user_dir}/trust.key; ls {box.user_dir}; sh {box.user_dir}/skills/one/script.sh", granted
    )
    assert "s3cret" not in said
    assert said.endswith("skill\n")
    assert box.kind == "landlock" or "cannot open directory" in said  # Landlock lets names be listed


async def test_folders_of_programs_are_seen_and_their_neighbours_are_not(box: Box) -> None:
    programs = box.home / ".tools/bin"
    for path, text in ((programs / "hello", "#!/bin/sh\ncat ../lib/words\n"), (box.home / ".tools/lib/words", "hello")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    (box.home / ".tools/credentials").write_text("s3cret")
    box.env["PATH"] = f"{programs}:{box.home}:/usr/bin:/bin"
    said = await box.say(f"cd {programs} && hello; cat {box.home}/.tools/credentials")
    assert said.startswith("hello")
    assert "s3cret" not in said


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="tests run in no virtual environment")
async def test_a_virtual_environment_on_the_path_works(box: Box) -> None:
    box.env["PATH"] = f"{os.path.dirname(sys.executable)}:/usr/bin:/bin"
    assert (await box.say("python -c 'import msgspec, sqlite3, ssl; print(1)'")) == "1\n"


async def test_a_variable_cannot_smuggle_grants_in(box: Box) -> None:
    (box.folder / "outside").write_text("s3cret")
    box.env["GIVEN"] = f"x\0--bind\0{box.folder}\0{box.folder}"
    try:
        said = await box.say(f"cat {box.folder}/outside")
    except ClawftError as error:
        said = error.code
    assert "s3cret" not in said
    assert "sandbox-failed" in said or "could not start" in said


async def test_a_folder_that_is_gone_runs_nothing(wrapped: Box) -> None:
    with pytest.raises(ClawftError) as failure:
        await wrapped.sandbox.run(
            "touch made", cwd=f"{wrapped.folder}/gone", env=wrapped.env, timeout_s=30, max_bytes=1000
        )
    assert failure.value.code == "sandbox-failed"


async def test_mounts_show_a_copy_in_the_place_of_the_original(wrapped: Box) -> None:
    for name in ("copy", "skill"):
        (wrapped.folder / name).mkdir()
        (wrapped.folder / name / "script").write_text(name)
    granted = Confinement(mounts=((f"{wrapped.folder}/copy", f"{wrapped.folder}/skill"),))
    done = await wrapped.sandbox.run(
        "cat script; echo x > x",
        cwd=f"{wrapped.folder}/skill",
        env=wrapped.env,
        timeout_s=30,
        max_bytes=1000,
        confinement=granted,
    )
    assert done.output.startswith(b"copy")
    assert sorted(os.listdir(wrapped.folder / "copy")) == ["script"]


async def test_the_name_of_the_time_zone_is_known(box: Box) -> None:
    real = os.path.realpath("/etc/localtime")
    if not real.startswith("/usr/"):
        pytest.skip("there is no name of a time zone here")
    assert (await box.say("readlink -f /etc/localtime")).strip() == real
