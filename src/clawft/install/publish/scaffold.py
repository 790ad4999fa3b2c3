"""A new skill: small, as the specification has it, ready to be tried; with a script that works, if one is wanted."""

import os
import re
from typing import Literal, get_args

from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import remove_tree
from clawft.skills.discovery import DiscoveredSkill
from clawft.skills.parse.model import MAX_NAME, is_canonical, slugify
from clawft.skills.parse.validation import MAX_DESCRIPTION

Script = Literal["python", "shell", "node"]
SCRIPTS: tuple[Script, ...] = get_args(Script)
_UNFINISHED = "one sentence on what this skill does"
_PLAIN = re.compile(r"[A-Za-z0-9][^:#\n\"'\\{}\[\]&*!|>%@`]*")  # what YAML takes for a text, however it is read

_DOCUMENT = """\
---
name: {name}
description: {description}
metadata:
  version: "0.1.0"
---

# {title}

## When to use it

Say which requests this skill is for, and which it is not for. The description above is all that a model sees before it
chooses a skill; what stands here is read afterwards.

## Steps

1. Find out what is wanted. If something is missing that cannot be guessed, ask for it.
2. {step}
3. Check the result before you report it, and say what you did not check.

## Output

Show how the answer is to look, with a short example.
"""
_STEP = "Do the work. One step for each line, in the order they are done."
_STEP_WITH_SCRIPT = """\
Run `{command} FILE` from the folder of this skill. It prints how many lines, words and characters
   the file has, as JSON."""
_RUN: dict[str, tuple[str, str]] = {
    "python": ("scripts/count.py", "python3 scripts/count.py"),
    "shell": ("scripts/count.sh", "sh scripts/count.sh"),
    "node": ("scripts/count.mjs", "node scripts/count.mjs"),
}
_SCRIPTS: dict[str, str] = {
    "python": '''\
#!/usr/bin/env python3
"""Count the lines, words and characters of a text file, and print them as JSON."""

import argparse
import json
import sys
from pathlib import Path


def count(text: str) -> dict[str, int]:
    return {"lines": len(text.splitlines()), "words": len(text.split()), "characters": len(text)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        print(f"{file}: {error}", file=sys.stderr)
        return 1
    print(json.dumps(count(text)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
''',
    "shell": """\
#!/bin/sh
# Count the lines, words and characters of a text file, and print them as JSON.
set -eu

if [ "$#" -ne 1 ] || [ ! -f "$1" ]; then
    echo "usage: count.sh FILE" >&2
    exit 2
fi
lines=$(wc -l < "$1")
words=$(wc -w < "$1")
characters=$(wc -m < "$1")
printf '{"lines": %d, "words": %d, "characters": %d}\\n' "$lines" "$words" "$characters"
""",
    "node": """\
#!/usr/bin/env node
// Count the lines, words and characters of a text file, and print them as JSON.
import { readFileSync } from "node:fs";

const file = process.argv[2];
if (!file) {
  console.error("usage: count.mjs FILE");
  process.exit(2);
}
const text = readFileSync(file, "utf8");
const lines = text.split("\\n").length - (text.endsWith("\\n") ? 1 : 0);
const words = text.split(/\\s+/).filter(Boolean).length;
console.log(JSON.stringify({ lines, words, characters: [...text].length }));
""",
}


def make_skill(name: str, folder: str, description: str = "", script: Script | None = None) -> list[str]:
    """Write a new skill into a folder that is not there yet; its files. Raises: ClawftError, OSError."""
    _check_name(name)
    summary = " ".join(description.split()) or f"Write here {_UNFINISHED}, and when to use it"
    if len(summary) > MAX_DESCRIPTION:
        message = f"The description has {len(summary)} characters; {MAX_DESCRIPTION} is the limit"
        raise ClawftError("skill-description", message)
    files = {"SKILL.md": _render(name, summary, script)}
    if script is not None:
        files[_RUN[script][0]] = _SCRIPTS[script]
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    try:
        os.mkdir(folder)
    except FileExistsError as error:
        raise Refused("skill-exists", "There is a folder already", path=folder, hint="Choose another name") from error
    try:
        return [_write(os.path.join(folder, path), text) for path, text in files.items()]
    except BaseException:
        remove_tree(folder)
        raise


def check_finished(found: DiscoveredSkill) -> tuple[Diagnostic, ...]:
    """A description that nobody wrote."""
    if found.skill is None or _UNFINISHED not in found.skill.description:
        return ()
    hint = "Say what it does, and when to use it: models choose skills by this"
    return (Diagnostic("skill-unfinished", "warning", "The description is that of a new skill", found.file, hint=hint),)


def _check_name(name: str) -> None:
    """Raises: ClawftError for a name that the specification does not allow."""
    if is_canonical(name) and name.isascii():
        return
    near = slugify(name.encode("ascii", "ignore").decode())
    hint = (
        f"Such as {near or 'word-count'}: small letters and digits, with single dashes between them, up to {MAX_NAME}"
    )
    raise ClawftError("skill-name", f"'{name[:60]}' is no name for a skill", hint=hint)


def _render(name: str, description: str, script: Script | None) -> str:
    plain = _PLAIN.fullmatch(description) is not None
    quoted = description if plain else '"' + description.replace("\\", "\\\\").replace('"', '\\"') + '"'
    step = _STEP if script is None else _STEP_WITH_SCRIPT.format(command=_RUN[script][1])
    title = name.replace("-", " ").capitalize()
    return _DOCUMENT.format(name=name, description=quoted, title=title, step=step)


def _write(path: str, text: str) -> str:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)
    if text.startswith("#!"):
        os.chmod(path, 0o755)
    return path
