"""Who may do what: the user's own token, and those of others."""

import os
import stat
import threading
from pathlib import Path

import pytest

from clawft.config.secret import SecretRef
from clawft.config.serve import ServeSettings, own_token_file
from clawft.errors import ClawftError, NotFound, Unreadable
from clawft.server.callers import ALL_SCOPES, DaemonCaller
from clawft.server.middleware import RequestClient
from clawft.server.tokens import ServeTokens, load_own


def test_the_users_own_token_is_made_once_and_is_theirs_alone(tmp_path: Path) -> None:
    folder = str(tmp_path / "user")
    assert load_own(ServeSettings(), folder, {}) == ""
    made = {load_own(ServeSettings(), folder, {}, make=True) for _ in range(3)}
    assert len(made) == 1
    assert stat.S_IMODE(os.stat(own_token_file(folder)).st_mode) == 0o600
    caller = ServeTokens(folder, made.pop()).check(load_own(ServeSettings(), folder, {}))
    assert caller is not None
    assert (caller.name, caller.scopes) == ("owner", ALL_SCOPES)


def test_two_that_start_at_once_have_the_same_token(tmp_path: Path) -> None:
    found: list[str] = []
    begin = threading.Barrier(8)

    def start() -> None:
        begin.wait(10)
        found.append(load_own(ServeSettings(), str(tmp_path), {}, make=True))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(10)
    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_token_of_the_settings_is_used_unless_it_is_easily_guessed(tmp_path: Path) -> None:
    chosen = ServeSettings(token=SecretRef(env="MY_TOKEN"))
    assert load_own(chosen, str(tmp_path), {"MY_TOKEN": "x" * 20}, make=True) == "x" * 20
    for weak in ("", "secret", "with spaces in between it"):
        with pytest.raises(ClawftError, match="at least 16"):
            load_own(chosen, str(tmp_path), {"MY_TOKEN": weak})
    assert not (tmp_path / "serve-token").exists()


def test_a_token_that_was_made_or_removed_elsewhere_is_known_at_once(tmp_path: Path) -> None:
    running, other = ServeTokens(str(tmp_path), "own-token-of-the-user"), ServeTokens(str(tmp_path))
    secret, token = other.create("ci", ("run", "read"), "for\x1b[2J builds")
    caller = running.check(secret)
    assert caller is not None
    assert caller == DaemonCaller("ci", frozenset({"read", "run"}))
    assert token.scopes == ("read", "run")
    assert secret not in (tmp_path / "serve-tokens.json").read_text()
    assert "\x1b" not in token.label
    other.remove("ci")
    assert running.check(secret) is None
    assert running.check("own-token-of-the-user") is not None


def test_a_token_counts_no_longer_than_it_was_made_for(tmp_path: Path) -> None:
    tokens = ServeTokens(str(tmp_path))
    secret, _ = tokens.create("ci", ("read",), days=1)
    assert tokens.check(secret)
    path = tmp_path / "serve-tokens.json"
    path.write_text(path.read_text().replace(tokens.get("ci").expires, "2020-01-01T00:00:00+00:00"))
    assert tokens.check(secret) is None
    assert tokens.get("ci").is_over
    path.write_text(path.read_text().replace("2020-01-01T00:00:00+00:00", "some day"))
    assert tokens.check(secret) is None


def test_tokens_that_others_may_read_or_change_are_not_used(tmp_path: Path) -> None:
    settings, path = ServeSettings(), tmp_path / "serve-token"
    load_own(settings, str(tmp_path), {}, make=True)
    path.chmod(0o640)
    with pytest.raises(Unreadable, match="may read or change") as refused:
        load_own(settings, str(tmp_path), {}, make=True)
    assert "chmod 600" in refused.value.hint
    tokens = ServeTokens(str(tmp_path))
    secret, _ = tokens.create("ci", ("read",))
    assert tokens.check(secret)
    (tmp_path / "serve-tokens.json").chmod(0o666)
    with pytest.raises(Unreadable, match="Others may change"):
        ServeTokens(str(tmp_path)).check(secret)


def test_a_token_that_lost_a_scope_or_did_not_count_once_is_not_known_any_more() -> None:
    now = [DaemonCaller("ci", frozenset({"read", "run"}))]
    visitor = RequestClient(now[0], "127.0.0.1", lambda _kind: None, lambda: now[0])
    assert visitor.is_known()
    now[0] = DaemonCaller("ci", frozenset({"read"}))
    assert visitor.is_known(after_s=60)  # it was looked up just now
    assert not visitor.is_known()
    now[0] = visitor.caller
    assert not visitor.is_known(after_s=60)
    assert not visitor.is_known()


def test_what_is_no_token_is_none(tmp_path: Path) -> None:
    tokens = ServeTokens(str(tmp_path), "own-token-of-the-user")
    tokens.create("ci", ("read",))
    for secret in ("", " ", "x", "own-token-of-the-use", "wft_" + "x" * 43, "\xff" * 20, "x" * 100_000):
        assert tokens.check(secret) is None


def test_names_of_tokens_are_plain_and_are_given_once(tmp_path: Path) -> None:
    tokens = ServeTokens(str(tmp_path))
    tokens.create("builds", ("read",))
    for name in ("builds", "owner", "", "a:b", "../x", "A", "x" * 41, "-a"):
        with pytest.raises(ClawftError) as refused:
            tokens.create(name, ("read",))
        assert refused.value.code == "serve-token-name"
    with pytest.raises(NotFound, match="no token 'build'") as missing:
        tokens.remove("build")
    assert "'builds'" in missing.value.hint


def test_tokens_that_cannot_be_read_let_nobody_in(tmp_path: Path) -> None:
    (tmp_path / "serve-tokens.json").write_text("{")
    tokens = ServeTokens(str(tmp_path), "own-token-of-the-user")
    with pytest.raises(Unreadable):
        tokens.check("wft_" + "x" * 43)
    assert tokens.check("own-token-of-the-user") is not None


def test_a_change_that_leaves_time_and_size_as_they_were_counts_at_once(tmp_path: Path) -> None:
    daemon, other = ServeTokens(str(tmp_path)), ServeTokens(str(tmp_path))
    secret, _ = other.create("one", ["read"])
    path = tmp_path / "serve-tokens.json"
    assert daemon.check(secret)
    was = path.stat()
    text = path.read_text()
    path.write_text(text.replace(ServeTokens(str(tmp_path)).get("one").hash, "0" * 64))
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns, path.stat().st_ino) == (
        was.st_size, was.st_mtime_ns, was.st_ino,
    )  # fmt: skip
    assert daemon.check(secret) is None
