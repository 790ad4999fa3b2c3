"""Which version comes next."""

import pytest

from clawft.errors import ClawftError, Refused
from clawft.install.publish.publication import choose_version, raise_version, write_version


@pytest.mark.parametrize(
    ("text", "patch", "minor", "major"),
    [
        ("1.2.3", "1.2.4", "1.3.0", "2.0.0"),
        ("0.0.9", "0.0.10", "0.1.0", "1.0.0"),
        ("1.2.3-beta.1", "1.2.3", "1.3.0", "2.0.0"),
        ("2.0.0-rc.1+build", "2.0.0", "2.0.0", "2.0.0"),
        ("1.3.0-rc.1", "1.3.0", "1.3.0", "2.0.0"),
    ],
)
def test_a_part_is_counted_up_and_those_after_it_begin_anew(text: str, patch: str, minor: str, major: str) -> None:
    assert raise_version(text, "patch") == patch
    assert raise_version(text, "minor") == minor
    assert raise_version(text, "major") == major


@pytest.mark.parametrize(
    ("written", "latest", "chosen"),
    [
        ("", "", "1.0.0"),
        ("", "1.4.9", "1.4.10"),
        ("0.3.0", "", "0.3.0"),
        ("2.0.0", "1.4.9", "2.0.0"),
        ("1.10.0", "1.9.0", "1.10.0"),
    ],
)
def test_changed_content_is_what_its_file_says_or_the_next_patch(written: str, latest: str, chosen: str) -> None:
    assert choose_version(written, latest) == chosen


def test_a_version_that_is_published_already_is_not_published_again() -> None:
    for latest in ("1.4.0", "1.5.0"):
        with pytest.raises(Refused) as caught:
            choose_version("1.4.0", latest)
        assert caught.value.code == "version-taken"
    assert choose_version("1.4.0", "1.5.0", part="patch") == "1.5.1"
    assert choose_version("1.4.0", "", part="minor") == "1.5.0"
    assert choose_version("", "", part="major") == "1.0.0"


def test_what_is_asked_for_is_a_version_and_what_the_file_says() -> None:
    assert choose_version("", "1.0.0", "3.0.0") == "3.0.0"
    for written, asked in (("1.0.0", "1.0.1"), ("", "v1"), ("", "1.0"), ("latest", ""), ("", "01.0.0")):
        with pytest.raises(ClawftError):
            choose_version(written, "", asked)


def test_only_the_version_in_the_frontmatter_is_changed() -> None:
    text = "---\nname: a\nmetadata:\n  version: '1.0.0'  # ours\n---\nversion: 1.0.0\n"
    assert write_version(text, "1.0.0", "1.1.0") == text.replace("'1.0.0'", "'1.1.0'")
    for wrong in (text.replace("'1.0.0'", "{a: 1.0.0}"), text.replace("name: a", "version: 1.0.0"), "version: 1.0.0"):
        with pytest.raises(ClawftError) as caught:
            write_version(wrong, "1.0.0", "1.1.0")
        assert caught.value.code == "version-line"
