"""The check of how the source is built: what it counts, and that its limits only fall."""

import tomllib
from pathlib import Path

import check_house

SETTINGS = tomllib.loads(check_house.SETTINGS.read_text(encoding="utf-8"))


def measure(tmp_path: Path, **files: str) -> dict[str, list[str]]:
    """The measures of a small package made of `files`, by module name."""
    source = tmp_path / "clawft"
    source.mkdir()
    for name, text in files.items():
        (source / f"{name}.py").write_text(text)
    return check_house.House(check_house.load_modules(source), SETTINGS).list_all()


def test_class_that_is_defined_twice_is_named_with_both_places(tmp_path: Path) -> None:
    places = measure(tmp_path, a="class Found: ...\n", b="\nclass Found: ...\nclass _Own: ...\n", c="class _Own: ...\n")
    assert places["repeated_class_names"] == ["Found: clawft.a:1, clawft.b:2"]


def test_private_words_are_found_in_every_kind_of_name(tmp_path: Path) -> None:
    text = "class KeptSkill:\n    pass\ndef tell_all(whoever):\n    said = whoever\n    self.desk_size = said\n"
    names = measure(tmp_path, a=text, hooking="")["banned_names"]
    assert [line.rpartition(": ")[2] for line in names] == [
        "KeptSkill (kept)",
        "whoever (whoever)",
        "said (said)",
        "desk_size (desk)",
        "module (hooking)",
    ]


def test_private_words_are_found_in_docstrings_and_comments_and_not_in_messages(tmp_path: Path) -> None:
    text = (
        '"""Tell whoever asks."""\n# it is told (R48)\nprint("told in vain")\ndef f():\n    """Whether it is so."""\n'
    )
    places = measure(tmp_path, a=text)
    assert places["banned_words_in_texts"] == ["clawft.a:1: whoever", "clawft.a:2: is told"]
    assert places["docstring_openings"] == ["clawft.a:5: Whether it is so."]
    assert places["citations"] == ["clawft.a:2: R48"]


def test_modules_that_import_each_other_are_a_cycle_for_types_too(tmp_path: Path) -> None:
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from clawft.a import X\n"
    places = measure(tmp_path, a="from clawft.b import f\nclass X: ...\n", b="import clawft.c\ndef f(): ...\n", c=typed)
    assert places["import_cycles"] == ["clawft.a clawft.b clawft.c"]


def test_import_in_a_function_is_counted_once(tmp_path: Path) -> None:
    places = measure(tmp_path, a="import os\ndef f():\n    def g():\n        import json\n    return g\n")
    assert places["imports_in_functions"] == ["clawft.a:4"]


def test_more_than_the_limit_is_an_error_and_limits_only_fall() -> None:
    assert check_house.find_excess({"files": 7, "lines": 5}, {"files": 6, "lines": 5}) == [
        "files: 7, at most 6 allowed; see them with: tools/check_house.py --list files"
    ]
    text = "[limits]\nfiles = 6\nlines = 5\n\n[names]\n"
    assert check_house.update_limits(text, {"files": 7, "lines": 4}, {"files": 6, "lines": 5}) == (
        "[limits]\nfiles = 6\nlines = 4\n\n[names]\n"
    )
