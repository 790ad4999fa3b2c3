"""Attacks on git outside of the sandbox: nothing that a command leaves in its copy of a repository runs a program."""

import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from git_worlds import GitWorld

pytestmark = pytest.mark.anyio


@pytest.fixture
def world(tmp_path: Path) -> GitWorld:
    world = GitWorld(tmp_path)
    if world.sandbox.status().kind != "bubblewrap":
        pytest.skip(f"there is no bubblewrap here: {world.sandbox.status().reason}")
    trap = world.project / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    (world.home / ".bashrc").write_text("rc")
    return world


def is_unharmed(world: GitWorld, *folders: Path) -> bool:
    """Whether all that people do in the repository starts nothing, and writes nowhere else."""
    world.work_on(*folders)
    home = {path.name for path in world.home.iterdir()} == {".bashrc", ".clawft"}
    return home and (world.home / ".bashrc").read_text() == "rc" and not (world.folder / "sprung").exists()


# What each line begins with: a file that git starts where a setting names it, and such a setting.
_PRELUDE = """
trap=$PWD/trap
setting() { printf "[core]\\n\\tfsmonitor = %s\\n" "$trap"; }
remote() { git config remote.o.url "$1"; git config remote.o.fetch "+refs/heads/*:refs/remotes/o/*"; }
"""
STEERING = {
    "fsmonitor": "git config core.fsmonitor $trap",
    "filter": """
        git config filter.x.clean $trap; git config filter.x.smudge $trap
        echo "* filter=x" > .git/info/attributes; touch a.txt""",
    "filter-in-tree": 'git config filter.x.clean $trap; echo "* filter=x" > .gitattributes; echo 1 >> a.txt',
    "diff": "git config diff.external $trap; echo 1 >> a.txt",
    "hookspath": "mkdir hooks; cp trap hooks/post-checkout; cp trap hooks/pre-commit; git config core.hooksPath hooks",
    "hooks": """
        for name in pre-commit post-commit post-checkout reference-transaction post-index-change
        do cp trap .git/hooks/$name; done""",
    "include": "setting > more; git config include.path ../more",
    "include-if": 'setting > more; git config "includeIf.gitdir:/.path" $PWD/more',
    "worktree-config": "git config extensions.worktreeConfig true; setting > .git/config.worktree",
    "commondir": """
        cp -r .git bare; git --git-dir bare config core.fsmonitor $trap; echo ../bare > .git/commondir""",
    "ssh": "git config core.sshCommand $trap; remote ssh://localhost/x",
    "ext": 'git config protocol.ext.allow always; remote "ext::$trap"',
    "upload-pack": "git config remote.o.url .; git config remote.o.uploadpack $trap",
    "vcs": "git config remote.o.vcs trap; git config remote.o.url x",
    "editor": 'git config core.editor $trap; git config core.pager $trap; git config alias.st "!$trap"',
    "gpg": "git config gpg.program $trap; git config commit.gpgSign true",
    "credential": "git config credential.helper $trap",
    "continued": """
        { printf '[branch "main"]\\n\\tdescription = x\\\\\\n'; setting; } >> .git/config""",
    "one-line": 'echo "[core] fsmonitor = $trap" >> .git/config',
    "odd-header": 'printf "[CORE]\\nfsMonitor=$trap\\n" >> .git/config',
    "in-a-subsection": """
        { printf '[branch "x\\\\"]\\n[core]\\"]\\n\\tmerge = refs/heads/main\\n'
          echo "fsmonitor = $trap"; } >> .git/config""",
    "replaced": "rm .git/config; setting > .git/config",
    "linked-config": "setting > more; ln -sf ../more .git/config",
}


@pytest.mark.parametrize("kind", STEERING)
async def test_nothing_that_steers_git_comes_in(world: GitWorld, kind: str) -> None:
    world.answer = False
    before = world.snapshot(without=("index",))
    done = await world.run(_PRELUDE + STEERING[kind])
    assert done.held_back, done.output
    assert world.snapshot(without=("index",)) == before
    assert is_unharmed(world)


async def test_the_traps_would_be_sprung_without_the_sandbox(world: GitWorld) -> None:
    """What is tried here does run programs where nothing keeps it out."""
    subprocess.run(["sh", "-c", _PRELUDE + STEERING["fsmonitor"]], cwd=world.project, env=world.env, check=True)
    assert not is_unharmed(world)


LINKS = ("logs/HEAD", "COMMIT_EDITMSG", "FETCH_HEAD", "index", "HEAD", "ORIG_HEAD", "refs/heads/main", "packed-refs")


