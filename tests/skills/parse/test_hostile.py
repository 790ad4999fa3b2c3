"""No file, however hostile, breaks the reader: bounded time and memory, and always a word about it with its place."""

import subprocess
import sys

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawft.errors import ClawftError, Diagnostic
from clawft.skills.parse.agent import parse_agent
from clawft.skills.parse.diagnostics import quote_yaml
from clawft.skills.parse.fields import KEYS
from clawft.skills.parse.skill import parse_skill_md
from clawft.skills.parse.text import decode_text
from clawft.skills.parse.validation import check_spec, fix_skill_md
from effort import within

LIMIT_S = 20  # a second or two, but for coverage and a busy machine
HEAD = "name: a\ndescription: d\n"


def _read(data: bytes) -> tuple[Diagnostic, ...]:
    """What is said about a file, whether it could be read or not."""
    try:
        decoded = decode_text(data, "a/SKILL.md")
        return decoded.diagnostics + parse_skill_md(decoded.text, "a", path="a/SKILL.md").diagnostics
    except ClawftError as error:
        return (error.diagnostic,)


def _front(yaml: str, body: str = "Body.") -> bytes:
    return f"---\n{yaml}\n---\n{body}\n".encode()


def _aliases(levels: int) -> str:
    rows = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(["a0: &a0 [x, x, x, x, x, x, x, x, x, x]", *rows])


