"""Tokens of a hub."""

import sqlite3
from pathlib import Path

import pytest

from clawft.errors import ClawftError, NotFound
from clawft.server.hub.store import HubStore
from clawft.server.hub.tokens import HubTokens
from clawft.server.tokens import is_name


def test_a_token_counts_until_it_is_revoked(store: HubStore) -> None:
    tokens = HubTokens(store)
    secret, kept = tokens.create("ann", ["publish", "read"], "laptop")
    assert secret.startswith("clh_")
    assert kept.scopes == ("read", "publish")
    assert tokens.list() == ((kept, 0),)
    assert tokens.check(secret) == kept
    ((_, used),) = tokens.list()
    assert used >= kept.created
    tokens.revoke(kept.id)
    assert tokens.check(secret) is None
    assert tokens.list()[0][0].revoked


def test_what_is_no_token_counts_for_nothing(store: HubStore) -> None:
    tokens = HubTokens(store)
    secret, _ = tokens.create("ann", ["read"])
    for wrong in ("", "clh_", secret[:-1], secret + "x", secret.upper(), f" {secret}", "clh_" + "é" * 43):
        assert tokens.check(wrong) is None


def test_a_token_expires(tmp_path: Path) -> None:
    store = HubStore.open_folder(str(tmp_path))
    tokens = HubTokens(store)
    secret, kept = tokens.create("ann", ["read"], days=1)
    assert kept.expires == kept.created + 86_400_000
    assert tokens.check(secret)
    with store.database.write() as execute:
        execute("UPDATE hub_token SET expires = ?", (kept.created,))
    assert tokens.check(secret) is None
    store.close()


def test_a_token_itself_is_written_nowhere(tmp_path: Path) -> None:
    store = HubStore.open_folder(str(tmp_path))
    secret, _ = HubTokens(store).create("ann", ["admin"])
    store.close()
    with sqlite3.connect(tmp_path / "hub.sqlite") as connection:
        assert secret not in str(connection.execute("SELECT * FROM hub_token").fetchall())
    connection.close()
    assert secret[4:].encode() not in (tmp_path / "hub.sqlite").read_bytes()


def test_owners_scopes_and_ids_that_cannot_be_are_told(store: HubStore) -> None:
    tokens = HubTokens(store)
    for owner, scopes, code in (("A B", ["read"], "hub-owner"), ("ann", [], "hub-scope"), ("ann", ["x"], "hub-scope")):
        with pytest.raises(ClawftError) as error:
            tokens.create(owner, scopes)
        assert error.value.code == code
    with pytest.raises(NotFound):
        tokens.revoke("nothing")
    assert tokens.list() == ()
    assert [is_name(one) for one in ("a", "a.b-c_d", "-a", "a" * 41, "a\n")] == [True, True, False, False, False]
