"""The section `[tools]`: how its choices are written and read."""

from enum import StrEnum

import msgspec
import pytest

from clawft.config.tools import (
    CommandPolicyMode,
    DelegateSettings,
    DelegationTarget,
    ExecSettings,
    RateLimit,
    RateLimitStrategy,
)


@pytest.mark.parametrize("choice", [*DelegationTarget, *CommandPolicyMode, *RateLimitStrategy])
def test_every_choice_goes_through_json_and_back(choice: StrEnum) -> None:
    written = msgspec.json.encode(choice)
    assert written.decode() == f'"{choice.name.lower()}"'
    assert msgspec.json.decode(written, type=type(choice)) is choice


@pytest.mark.parametrize(
    ("written", "target"),
    [("Local", "local"), ("Claude", "claude"), ("Flow", "flow"), ("Auto", "auto"), ("local", "local")],
)
def test_delegation_target_in_pascal_case_is_read(written: str, target: str) -> None:
    assert msgspec.convert({"target": written}, DelegateSettings).target == DelegationTarget(target)
    assert msgspec.json.decode(f'"{written}"', type=DelegationTarget) == target


@pytest.mark.parametrize("written", ["LOCAL", "lOcal", "remote", ""])
def test_any_other_target_is_an_error(written: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"target": written}, DelegateSettings)


def test_defaults_are_those_that_were_texts_before() -> None:
    assert (ExecSettings().mode, RateLimit().strategy, DelegateSettings().target) == (
        "allowlist",
        "fixed_window",
        "auto",
    )
