"""Names that are made to be mistaken for another, and honest names that are merely close."""

import pytest

from clawft.scanner.vocabulary.packages import NPM, PYPI, Package, find_imitated, find_namesake, parse_package


@pytest.mark.parametrize(
    ("manager", "name", "imitated"),
    [
        ("pip", "reqeusts", "requests"),
        ("pip", "requets", "requests"),
        ("pip", "requestss", "requests"),
        ("pip", "numpyy", "numpy"),
        ("pip", "cryptograhpy", "cryptography"),
        ("pip", "python-reqests", "requests"),
        ("uv", "pandsa", "pandas"),
        ("npm", "loadsh", "lodash"),
        ("npm", "axi0s", "axios"),
        ("npm", "crossenv", "cross-env"),
        ("npx", "expresss", "express"),
        ("pip", "requests-security-patch", "requests"),
        ("npm", "lodash-utils-hotfix", "lodash"),
    ],
)
def test_a_borrowed_name_is_seen(manager: str, name: str, imitated: str) -> None:
    assert find_imitated(manager, name) == imitated


@pytest.mark.parametrize(
    ("manager", "name"),
    [
        ("npm", "preact"),
        ("npm", "color"),
        ("npm", "lodash.merge"),
        ("npm", "@types/react"),
        ("npm", "request"),
        ("npm", "gaxios"),
        ("pip", "pypdf2"),
        ("pip", "pandas2"),
        ("pip", "pandas-stubs"),
        ("pip", "python-dotenv"),
        ("pip", "huggingface_hub"),
        ("pip", "acme-auth"),
        ("pip", ""),
        ("pip", "-"),
        ("pip", "x" * 500),
        ("brew", "reqeusts"),
    ],
)
def test_an_honest_name_is_left_alone(manager: str, name: str) -> None:
    assert find_imitated(manager, name) == ""


@pytest.mark.parametrize("name", ["simmer-weather", "canva-connect", "typeform", "db-query", "requests-helper"])
def test_a_skill_named_after_a_word_is_no_namesake(name: str) -> None:
    assert find_namesake(name) == ""


def test_a_skill_with_a_scrambled_name_is_a_namesake() -> None:
    assert find_namesake("reqeusts-helper") == "requests"


def test_no_well_known_name_imitates_another() -> None:
    assert {name for name in PYPI if find_imitated("pip", name)} == set()
    assert {name for name in NPM if find_imitated("npm", name)} == set()


@pytest.mark.parametrize(
    ("target", "package"),
    [
        ("npm:lodash@4.17.0", Package("npm", "lodash", "")),
        ("npm:@acme/x@1.0.0", Package("npm", "@acme/x", "")),
        ("pip:Requests[socks]>=2.0", Package("pip", "requests", "")),
        ("pip:x@https://p.example/simple", Package("pip", "x", "https://p.example/simple")),
        ("pip:*@https://p.example/simple", Package("pip", "*", "https://p.example/simple")),
        ("pip:+@https://p.example/simple", Package("pip", "*", "https://p.example/simple", extra=True)),
        ("pip:git+https://git.example/x@main", Package("pip", "", "https://git.example/x@main")),
        ("npm:https://files.example/x.tgz", Package("npm", "", "https://files.example/x.tgz")),
    ],
)
def test_an_install_is_taken_apart(target: str, package: Package) -> None:
    assert parse_package(target) == package
