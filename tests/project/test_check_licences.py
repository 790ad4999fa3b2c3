"""The licence check, on metadata made here."""

from email.message import Message

import pytest

import check_licences


def package(**fields: str) -> Message:
    message = Message()
    for name, value in fields.items():
        message[name.replace("_", "-")] = value
    return message


@pytest.mark.parametrize(
    "fields",
    [
        {"License_Expression": "GPL-3.0-or-later"},
        {"Classifier": "License :: OSI Approved :: GNU General Public License v3 (GPLv3)"},
        {"License_Expression": "MIT AND LGPL-3.0-only"},
    ],
)
def test_copyleft_package_is_refused_for_users_and_allowed_for_development(fields: dict[str, str]) -> None:
    licence = check_licences.find_licence(package(**fields))
    problem = check_licences.check_package("gnuish", licence, distributed=True)
    assert problem is not None
    assert problem.startswith("gnuish: licence ")
    assert check_licences.check_package("gnuish", licence, distributed=False) is None


@pytest.mark.parametrize("distributed", [True, False])
@pytest.mark.parametrize("text", ["", "Ask us", "UNKNOWN"])
def test_unknown_licence_is_refused_with_the_way_to_record_it(text: str, distributed: bool) -> None:
    licence = check_licences.find_licence(package(License=text))
    problem = check_licences.check_package("mystery", licence, distributed=distributed)
    assert problem is not None
    assert "tools/licences.toml" in problem
    assert "[mystery]" in problem


def test_unrecognised_expression_is_refused_even_for_development() -> None:
    assert check_licences.check_package("odd", "LicenseRef-Proprietary", distributed=False)


@pytest.mark.parametrize(
    "fields",
    [
        {"License_Expression": "MIT"},
        {"License_Expression": "Apache-2.0 WITH LLVM-exception"},
        {"License_Expression": "GPL-2.0-only OR (MIT AND BSD-3-Clause)"},
        {"Classifier": "License :: OSI Approved :: BSD License"},
        {"License": "Apache 2.0"},
    ],
)
def test_permissive_package_is_accepted(fields: dict[str, str]) -> None:
    licence = check_licences.find_licence(package(**fields))
    assert check_licences.check_package("free", licence, distributed=True) is None


def test_recorded_licence_counts_only_with_a_reason() -> None:
    record = {"nowhere-installed": {"licence": "MIT", "reason": "LICENSE file"}}
    assert check_licences.load_licence("nowhere-installed", record) == "MIT"
    assert check_licences.load_licence("nowhere-installed", {"nowhere-installed": {"licence": "MIT"}}) is None


def test_weak_copyleft_is_permitted_only_for_a_package_that_is_named() -> None:
    assert check_licences.check_package("lesser", "LGPL-3.0-only", distributed=True)
    assert check_licences.check_package("lesser", "LGPL-3.0-only", distributed=True, beside=True) is None


@pytest.mark.parametrize("licence", ["GPL-3.0-only", "AGPL-3.0-only", "LGPL-3.0-only AND GPL-3.0-only", None])
def test_no_record_permits_more_than_weak_copyleft(licence: str | None) -> None:
    assert check_licences.check_package("gnuish", licence, distributed=True, beside=True)


def test_a_permission_that_is_not_needed_is_refused() -> None:
    problem = check_licences.check_package("free", "MIT", distributed=True, beside=True)
    assert problem == "free: MIT needs no extra in tools/licences.toml"


def test_a_permission_ends_when_the_installed_licence_changes() -> None:
    record = {"licence": "LGPL-3.0-only", "extra": "durable", "reason": "imported unmodified"}
    assert check_licences.load_licence("psycopg", {"psycopg": record}) == "LGPL-3.0-only"
    assert check_licences.load_licence("psycopg", {"psycopg": {**record, "licence": "LGPL-2.1-only"}}) is None


def test_what_the_program_cannot_do_without_is_no_part_of_an_extra() -> None:
    assert check_licences.check_extra("psycopg", "durable", ["durable"], ["click"]) is None
    assert check_licences.check_extra("psycopg", "durable", ["durable"], ["click", "psycopg"])
    assert check_licences.check_extra("psycopg", "enduring", ["durable"], ["click"])
