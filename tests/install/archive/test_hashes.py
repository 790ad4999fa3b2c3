"""The hashes of other tools: the digits in these tests are theirs, of clawhub 0.20.0 and skills 1.5.18 on node 20."""

import hashlib
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from clawft.packing.collate import locale_key
from clawft.packing.hashes import (
    clawhub_fingerprint,
    counts_for_clawhub,
    fingerprint_folder,
    github_content_hash,
    vercel_folder_hash,
)

NODE = shutil.which("node")
COMPARE = (
    "const p=JSON.parse(require('fs').readFileSync(0));console.log(JSON.stringify(p.map(([a,b])=>a.localeCompare(b))))"
)
ALPHABETS = {
    "ascii": "".join(map(chr, range(0x20, 0x7F))),
    "accents": "abceouABCEOUnzéèêëÉÈÊÀàâäáåÅñÑçÇöÖüÜøØæÆœŒßđĐłŁðÐşŞžŽčČřŘįĮþÞ_-./ 1",
    "signs": "a1_-./ –—“”‘’…«»·•©®→←€£¥×÷°§!?¿¡„‚′×~+=、。「」《》【】！？，：；（）～　",  # noqa: RUF001
    "greek": "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώΑΒΓΔΣΩ-_.",
    "cyrillic": "абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґўйАБВГДЕЖЗИЙКЛЁЩЮЯ-_.",
    "kana": "あいうえおかがきぎくぐさざはばぱっつづゃやアイウエオカガキギパッツャヤンんー-_.",
    "ideographs": "结构组件最佳实践说明配置文教程编辑简介变更数据义务目录示例测试脚本图片模板一览表竟讹马鱼-_.",
    "hangul": "가각간나다라마바사아자차카타파하한글스킬힣값-_.",
    "wide": "ＡＢａｂ１２ｱｲ①②½²ﬁab12-_.",  # noqa: RUF001
    "mixed": "abAB12_-./éÖßжЯあア가中文件明–—…😀🚀✅",  # noqa: RUF001
}


def _make(folder: Path) -> Path:
    """A folder with everything that one tool or the other leaves out."""
    for path, content in {
        "SKILL.md": b"hi\n",
        "sub/a.py": b"x\n",
        "sub/B.PY": b"X\n",
        "logo.png": b"img\n",
        "bin": b"a\0b",
        "Makefile": b"plain",
        "cut": b"x" * 4095 + "é".encode(),
        "odd.": b"x.",
        ".hidden.md": b"h\n",
        "sub/.hid/x.md": b"h\n",
        "node_modules/x.js": b"n\n",
        ".git/config": b"g\n",
        "out/o.md": b"o\n",
        "KEEP.log": b"k\n",
        "_meta.json": b"z\n",
        "é.md": b"q\n",
        "zebra.md": b"q2\n",
        "Ärger.md": b"q3\n",
        ".clawhub/origin.json": b"{}\n",
        ".gitignore": b"OUT/\r\n*.LOG\n!keep.log\n#c\nsub/b*\n",
        ".clawhubignore": b"/zebra.md\n",
        "README.backup": b"b\n",
    }.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    os.symlink("SKILL.md", folder / "link.md")
    return folder


def test_a_folder_has_the_fingerprint_that_clawhub_computes(tmp_path: Path) -> None:
    folder = _make(tmp_path / "skill")
    assert fingerprint_folder(str(folder)) == "e4b95772b7feb5a39aee3d03d1da4a8bc1db7f07286c17f57c276f04fc5d3674"


def test_what_came_with_the_download_can_be_left_out_of_the_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_bytes(b"a")
    alone = fingerprint_folder(str(tmp_path))
    (tmp_path / "_meta.json").write_bytes(b"{}")
    assert fingerprint_folder(str(tmp_path)) != alone
    assert fingerprint_folder(str(tmp_path), leave_out=["_meta.json"]) == alone


def test_a_folder_without_text_has_no_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(b"x")
    assert fingerprint_folder(str(tmp_path)) == ""