@pytest.mark.parametrize("name", LINKS)
async def test_a_link_does_not_come_in(world: GitWorld, name: str) -> None:
    """The next commit outside would write to where it leads."""
    before = world.snapshot()
    done = await world.run(
        f"rm -f .git/{name}; mkdir -p $(dirname .git/{name}); ln -s {world.home}/.bashrc .git/{name}"
    )
    assert done.held_back
    assert world.snapshot() == before
    assert is_unharmed(world)


@pytest.mark.parametrize(
    "name", ["logs", "refs", "refs/heads", "objects", "objects/pack", "worktrees", "modules", "rebase-merge"]
)
async def test_a_folder_that_is_a_link_does_not_come_in(world: GitWorld, name: str) -> None:
    before = world.snapshot()
    line = f"mkdir -p elsewhere/x; cp -r .git/{name}/. elsewhere; rm -rf .git/{name}; ln -s {world.home} .git/{name}"
    done = await world.run(line)
    assert done.held_back
    now = world.snapshot()
    assert {name: now.get(name) for name in before if not name.startswith("refs")} == {
        name: held for name, held in before.items() if not name.startswith("refs")
    }
    assert not any(path.is_symlink() for path in (world.root / ".git").rglob("*"))
    assert is_unharmed(world)


@pytest.mark.parametrize(
    "name",
    [
        "refs/heads/../../../../home/x", "refs/heads/..", "refs/heads/a.lock", "refs/heads/.hidden", "refs/heads/a b",
        "refs/heads/-x", "refs/heads/a..b", "refs/heads/a@{b", "refs/heads/a\\b", "refs/heads/a:b",
    ],
)  # fmt: skip
async def test_a_ref_of_a_name_that_git_does_not_take_does_not_come_in(world: GitWorld, name: str) -> None:
    before = world.snapshot()
    quoted = "'" + name.replace("'", "'\\''") + "'"
    await world.run(f'id=$(git rev-parse HEAD); echo "$id {name}" > .git/packed-refs; echo $id > .git/{quoted}')
    assert world.snapshot() == before
    assert {path.name for path in world.home.iterdir()} == {".bashrc", ".clawft"}


async def test_a_ref_to_what_is_not_there_does_not_come_in(world: GitWorld) -> None:
    done = await world.run("echo 1111111111111111111111111111111111111111 > .git/refs/heads/main")
    assert "names an object that did not come in" in done.held_back[0]
    assert world.git("log", "--format=%s") == "first"


@pytest.mark.parametrize("kind", ["blob", "tree", "commit"])
async def test_a_damaged_object_and_all_that_needs_it_stay_out(world: GitWorld, kind: str) -> None:
    """It is kept under the name of another object, or with other bytes than its name says."""
    what = {"blob": "HEAD:b", "tree": "HEAD^{tree}", "commit": "HEAD"}[kind]
    (world.project / "spoil.py").write_text(
        "import sys, zlib; path = sys.argv[1]; data = zlib.decompress(open(path, 'rb').read())\n"
        "open(path, 'wb').write(zlib.compress(data[:-1] + b'!'))\n"
    )
    line = f"""echo new > b; git add b; git commit -qm second; id=$(git rev-parse {what})
    file=.git/objects/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-); chmod +w $file; python3 spoil.py $file"""
    done = await world.run(line)
    assert done.code == 0, done.output
    assert any("damaged" in problem for problem in done.held_back)
    assert world.git("log", "--format=%s") == "first"
    assert "error" not in world.git("fsck", "--full", "--strict")


async def test_an_object_does_not_take_the_place_of_another(world: GitWorld) -> None:
    name = world.git("rev-parse", "HEAD")
    path = f"objects/{name[:2]}/{name[2:]}"
    before = (world.root / ".git" / path).read_bytes()
    await world.run(f"mkdir -p .git/objects/{name[:2]}; echo x > .git/{path}; rm -rf .git/{path}")
    assert (world.root / ".git" / path).read_bytes() == before


async def test_an_object_that_unpacks_without_end_stays_out(world: GitWorld) -> None:
    bomb = zlib.compressobj()
    data = (
        bomb.compress(b"blob 99999999999\0") + b"".join(bomb.compress(bytes(1 << 20)) for _ in range(64)) + bomb.flush()
    )
    (world.project / "bomb").write_bytes(data)
    done = await world.run(f"mkdir -p .git/objects/aa; cp bomb .git/objects/aa/{'a' * 38}")
    assert any("too large" in problem for problem in done.held_back)
    assert not (world.root / ".git/objects/aa").exists()


