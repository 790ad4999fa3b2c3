"""Keys that were typed in once: in the system's keyring where there is one, else in a file that only the user reads.

`keys.json` knows the name of every key. Its value is null where the keyring holds the secret.
"""

import os
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawft.config.secret import is_key_name
from clawft.errors import ClawftError
from clawft.files import check_json_version, get_hint, hold_folder, read_regular, replace_file
from clawft.workspace import find_workspace

Place = Literal["keyring", "file"]
KEYS_NAME = "keys.json"
MAX_BYTES = 1 << 20
MAX_SECRET = 10_000  # characters
LOCK_WAIT_S = 10.0
_EXPOSED = 0o077  # any right of the group or of others


class _Document(Struct, frozen=True, forbid_unknown_fields=True):
    version: Literal[1] = 1
    keys: dict[str, str | None] = {}

    def __repr__(self) -> str:
        return f"_Document({len(self.keys)})"


class Keystore:
    """The keys of one user's folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.path = os.path.join(folder, KEYS_NAME)
        self._service = f"clawft {folder}"  # two folders of one account keep their own keys

    def __repr__(self) -> str:
        return f"Keystore({self.folder!r})"

    def store(self, name: str, secret: str) -> Place:
        """Keep a secret under a name; where it is now. Raises: ClawftError."""
        if not is_key_name(name):
            hint = "Use letters, digits, '_', '.' and '-'"
            raise ClawftError("key-name", f"{name[:100]!a} cannot be the name of a key", hint=hint)
        if not secret or len(secret) > MAX_SECRET:
            raise ClawftError("key-empty", "A key has 1 to 10,000 characters", hint="Nothing was stored")
        in_keyring = self._keep_in_keyring(name, secret)
        self._change(lambda keys: {**keys, name: None if in_keyring else secret})
        return "keyring" if in_keyring else "file"

    def find(self, name: str) -> str | None:
        """The secret of a name; None where there is none, or the keyring does not give it.

        Raises: ClawftError with code `keys-exposed` or `keys-damaged`.
        """
        keys = self._load()
        if keys.get(name) or name not in keys:
            return keys.get(name)
        keyring = find_keyring()
        try:
            found = keyring.get_password(self._service, name) if keyring else None
        except Exception:  # backends raise what they like; a key that cannot be had is not there
            return None
        return found or None

    def has(self, name: str) -> bool:
        """Return whether a key of this name was stored. Raises: ClawftError."""
        return name in self._load()

    def delete(self, name: str) -> bool:
        """Forget a key; whether there was one. Raises: ClawftError."""
        keys = self._load()
        if name not in keys:
            return False
        if keys[name] is None:
            self._drop_from_keyring(name)
        self._change(lambda keys: {key: value for key, value in keys.items() if key != name})
        return True

    def names(self) -> dict[str, Place]:
        """Every name, and where its secret is. Raises: ClawftError."""
        return {name: "keyring" if secret is None else "file" for name, secret in sorted(self._load().items())}

    def _keep_in_keyring(self, name: str, secret: str) -> bool:
        keyring = find_keyring()
        if keyring is None:
            return False
        try:
            keyring.set_password(self._service, name, secret)
            return bool(keyring.get_password(self._service, name) == secret)
        except Exception:  # locked, or out of order: the file does as well
            return False

    def _drop_from_keyring(self, name: str) -> None:
        keyring = find_keyring()
        with suppress(Exception):  # what is gone already need not be removed
            if keyring:
                keyring.delete_password(self._service, name)

    def _load(self) -> dict[str, str | None]:
        try:
            data, status = read_regular(self.path, MAX_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        if status.st_mode & _EXPOSED:
            message = "Others may read the file of keys, so it is not used"
            raise ClawftError("keys-exposed", message, path=self.path, hint=f"Run: chmod 600 {shlex.quote(self.path)}")
        check_json_version(data, 1, self.path)
        try:
            return msgspec.json.decode(data, type=_Document).keys
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            # Neither the parser's words nor the cause are kept: they may quote a key.
            hint = "Restore it from a backup; or move it away, and give the keys again: weft onboard"
            message = "keys.json is damaged: the keys in it are lost"
            raise ClawftError("keys-damaged", message, path=self.path, hint=hint) from None

    def _change(self, edit: Callable[[dict[str, str | None]], dict[str, str | None]]) -> None:
        busy = ClawftError("keys-busy", "Another program keeps changing the keys", path=self.path)
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            with hold_folder(self.folder, LOCK_WAIT_S, busy):
                document = _Document(1, edit(self._load()))
                replace_file(self.path, msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n", 0o600)
        except OSError as error:
            message = f"The key was not stored: {error.strerror}"
            raise ClawftError("not-written", message, path=self.path, hint=get_hint(error, self.path)) from error


def open_keystore(environ: Mapping[str, str]) -> Keystore:
    """The keys of the user that an environment belongs to."""
    return Keystore(find_workspace(environ, os.path.abspath(os.curdir)).user_dir)


def find_keyring() -> Any:
    """The system's keyring, if the optional part is installed and a backend of it is fit for use; else None."""
    try:
        import keyring

        backend: Any = keyring.get_keyring()
        return backend if backend.priority >= 1 else None  # below 1 it keeps nothing, or keeps it in plain text
    except Exception:  # backends look at the system as they are loaded, and fail in ways of their own
        return None
