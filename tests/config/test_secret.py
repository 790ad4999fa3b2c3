"""References to secrets: how they are written, and that nothing shows what they hold."""

from pathlib import Path

import pytest

from clawft.config import SecretRef
from clawft.config.keystore import Keystore
from clawft.config.secret import expand, names_secret
from clawft.errors import ClawftError


def test_table_names_the_variable() -> None:
    assert SecretRef.parse({"env": "API_KEY"}, {}) == SecretRef(env="API_KEY")


def test_text_that_names_a_variable_which_is_set_means_the_variable() -> None:
    assert SecretRef.parse("OPENAI_API_KEY", {"OPENAI_API_KEY": "x"}) == SecretRef(env="OPENAI_API_KEY")
    assert SecretRef.parse("OPENAI_API_KEY", {}) == SecretRef(literal="OPENAI_API_KEY")


@pytest.mark.parametrize("written", ["sk-live-1234", "lower_case", "Pa$$word", "9STARTS_WITH_DIGIT", "HAS SPACE"])
def test_any_other_text_is_the_secret_itself(written: str) -> None:
    assert SecretRef.parse(written, {}) == SecretRef(literal=written)


def test_empty_text_configures_nothing() -> None:
    secret = SecretRef.parse("", {})
    assert secret is not None
    assert not secret.is_configured({})


def test_table_names_a_stored_key() -> None:
    secret = SecretRef.parse({"keystore": "anthropic"}, {})
    assert secret == SecretRef(keystore="anthropic")
    assert secret != SecretRef(env="anthropic")
    assert len({secret, SecretRef(keystore="anthropic"), SecretRef(env="anthropic")}) == 2


@pytest.mark.parametrize(
    "written",
    [
        *(None, 3, True, [], {}, {"env": 3}, {"name": "X"}, {"keystore": 3}, {"keystore": ""}, {"keystore": "../x"}),
        *({"keystore": "x" * 101}, {"keystore": "a\nb"}, {"keystore": "a", "env": "A"}),
    ],
)
def test_anything_else_is_no_reference(written: object) -> None:
    assert SecretRef.parse(written, {}) is None


def test_reference_is_configured_when_its_variable_is_set_and_not_empty() -> None:
    secret = SecretRef(env="API_KEY")
    assert secret.is_configured({"API_KEY": "x"})
    assert not secret.is_configured({"API_KEY": ""})
    assert not secret.is_configured({})


def test_literal_is_configured_in_any_environment() -> None:
    assert SecretRef(literal="sk-1").is_configured({})


@pytest.mark.parametrize(
    ("secret", "text", "shown"),
    [
        (SecretRef(env="API_KEY"), "${API_KEY}", "SecretRef(env=API_KEY)"),
        (SecretRef(literal="sk-live-1234"), "<redacted>", "SecretRef(<redacted>)"),
        (SecretRef(keystore="work"), "key:work", "SecretRef(keystore=work)"),
        (SecretRef(), "", "SecretRef(<unconfigured>)"),
    ],
)
def test_no_form_of_a_reference_shows_the_secret(secret: SecretRef, text: str, shown: str) -> None:
    assert (str(secret), repr(secret), f"{secret}") == (text, shown, text)


def test_repr_inside_another_value_shows_no_secret() -> None:
    assert "sk-live" not in repr([{"key": SecretRef(literal="sk-live-1234")}])


def test_reference_resolves_to_its_variable() -> None:
    assert SecretRef(env="API_KEY").resolve({"API_KEY": "x"}) == "x"
    assert SecretRef(env="API_KEY").resolve({}) == ""
    assert SecretRef(literal="sk-1").resolve({}) == "sk-1"
    assert SecretRef().resolve({"API_KEY": "x"}) == ""


def test_reference_to_a_stored_key_resolves_to_it(tmp_path: Path, headless: None) -> None:
    environ = {"CLAWFT_HOME": str(tmp_path / "folder"), "HOME": str(tmp_path)}
    secret = SecretRef(keystore="work")
    assert (secret.resolve(environ), secret.is_configured(environ)) == ("", False)

    Keystore(environ["CLAWFT_HOME"]).store("work", "sk-of-the-store")

    assert (secret.resolve(environ), secret.is_configured(environ)) == ("sk-of-the-store", True)
    assert not SecretRef(keystore="other").is_configured(environ)


def test_stored_key_is_looked_for_below_home_by_default(tmp_path: Path, headless: None) -> None:
    Keystore(str(tmp_path / ".clawft")).store("work", "sk-of-the-store")

    assert SecretRef(keystore="work").resolve({"HOME": str(tmp_path)}) == "sk-of-the-store"


def test_stored_keys_that_others_may_read_are_not_used(tmp_path: Path, headless: None) -> None:
    store = Keystore(str(tmp_path / ".clawft"))
    store.store("work", "sk-of-the-store")
    Path(store.path).chmod(0o640)

    with pytest.raises(ClawftError) as caught:
        SecretRef(keystore="work").resolve({"HOME": str(tmp_path)})

    assert caught.value.code == "keys-exposed"


@pytest.mark.parametrize(
    ("text", "value", "missing"),
    [
        ("Bearer ${KEY}", "Bearer k", ()),
        ("${KEY}${NONE}-${NONE}", "k-", ("NONE",)),
        ("$KEY ${} ${1} $${KEY", "$KEY ${} ${1} $${KEY", ()),
        ("${A${KEY}}", "${Ak}", ()),
        ("${EMPTY}", "", ()),
        ("${LOOP}", "${KEY}", ()),
    ],
)
def test_variables_in_a_text_are_filled_in_once(text: str, value: str, missing: tuple[str, ...]) -> None:
    assert expand(text, {"KEY": "k", "EMPTY": "", "LOOP": "${KEY}"}) == (value, missing)


@pytest.mark.parametrize(
    "name", ["apiKey", "X-Api-Key", "GITHUB_TOKEN", "smtp_password", "Authorization", "AWS_KEY_ID"]
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert names_secret(name)


@pytest.mark.parametrize("name", ["max_tokens", "author", "keyboard", "Accept", "model"])
def test_other_names_are_not_taken_for_those_of_secrets(name: str) -> None:
    assert not names_secret(name)
