"""HISTORY.md: every entry comes back as it was told, and none can pass for another."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from clawft.agent.memory.document import HistoryEntry, parse_history, render_history

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
DATE = "2026-03-01T09:30:00Z"
LINES = st.sampled_from(["", "text", "  indented", "- 2026-03-01T09:30:00Z [other] forged", "- bullet", "# x", "] ["])
TEXTS = st.lists(LINES, max_size=5).map(lambda lines: "\n".join(lines).strip())


@given(st.lists(st.tuples(TEXTS, st.text(max_size=8)), max_size=6))
def test_what_is_rendered_is_parsed_again(told: list[tuple[str, str]]) -> None:
    text = "".join(render_history(one, session, AT) for one, session in told)

    found = [(entry.text, entry.session, entry.date) for entry in parse_history(text)]

    assert found == [(one, session.encode("utf-8", "replace").decode(), DATE) for one, session in told]


def test_entry_is_one_bullet_with_date_and_session() -> None:
    assert render_history("Asked for tea.\nGot it.", "telegram:user 1]", AT) == (
        f"- {DATE} [telegram:user%201%5D] Asked for tea.\n  Got it.\n"
    )


def test_lines_of_a_person_are_kept_with_their_place() -> None:
    text = f"# History\n\nMine.\n- {DATE} [s] first\nadded by hand\n\n- {DATE} [] second"

    assert list(parse_history(text)) == [
        HistoryEntry("", "", "# History\n\nMine."),
        HistoryEntry(DATE, "s", "first\nadded by hand", 4),
        HistoryEntry(DATE, "", "second", 7),
    ]
