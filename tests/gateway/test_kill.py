"""The gateway is killed at random moments under load: a tenth of `make soak`."""

import random
from pathlib import Path

import pytest

from gateway_remote import Remote
from gateway_world import GatewayWorld
from soak_gateway import GatewaySoak

SEED = 20


@pytest.mark.unmeasured
@pytest.mark.parametrize(("deduplicates", "messages"), [(True, 80), (False, 40)], ids=["told", "untold"])
def test_every_message_is_answered_once_or_says_that_it_may_be_a_repeat(
    tmp_path: Path, deduplicates: bool, messages: int
) -> None:
    with Remote(deduplicates) as remote, GatewayWorld(tmp_path, remote, gateway="max_pending = 30") as world:
        soak = GatewaySoak(world, random.Random(SEED))
        soak.run(messages, 2 if deduplicates else 1)
        wrong = soak.check()
    print(soak.summary())
    assert wrong == []
    assert len(remote.answers()) == messages
    assert remote.connections == soak.kills + 1
