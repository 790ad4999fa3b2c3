"""The catalog of skills that the model reads: all names first, then descriptions, in rank order and within a budget."""

from collections.abc import Sequence

from msgspec import Struct

MAX_DESCRIPTION = 1_000  # characters of one description; the skill itself says the rest
_CHARS_PER_TOKEN = 4
_WINDOW_SHARE = 0.02
_NAME_COST = len('- \n"",')  # a name stands in the list and among the values the tool accepts
_MORE = "… and {} more (use skill_search)"


class CatalogText(Struct, frozen=True):
    """The list, which names stand in it and how, and which found no room."""

    text: str = ""
    described: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    characters: int = 0
    budget: int = 0

    @property
    def listed(self) -> tuple[str, ...]:
        return self.described + self.named


def compute_catalog_budget(char_budget: int, context_window: int | None) -> int:
    """Characters the catalog may take: the setting, or 2 % of a window that is known, if that is less."""
    if context_window is None:
        return char_budget
    return min(char_budget, int(context_window * _CHARS_PER_TOKEN * _WINDOW_SHARE))


def render_catalog(entries: Sequence[tuple[str, str]], budget: int) -> CatalogText:
    """The list of `(name, description)`, which come in rank order."""
    if not entries:
        return CatalogText(budget=budget)
    count, spent = _fit_names([name for name, _ in entries], budget)
    listed, left_out = entries[:count], tuple(name for name, _ in entries[count:])
    described: dict[str, str] = {}
    for name, description in listed:
        text = _one_line(description)
        room = budget - spent - len(": ")
        if text and room >= min(len(text), 40):
            described[name] = text if len(text) <= room else text[: room - 1].rstrip() + "…"
            spent += len(": ") + len(described[name])
    lines = [f"- {name}: {described[name]}" if name in described else f"- {name}" for name, _ in listed]
    if left_out:
        lines.append(_MORE.format(len(left_out)))
    named = tuple(name for name, _ in listed if name not in described)
    return CatalogText("\n".join(lines), tuple(described), named, left_out, spent, budget)


def _fit_names(names: Sequence[str], budget: int) -> tuple[int, int]:
    """Return how many names fit the budget, at least one, and how many characters they take, leaving room for the line
    that counts the rest."""
    costs = [2 * len(name) + _NAME_COST for name in names]
    if sum(costs) <= budget:
        return len(names), sum(costs)
    more = len(_MORE.format(len(names)))
    spent, count = more + costs[0], 1
    while count < len(names) and spent + costs[count] <= budget:
        spent += costs[count]
        count += 1
    return count, spent


def _one_line(description: str) -> str:
    text = " ".join(description.split())
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1] + "…"
