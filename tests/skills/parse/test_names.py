"""Names: what is canonical, what becomes of the others, and which folders are safe."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.skills.parse.model import MAX_NAME, is_canonical, is_safe_folder, slugify


@pytest.mark.parametrize("name", ["a", "a1", "1", "code-review", "a-b-c", "x" * 64, "über", "日本語", "ключ-2"])
def test_lowercase_words_joined_by_hyphens_are_canonical(name: str) -> None:
    assert is_canonical(name)


@pytest.mark.parametrize(
    "name",
    ["", "-", "a-", "-a", "a--b", "A", "a_b", "a b", "a.b", "a/b", "..", "x" * 65, "Ü", "a\n", "a\0", "a\u200b", "🎉"],
)
def test_anything_else_is_not(name: str) -> None:
    assert not is_canonical(name)


@given(st.from_regex(r"[a-z0-9]+(?:-[a-z0-9]+)*", fullmatch=True).filter(lambda name: len(name) <= MAX_NAME))
def test_every_name_of_the_seed_is_canonical_and_its_own_slug(name: str) -> None:
    assert is_canonical(name)
    assert slugify(name) == name


@given(st.text(max_size=100))
def test_slug_of_any_text_is_canonical_or_empty(text: str) -> None:
    slug = slugify(text)
    assert slug == "" or is_canonical(slug)
    assert slugify(slug) == slug


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=80))
def test_slug_of_ascii_fits_the_regex_of_the_seed(text: str) -> None:
    assert re.fullmatch(r"(?:[a-z0-9]+(?:-[a-z0-9]+)*)?", slugify(text))


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Azure CLI", "azure-cli"),
        ("snake_case_name", "snake-case-name"),
        ("  spaced  out  ", "spaced-out"),
        ("C++ & Rust!", "c-rust"),
        ("../../etc/passwd", "etc-passwd"),
        ("\uff26\uff35\uff2c\uff2c width", "full-width"),
        ("a" * 63 + " b", "a" * 63),
        ("!!!", ""),
        ("", ""),
    ],
)
def test_slug_is_the_nearest_canonical_name(text: str, slug: str) -> None:
    assert slugify(text) == slug


@pytest.mark.parametrize("name", ["a", "My_Skill-2", "A", "_", "-"])
def test_folder_of_letters_digits_and_two_signs_is_safe(name: str) -> None:
    assert is_safe_folder(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a.b", "a/b", "a\\b", "a b", "ü", "a\n", "a\0", "~", "$x"])
def test_any_other_folder_is_not_safe(name: str) -> None:
    assert not is_safe_folder(name)