# file, and one thing that must be said about it: code and line
HOSTILE = {
    "100,000 nested brackets": (_front(f"a: {'[' * 100_000}{']' * 100_000}"), "yaml-invalid", 2),
    "300,000 open brackets": (_front(f"{HEAD}a: {'[' * 300_000}"), "yaml-unquoted", 4),
    "nested braces": (_front(f"{HEAD}a: {'{a: ' * 80_000}"), "yaml-unquoted", 4),
    "nested dashes": (_front(f"{HEAD}a:\n  {'- ' * 150_000}x"), "yaml-unquoted", 4),
    "nested question marks": (_front(f"{HEAD}a:\n  {'? ' * 150_000}x"), "unknown-field", 4),
    "nested dashes alone": (_front("- " * 150_000), "yaml-invalid", 2),
    "1,000 nested blocks": (_front(HEAD + "\n".join(" " * n + "a:" for n in range(1000))), "unknown-field", 4),
    "alias bomb": (_front(HEAD + _aliases(9)), "unknown-field", 4),
    "alias bomb in metadata": (
        _front(HEAD + "metadata:\n" + "\n".join(f"  {line}" for line in _aliases(9).split("\n"))),
        "yaml-unquoted",
        7,
    ),
    "alias of itself": (_front(f"{HEAD}a: &a [*a]"), "yaml-unquoted", 4),
    "NUL": (_front(f"{HEAD}a: \0"), "not-text", 4),
    "NUL in the body": (_front(HEAD, "a\n\0"), "not-text", 7),
    "invalid UTF-8": (_front(HEAD) + b"\xff\xfe\xc0", "invalid-utf8", 7),
    "UTF-16 without a mark": (_front(HEAD).decode().encode("utf-16-le"), "not-text", 1),
    "UTF-16 cut in half": (("\ufeff" + _front(HEAD).decode()).encode("utf-16-le") + b"x", "utf-16", 1),
    "two marks": (b"\xef\xbb\xbf\xef\xbb\xbf" + _front(HEAD), "no-frontmatter", 1),
    "a line of 300 kilobytes": (_front(f"{HEAD}a: {'x' * 300_000}"), "unknown-field", 4),
    "a broken line of 300 kilobytes": (_front(f"{HEAD}a: b: {'x' * 300_000}"), "yaml-unquoted", 4),
    "a description of 300 kilobytes": (_front(f"name: a\ndescription: {'x' * 300_000}"), "description-long", 3),
    "a name of 300 kilobytes": (_front(f"name: {'X' * 300_000}\ndescription: d"), "name-not-canonical", 2),
    "a key of 100 kilobytes": (_front(f"{HEAD}{'x' * 100_000}: y"), "yaml-stray-line", 4),
    "a key with 100,000 spaces": (_front(f"{HEAD}b: c: d\na{' ' * 100_000}x"), "yaml-stray-line", 5),
    "20,000 unknown keys": (_front(HEAD + "\n".join(f"k{i}: v" for i in range(20_000))), "unknown-field", 20_003),
    "150,000 newlines": (b"\n" * 150_000, "no-frontmatter", 1),
    "150,000 newlines before": (b"\n" * 150_000 + _front(HEAD), "leading-blank", 1),
    "150,000 newlines within": (_front(f"{HEAD}a: b: c{chr(10) * 150_000}"), "yaml-unquoted", 4),
    "150,000 carriage returns": (b"\r" * 150_000, "crlf", 1),
    "never closed": (b"---\n" + b"a: b\n" * 80_000, "frontmatter-unterminated", 1),
    "100,000 opening lines": (b"---\n" * 100_000, "name-missing", 2),
    "50,000 duplicate keys": (_front(HEAD + "tags: x\n" * 50_000), "duplicate-key", 5),
    "100,000 stray lines": (_front(f"{HEAD}@\n" + "@\n" * 100_000), "yaml-stray-line", 4),
    "a tag that would make an object": (_front(f"{HEAD}a: !!python/object/apply:os.abort []"), "unknown-field", 4),
    "a merge key": (_front(f"{HEAD}a: &a {{b: c}}\n<<: *a"), "unknown-field", 5),
    "a list as a key": (_front(f"{HEAD}? [a, b]\n: c"), "yaml-stray-line", 4),
    "huge integer as a version": (_front(f"{HEAD}version: {'9' * 5000}\nfoo: 1"), "unknown-field", 5),
    "huge integer as a flag": (_front(f"{HEAD}always: {'9' * 5000}"), "wrong-type", 4),
    "huge hexadecimal as a choice": (_front(f"{HEAD}context: 0x{'f' * 5000}"), "wrong-type", 4),
    "huge integer in metadata": (_front(f"{HEAD}metadata: {{a: {'9' * 9000}}}"), "metadata-limit", 4),
    "huge exponent": (_front(f"{HEAD}always: 1e999999999"), "wrong-type", 4),
    "150,000 quotes": (_front(f"{HEAD}a: {chr(39) * 150_001}"), "yaml-unquoted", 4),
    "150,000 backslashes": (_front(f'{HEAD}a: "{chr(92) * 150_001}'), "yaml-unquoted", 4),
    "100,000 colons": (_front(f"{HEAD}a: {': ' * 100_000}"), "yaml-unquoted", 4),
    "100,000 items": (_front(f"{HEAD}a: [{'x, ' * 100_000}]"), "unknown-field", 4),
    "100,000 tools": (_front(f"{HEAD}allowed-tools: {'Bash(x) ' * 100_000}("), "tools-unbalanced", 4),
    "100,000 open parentheses": (_front(f"{HEAD}allowed-tools: {'a(' * 100_000}"), "tools-unbalanced", 4),
    "control characters in a name": (_front('name: "a\\x07\\e[2J"\ndescription: d'), "name-not-canonical", 2),
    "raw control characters": (_front("name: a\x07\x1b[2J\ndescription: d"), "name-not-canonical", 2),
    "direction marks in a name": (_front("name: a\u202eb\u200b\ndescription: d"), "name-not-canonical", 2),
    "a directive": (_front(f"%YAML 9.9\n{HEAD}"), "yaml-stray-line", 2),
    "a tab for indentation": (_front(f"{HEAD}a:\n\tb: c"), "unknown-field", 4),
    "a second document": (_front(f"{HEAD}...\nb: c"), "unknown-field", 5),
}
TEXTS = [case for case, (_, code, _) in HOSTILE.items() if code != "not-text"]


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.unmeasured
def test_hostile_file_is_read_in_bounded_time_and_said_with_its_line(case: str) -> None:
    data, code, line = HOSTILE[case]
    with within(LIMIT_S):
        said = _read(data)
    assert f"{code} a/SKILL.md:{line}" in [f"{found.code} {found.where}" for found in said]


