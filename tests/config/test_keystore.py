"""Keys that were typed in once: where they are kept, and who may read them."""

import os
import stat
import threading
from pathlib import Path

import keyring
import keyring.backend
import keyring.backends.fail
import keyring.errors
import pytest

from clawft.config import load_config
from clawft.config.keystore import Keystore, find_keyring
from clawft.config.redaction import Secrets
from clawft.errors import ClawftError
from clawft.workspace import find_workspace

SECRET = "sk-test-0123456789abcdef"


pytestmark = pytest.mark.usefixtures("headless")


class MemoryKeyring(keyring.backend.KeyringBackend):
    """A keyring as a desktop has one, kept in this process."""

    priority = 5

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.passwords: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        self._check()
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._check()
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._check()
        del self.passwords[service, username]

    def _check(self) -> None:
        if self.locked:
            raise keyring.errors.KeyringLocked("locked")


@pytest.fixture
def desktop(headless: None) -> MemoryKeyring:
    """A system whose keyring works."""
    backend = MemoryKeyring()
    keyring.set_keyring(backend)
    return backend


def _store(tmp_path: Path) -> Keystore:
    return Keystore(str(tmp_path / "user"))


def _mode(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def test_without_a_keyring_keys_are_in_a_file_that_only_the_user_reads(tmp_path: Path) -> None:
    store = _store(tmp_path)

    assert find_keyring() is None
    assert store.store("work", SECRET) == "file"
    assert (store.find("work"), store.names()) == (SECRET, {"work": "file"})
    assert (_mode(store.path), _mode(store.folder)) == (0o600, 0o700)


def test_keyring_holds_the_secret_and_the_file_only_its_name(tmp_path: Path, desktop: MemoryKeyring) -> None:
    store = _store(tmp_path)

    assert store.store("work", SECRET) == "keyring"

    assert (store.find("work"), store.names()) == (SECRET, {"work": "keyring"})
    assert SECRET in desktop.passwords.values()
    assert SECRET not in Path(store.path).read_text()


def test_two_folders_keep_their_own_keys_in_one_keyring(tmp_path: Path, desktop: MemoryKeyring) -> None:
    one, other = Keystore(str(tmp_path / "one")), Keystore(str(tmp_path / "other"))
    one.store("work", "sk-one")
    other.store("work", "sk-other")

    assert (one.find("work"), other.find("work")) == ("sk-one", "sk-other")


def test_locked_keyring_gives_nothing_and_new_keys_go_to_the_file(tmp_path: Path, desktop: MemoryKeyring) -> None:
    store = _store(tmp_path)
    store.store("work", SECRET)
    desktop.locked = True

    assert store.find("work") is None
    assert store.store("other", "sk-other") == "file"
    assert store.names() == {"other": "file", "work": "keyring"}


def test_key_of_a_keyring_that_is_gone_is_not_there(tmp_path: Path, desktop: MemoryKeyring) -> None:
    store = _store(tmp_path)
    store.store("work", SECRET)
    desktop.passwords.clear()

    assert store.find("work") is None
    assert store.delete("work")
    assert store.names() == {}


def test_deleted_key_is_gone_from_keyring_and_file(tmp_path: Path, desktop: MemoryKeyring) -> None:
    store = _store(tmp_path)
    store.store("work", SECRET)

    assert store.delete("work")
    assert (store.find("work"), store.names(), desktop.passwords) == (None, {}, {})
    assert not store.delete("work")


def test_key_is_replaced_by_a_new_one(tmp_path: Path) -> None:
    store = _store(tmp_path)
    store.store("work", "sk-old")
    store.store("other", "sk-other")
    store.store("work", "sk-new")

    assert (store.find("work"), store.find("other")) == ("sk-new", "sk-other")
    assert os.listdir(store.folder) == ["keys.json"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_file_that_others_may_read_is_refused_with_the_command_that_mends_it(tmp_path: Path, mode: int) -> None:
    store = _store(tmp_path)
    store.store("work", SECRET)
    os.chmod(store.path, mode)

    for act in (lambda: store.find("work"), store.names, lambda: store.store("other", "sk-other")):
        with pytest.raises(ClawftError) as caught:
            act()
        assert (caught.value.code, caught.value.hint) == ("keys-exposed", f"Run: chmod 600 {store.path}")

    os.chmod(store.path, 0o600)
    assert store.find("work") == SECRET


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"keys": {"a": 3}}', b'{"keys": {"a": "\xff"}}', b"[" * 9999])
def test_damaged_file_is_said_without_a_word_of_it(tmp_path: Path, content: bytes) -> None:
    store = _store(tmp_path)
    store.store("work", SECRET)
    Path(store.path).write_bytes(content)

    with pytest.raises(ClawftError) as caught:
        store.find("work")

    assert (caught.value.code, caught.value.__cause__) == ("keys-damaged", None)


def test_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    store = _store(tmp_path)
    os.mkdir(store.folder, 0o700)
    (tmp_path / "elsewhere.json").write_text("{}")
    os.symlink(tmp_path / "elsewhere.json", store.path)

    with pytest.raises(ClawftError, match="symbolic link"):
        store.find("work")


@pytest.mark.parametrize("name", ["", "../x", "a b", ".hidden", "x" * 101, "a\n"])
def test_odd_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ClawftError) as caught:
        _store(tmp_path).store(name, SECRET)

    assert caught.value.code == "key-name"


@pytest.mark.parametrize("secret", ["", "x" * 10_001])
def test_key_without_a_sensible_length_is_refused(tmp_path: Path, secret: str) -> None:
    with pytest.raises(ClawftError) as caught:
        _store(tmp_path).store("work", secret)

    assert caught.value.code == "key-empty"


def test_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "user").write_text("a file")

    with pytest.raises(ClawftError) as caught:
        _store(tmp_path).store("work", SECRET)

    assert caught.value.code == "not-written"


def test_writers_take_turns(tmp_path: Path) -> None:
    store = _store(tmp_path)
    threads = [threading.Thread(target=store.store, args=(f"key{number}", f"sk-{number}")) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert [store.find(f"key{number}") for number in range(12)] == [f"sk-{number}" for number in range(12)]


def test_no_repr_shows_a_key(tmp_path: Path) -> None:
    store = _store(tmp_path)
    store.store("work", SECRET)

    assert SECRET not in repr(store)


def test_stored_key_of_a_config_is_masked(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    workspace = find_workspace(environ, str(tmp_path))
    Keystore(workspace.user_dir).store("work", SECRET)
    Path(workspace.user_dir, "config.toml").write_text('[providers.work]\napi_key = { keystore = "work" }\n')

    config = load_config(workspace, environ)

    assert config.providers["work"].api_key is not None
    assert Secrets.of(config, environ).mask(f"it is {SECRET}.") == "it is <secret>."