@pytest.mark.parametrize("name", [".git", ".GIT", ".git ", ".Git.", "git~1", ".g\u200cit", ".."])
async def test_a_tree_with_a_name_that_is_git_on_another_system_stays_out(world: GitWorld, name: str) -> None:
    """A checkout of it would write hooks."""
    (world.project / "tree.py").write_text(
        "import sys; name, blob = sys.argv[1:]\n"
        "sys.stdout.buffer.write(b'100644 ' + name.encode() + b'\\0' + bytes.fromhex(blob))\n"
    )
    line = f"""id=$(echo x | git hash-object -w --stdin)
    tree=$(python3 tree.py '{name}' $id | git hash-object -t tree -w --stdin --literally)
    git update-ref refs/heads/evil $(git commit-tree -m evil $tree)"""
    done = await world.run(line)
    assert done.held_back, done.output
    assert world.git("branch", "--format=%(refname:short)") == "main"


@pytest.mark.parametrize("name", [".git/hooks/post-checkout", ".GIT/config", "a/../../home/x", "/tmp/x", ".git /x"])
async def test_an_index_with_a_path_that_no_work_tree_has_stays_out(world: GitWorld, name: str) -> None:
    """To check it out would write to the repository, or elsewhere."""
    before = world.snapshot(without=("objects",))
    line = f"""python3 - '{name}' $(git rev-parse HEAD:a.txt) <<'X'
import hashlib, struct, sys
name, blob = sys.argv[1].encode(), bytes.fromhex(sys.argv[2])
entry = struct.pack(">10I", *[0] * 6, 0o100755, 0, 0, 1) + blob + struct.pack(">H", len(name)) + name
entry += bytes(8 - len(entry) % 8)
data = b"DIRC" + struct.pack(">II", 2, 1) + entry
open(".git/index", "wb").write(data + hashlib.sha1(data).digest())
X"""
    done = await world.run(line)
    assert any("index" in problem for problem in done.held_back), done.output
    assert world.snapshot(without=("objects",)) == before


async def test_an_index_that_hides_changes_does_not(world: GitWorld) -> None:
    await world.do("git update-index --assume-unchanged a.txt; echo changed > a.txt")
    assert " M a.txt" in world.git("status", "--porcelain")


async def test_a_rebase_with_a_step_that_runs_a_program_does_not_come_in(world: GitWorld) -> None:
    line = """git checkout -q -b t; echo 1 > a.txt; git commit -qam 1
    git checkout -q main; echo 2 > a.txt; git commit -qam 2
    git rebase -x ./trap t; true"""
    done = await world.run(line)
    assert any("rebase-merge" in problem for problem in done.held_back), done.output
    assert not (world.root / ".git/rebase-merge").exists()
    world.git("rebase", "--continue", check=False)
    assert not (world.folder / "sprung").exists()


async def test_alternates_do_not_come_in(world: GitWorld) -> None:
    other = world.folder / "other"
    shutil.copytree(world.root / ".git/objects", other)
    done = await world.run(f"echo {other} > .git/objects/info/alternates")
    assert done.held_back == (".git: objects/info/alternates",)
    assert not (world.root / ".git/objects/info/alternates").exists()


async def test_the_repository_cannot_be_moved_away_or_emptied(world: GitWorld) -> None:
    before = world.snapshot()
    done = await world.run("mv .git away; mkdir .git; cp trap .git/hooks/pre-commit; mv away .git; rm -rf .git; true")
    assert done.held_back
    assert world.snapshot() == before
    assert not (world.project / "away").exists()


async def test_a_work_tree_elsewhere_does_not_come_in(world: GitWorld) -> None:
    """It would name a folder that git outside writes to, or removes."""
    line = f"""git worktree add -q wt; echo {world.home}/.git > .git/worktrees/wt/gitdir
    mkdir -p .git/worktrees/x; cp .git/worktrees/wt/* .git/worktrees/x; echo ../../../evil > .git/worktrees/x/commondir
    git worktree add -q /tmp/lost; true"""
    done = await world.run(line)
    assert done.held_back
    assert not (world.root / ".git/worktrees").exists()
    assert is_unharmed(world)


async def test_a_program_that_goes_on_in_the_background_changes_nothing_later(world: GitWorld) -> None:
    loop = "(setsid sh -c 'while :; do cp trap .git/hooks/pre-commit; echo x > .git/config; done' > /dev/null 2>&1 &)"
    await world.run(f"{loop}; git commit -q --allow-empty -m second")
    before = world.snapshot()
    assert world.snapshot() == before
    assert not (world.root / ".git/hooks/pre-commit").exists()
    assert is_unharmed(world)


