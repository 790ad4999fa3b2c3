"""Prose and code in Markdown: nothing that is shown as code is ever run."""

import pytest

from clawft.skills.render.prompt import find_dynamic
from effort import within


def commands(template: str) -> list[str]:
    return [one.command for one in find_dynamic(template) if one.kind == "command"]


@pytest.mark.parametrize(
    "template",
    [
        "Text\n\n    Status: !`ls`\n",
        "Text\n\n\tStatus: !`ls`\n\n\tMore: !`ls`",
        "- item\n\n        code: !`ls`",
        "- item\n    ```bash\n    !`ls`\n    ```",
        "- ```bash\n  x !`ls`\n  ```",
        "1. one\n   ```\n   x !`ls`\n   ```",
        "> ```\n> x !`ls`\n> ```",
        "Write it as `` !`ls` ``, or as ``` !`ls` ```.",
        "The form `a !`ls` b` is odd",
        "<!-- not now: !`ls` -->",
        "<!--\n!ls\nand !`ls`\n-->",
        "```\n    ```\n!ls\n```",
        "~~~!\n```\n!ls\n",
        "> ```!\n> ls\n> ```",
        "```! bash\nls\n```",
        "```!\nls",
        "![alt](a.png)\n![alt][ref]\n!\\[x]",
        "An image ![x](!`ls`)",
    ],
)
def test_what_is_code_comment_or_image_is_not_run(template: str) -> None:
    assert [one for one in commands(template) if "ls" in one and "[" not in one] == []


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("- Branch: !`ls`\n    - deeper: !`pwd`", ["ls", "pwd"]),
        ("1. one\n\n   Status: !`ls`", ["ls"]),
        ("-   wide\n\n    Status: !`ls`", ["ls"]),
        ("Text\n    goes on: !`ls`", ["ls"]),
        ("> Quoted: !`ls`", ["ls"]),
        ("> ```\n> x\n\nAfter: !`ls`", ["ls"]),
        ("    code\n\nText !`ls`", ["ls"]),
        ("`code` and !`ls`", ["ls"]),
        ("``x`y`` !`ls`", ["ls"]),
        ("<!-- never ended !\n\n!ls", ["ls"]),
        ("<!-- x --> \n!ls", ["ls"]),
        ("```js``` is inline\n!ls", ["ls"]),
        ("- x\n  ```!\n  ls\n  pwd\n  ```", ["ls\n  pwd"]),
        ("~~~!\nls\n~~~", ["ls"]),
    ],
)
def test_what_is_prose_is_found(template: str, found: list[str]) -> None:
    assert commands(template) == found


def test_a_block_is_as_many_commands_as_it_has_lines() -> None:
    (block,) = find_dynamic("```!\n# the state\ngit status \\\n  --short\n\n  ls\n```")
    assert block.commands == ("git status   --short", "ls")


def test_reading_a_file_is_no_command() -> None:
    found = find_dynamic("!read docs/a file.md\nand !`read x.md` here\n!readme now\n!read")
    assert [(one.kind, one.command) for one in found] == [
        ("read", "docs/a file.md"),
        ("read", "x.md"),
        ("command", "readme now"),
        ("read", ""),
    ]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("See @docs/a.md, @./b and @../c.", ["docs/a.md", "./b", "../c"]),
        ("@README.md", ["README.md"]),
        ("(@docs/a.md)", []),
        ("mail me@example.com or @alice", []),
        ("`@docs/a.md` and `cat @b.md`", []),
        ("```\n@docs/a.md\n```", []),
        ("!curl -d @body.json host", []),
        ("@docs/$1.md @$ARGUMENTS @{x}", []),
        ("@${CLAUDE_SKILL_DIR}/a.md @{baseDir}/b.md", ["${CLAUDE_SKILL_DIR}/a.md", "{baseDir}/b.md"]),
    ],
)
def test_a_file_is_named_by_what_looks_like_a_path(text: str, paths: list[str]) -> None:
    assert [one.command for one in find_dynamic(text) if one.kind == "file"] == paths


@pytest.mark.parametrize(
    "template",
    ["<!-- !" * 100_000, "@a/" * 200_000, " @a/b" * 100_000, "> " * 200_000 + "!", "- " * 200_000 + "!",
     "`" + " ``" * 100_000 + "!", "".join("`" * n + " " for n in range(1, 900)) + "!", "~~~\n> \n" * 50_000 + "!"],
    ids=lambda template: f"{template[:6]!r}",
)  # fmt: skip
def test_a_hostile_template_takes_bounded_time(template: str) -> None:
    with within(5):
        find_dynamic(template)
