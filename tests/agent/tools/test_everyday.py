"""The everyday table: shell texts as models write them, run in auto-edit with nobody to ask, each with its effect."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.tools.exec_shell import exec_shell_tool
from clawft.agent.tools.tool import ToolContext
from clawft.config.tools import ExecSettings, SandboxSettings
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.command_policy import CommandPolicy
from tool_contexts import adjust

pytestmark = pytest.mark.anyio

# A shell text, and what it prints; all begin in a project as `prepare` makes it.
TABLE: list[tuple[str, str]] = [
    # loops and conditions
    ("for n in 1 2 3; do echo $n; done", "1\n2\n3"),
    ('for f in src/*.py; do\n  echo "$(basename "$f")"\ndone', "a.py\nb.py"),
    ("for ((i = 0; i < 3; i++)); do printf '%s ' $i; done", "0 1 2"),
    ("for f in src/*.py; do wc -l < $f; done | paste -sd+", "2+1"),
    ("while read -r name rest; do echo $name; done < data.txt", "ann\nbob\ncid"),
    ("cat data.txt | while read a b; do echo $b; done", "3\n1\n2"),
    ("n=0; until [ $n -ge 2 ]; do n=$((n+1)); done; echo $n", "2"),
    ("if [ -f data.txt ]; then echo there; else echo not; fi", "there"),
    ("if grep -q bob data.txt; then echo yes; fi", "yes"),
    ("case $(uname -s) in Linux) echo linux;; *) echo other;; esac", "linux"),
    ("[[ -d src && ! -d none ]] && echo ok", "ok"),
    ('[[ "a1" =~ ^[a-z][0-9]$ ]] && echo match', "match"),
    ("test -x run.sh && ./run.sh", "ran"),
    ("seq 3 | xargs -I{} echo n{}", "n1\nn2\nn3"),
    # here-documents and several lines
    ("cat > made.txt <<'EOF'\none $HOME\ntwo\nEOF\ncat made.txt", "one $HOME\ntwo"),
    ("X=5\ncat <<EOF\nx is $X\nEOF", "x is 5"),
    ("cat <<-EOF\n\tindented\n\tEOF", "indented"),
    ("mkdir -p deep/er && cat > deep/er/f.py <<'PY'\nprint('here')\nPY\npython3 deep/er/f.py", "here"),
    ("python3 - <<'PY'\nimport os\nprint(sorted(os.listdir('src')))\nPY", "['a.py', 'b.py']"),
    ("tr a-z A-Z <<< hello", "HELLO"),
    ("echo one\necho two\n\n# a comment\necho three", "one\ntwo\nthree"),
    ("echo a \\\n  b \\\n  c", "a b c"),
    ("set -euo pipefail\ncd src\nls | wc -l", "2"),
    # pipes, substitutions, redirects
    ("sort -k2 -n data.txt | head -1", "bob 1"),
    ("cut -d' ' -f1 data.txt | tr '\\n' ,", "ann,bob,cid,"),
    ("sort data.txt data.txt | uniq -c | awk '{print $1}' | sort -u", "2"),
    ("echo $(wc -l < data.txt) lines", "3 lines"),
    ("echo `cat data.txt | wc -l`", "3"),
    ("diff <(sort data.txt) <(sort -r data.txt | sort) && echo same", "same"),
    ("diff data.txt data.txt; echo $?", "0"),
    ("comm -12 <(printf 'a\\nb\\n') <(printf 'b\\nc\\n')", "b"),
    ("echo text | tee copy.txt | wc -c; cat copy.txt", "5\ntext"),
    ("echo err >&2; echo out", "err\nout"),
    ("ls none 2>/dev/null || echo missing", "missing"),
    ("{ echo a; echo b; } > both.txt && cat both.txt", "a\nb"),
    ("(cd src && pwd | xargs basename); basename $(pwd)", "src\nproject"),
    ("cd src && cat a.py | head -1", "def a():"),
    ("cd src; cd ..; ls -d src", "src"),
    ("echo {1..3} {a,b}.txt", "1 2 3 a.txt b.txt"),
    ("echo $((2 ** 10))", "1024"),
    ("exec 3> log; echo via >&3; exec 3>&-; cat log", "via"),
    ("printf '%s\\n' x y | cat -n | tail -1 | tr -d ' \\t'", "2y"),
    ("yes | head -2 | wc -l", "2"),
    ("echo -e 'b\\na' | sort -o sorted && cat sorted", "a\nb"),
    # variables, functions, arrays, traps, background
    ('NAME=weft; echo "hello $NAME"', "hello weft"),
    ("GREETING=hi python3 -c 'import os; print(os.environ[\"GREETING\"])'", "hi"),
    ("export A=1 B=2; env | grep -E '^[AB]=' | sort", "A=1\nB=2"),
    ("env LANG=C sort -u data.txt | wc -l", "3"),
    ('greet() { echo "hi $1"; }\ngreet ann', "hi ann"),
    ("main() { local x=3; helper $x; }\nhelper() { echo $(($1 * 2)); }\nmain", "6"),
    ('a=(x y z); echo ${#a[@]} ${a[1]} "${a[@]:1}"', "3 y y z"),
    ("declare -A m=([k]=v); echo ${m[k]}", "v"),
    ("f=src/a.py; echo ${f##*/} ${f%.py} ${none:-default}", "a.py src/a default"),
    ("trap 'echo bye' EXIT; echo hi", "hi\nbye"),
    ("t=$(mktemp); trap 'rm -f $t' EXIT; echo x > $t; cat $t", "x"),
    ("d=$(mktemp -d) && touch $d/f && ls $d && rm -r $d", "f"),
    ("sleep 0.05 & pid=$!; wait $pid; echo ended $?", "ended 0"),
    ("(sleep 0.02; echo late) & echo early; wait", "early\nlate"),
    ("timeout 5 echo in time", "in time"),
    ("{ time true; } 2>&1 | grep -c real", "1"),
    ("echo a b c | read x y z; set -- p q; echo $# $2", "2 q"),
    ('x="echo made-up"; eval "$x"', "made-up"),
    ("bash -c 'echo $0 $1' zero one", "zero one"),
    ("sh -c 'for i in 1 2; do echo $i; done'", "1\n2"),
    ("command -v python3 >/dev/null && echo found", "found"),
    ("type cd | head -1", "cd is a shell builtin"),
    ("date -d 2024-02-29 +%A", "Thursday"),
    ("date +%Y | grep -cE '^[0-9]{4}$'", "1"),
    # finding and text
    ("find . -name '*.py' -not -path './tests/*' | sort", "./src/a.py\n./src/b.py"),
    ("find src -name '*.py' -exec wc -l {} + | tail -1 | awk '{print $1}'", "3"),
    ("find src -type f -exec basename {} \\; | sort", "a.py\nb.py"),
    ("find src -name '*.py' -print0 | xargs -0 grep -l 'def a'", "src/a.py"),
    ("grep -rn 'def ' src | cut -d: -f1,2 | sort", "src/a.py:1\nsrc/b.py:1"),
    ("grep -c . data.txt; grep -v bob data.txt | wc -l", "3\n2"),
    ("awk '{s += $2} END {print s}' data.txt", "6"),
    ("awk -F: 'NR==1 {print $2}' <<< a:b", "b"),
    ("sed -n '2p' data.txt; sed 's/ann/eve/' data.txt | head -1", "bob 1\neve 3"),
    ("sed -i 's/bob/rob/' data.txt && cat data.txt | sed -n 2p", "rob 1"),
    ("sed -i.bak -e '1d' -e '$d' data.txt; cat data.txt; ls data.txt.bak", "bob 1\ndata.txt.bak"),
    ("perl -pe 's/ann/eve/' data.txt | head -1", "eve 3"),
    ("head -2 data.txt | tail -1", "bob 1"),
    ("wc -l data.txt src/*.py | tail -1 | awk '{print $1}'", "6"),
    ("nl data.txt | tail -1 | awk '{print $1}'; rev <<< abc", "3\ncba"),
    ("sha256sum data.txt | cut -c1-4 | grep -c .; base64 <<< hi", "1\naGkK"),
    ("od -An -c <<< a | tr -d ' '", "a\\n"),
    ("stat -c %s data.txt; du -k data.txt | cut -f2", "18\ndata.txt"),
    ('file_count=$(ls -1 src | wc -l); echo "$file_count files"', "2 files"),
    # files
    ("mkdir -p a/b/c && touch a/b/c/f && find a -type f", "a/b/c/f"),
    ("cp -r src copy && ls copy && rm -rf copy && [ ! -e copy ] && echo gone", "a.py\nb.py\ngone"),
    ("mv data.txt moved.txt && ls *.txt", "moved.txt"),
    ("ln -s data.txt link && readlink link && cat link | head -1", "data.txt\nann 3"),
    ("chmod 600 data.txt && stat -c %a data.txt", "600"),
    (
        "chmod +x made.sh 2>/dev/null || { printf '#!/bin/sh\\necho it\\n' > made.sh; chmod +x made.sh; ./made.sh; }",
        "it",
    ),
    ("touch -d 2020-01-01 old && find . -maxdepth 1 -name old -mtime +100", "./old"),
    ("tar czf src.tgz src && tar tzf src.tgz | wc -l", "3"),
    ("mkdir out && tar cf - src | tar xf - -C out && ls out/src", "a.py\nb.py"),
    ("gzip -k data.txt && zcat data.txt.gz | head -1", "ann 3"),
    ("python3 -m zipfile -c z.zip src/ && python3 -m zipfile -l z.zip | grep -c py", "2"),
    ("install -m 755 run.sh bin.sh && ./bin.sh", "ran"),
    ("echo line >> data.txt; tail -1 data.txt", "line"),
    ("truncate -s 10 big && wc -c < big; dd if=/dev/zero of=z bs=1 count=4 2>/dev/null; wc -c < z", "10\n4"),
    # programs
    ("python3 -c 'print(1 + 1)'", "2"),
    ("python3 -c \"import json; print(json.load(open('c.json'))['a'][0])\"", "1"),
    ("cat c.json | python3 -c 'import sys, json; print(len(json.load(sys.stdin)))'", "1"),
    ("python3 -m json.tool c.json | head -1", "{"),
    ("python3 -m unittest -q tests.test_it 2>&1 | tail -1", "OK"),
    ("python3 -m py_compile src/a.py && echo compiled", "compiled"),
    ('python3 -c \'import sqlite3; print(sqlite3.connect("d.db").execute("select 40 + 2").fetchone()[0])\'', "42"),
    ("make -s build && cat built", "built"),
    ("make -s -j2 all 2>&1 | tail -1", "all done"),
    ("mkdir -p ~/x && echo kept > ~/x/y && cat ~/x/y", "kept"),
    ("echo tmp > /tmp/t1 && cat /tmp/t1", "tmp"),
    ("nproc | grep -c '[0-9]'; id -u | grep -c '[0-9]'", "1\n1"),
    ("echo $BASH_VERSION | grep -c '[0-9]'", "1"),
    ("nohup echo off 2>/dev/null; exit 0", "off"),
]
UNDER_LANDLOCK = 0.7  # where nothing new can be made at the top of a project


def prepare(project: Path) -> None:
    files = {
        "data.txt": "ann 3\nbob 1\ncid 2\n",
        "src/a.py": "def a():\n    return 1\n",
        "src/b.py": "def b(): ...\n",
        "tests/__init__.py": "",
        "tests/test_it.py": "import unittest\n\nclass T(unittest.TestCase):\n    def test(self): ...\n",
        "c.json": '{"a": [1, 2]}\n',
        "run.sh": "#!/bin/sh\necho ran\n",
        "Makefile": "all: build\n\t@echo all done\nbuild:\n\t@echo built > built\n",
    }
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    (project / "run.sh").chmod(0o755)


async def run_table(call: Callable[..., Any], context: ToolContext, kind: str, project: Path) -> list[str]:
    """Run the table in a sandbox of this kind; what did not work, with what came of it."""
    adjust(context, sandbox=Sandbox(SandboxSettings(mode=kind), context.workspace, context.environ))  # type: ignore[arg-type]
    if context.sandbox.status().kind != kind:
        pytest.skip(f"there is no {kind} here: {context.sandbox.status().reason}")
    tool = exec_shell_tool(ExecSettings(), CommandPolicy(ExecSettings()))
    failed = []
    for text, expected in TABLE:
        prepare(project)
        envelope = await call(tool, command=text)
        if envelope.text.strip() != expected:
            failed.append(f"{text!r}: {envelope.text.strip()!r}, not {expected!r}")
        for path in sorted(project.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    return failed


async def test_everyday_texts_run_unasked_and_do_what_they_say(
    call: Callable[..., Any], context: ToolContext, project: Path, questions: list[tuple[str, str]]
) -> None:
    failed = await run_table(call, context, "bubblewrap", project)
    print(f"bubblewrap: {len(TABLE) - len(failed)} of {len(TABLE)}")

    assert len(TABLE) >= 90
    assert questions == []
    assert failed == []


@pytest.mark.soak
async def test_the_share_under_landlock_is_told(
    call: Callable[..., Any], context: ToolContext, project: Path, questions: list[tuple[str, str]]
) -> None:
    failed = await run_table(call, context, "landlock", project)
    print(f"Landlock: {len(TABLE) - len(failed)} of {len(TABLE)}", *failed, sep="\n  ")

    assert questions == []
    assert len(failed) < (1 - UNDER_LANDLOCK) * len(TABLE), failed