@pytest.mark.parametrize("case", TEXTS)
@pytest.mark.unmeasured
def test_hostile_file_is_checked_and_mended_in_bounded_time(case: str) -> None:
    data = HOSTILE[case][0]
    with within(LIMIT_S):
        check_spec(decode_text(data, "p").text, "a", "p")
        fixed = fix_skill_md(data, "a")
        assert fix_skill_md(fixed.data, "a").data == fixed.data


@pytest.mark.parametrize("file_name", ["a.md", "a.yaml"])
@pytest.mark.parametrize("case", TEXTS)
@pytest.mark.unmeasured
def test_hostile_file_is_no_trouble_as_an_agent(case: str, file_name: str) -> None:
    with within(LIMIT_S):
        try:
            said = parse_agent(decode_text(HOSTILE[case][0], "p").text, file_name, "a", path="p").diagnostics
        except ClawftError as error:
            said = (error.diagnostic,)
    assert all(found.line >= 1 for found in said)


def test_worst_of_them_take_less_than_half_a_gigabyte() -> None:
    """In a process of its own, whose memory the system limits."""
    source = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
from clawft.errors import ClawftError
from clawft.skills.parse.skill import parse_skill_md
for yaml in ("a: " + "[" * 1_000_000, "a:\\n  " + "- " * 400_000, {_aliases(9)!r}, "a: [" + "x, " * 300_000 + "]"):
    try:
        parse_skill_md("---\\nname: a\\n" + yaml + "\\n---\\n", "a")
    except ClawftError:
        pass
print("done")
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr[-500:]


_KEYS = st.one_of(st.sampled_from([*KEYS, "metadata.openclaw", "'name'", '"tools"', "<<", "?"]), st.text(max_size=8))
_SCALARS = st.one_of(
    st.text(max_size=12), st.sampled_from(["[", "]", "{a: ", "}", "*a", "&a", "|", ">", "!!int", "-", "0x1"])
)


@given(
    st.lists(st.tuples(_KEYS, st.sampled_from([": ", ":", ":\n  ", ":\n  - "]), _SCALARS), max_size=6),
    st.text(max_size=20),
)
@settings(max_examples=300)
def test_frontmatter_of_any_keys_and_values_is_read_or_refused_with_a_line(
    rows: list[tuple[str, str, str]], body: str
) -> None:
    yaml = "\n".join("".join(row) for row in rows)
    text = f"---\n{yaml}\n---\n{body}"
    lines = text.count("\n") + 1
    for strict in (False, True):
        try:
            said = parse_skill_md(text, "a", path="p", strict=strict).diagnostics
        except ClawftError as error:
            said = (error.diagnostic,)
        assert all(1 <= found.line <= lines and found.path == "p" for found in said)


@given(st.binary(max_size=120), st.booleans())
@settings(max_examples=300)
def test_any_bytes_are_read_or_refused_with_a_line(data: bytes, framed: bool) -> None:
    said = _read(b"---\n" + data + b"\n---\nBody" if framed else data)
    assert all(found.line >= 1 and found.path == "a/SKILL.md" for found in said)


_VALUE = st.recursive(
    st.one_of(
        st.sampled_from(["null", "true", "~", ".nan", "-.inf", "''", "1.5"]),
        st.integers(-(2**63), 2**63 - 1).map(str),
        st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=6).map(quote_yaml),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.dictionaries(
            st.sampled_from(["name", "kind", "bins", "env", "openclaw", "requires", "1"]), inner, max_size=3
        ).map(lambda items: f"{{{', '.join(f'{key}: {value}' for key, value in items.items())}}}"),
    ),
    max_leaves=6,
)


@given(st.sampled_from(sorted(KEYS)), _VALUE)
@settings(max_examples=500)
def test_known_key_with_a_value_of_any_shape_is_read(key: str, value: str) -> None:
    skill = parse_skill_md(f"---\n{key}: {value}\n---\n", "a")
    assert all(found.line in (1, 2) for found in skill.diagnostics)
    msgspec.json.encode(skill)  # the cache must be able to hold it
