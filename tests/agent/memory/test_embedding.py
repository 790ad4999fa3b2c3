"""Hash vectors: the published formula to the letter, a better mixed one, and arithmetic on bits."""

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.agent.memory.vectors import DIMENSION, HashVector, Version, cosine, embed_text, fnv1a

TEXTS = st.text(alphabet="ab cé部\n\t,Z", max_size=60)


def embed_as_the_seed_does(text: str, dimension: int = 384) -> list[float]:
    """The published `compute_embedding`, line by line. Rust hashes a `str` as its bytes and 0xff."""
    vector = [0.0] * dimension
    for word in text.split():
        value = fnv1a(word.encode() + b"\xff")
        for i in range(dimension):
            bit = (value ^ i) >> (i % 64) & 1
            vector[i] += 1.0 if bit == 1 else -1.0
    norm = math.sqrt(sum(x * x for x in vector))
    return [x / norm for x in vector] if norm > 0 else vector


def sums_of(vector: HashVector) -> list[int]:
    """The sum of each dimension, read from its planes of bits."""
    counts = [sum((plane >> at & 1) << power for power, plane in enumerate(vector.planes)) for at in range(DIMENSION)]
    return [2 * count - vector.words for count in counts]


def floats_of(vector: HashVector) -> list[float]:
    """The sums, L2-normalised; all zero where there is no word."""
    sums = sums_of(vector)
    norm = math.sqrt(sum(one * one for one in sums))
    return [one / norm for one in sums] if norm else [0.0] * DIMENSION


def test_golden_hash_of_known_input() -> None:
    assert fnv1a(b"") == 0xCBF29CE484222325
    assert fnv1a(b"a") == 0xAF63DC4C8601EC8C
    assert fnv1a(b"foobar") == 0x85944171F73967E8
    assert fnv1a(b"hello") == 0xA430D84680AABD0B
    assert fnv1a(b"hello\xff") == 0xA9BD73CCA220C59C


def test_golden_vectors_never_change() -> None:
    two, three = embed_text("hello", 2), embed_text("hello", 3)
    assert f"{two.signature:096x}" == (  # as the published code says, compiled by rustc
        "a9bd73cca220c4dca9bd73cca220c49ca9bd73cca220c55ca9bd73cca220c51ca9bd73cca220c5dca9bd73cca220c59c"
    )
    assert f"{three.signature:096x}" == (
        "088b788e45a2b40b5c469c16d0024e2f4c6c50a0fe3930672bd1af71231184f29e6c99a4c86269b5f3e8eec5eb46e500"
    )
    assert sums_of(embed_text("Deploy with make; deploy twice", 3))[:8] == [3, -3, -1, -3, -3, 3, 1, -1]


@given(TEXTS)
def test_version_2_is_the_formula_of_the_seed(text: str) -> None:
    assert floats_of(embed_text(text, 2)) == pytest.approx(embed_as_the_seed_does(text))


def test_version_2_repeats_its_first_64_dimensions_and_version_3_does_not() -> None:
    def repeated(version: Version) -> int:
        vectors = [sums_of(embed_text(word, version)) for word in ("tea", "toast", "cat", "deploy", "tuesday", "main")]
        columns = [tuple(vector[at] for vector in vectors) for at in range(384)]
        pairs = [(columns[at], later) for at in range(64) for later in columns[at + 64 :: 64]]
        return sum(later in (first, tuple(-one for one in first)) for first, later in pairs)

    assert repeated(2) == 320
    assert repeated(3) < 30  # six words agree by chance in one of 32


@pytest.mark.parametrize("version", [2, 3])
def test_same_input_gives_the_same_vector_a_thousand_times(version: Version) -> None:
    first = embed_text("The quick brown fox", version)
    assert all(embed_text("The quick brown fox", version) == first for _ in range(1000))


def test_another_process_gives_the_same_vector() -> None:
    code = "from clawft.agent.memory.vectors import embed_text; print(embed_text('The quick brown fox').signature)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert int(done.stdout) == embed_text("The quick brown fox").signature


@pytest.mark.parametrize("version", [2, 3])
def test_no_bit_stands_beyond_the_last_dimension(version: Version) -> None:
    vector = embed_text("one two three", version)
    assert all(0 < plane < 1 << 384 for plane in (*vector.planes, vector.signature))


@pytest.mark.parametrize("version", [2, 3])
def test_text_without_words_has_a_zero_vector(version: Version) -> None:
    empty = embed_text(" \n\t", version)
    assert floats_of(empty) == [0.0] * 384
    assert cosine(empty, embed_text("word", version)) == 0


def test_version_3_reads_words_and_version_2_what_stands_between_spaces() -> None:
    assert embed_text("Deploy, twice!", 3) == embed_text("deploy twice", 3)
    assert embed_text("Deploy, twice!", 2) != embed_text("deploy twice", 2)
    assert embed_text("a\x1cb", 2).words == 1  # white space to Python, and not to Rust
    assert embed_text("部署流程", 3).words == 4


@given(TEXTS, TEXTS, st.sampled_from([2, 3]))
def test_cosine_of_planes_is_that_of_floats(one: str, other: str, version: Version) -> None:
    left, right = embed_text(one, version), embed_text(other, version)
    expected = sum(x * y for x, y in zip(floats_of(left), floats_of(right), strict=True))
    assert cosine(left, right) == pytest.approx(expected, abs=1e-9)


@given(TEXTS, st.sampled_from([2, 3]))
def test_signature_holds_the_signs(text: str, version: Version) -> None:
    vector = embed_text(text, version)
    for at, total in enumerate(sums_of(vector)):
        if total:
            assert (vector.signature >> at & 1) == (total > 0)


def test_words_in_common_are_nearer_than_chance() -> None:
    query = embed_text("deploy release branch")
    near = embed_text("We deploy every release from the branch main on Tuesday")
    far = embed_text("My cat is called Tom and sleeps on the warm radiator")
    assert cosine(query, near) > 0.4
    assert abs(cosine(query, far)) < 0.2


def test_halves_of_characters_are_no_obstacle() -> None:
    assert embed_text("a \udcff b", 2).words == 3
