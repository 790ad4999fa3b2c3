"""Programs that run with all rights of the user: outside the sandbox, or where there is none.

A file that commands of the sandbox can write may be anybody's. So no program is found by its name in a folder of that
kind, none is on the PATH that a program gets, and none is started in one unless the caller says that it works there.
Everything that weft starts outside the sandbox is prepared here.
"""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO

from msgspec import Struct

from clawft.errors import NotFound, Refused
from clawft.files import find_within, real_path
from clawft.workspace import Workspace, resolve_path


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Variables that have a program load code, read settings, or look for other programs in a place that they name.
_STEERING = _names(
    """BASHOPTS BASH_ENV CDPATH CLASSPATH ENV JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS LUA_CPATH LUA_INIT LUA_PATH
    NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE PERL5DB PERL5LIB PERL5OPT PERLLIB PHPRC PHP_INI_SCAN_DIR
    PROMPT_COMMAND PS4 PYTHONBREAKPOINT PYTHONEXECUTABLE PYTHONHOME PYTHONINSPECT PYTHONPATH PYTHONPLATLIBDIR
    PYTHONSTARTUP PYTHONUSERBASE RUBYLIB RUBYOPT R_ENVIRON R_ENVIRON_USER R_PROFILE R_PROFILE_USER SHELLOPTS
    TCLLIBPATH ZDOTDIR _JAVA_OPTIONS"""
)
_STEERING_KINDS = ("BASH_FUNC_", "DYLD_", "GIT_", "LD_")
# What shells do themselves: no file is started for these.
_BUILTINS = _names(
    """. : [ alias bg break cd command continue echo eval exec exit export false fg getopts hash jobs kill local printf
    pwd read readonly return set shift test times trap true type ulimit umask unalias unset wait"""
)
# Python that is given no script imports from the folder that it is started in, before it looks into its own library.
BARE_PYTHON = re.compile(
    r"\b(?:python|pypy)[0-9.]*(?:\s+-(?:[XW]\s*\S+|[A-Za-z]+|-\S+))*?\s*"
    r"(?:\s-[A-Za-z]*?c|\s-(?=\s|$)|\s-[A-Za-z]*?m\s*(?P<name>\w+)|[<|;&)\n]|$)"
)
_OWN = ("DYLD_LIBRARY_PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
_MAX_LINKS = 40  # the kernel follows no more
_MAX_SHOWN = 8


class PreparedProgram(Struct, frozen=True):
    """A program that may be started: its words, the folder that it starts in, all of its environment, and the files
    that it consists of, as far as that is known."""

    words: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    files: tuple[str, ...] = ()

    def __repr__(self) -> str:  # without the values of variables
        return f"Program({self.words!r}, {self.cwd!r})"


class HostPrograms(Struct, frozen=True):
    """The programs of this machine, for use outside the sandbox. `writable` are the real files and folders that
    commands of the sandbox can write."""

    environ: Mapping[str, str]
    home: str = "/"
    writable: tuple[str, ...] = ()

    def __repr__(self) -> str:  # without the values of variables
        return f"HostPrograms({self.home!r}, {self.writable!r})"

    @property
    def folder(self) -> str:
        """The folder to start in for what has no work in another: the home, or `/` where commands can write that."""
        return self.home if os.path.isdir(self.home) and not self.is_writable(self.home) else "/"

    def is_writable(self, path: str) -> bool:
        """Return whether commands of the sandbox decide where a path leads, or what is there."""
        return bool(find_within(_list_places(path), self.writable))

    def limit_path(self, path: str) -> str:
        """Return a search path without relative folders and those that commands of the sandbox can write."""
        parts = (part for part in path.split(os.pathsep) if os.path.isabs(part) and not self.is_writable(part))
        return os.pathsep.join(parts) or os.defpath

    def find(self, name: str, path: str = "") -> str:
        """Find the program of a name or an absolute path; '' if there is none.

        Raises: Refused if commands of the sandbox can write every file that it could be.
        """
        found = list(_list_programs(name, path or self.environ.get("PATH", os.defpath)))
        usable = next((program for program in found if not self.is_writable(program)), "")
        if found and not usable:
            message = f"'{name}' is not started with your rights: commands of the sandbox can write {found[0]}"
            hint = "Install it elsewhere, or take its folder out of sandbox.writable"
            raise Refused("program-writable", message, path=found[0], hint=hint)
        return usable

    def prepare(self, words: Sequence[str], env: Mapping[str, str], cwd: str = "") -> PreparedProgram:
        """Prepare words to be started in a neutral folder, or in the one in which they are to work.

        Raises: NotFound if there is no such program; Refused if commands of the sandbox can write it.
        """
        cwd = cwd or self.folder
        name = os.path.normpath(os.path.join(cwd, words[0])) if os.path.dirname(words[0]) else words[0]
        found = self.find(name, env.get("PATH", ""))
        if not found:
            raise NotFound("program-missing", f"There is no program '{words[0]}'", hint="Install it")
        line = " ".join(words)
        return PreparedProgram((found, *words[1:]), cwd, self._limit(env, line), (real_path(found),))

    def prepare_line(self, line: str, names: Iterable[str], env: Mapping[str, str], cwd: str) -> PreparedProgram:
        """Prepare a line for the POSIX shell that starts programs of these names in a folder.

        One that is named by its path is what the line says, wherever it lies. Raises: Refused.
        """
        env = self._limit(env, line, names)
        return PreparedProgram(("/bin/sh", "-c", line), cwd, env, find_files(names, env["PATH"], cwd))

    def _limit(self, env: Mapping[str, str], line: str, names: Iterable[str] = ()) -> dict[str, str]:
        """Raises: Refused."""
        path = env.get("PATH", os.defpath)
        for name in _list_files(names):
            if not os.path.dirname(name):
                self.find(name, path)
        safe = {"PYTHONSAFEPATH": "1"} if BARE_PYTHON.search(line) else {}
        return {**safe, **env, "PATH": self.limit_path(path)}


def make_host_programs(workspace: Workspace, environ: Mapping[str, str], writable: Iterable[str] = ()) -> HostPrograms:
    """Programs for a project, in which commands of the sandbox can write, as in further files and folders."""
    places = (workspace.project, *(resolve_path(path, workspace.project, workspace.home) for path in writable))
    roots = {real_path(place) for place in places} - {"", "/"}  # the sandbox gives nobody all of the machine
    return HostPrograms(environ, workspace.home, tuple(sorted(roots)))


def clean_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return variables without those that could have a program run code that others wrote."""
    steering = (name for name in environ if name in _STEERING or name.startswith(_STEERING_KINDS))
    return {name: environ[name] for name in environ.keys() - set(steering)}


def find_program(name: str, path: str) -> str:
    """Find the program that a shell starts for a name or an absolute path, no matter who can write it; '' for none."""
    return next(_list_programs(name, path), "")


def find_files(names: Iterable[str], path: str, cwd: str) -> tuple[str, ...]:
    """Find the files that a shell starts for names of programs, as far as they can be found."""
    found = (
        find_program(os.path.join(cwd, file) if os.path.dirname(file) else file, path) for file in _list_files(names)
    )
    return tuple(dict.fromkeys(real_path(program) for program in found if program))


def show_all(command: str) -> str:
    """Return a command as a person must see it to judge it: nothing in it moves the cursor or stays invisible."""
    return "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in command)


def show_files(files: Sequence[str]) -> str:
    """Render files as the end of a question."""
    shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in ", ".join(files[:_MAX_SHOWN]))
    more = f" and {len(files) - _MAX_SHOWN} more" if len(files) > _MAX_SHOWN else ""
    return f"  ({shown}{more})" if files else ""


def use_own_python(args: Sequence[str], env: Mapping[str, str], cwd: str) -> PreparedProgram:
    """Prepare the Python that runs this, which no command can write, with what it was itself started with."""
    own = {name: env[name] for name in _OWN if name in env}
    return PreparedProgram((sys.executable, *args), cwd, {**clean_environ(env), **own}, (real_path(sys.executable),))


def start_detached(program: PreparedProgram, log: int | IO[bytes] = subprocess.DEVNULL) -> int:
    """Start a program that may outlive this process, and return its number. Raises: OSError."""
    process = subprocess.Popen(
        program.words,
        cwd=program.cwd,
        env=program.env,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    # A process that lives longer than the program, as a session does, has nothing of it left behind.
    threading.Thread(target=process.wait, daemon=True).start()
    return process.pid


def _list_files(names: Iterable[str]) -> list[str]:
    """The names that mean a file to a shell, each once."""
    return [name for name in dict.fromkeys(names) if name not in _BUILTINS]


def _list_programs(name: str, path: str) -> Iterator[str]:
    """The programs that a name or an absolute path could be, in the order in which they are looked for."""
    folders = [""] if os.path.dirname(name) else path.split(os.pathsep)
    paths = (os.path.join(folder, name) for folder in folders)
    return (path for path in paths if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK))


def _list_places(path: str) -> list[str]:
    """Every link on the way to where a path leads, and that place: who can write one decides what is there."""
    places: list[str] = []
    at, rest = "/", path.split("/")[::-1]
    while rest and len(places) <= _MAX_LINKS:
        name = rest.pop()
        one = os.path.normpath(os.path.join(at, name))
        try:
            target = os.readlink(one)
        except OSError:
            at = one
            continue
        places.append(one)
        rest += target.split("/")[::-1]
        at = "/" if target.startswith("/") else at
    return [*places, at]
