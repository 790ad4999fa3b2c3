"""How much one client may ask of a server."""

import pytest

from clawft.server.http.limits import ClientLimits, ResponseMemory, WebError, name_client


def test_clients_are_counted_each_and_are_forgotten_in_turn() -> None:
    now = [0.0]
    limits = ClientLimits({"reads": 60, "writes": 1}, lambda: now[0])
    for _ in range(60):
        limits.take("one", "reads")
    with pytest.raises(WebError):
        limits.take("one", "reads")
    assert limits.take("two", "reads").left == 59
    limits.take("one", "writes")
    now[0] += 2
    assert limits.take("one", "reads").left == 1


def test_a_client_is_known_by_its_network() -> None:
    assert name_client("2001:db8::1") == name_client("2001:db8::ffff:1") != name_client("2001:db8:0:1::1")
    assert name_client("::ffff:10.0.0.1") == name_client("10.0.0.1")


def test_one_client_has_at_most_half_of_the_room() -> None:
    room = ResponseMemory(100)
    assert room.take("one", 50)
    assert not room.take("one", 1)
    assert room.take("two", 50)
    assert not room.take("three", 1)
    room.free("one", 50)
    assert room.take("three", 1)