def test_a_name_that_is_no_text_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "SKILL.md").write_text("x")
    with open(os.fsencode(tmp_path) + b"/\xff.md", "w") as file:
        file.write("x")
    assert fingerprint_folder(str(tmp_path))
    assert vercel_folder_hash(str(tmp_path))


def test_a_folder_has_the_hash_that_the_skills_command_computes(tmp_path: Path) -> None:
    folder = _make(tmp_path / "skill")
    assert vercel_folder_hash(str(folder)) == "5f551a3d2e1b525874769d1ac31d3a3e35af29cea0ae9c44aae19e529a264981"


def test_files_have_the_fingerprint_of_the_folder_they_are_in_in_any_order(tmp_path: Path) -> None:
    files = {"SKILL.md": b"one", "a/b.md": b"two", "a-b.md": b"three", "A.md": b"four"}
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    hashed = [(path, hashlib.sha256(content).hexdigest()) for path, content in files.items()]
    assert clawhub_fingerprint(hashed) == fingerprint_folder(str(tmp_path)) == clawhub_fingerprint(reversed(hashed))


def test_the_content_hash_is_over_path_size_and_digest_in_their_order() -> None:
    files = [("b.md", 2, "bb"), ("A.md", 1, "aa"), ("a_c.md", 3, "cc")]
    expected = "a_c.md\0003\0cc\nA.md\0001\0aa\nb.md\0002\0bb"
    assert github_content_hash(files) == hashlib.sha256(expected.encode()).hexdigest()


@pytest.mark.parametrize(
    ("path", "sample", "counts"),
    [
        ("a.md", b"\0", True),
        ("a.MD", b"", True),
        ("a.md mdx", b"", False),
        ("a.png", b"text", False),
        ("Makefile", b"all:", True),
        ("program", b"\x7fELF\0", False),
        ("notes", b"\xff", False),
        (".env", b"A=1", False),
        ("a/.b/c.md", b"", False),
        ("name.", b"x", True),
        ("prod.env", b"A=1", True),
    ],
)
def test_clawhub_takes_in_what_is_text_and_not_hidden(path: str, sample: bytes, counts: bool) -> None:
    assert counts_for_clawhub(path, sample) is counts


def test_names_are_in_the_order_of_letters_not_of_bytes() -> None:
    names = ["_meta.json", "á", "a-b.md", "a.md", "a/b.md", "a1", "ab", "aB", "Ab", "b", "SKILL.md", "я", "あ", "中"]
    shuffled = random.Random(4).sample(names, len(names))
    assert sorted(shuffled, key=locale_key) == names


def test_ideographs_are_in_the_order_of_radicals() -> None:
    names = ["references/义务.md", "references/数据.md", "SKILL.md", "最佳实践.md", "变更.md", "教程.md", "文件.md"]
    names += ["简介.md", "组件.md", "结构.md", "编辑.md", "说明.md", "配置.md"]
    assert sorted(sorted(names), key=locale_key) == names


@pytest.mark.skipif(NODE is None, reason="Needs node.")
def test_names_are_in_the_order_of_node() -> None:
    dice = random.Random(10)
    pairs: list[tuple[str, str]] = []
    for alphabet in ALPHABETS.values():
        for _ in range(600):
            one, two = ("".join(dice.choices(alphabet, k=dice.randint(1, 6))) for _ in range(2))
            at = dice.randrange(len(one))
            near = one[:at] + dice.choice(alphabet) + one[at + 1 :]
            pairs += [(one, two), (one, near)]
    done = subprocess.run(
        [NODE or "", "-e", COMPARE], input=json.dumps(pairs), capture_output=True, text=True, check=True, timeout=60
    )
    keys = [(locale_key(one), locale_key(two)) for one, two in pairs]
    ours = [(one > two) - (one < two) for one, two in keys]
    wrong = [pair for pair, mine, theirs in zip(pairs, ours, json.loads(done.stdout), strict=True) if mine != theirs]
    assert wrong == []
