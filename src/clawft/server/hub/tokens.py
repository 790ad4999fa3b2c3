"""Tokens of a hub: who may do what. Only the hash of a token is kept; the token itself is shown once."""

import hmac
import re
import secrets
import threading
import time
from collections.abc import Sequence

from clawft.errors import ClawftError, NotFound
from clawft.server.hub.database import Row
from clawft.server.hub.model import SCOPES, HubScope, HubToken
from clawft.server.hub.store import HubStore
from clawft.server.tokens import check_name, clean_label, hash_secret, make_secret

PREFIX = "clh_"
_TOKEN = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")
_COLUMNS = "id, owner, scopes, label, created, expires, revoked"
_USED_MS = 60_000  # when a token was used is written down as exactly as this


class HubTokens:
    """The tokens in a store. Threads may use it; to check one reads a row, and now and then writes when it was used."""

    def __init__(self, store: HubStore) -> None:
        self._database = store.database
        self._used: dict[str, int] = {}
        self._alone = threading.Lock()

    def create(self, owner: str, scopes: Sequence[str], label: str = "", *, days: int = 0) -> tuple[str, HubToken]:
        """A new token, which nobody can be shown again, and what is kept of it. Raises: ClawftError."""
        check_name(owner, "hub-owner", f"'{owner[:60]}' cannot be the name of an owner")
        asked = set(scopes)
        chosen: tuple[HubScope, ...] = tuple(scope for scope in SCOPES if scope in asked)
        if not chosen or asked - set(SCOPES):
            raise ClawftError(
                "hub-scope", "A token needs scopes that there are", hint=f"Choose of: {', '.join(SCOPES)}"
            )
        secret = make_secret(PREFIX)
        now = _now()
        token = HubToken(
            id=secrets.token_hex(6),
            owner=owner,
            scopes=chosen,
            label=clean_label(label),
            created=now,
            expires=now + days * 86_400_000 if days else 0,
        )
        row = (token.id, hash_secret(secret), owner, " ".join(chosen), token.label, token.created, token.expires)
        with self._database.write() as execute:
            execute(
                """INSERT INTO hub_token(id, hash, owner, scopes, label, created, expires)
                VALUES (?, ?, ?, ?, ?, ?, ?)""",
                row,
            )
        return secret, token

    def check(self, secret: str) -> HubToken | None:
        """Return the token of a secret; None if it is not valid."""
        if not _TOKEN.fullmatch(secret):
            return None
        wanted = hash_secret(secret)
        rows = self._database.read(f"SELECT {_COLUMNS}, hash, used FROM hub_token WHERE hash = ?", (wanted,))
        if not rows or not hmac.compare_digest(str(rows[0][7]), wanted):
            return None
        token, now = _read(rows[0]), _now()
        if token.revoked or (token.expires and token.expires <= now):
            return None
        self._note_use(token.id, int(rows[0][8]), now)
        return token

    def counts(self, token: str) -> bool:
        """Return whether a token still counts, by its id."""
        rows = self._database.read(f"SELECT {_COLUMNS} FROM hub_token WHERE id = ?", (token,))
        found = _read(rows[0]) if rows else None
        return found is not None and not found.revoked and not (found.expires and found.expires <= _now())

    def list(self) -> tuple[tuple[HubToken, int], ...]:
        """All tokens, oldest first, each with when it was last used (0: never)."""
        rows = self._database.read(f"SELECT {_COLUMNS}, used FROM hub_token ORDER BY created, id")
        return tuple((_read(row), int(row[7])) for row in rows)

    def revoke(self, token: str) -> HubToken:
        """Revoke a token by its id. Raises: NotFound."""
        with self._database.write() as execute:
            execute("UPDATE hub_token SET revoked = ? WHERE id = ? AND revoked = 0", (_now(), token))
            rows = execute(f"SELECT {_COLUMNS} FROM hub_token WHERE id = ?", (token,))
        if not rows:
            raise NotFound("hub-token", f"There is no token '{token[:60]}'", hint="Run: weft hub token list")
        return _read(rows[0])

    def _note_use(self, token: str, used: int, now: int) -> None:
        with self._alone:
            if now - max(used, self._used.get(token, 0)) < _USED_MS:
                return
            self._used[token] = now
        with self._database.write() as execute:
            execute("UPDATE hub_token SET used = ? WHERE id = ? AND used < ?", (now, token, now))


def _read(row: Row) -> HubToken:
    name, owner, scopes, label, created, expires, revoked = row[:7]
    return HubToken(
        name, owner, tuple(scope for scope in SCOPES if scope in scopes.split()), label, created, expires, revoked
    )


def _now() -> int:
    return time.time_ns() // 1_000_000
