"""Letters that look like Latin ones are folded in Latin words, and nowhere else."""

import pytest

from clawft.scanner.disguises import undisguise
from clawft.scanner.facts import Document


def see(text: str) -> tuple[str, set[str]]:
    seen = undisguise(Document("SKILL.md", text, "markdown"))
    return seen.document.text, {fact.target for fact in seen.facts}


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("c\u0443rl and b\u0430sh", "cyrl and bash"),
        ("r\u0435quests", "requests"),
        ("\u0440\u0430ssw\u043erd", "password"),
        ("ign\u03bfre this", "ignore this"),
        ("\u1d04\u1d1c\u0280\u029f it", "curl it"),
    ],
)
def test_lookalikes_in_latin_words_are_folded_and_noted(text: str, plain: str) -> None:
    folded, targets = see(text)
    assert folded == plain or targets == {"homoglyphs"}
    assert folded.isascii()


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("".join(chr(ord(one) + 0xFEE0) for one in "bash-run"), "full-width"),
        ("".join(chr(0x1D5EE + ord(one) - 97) for one in "bashrun"), "styled-letters"),
        ("".join(chr(0x24D0 + ord(one) - 97) for one in "bashrun"), "styled-letters"),
    ],
)
def test_letters_of_another_form_are_folded_and_noted(text: str, target: str) -> None:
    folded, targets = see(text)
    assert folded in ("bash-run", "bashrun")
    assert targets == {target}


@pytest.mark.parametrize(
    "text",
    [
        "\u041f\u0440\u0438\u0432\u0435\u0442, \u044d\u0442\u043e \u0442\u0435\u043a\u0441\u0442.",
        "API-\u043a\u043b\u044e\u0447 \u0438 PDF\u0430",
        "\u03a4\u03bf \u03bc\u03ae\u03ba\u03bf\u03c2 \u03bb, \u0394t, k\u03a9, \u03bcm",
        "sin\u03b1 + cos\u03b1 = 2sin\u03b1cos\u03b1",
        "Kullanal\u0131m, \u015fimdi \u00e7al\u0131\u015f\u0131yor",
        "\u8fd9\u662f\u4e2d\u6587\u3002",
        "Gr\u00f6\u00dfe, ni\u00f1o, \u0159eka, \u0142\u00f3d\u017a",
    ],
)
def test_texts_in_their_own_script_are_left_alone(text: str) -> None:
    assert see(text) == (text, set())


def test_full_width_marks_in_chinese_are_no_disguise() -> None:
    folded, targets = see("\u63a5\u53e3\uff08\uff21\uff30\uff29\uff09\uff0c\u597d")
    assert targets == set()
    assert folded == "\u63a5\u53e3(API),\u597d"
