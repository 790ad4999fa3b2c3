"""What a list says of a fleet."""

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from clawft.run.durable.fleets import Fleet, FleetStore

__all__ = ["Summary", "fleet_json", "summarise"]

_ORDER = ("done", "failed", "cancelled", "waiting", "running", "queued")


class Summary(Struct, frozen=True):
    """A fleet, and how many runs of it there are of each status. `all_started`: no line waits to become one."""

    fleet: "Fleet"
    counts: dict[str, int]
    all_started: bool

    @property
    def status(self) -> Literal["running", "waiting", "left", "failed", "done"]:
        """`left`: nothing of it is under way, and lines of it are not begun."""
        if self.counts.get("queued") or self.counts.get("running"):
            return "running"
        if not self.all_started:
            return "left"
        if self.counts.get("waiting"):
            return "waiting"
        return "failed" if self.counts.get("failed") or self.counts.get("cancelled") else "done"

    def describe(self) -> str:
        return ", ".join(f"{self.counts[one]:,} {one}" for one in _ORDER if self.counts.get(one)) or "none"


def summarise(store: "FleetStore", fleet: "Fleet") -> Summary:
    """Raises: ClawftError."""
    counts = {str(status): number for status, number in store.counts(fleet.id).items()}
    return Summary(fleet, counts, store.last_line(fleet.id) >= fleet.spec.last)


def fleet_json(summary: Summary) -> dict[str, Any]:
    """The same for other programs."""
    fleet = summary.fleet
    return {
        "id": fleet.id,
        "kind": fleet.kind,
        "status": summary.status,
        "title": fleet.spec.title,
        "lines": fleet.total,
        "runs": {one: summary.counts.get(one, 0) for one in _ORDER},
        "created": fleet.created,
        "queue": fleet.spec.queue,
        "inputs": fleet.spec.path,
        "output": fleet.spec.output or None,
    }
