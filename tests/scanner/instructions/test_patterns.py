"""Phrases: a small language for patterns, and an index that never dismisses a match."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.scanner.instructions.against_user import ACTS
from clawft.scanner.instructions.index import PhraseIndex, PhrasePool, flatten
from clawft.scanner.instructions.needs import GROUPS
from clawft.scanner.instructions.override import (
    BYPASS_PHRASES,
    CONCEAL_PHRASES,
    OBEY_PHRASES,
    OVERRIDE_PHRASES,
    UNSEEN_PHRASES,
)
from clawft.scanner.instructions.patterns import Phrase
from clawft.scanner.instructions.sabotage import SABOTAGE_PHRASES, TAMPER_PHRASES
from needs import find_needs


class NewPhrase(Phrase, frozen=True, dict=True):
    """A phrase that needs.json does not know yet."""

    @property
    def needs(self) -> tuple[frozenset[str], ...]:
        return find_needs(self.outline)


PHRASES: list[Phrase] = [
    *BYPASS_PHRASES,
    *CONCEAL_PHRASES,
    *OBEY_PHRASES,
    *OVERRIDE_PHRASES,
    *SABOTAGE_PHRASES,
    *TAMPER_PHRASES,
    *UNSEEN_PHRASES,
    *ACTS,
]
INDEX = PhraseIndex(PHRASES, PhrasePool())


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(hide|suppress) ~20 (errors?|failures?)", "hide all the errors"),
        ("(re-?enables?) itself", "it reenables itself"),
        ("(re-?enables?) itself", "it re-enables itself"),
        ("(if|when) ~10 (?:an? )?(?:<person> )?asks?", "if the user asks"),
        ("<not> (?:[a-z]+ )?(?:tell|say)", "you mustn't ever tell"),
        ("<person> (?:do|does)(?: not|n't) know", "users don't know"),
        ("(edit) ~9 (<agent_files>)", "edit the CLAUDE.md".lower()),
        ("(un)?safe (?:mode)+s", "safe modemodes"),
    ],
)
def test_a_phrase_is_selected_where_it_matches(pattern: str, text: str) -> None:
    one = NewPhrase(pattern)
    assert one.pattern.search(text)
    assert PhraseIndex([one], PhrasePool()).select(flatten(text)) == [one]


@pytest.mark.parametrize(
    ("source", "needs"),
    [
        (r"\b(?:hide|suppress)\b", [{" hide ", " suppress "}]),
        (r"\berrors?\b", [{" error"}]),
        (r"\b(?:logs?|e-?mail)\b", [{" log ", " logs ", " email ", " e mail "}]),
        (r"\bnot(?: yet)? sent", [{" not "}, {" sent"}]),
        (r"\w+ing", []),
        (r"(?:the )?end", []),
    ],
)
def test_a_pattern_needs_the_beginnings_of_its_words(source: str, needs: list[set[str]]) -> None:
    assert [set(one) for one in find_needs(source)] == needs


def test_a_gap_is_no_longer_than_it_says() -> None:
    one = Phrase("(hide) ~5 (errors)")
    assert one.pattern.search("hide the errors")
    assert not one.pattern.search("hide all of those errors")


def test_each_phrase_needs_words() -> None:
    assert [one.text for one in PHRASES if not one.needs] == []


def test_a_flat_text_keeps_its_places() -> None:
    for text in ("Do it", "D\u0130E é ß \ud800 x", "", "a\nb"):
        assert len(flatten(text)) == len(text) + 2


WORDS = sorted({word for group in GROUPS.values() for word in group.replace("(?:", "|").split("|") if word.isalpha()})


@given(st.lists(st.sampled_from([*WORDS, "ignore", "all", "do", "not", "tell", "without", "asking", "if", "to", "it"])))
def test_whatever_matches_is_selected(words: list[str]) -> None:
    text = " ".join(words)
    selected = INDEX.select(flatten(text))
    assert [one.text for one in PHRASES if one.pattern.search(text) and one not in selected] == []
