"""What the model's list of skills holds when there is room, when there is little, and when there is almost none."""

from hypothesis import given
from hypothesis import strategies as st

from clawft.agent.catalog import compute_catalog_budget, render_catalog


def test_every_skill_is_described_when_there_is_room() -> None:
    catalog = render_catalog([("a", "Does a."), ("b", "Does b.")], 1000)
    assert catalog.text == "- a: Does a.\n- b: Does b."
    assert (catalog.described, catalog.named, catalog.left_out) == (("a", "b"), (), ())


def test_names_are_the_floor_and_descriptions_come_by_rank() -> None:
    entries = [(f"skill-{number}", "x" * 100) for number in range(5)]
    catalog = render_catalog(entries, 5 * (2 * 7 + 6) + 210)
    assert catalog.described == ("skill-0", "skill-1")
    assert catalog.named == ("skill-2", "skill-3", "skill-4")
    assert catalog.left_out == ()


def test_what_found_no_room_is_counted_and_can_be_searched() -> None:
    entries = [(f"skill-{number:03}", "x" * 100) for number in range(100)]
    catalog = render_catalog(entries, 500)
    assert catalog.text.endswith(f"… and {len(catalog.left_out)} more (use skill_search)")
    assert len(catalog.listed) + len(catalog.left_out) == 100
    assert catalog.listed[0] == "skill-000"


def test_an_oversized_description_is_cut_and_never_hides_the_list() -> None:
    catalog = render_catalog([("a", "word " * 10_000), ("b", "Does b.")], 300)  # never "(none)"
    assert catalog.text.startswith("- a: word word")
    assert "- b" in catalog.text
    assert len(catalog.text) <= 300


def test_the_first_name_is_listed_however_small_the_budget_is() -> None:
    assert render_catalog([("a" * 50, ""), ("b", "")], 0).listed == ("a" * 50,)


def test_without_skills_there_is_no_list() -> None:
    assert render_catalog([], 100).text == ""


def test_budget_is_two_percent_of_a_small_window() -> None:
    assert compute_catalog_budget(12_000, None) == 12_000
    assert compute_catalog_budget(12_000, 1_000_000) == 12_000
    assert compute_catalog_budget(12_000, 32_000) == 2_560


@given(
    st.lists(st.tuples(st.text("abc-", min_size=1, max_size=30), st.text(max_size=200)), unique_by=lambda one: one[0]),
    st.integers(200, 5000),
)
def test_the_list_stays_in_its_budget_and_loses_no_name(entries: list[tuple[str, str]], budget: int) -> None:
    catalog = render_catalog(entries, budget)
    assert catalog.characters <= budget
    assert len(catalog.text) <= budget
    assert sorted((*catalog.described, *catalog.named, *catalog.left_out)) == sorted(name for name, _ in entries)
