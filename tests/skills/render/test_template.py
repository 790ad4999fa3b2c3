"""Filling in a template: every token, the append rule, the escape, and that arguments are data."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.errors import ClawftError
from clawft.skills.render.template import (
    MAX_FILLED,
    PromptArguments,
    Span,
    TemplateVariables,
    extract_variables,
    fill_in,
    find_token,
    render_template,
    split_arguments,
)
from effort import measure, within


@pytest.mark.parametrize(
    ("template", "arguments", "session_id", "expected"),
    [
        (
            "Research $ARGUMENTS thoroughly.",
            ["quantum computing"],
            "sess-1",
            "Research quantum computing thoroughly.",
        ),
        (
            "Migrate ${0} from ${1} to ${2}.",
            ["SearchBar", "React", "Vue"],
            "sess-1",
            "Migrate SearchBar from React to Vue.",
        ),
        (
            "Convert $ARGUMENTS[0] to $ARGUMENTS[1].",
            ["Celsius", "Fahrenheit"],
            "sess-1",
            "Convert Celsius to Fahrenheit.",
        ),
        ("Log to ${SESSION_ID}.log", [], "abc-123", "Log to abc-123.log"),
        ("Session: ${CLAUDE_SESSION_ID}", [], "xyz-789", "Session: xyz-789"),
        (
            "Just instructions with no placeholders.",
            ["extra args"],
            "sess-1",
            "Just instructions with no placeholders.\n\nARGUMENTS: extra args",
        ),
        ("No args here.", [], "sess-1", "No args here."),
    ],
)
def test_examples_of_the_seed(template: str, arguments: list[str], session_id: str, expected: str) -> None:
    assert render_template(template, arguments, session_id) == expected


def test_all_occurrences_are_replaced() -> None:
    assert render_template("$ARGUMENTS, $ARGUMENTS and $ARGUMENTS", ["x"]) == "x, x and x"


def test_arguments_that_have_a_place_are_not_appended_whatever_is_filled_in_after_them() -> None:
    assert render_template("Do $ARGUMENTS in ${SESSION_ID}", ["x"], "s1") == "Do x in s1"
    assert render_template("In ${SESSION_ID} do ${0} for ${SESSION_ID}", ["x"], "s1") == "In s1 do x for s1"


def test_without_arguments_the_placeholder_becomes_nothing() -> None:
    assert render_template("Review $ARGUMENTS now", []) == "Review  now"


@pytest.mark.parametrize("template", ["$ARGUMENTS[1]", "${1}", "${99999999999999999999}", "$ARGUMENTS[4294967296]"])
def test_index_out_of_range_becomes_nothing(template: str) -> None:
    assert render_template(f"<{template}>", ["only"]) == "<>"


@pytest.mark.parametrize("template", ["costs $100", "awk '{print $1}'", "$0", "$5.00", "$", "$$", "a$"])
def test_bare_number_after_a_dollar_stays(template: str) -> None:
    assert render_template(template, []) == template


@pytest.mark.parametrize("template", ["${HOME}", "$PATH", "${FOO_BAR}", "{{ thing }}", "${}", "${a-b}", "$ARGUMENTSX"])
def test_unknown_names_stay(template: str) -> None:
    assert render_template(template, []) == template


@pytest.mark.parametrize("template", ["${HOME}", "$PATH", "costs $100", "$ARGUMENTSX", "$SESSION_ID"])
def test_arguments_are_appended_where_nothing_was_a_place_for_them(template: str) -> None:
    assert render_template(template, ["x"], "s").endswith("\n\nARGUMENTS: x")


@pytest.mark.parametrize("template", ["${0}", "${7}", "$ARGUMENTS[3]", "$ARGUMENTS"])
def test_any_argument_placeholder_keeps_them_from_being_appended(template: str) -> None:
    assert "ARGUMENTS:" not in render_template(template, ["a", "b"])


def test_named_argument_is_a_placeholder_too() -> None:
    known = TemplateVariables(names=("topic",))
    assert render_template("About $topic", ["bees"], variables=known) == "About bees"


@pytest.mark.parametrize("token", ["$topic", "${topic}", "{{topic}}", "{{ topic }}", "{{\ttopic }}"])
def test_named_argument_in_every_spelling(token: str) -> None:
    known = TemplateVariables(names=("depth", "topic"))
    assert render_template(f"({token})", ["3", "bees"], variables=known) == "(bees)"


def test_missing_named_argument_becomes_nothing() -> None:
    assert render_template("[$topic]", [], variables=TemplateVariables(names=("topic",))) == "[]"


def test_name_with_a_hyphen_is_found_before_its_first_part() -> None:
    known = TemplateVariables(names=("user-id", "user"))
    assert render_template("$user-id $user-based $user", ["7", "ann"], variables=known) == "7 ann-based ann"


def test_session_id_in_every_spelling() -> None:
    assert render_template("$SESSION_ID ${SESSION_ID} ${CLAUDE_SESSION_ID}", [], "s-1") == "s-1 s-1 s-1"


def test_folders_are_filled_in_where_they_are_known() -> None:
    known = TemplateVariables(skill_dir="/skills/a", project_dir="/work")
    template = "{baseDir}/x ${CLAUDE_SKILL_DIR}/y ${CLAUDE_PROJECT_DIR}/z"
    assert render_template(template, [], variables=known) == "/skills/a/x /skills/a/y /work/z"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("$SESSION_ID", "s1"),
        ("${SESSION_ID}", "s1"),
        ("${CLAUDE_SESSION_ID}", "s1"),
        ("$CLAUDE_SESSION_ID", "$CLAUDE_SESSION_ID"),
        ("{{SESSION_ID}}", "{{SESSION_ID}}"),
        ("{{CLAUDE_SESSION_ID}}", "{{CLAUDE_SESSION_ID}}"),
    ],
)
def test_session_is_filled_in_where_claude_does_so_and_nowhere_else(template: str, expected: str) -> None:
    assert render_template(template, (), "s1") == expected


@pytest.mark.parametrize("token", ["$CLAUDE_SKILL_DIR", "{{CLAUDE_SKILL_DIR}}", "$CLAUDE_PROJECT_DIR"])
def test_folders_are_filled_in_in_braces_alone(token: str) -> None:
    assert render_template(token, (), variables=TemplateVariables(skill_dir="/s", project_dir="/p")) == token


SPANNED = "a [x $ARGUMENTS] b [y] c"
FIRST, SECOND = SPANNED.index("["), SPANNED.index("[y")


@pytest.mark.parametrize(
    ("template", "spans", "expected"),
    [
        (SPANNED, [(FIRST, FIRST + 14, "X"), (SECOND, SECOND + 3, "$ARGUMENTS")], "a X b $ARGUMENTS c"),
        (SPANNED, [(FIRST, FIRST + 14, None), (SECOND, SECOND + 3, "Y")], "a [x $ARGUMENTS] b Y c\n\nARGUMENTS: w"),
        (SPANNED, [(FIRST, FIRST + 14, "X"), (SECOND, SECOND + 3, None)], "a X b [y] c"),
        (SPANNED, [(SECOND, SECOND + 3, "Y")], "a [x w] b Y c"),
        ("[a] $ARGUMENTS [b]", [(0, 3, "A"), (15, 18, "B")], "A w B"),
        ("[a]$ARGUMENTS[b]", [(0, 3, "A"), (13, 16, "B")], "AwB"),
        ("[a] [$ARGUMENTS]", [(0, 3, "A"), (4, 16, "B")], "A B"),
        ("[\\$ARGUMENTS]", [(0, 13, "A")], "A\n\nARGUMENTS: w"),
        ("[$SESSION_ID]", [(0, 13, "A")], "A\n\nARGUMENTS: w"),
        ("[$HOME] $ARGUMENTS", [(0, 7, "A")], "A w"),
    ],
)
def test_part_that_something_was_put_in_the_place_of_is_not_looked_at_again(
    template: str, spans: list[Span], expected: str
) -> None:
    """An argument that was filled in there is in its place, and is not appended."""
    assert render_template(template, ["w"], "s1", spans=spans) == expected


def test_arguments_fill_no_more_than_the_bound() -> None:
    half = "x" * (MAX_FILLED // 2)
    assert render_template("$ARGUMENTS $ARGUMENTS", [half]) == f"{half} {half}"
    with pytest.raises(ClawftError) as raised:
        render_template("$ARGUMENTS $ARGUMENTS ${SESSION_ID}", [half], "1")
    assert raised.value.code == "prompt-too-large"


def test_single_token_is_found_where_it_begins() -> None:
    known, given = TemplateVariables(session_id="s1", names=("topic",)), split_arguments("cats")
    assert find_token("x $SESSION_ID y", 2, given, known) == (13, "s1")
    assert find_token("$topic", 0, given, known) == (6, "cats")
    assert find_token("$HOME", 0, given, known) is None
    assert find_token("plain", 0, given, known) is None


def test_text_is_filled_in_without_anything_being_appended() -> None:
    assert fill_in("the $topic", split_arguments("cats"), TemplateVariables(names=("topic",))) == "the cats"
    assert fill_in("plain", split_arguments("cats"), TemplateVariables()) == "plain"


def test_folders_that_are_not_known_stay() -> None:
    template = "{baseDir} ${CLAUDE_SKILL_DIR} ${CLAUDE_PROJECT_DIR}"
    assert render_template(template, []) == template


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (r"\$ARGUMENTS", "$ARGUMENTS\n\nARGUMENTS: x"),
        (r"\${0} and ${0}", "${0} and x"),
        (r"\\$ARGUMENTS", r"\\x"),
        (r"\\\$ARGUMENTS", r"\\\x"),
        (r"\$100 and \$HOME", "\\$100 and \\$HOME\n\nARGUMENTS: x"),
        (r"\{{topic}} {{topic}}", "{{topic}} x"),
        (r"\{baseDir} $topic", "{baseDir} x"),
        (r"C:\dir\file $ARGUMENTS", r"C:\dir\file x"),
    ],
)
def test_one_backslash_escapes_what_would_be_replaced(template: str, expected: str) -> None:
    known = TemplateVariables(skill_dir="/s", names=("topic",))
    assert render_template(template, ["x"], variables=known) == expected


@pytest.mark.parametrize("argument", ["${1}", "$ARGUMENTS", "$ARGUMENTS[0]", "${SESSION_ID}", "{baseDir}", r"\1\g<0>"])
def test_argument_is_never_expanded_again(argument: str) -> None:
    known = TemplateVariables(session_id="s", skill_dir="/s")
    rendered = render_template("${0} ${1}", PromptArguments("raw", (argument, "second")), variables=known)
    assert rendered == f"{argument} second"


def test_raw_text_fills_in_arguments_and_its_words_fill_in_indexes() -> None:
    given_arguments = split_arguments('  "Search Bar"  React ')
    assert render_template("$ARGUMENTS | ${0} | ${1}", given_arguments) == '"Search Bar"  React | Search Bar | React'


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("", ()),
        ("   ", ()),
        ("a b", ("a", "b")),
        ("'a b' c", ("a b", "c")),
        (r"a\ b", ("a b",)),
        ("it's broken", ("it's", "broken")),  # unbalanced quotes
        ('say "hi', ("say", '"hi')),
        ("a\tb\nc", ("a", "b", "c")),
        ("# no comment", ("#", "no", "comment")),
        ("''", ("",)),
    ],
)
def test_line_of_arguments_is_split_as_a_shell_would(raw: str, words: tuple[str, ...]) -> None:
    assert split_arguments(raw) == PromptArguments(raw.strip(), words)


def test_variables_of_a_template_are_listed_once_and_in_order() -> None:
    assert extract_variables("Research $ARGUMENTS[0] about ${1}") == ["ARGUMENTS[0]", "1"]
    assert extract_variables("$ARGUMENTS ${1} ${SESSION_ID} {baseDir} ${1} {{ x }} ${HOME}", ("x",)) == [
        "ARGUMENTS",
        "1",
        "SESSION_ID",
        "baseDir",
        "x",
    ]


def test_escaped_variable_is_not_listed() -> None:
    assert extract_variables(r"\$ARGUMENTS \${1} costs $5") == []


_PLAIN = st.text(alphabet=st.characters(exclude_characters="${", exclude_categories=["Cs"]), max_size=80)
_ANYTHING = st.text(
    alphabet=st.one_of(st.sampled_from("$\\{}[]01ARGUMENTS_"), st.characters(exclude_categories=["Cs"])), max_size=80
)
_TOKENS = st.sampled_from(["$ARGUMENTS", "${0}", "${1}", "$ARGUMENTS[0]", "$ARGUMENTS[9]", "${SESSION_ID}", "{{n}}"])


@given(_PLAIN, st.lists(_ANYTHING, max_size=3))
def test_text_without_tokens_is_unchanged_but_for_the_append_rule(template: str, words: list[str]) -> None:
    raw = " ".join(words)
    expected = f"{template}\n\nARGUMENTS: {raw}" if raw else template
    assert render_template(template, words) == expected


@given(st.lists(_PLAIN.filter(lambda text: "\\" not in text), min_size=2, max_size=6), _ANYTHING)
def test_every_occurrence_is_replaced_by_the_argument_as_it_is(parts: list[str], argument: str) -> None:
    parts = [re.sub(r"^[\w\[]", ".", part) for part in parts]  # what follows must not belong to the token
    assert render_template("$ARGUMENTS".join(parts), [argument]) == argument.join(parts)


@given(st.lists(st.one_of(_PLAIN, _TOKENS), max_size=8), st.lists(_ANYTHING, max_size=3))
def test_an_escaped_token_is_left_without_its_backslash(parts: list[str], words: list[str]) -> None:
    template = " ".join(parts)
    rendered = render_template(template + r" \$ARGUMENTS ${0}", words)
    assert rendered.endswith(" $ARGUMENTS " + (words[0] if words else ""))


@given(_ANYTHING, st.lists(_ANYTHING, max_size=3))
def test_any_template_renders_and_lists_its_variables(template: str, words: list[str]) -> None:
    rendered = render_template(template, words, "s")
    if not extract_variables(template) and "\\" not in template:
        assert rendered.startswith(template)


@given(_ANYTHING)
def test_any_line_of_arguments_is_split(raw: str) -> None:
    assert split_arguments(raw).raw == raw.strip()


@pytest.mark.parametrize(
    "template",
    [
        "\\" * 500_000 + "$ARGUMENTS",
        "\\" * 500_000,
        "\\a" * 250_000,
        "$" * 1_000_000,
        "$ARGUMENTS" * 50_000,
        "$ARGUMENTS[" + "9" * 500_000 + "]",
        "$ARGUMENTS[" + "9" * 500_000,
        "${" * 300_000,
        "{{ " * 300_000,
        "{{a" + " " * 500_000,
        "\n" * 500_000,
        "$a " * 200_000,
    ],
    ids=lambda template: f"{template[:12]!r}",
)
@pytest.mark.unmeasured
def test_hostile_template_takes_bounded_time(template: str) -> None:
    with within(5):
        render_template(template, ["x", "y"], "s")
        extract_variables(template)


def test_five_hundred_thousand_backslashes_are_no_escape() -> None:
    assert render_template("\\" * 500_000 + "$ARGUMENTS", ["x"]) == "\\" * 500_000 + "x"


def test_typical_prompt_renders_within_a_millisecond() -> None:
    template = "Do ${0} with $ARGUMENTS, cheaply ($5).\n" * 50
    assert measure(lambda: render_template(template, ["a", "b"], "s"), 20) < 0.001


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("Fix $1 as $2", "Fix a as b"),
        ("$2 before $1, again $1.", "b before a, again a."),
        ("$1$2", "ab"),
        ("Costs $5, $100 and $1.50 or $2,000: $1", "Costs $5, $100 and $1.50 or $2,000: a"),
        (r"\$1 is $1", "$1 is a"),
        ("$0 ${0} $1", "$0 a a"),
        ("only $3", "only $3\n\nARGUMENTS: a b"),
    ],
)
def test_numbers_of_a_command_file_count_from_one_and_prices_stay(template: str, expected: str) -> None:
    given = PromptArguments("a b", ("a", "b"))

    assert render_template(template, given, variables=TemplateVariables(numbered=True)) == expected


def test_numbered_arguments_are_listed_for_commands_only() -> None:
    assert extract_variables("$1 of $ARGUMENTS", numbered=True) == ["1", "ARGUMENTS"]
    assert extract_variables("$1 of $ARGUMENTS") == ["ARGUMENTS"]
