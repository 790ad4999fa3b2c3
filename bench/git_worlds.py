"""A repository that commands of the sandbox work on, and what git outside makes of it afterwards."""

import os
import subprocess
from pathlib import Path

from clawft.config.tools import SandboxSettings
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.process import Finished
from clawft.sandbox.sandbox import Sandbox
from clawft.workspace import Workspace

WHO = {f"GIT_{role}_{what}": "me@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
# What people and their editors do in a repository, one after the other.
EVERYDAY = (
    ("status",),
    ("log", "--oneline", "-5"),
    ("diff", "HEAD"),
    ("add", "-A", "--", "a.txt"),
    ("stash", "list"),
    ("commit", "-q", "--allow-empty", "-m", "outside"),
    ("checkout", "-q", "-b", "outside"),
    ("fetch", "--all"),
    ("submodule", "status"),
    ("gc", "-q", "--auto"),
)


class GitWorld:
    """A project that is a repository with one commit, and a sandbox for it. `answer` is what the person says."""

    def __init__(self, folder: Path, *, at: str = "", init: bool = True) -> None:
        """The project is the folder `at` of the repository, its root unless given."""
        self.folder, self.root = folder, folder / "project"
        self.project = self.root / at
        self.home, self.user_dir = folder / "home", folder / "home" / ".clawft"
        for made in (self.user_dir, self.project):
            made.mkdir(parents=True)
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8", **WHO}
        self.workspace = Workspace(str(self.home), str(self.user_dir), str(self.project), str(self.project))
        self.sandbox = Sandbox(SandboxSettings(mode="bubblewrap"), self.workspace, self.env)
        self.questions: list[str] = []
        self.answer = True
        (self.root / "a.txt").write_text("one\n")
        if not init:
            return
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "first")

    def git(self, *words: str, cwd: Path | None = None, check: bool = True) -> str:
        """What git says outside of the sandbox."""
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.root, env=self.env, capture_output=True, text=True, timeout=60
        )
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout.rstrip("\n")

    async def run(self, command: str) -> Finished:
        """Run a line in the sandbox; what it does to copies comes in."""
        return await self.sandbox.run(
            command,
            cwd=str(self.project),
            env=self.env,
            timeout_s=60,
            max_bytes=20_000,
            confinement=Confinement(writable=(str(self.project),)),
            review=self._review,
        )

    async def do(self, command: str) -> str:
        """Run a line that must end well, with nothing held back; what it says."""
        done = await self.run(command)
        if done.code or done.held_back:
            raise AssertionError(f"{done.code}: {done.output.decode()} {done.held_back}")
        return done.output.decode()

    async def _review(self, question: str, reason: str) -> bool:
        self.questions.append(question if reason else "?")
        return self.answer

    def work_on(self, *folders: Path) -> None:
        """What people and editors do in the repository, and in these folders of it; some of it may fail."""
        for folder in (self.root, *folders):
            for words in EVERYDAY:
                self.git(*words, cwd=folder, check=False)

    def snapshot(self, *, without: tuple[str, ...] = ()) -> dict[str, bytes | str]:
        """All files of the real `.git`, and where links lead."""
        found: dict[str, bytes | str] = {}
        for where, _, names in os.walk(self.root / ".git"):
            for name in names:
                path = Path(where) / name
                relative = str(path.relative_to(self.root / ".git"))
                if not relative.startswith(without or "\0"):
                    found[relative] = os.readlink(path) if path.is_symlink() else path.read_bytes()
        return found