@pytest.mark.parametrize(
    "setting", ["core.hooksPath=tools", "include.path=../tools/more", "core.fsmonitor=./tools/monitor"]
)
async def test_what_the_persons_own_settings_name_in_the_project_is_closed(world: GitWorld, setting: str) -> None:
    tools = world.project / "tools"
    tools.mkdir()
    for name in ("more", "monitor", "pre-commit"):
        (tools / name).write_text("")
    world.git("config", *setting.split("="))
    line = "for name in more monitor pre-commit; do setting > tools/$name; cp trap tools/$name; done; mv tools old"
    await world.run(_PRELUDE + line)
    assert is_unharmed(world)


async def test_a_folder_without_rights_hides_nothing(world: GitWorld) -> None:
    done = await world.run(f"{_PRELUDE} git init -q a/sub; setting >> a/sub/.git/config; chmod 500 a/sub/.git a/sub a")
    assert done.held_back
    assert is_unharmed(world, world.project / "a/sub")


async def test_refs_that_change_what_git_shows_stay_out(world: GitWorld) -> None:
    done = await world.run("git replace HEAD $(git commit-tree -m other HEAD^{tree})")
    assert any("refs/replace" in problem for problem in done.held_back)
    assert world.git("log", "-1", "--format=%s", "main") == "first"
    assert not world.git("for-each-ref", "refs/replace")


@pytest.mark.parametrize("line", ["rm .git/worktrees/wt/*dir", "rm .git/worktrees/wt/commondir"])
async def test_a_work_tree_is_not_led_elsewhere_step_by_step(world: GitWorld, line: str) -> None:
    """What belongs to a known work tree cannot be removed first, and made anew afterwards."""
    await world.do("git worktree add -q wt")
    await world.run(line)
    await world.run(
        _PRELUDE + "cp -r .git evil; setting >> evil/config; cd .git/worktrees/wt\n"
        "echo ../../../evil > commondir; echo $OLDPWD/wt/.git > gitdir"
    )
    assert is_unharmed(world, world.project / "wt")


async def test_an_index_that_takes_a_file_for_unchanged_does_not_hide_its_change(world: GitWorld) -> None:
    """It holds the old content with the status of the new one, which git does not look into then."""
    (world.project / "forge.py").write_text(
        "import hashlib, os, struct\nstatus = os.stat('a.txt')\n"
        "data = bytearray(open('.git/index', 'rb').read()[:-20])\n"
        "times = [part for ns in (status.st_ctime_ns, status.st_mtime_ns) for part in divmod(ns, 10**9)]\n"
        "numbers = status.st_dev & 0xFFFFFFFF, status.st_ino, 0o100644, status.st_uid, status.st_gid, status.st_size\n"
        "struct.pack_into('>10I', data, 12, *times, *numbers)\n"
        "open('.git/index', 'wb').write(data + hashlib.sha1(data).digest())\n"
    )
    await world.run("echo changed > a.txt; sleep 1.1; python3 forge.py")
    assert " M a.txt" in world.git("status", "--porcelain")


async def test_an_index_with_a_path_of_another_length_stays_out(world: GitWorld) -> None:
    """Git goes by the length, and would find further entries in the middle of a path."""
    before = world.snapshot(without=("objects",))
    (world.project / "forge.py").write_text(
        "import hashlib\ndata = bytearray(open('.git/index', 'rb').read()[:-20])\ndata[73] = 1\n"
        "open('.git/index', 'wb').write(data + hashlib.sha1(data).digest())\n"
    )
    done = await world.run("python3 forge.py")
    assert done.held_back == (".git: index: it cannot be parsed",)
    assert world.snapshot(without=("objects",)) == before


_BOMBS = """
import hashlib, os, zlib
size, chunk = 400 << 20, bytes(1 << 20)
head = b"blob %d\\0" % (size + 1)
digest, packer = hashlib.sha1(head), zlib.compressobj(1)
start = packer.compress(head)
for _ in range(size >> 20):
    digest.update(chunk)
    start += packer.compress(chunk)
for last in range(12):
    one, other = digest.copy(), packer.copy()
    one.update(bytes([last]))
    data, name = start + other.compress(bytes([last])) + other.flush(), one.hexdigest()
    os.makedirs(f".git/objects/{name[:2]}", exist_ok=True)
    open(f".git/objects/{name[:2]}/{name[2:]}", "wb").write(data)
"""


async def test_many_objects_that_unpack_to_much_stay_out(world: GitWorld) -> None:
    (world.project / "bombs.py").write_text(_BOMBS)
    done = await world.run("python3 bombs.py")
    assert done.held_back == (".git: objects: too many or too large",)
