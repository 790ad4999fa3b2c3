"""Phrases: a small language for patterns, and an index that never dismisses a match."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.scan.instructions import bypass, conceal, obey, override, sabotage, tamper, unseen
from clawft.scan.instructions.patterns import Index, Phrase, begins, phrase
from clawft.scan.instructions.vocabulary import GROUPS

PHRASES: list[Phrase] = [
    one for grammar in (bypass, conceal, obey, override, sabotage, tamper, unseen) for one in grammar.PHRASES
]
INDEX = Index(PHRASES)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(hide|suppress) ~20 (errors?|failures?)", "hide all the errors"),
        ("(re-?enables?) itself", "it reenables itself"),
        ("(if|when) ~10 (?:an? )?(?:<person> )?asks?", "if the user asks"),
        ("<not> (?:[a-z]+ )?(?:tell|say)", "you mustn't ever tell"),
    ],
)
def test_a_phrase_is_selected_where_it_matches(pattern: str, text: str) -> None:
    one = phrase(pattern)
    assert one.pattern.search(text)
    assert Index([one]).select(begins(text), text) == [one]


def test_a_gap_is_no_longer_than_it_says() -> None:
    one = phrase("(hide) ~5 (errors)")
    assert one.pattern.search("hide the errors")
    assert not one.pattern.search("hide all of those errors")


def test_each_phrase_needs_words_or_a_mark() -> None:
    assert [one.pattern.pattern for one in PHRASES if not one.needs and not one.mark] == []


WORDS = sorted({word for group in GROUPS.values() for word in group.replace("(?:", "|").split("|") if word.isalpha()})


@given(st.lists(st.sampled_from([*WORDS, "ignore", "all", "do", "not", "tell", "without", "asking", "if", "to", "it"])))
def test_whatever_matches_is_selected(words: list[str]) -> None:
    text = " ".join(words)
    selected = INDEX.select(begins(text), text)
    assert [one.pattern.pattern for one in PHRASES if one.pattern.search(text) and one not in selected] == []
