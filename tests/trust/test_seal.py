import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clawft.errors import ClawftError, Refused
from clawft.trust.records import KEY_BYTES, Seal


def test_a_seal_holds_for_its_content_and_its_label_only(tmp_path: Path) -> None:
    seal = Seal(str(tmp_path / "trust.key"))
    mac = seal.sign(b"content", "approvals")
    again = Seal(seal.path)
    assert again.holds(b"content", "approvals", mac)
    assert not again.holds(b"content!", "approvals", mac)
    assert not again.holds(b"content", "audit", mac)
    assert not again.holds(b"content", "approvals", "")
    assert not again.holds(b"content", "approvals", "é")


def test_the_key_is_made_once_and_only_the_user_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "home" / "trust.key"
    with ThreadPoolExecutor(8) as pool:
        macs = set(pool.map(lambda _: Seal(str(path)).sign(b"x", "y"), range(16)))
    assert len(macs) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_size == KEY_BYTES
    assert os.listdir(path.parent) == ["trust.key"], "nothing is left behind"


def test_without_a_key_nothing_holds_and_none_is_made(tmp_path: Path) -> None:
    first, second = Seal(str(tmp_path / "a.key")), Seal(str(tmp_path / "b.key"))
    mac = first.sign(b"content", "label")
    assert not second.holds(b"content", "label", mac)
    assert not os.path.exists(second.path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_key_that_others_may_reach_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "trust.key"
    mac = Seal(str(path)).sign(b"content", "label")
    path.chmod(mode)
    with pytest.raises(Refused) as raised:
        Seal(str(path)).holds(b"content", "label", mac)
    assert raised.value.code == "seal-exposed"
    with pytest.raises(Refused):
        Seal(str(path)).sign(b"content", "label")


def test_a_key_of_the_wrong_size_or_a_link_is_refused(tmp_path: Path) -> None:
    short = tmp_path / "short.key"
    short.write_bytes(b"")
    short.chmod(0o600)
    with pytest.raises(Refused) as raised:
        Seal(str(short)).sign(b"content", "label")
    assert raised.value.code == "seal-damaged"
    good = Seal(str(tmp_path / "good.key"))
    good.sign(b"content", "label")
    link = tmp_path / "link.key"
    link.symlink_to(good.path)
    with pytest.raises(ClawftError) as linked:
        Seal(str(link)).sign(b"content", "label")
    assert linked.value.code == "is-a-link"


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ClawftError) as raised:
        Seal(str(tmp_path / "file" / "trust.key")).sign(b"content", "label")
    assert raised.value.code == "seal-unwritable"


def test_a_seal_never_shows_its_key(tmp_path: Path) -> None:
    seal = Seal(str(tmp_path / "trust.key"))
    seal.sign(b"content", "label")
    assert (tmp_path / "trust.key").read_bytes().hex() not in repr(seal) + repr(vars(seal).keys())
