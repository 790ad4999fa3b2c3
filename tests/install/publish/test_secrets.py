"""What is no longer secret once it was published: found by its form; what only stands for it is not."""

import pytest

from clawft.config.redaction import Secrets
from clawft.install.publish.preparation import check_secrets
from effort import within

HIGH = "Zk3vQ9xT7bLm2Rw8Yc5Np1Hd6Js4Gf0A"


def codes(text: str, path: str = "scripts/run.py") -> list[str]:
    return [one.code for one in check_secrets(path, text.encode())]


@pytest.mark.parametrize(
    "text",
    [
        f"token = gh{'p'}_{HIGH}abcd",
        f"glp{'at'}-{HIGH[:24]}",
        f"AK{'IA'}QX7TZ3MVB5KD2WJH",
        f"AI{'za'}Sy{HIGH}9",
        f"sk-{'ant'}-api03-{HIGH}",
        f"export OPENAI=sk-{'proj'}-{HIGH}{HIGH[:8]}",
        f"sk_{'live'}_{HIGH[:24]}",
        f"xox{'b'}-2413-9921-{HIGH[:24]}",
        f"https://hooks.{'slack'}.com/services/T024BE7LD/B0{HIGH[:8]}/{HIGH[:24]}",
        f"hf{'_'}{HIGH}",
        f"eyJ{HIGH[:20]}.eyJ{HIGH[:24]}.{HIGH}",
        f"postgres://app:{HIGH[:14]}@db.internal/x",
        f'{{"client_secret": "{HIGH}"}}',
        f"API_KEY = '{HIGH}'",
        f'password: "{HIGH[:20]}"',
        f"API_KEY={HIGH}",
        f"export DB_PASSWORD={HIGH[:20]}  # of the test system",
        f"  api_key: {HIGH}",
        f"aws_secret_access_key = {HIGH}/abcd+x",
        f"curl -H 'Authorization: Bearer {HIGH}' host",
        f"AGE-{'SECRET'}-KEY-1{HIGH.upper()}{HIGH[:26].upper()}",
        f"-----BEGIN {'RSA'} PRIVATE KEY-----\n{HIGH}{HIGH}\n{HIGH}{HIGH}\n",
    ],
)
def test_a_secret_is_found_by_its_form_and_not_shown(text: str) -> None:
    said = check_secrets("scripts/run.py", f"first\n{text}\n".encode())
    assert [(one.code, one.line) for one in said] == [("secret-in-file", 2)]
    assert HIGH[:14] not in said[0].message


@pytest.mark.parametrize(
    "text",
    [
        "export OPENAI_API_KEY=sk-your-api-key-goes-here-please-now",
        "GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "AKIAIOSFODNN7EXAMPLE",
        "api_key = os.environ['SERVICE_API_KEY']",
        'api_key = "${SERVICE_API_KEY_FROM_ENV}"',
        'token: "<your token, 32 characters>"',
        "postgres://user:password@localhost/db",
        "https://$USER:$PASSWORD@host/",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "matches -----BEGIN RSA PRIVATE KEY----- in files",
        'sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"',
        'key = "primary-key-column-of-the-table"',
        'password = "correct-horse-battery"',
        "git@github.com:owner/repo.git",
        "token = response.headers_of_page2.session_token",
        "api_key = load_key_from_vault2(name)",
        "secret_key: base64_encoded_key_of_32_bytes",
        "TOKEN=$(security find-generic-password -s svc2 -w)",
        "Authorization: Bearer ACCESS_TOKEN_OF_STEP_2",
        "def sign(private: Ed25519PrivateKey) -> bytes:",
        "cache_key: linux-x86_64-python311-requirements",
        f"data:image/png;base64,iVBORw0KGgo{HIGH}AI{'za'}Sy{HIGH}9{HIGH}",
    ],
)
def test_what_only_stands_for_a_secret_is_none(text: str) -> None:
    assert codes(text) == []


@pytest.mark.parametrize("path", ["id_rsa", "config/credentials.json", "server.pem", "secrets.yaml", "prod/.env"])
def test_a_file_that_is_secret_by_its_name_is_one(path: str) -> None:
    assert codes("x", path) == ["secret-file"]


def test_a_secret_of_the_users_own_config_is_found_whatever_it_looks_like() -> None:
    own = Secrets(["plain word"])
    said = check_secrets("notes.md", b"one\ntwo plain word three\n", own)
    assert [(one.code, one.line) for one in said] == [("secret-own", 2)]
    assert "plain word" not in said[0].message


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_secret_is_found_in_other_encodings(encoding: str) -> None:
    text = f"first\nAPI_KEY = '{HIGH}'\n".encode(encoding)
    assert [(one.code, one.line) for one in check_secrets("notes.txt", text)] == [("secret-in-file", 2)]
    own = check_secrets("notes.txt", "one\nplain word\n".encode(encoding), Secrets(["plain word"]))
    assert [(one.code, one.line) for one in own] == [("secret-own", 2)]


def test_a_secret_of_the_users_own_config_is_found_in_a_name() -> None:
    assert [one.code for one in check_secrets("notes/plain word.txt", b"", Secrets(["plain word"]))] == ["secret-own"]


def test_a_file_full_of_them_is_told_of_in_few_lines() -> None:
    assert len(codes(f"gh{'p'}_{HIGH}abcd\n" * 500)) == 20


def test_ten_megabytes_in_one_line_are_read_to_their_end() -> None:
    text = "x = 1; y = sk-; " * 650_000 + f"gh{'p'}_{HIGH}abcd"
    with within(2):
        assert codes(text) == ["secret-in-file"]
