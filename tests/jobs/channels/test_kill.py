"""The gateway is killed at random moments under load: a tenth of `make soak`."""

import random
from pathlib import Path

import pytest

from gateway_remote import Remote
from gateway_world import GatewayWorld
from soak_gateway import GatewaySoak

SEED = 20


@pytest.mark.unmeasured
@pytest.mark.parametrize(("deduplicates", "messages", "kills"), [(True, 70, 1), (False, 30, 1)], ids=["told", "untold"])
def test_every_message_is_answered_once_or_says_that_it_may_be_a_repeat(
    tmp_path: Path, deduplicates: bool, messages: int, kills: int
) -> None:
    with Remote(deduplicates) as remote, GatewayWorld(tmp_path, remote, gateway="max_pending = 30") as world:
        soak = GatewaySoak(world, random.Random(SEED))
        soak.run(messages, kills)
        wrong = soak.check()
    print(soak.summary())
    assert wrong == []
    assert len(remote.answers()) == messages
    assert remote.connections == soak.kills + 1


@pytest.mark.unmeasured
def test_a_gateway_that_is_stopped_under_load_leaves_nothing_in_doubt(tmp_path: Path) -> None:
    with Remote(deduplicates=False) as remote, GatewayWorld(tmp_path, remote) as world:
        soak = GatewaySoak(world, random.Random(SEED))
        soak.run(16, 0, stops=1)
        wrong = soak.check()
    assert wrong == []
    assert [len(one) for one in remote.answers().values()] == [1] * 16
    assert not any(one.is_repeat for one in remote.sent)
