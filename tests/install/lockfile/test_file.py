"""Our lock: the same state is the same bytes, and a hostile one leads nowhere."""

import hashlib
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawft.errors import ClawftError
from clawft.install.lockfile.file import (
    compute_locked,
    load_lock,
    merge_conflicted_lock,
    parse_lock,
    read_quickly,
    render_lock,
    write_lock,
)
from clawft.install.lockfile.model import MAX_LOCK_BYTES, LockedFile, LockedSkill, SkillOrigin


def lock(name: str, content: str = "text", **fields: object) -> LockedSkill:
    files = fields.pop("files", None) or {"SKILL.md": file(content), "scripts/run.py": file("run", executable=True)}
    origin = fields.pop("origin", SkillOrigin("clawhub", "https://clawhub.ai", "acme", name))
    return LockedSkill(name, origin, compute_locked(files), files, **fields)  # type: ignore[arg-type]


def file(content: str, *, executable: bool = False) -> LockedFile:
    return LockedFile(hashlib.sha256(content.encode()).hexdigest(), len(content), executable)


def refusal(text: str) -> ClawftError:
    with pytest.raises(ClawftError) as caught:
        parse_lock(text.encode(), "/p/skills.lock")
    return caught.value


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    path = str(tmp_path / ".clawft" / "skills.lock")
    skills = [
        lock("b", version="1.0.0", to=("agents", "clawft"), requested=False, pinned='a "reason"\n\\ of mine'),
        lock("a", dependencies=("b",), commit="0" * 40, origin=SkillOrigin("git", "git@host:x/y.git", path="skills/a")),
    ]
    write_lock(path, skills)
    assert load_lock(path) == {one.name: one for one in skills}
    assert load_lock(str(tmp_path / "none")) == {}


def test_the_order_in_which_skills_came_does_not_show() -> None:
    one, two = lock("one"), lock("two", to=("clawft", "agents"))
    turned = lock("two", to=("agents", "clawft"), files=dict(reversed(two.files.items())))
    assert render_lock([one, two]) == render_lock([turned, one])
    assert render_lock([one, two]).endswith("]\n")


def test_each_file_has_a_line_of_its_own() -> None:
    before, after = (render_lock([lock("a"), lock("b", text)]).splitlines() for text in ("old", "new"))
    assert len(before) == len(after)
    assert len([1 for old, new in zip(before, after, strict=True) if old != new]) == 2  # the digest and the file


_texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
_names = st.from_regex(r"[A-Za-z0-9_-]{1,8}", fullmatch=True)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(_names, st.tuples(_texts, _texts, _texts, st.booleans()), max_size=4))
def test_the_quick_reader_says_what_tomllib_says_or_nothing(drawn: dict[str, tuple[str, str, str, bool]]) -> None:
    skills = [
        lock(name, one, version=two, pinned=three, requested=flag, files={"SKILL.md": file(one)})
        for name, (one, two, three, flag) in drawn.items()
    ]
    text = render_lock(skills)
    judged = tomllib.loads(text).get("skill", {})
    quick = read_quickly(text)
    assert quick is None or quick == judged
    if len({one.name.casefold() for one in skills}) == len(skills):
        assert parse_lock(text.encode(), "") == {one.name: one for one in skills}


def test_the_quick_reader_takes_what_is_usual() -> None:
    text = render_lock([lock("a", version="1.2.3"), lock("b", to=("agents", "clawft"), dependencies=("a",))])
    assert read_quickly(text) == tomllib.loads(text)["skill"]


@pytest.mark.parametrize(
    "broken",
    [
        lambda text: text + text.partition("version = 1\n")[2],  # every block twice
        lambda text: text.replace('kind = "clawhub"\n', 'kind = "clawhub"\nkind = "git"\n'),
        lambda text: text.replace("files = [", 'later = "x"\nfiles = ['),
        lambda text: text.replace("version = 1\n", "version = 0\n"),
        lambda text: text.replace("version = 1\n", "version = true\n"),
        lambda text: text.replace("version = 1\n", "", 1),
        lambda text: text.replace("[skill.a]", '[skill."../a"]'),
        lambda text: text.replace("[skill.a]", '[skill.".git"]'),
        lambda text: text.replace("[skill.a]", "[skill.a.b]"),
        lambda text: text.replace("SKILL.md", "../SKILL.md"),
        lambda text: text.replace("SKILL.md", "/etc/passwd"),
        lambda text: text.replace("SKILL.md", "a/../b"),
        lambda text: text.replace("SKILL.md", "a//b"),
        lambda text: text.replace("SKILL.md", ".clawft/state"),
        lambda text: text.replace("SKILL.md", "a\\\\b"),
        lambda text: text.replace("SKILL.md", "scripts/run.py"),
        lambda text: text.replace('digest = "sha256:', 'digest = "sha256:0'),
        lambda text: text.replace(" 4 - SKILL.md", " 5 - SKILL.md"),
        lambda text: text.replace("https://clawhub.ai", "file:///etc"),
        lambda text: text.replace("https://clawhub.ai", "https://me:secret@clawhub.ai"),
        lambda text: text.replace("https://clawhub.ai", "--upload-pack=x"),
        lambda text: text.replace('kind = "clawhub"', 'kind = "elsewhere"'),
        lambda text: text.replace("files = [", 'dependencies = ["b"]\nfiles = ['),
        lambda text: text.replace("files = [", 'to = ["../x"]\nfiles = ['),
        lambda text: text.replace("files = [", "files = 1\nrest = ["),
        lambda text: text + "\0",
        lambda text: "skill = 3\n" + text[: text.index("\n[")],
        lambda text: "a = " + "[" * 5000,
    ],
)
def test_a_hostile_lock_is_refused(broken) -> None:  # type: ignore[no-untyped-def]
    text = render_lock([lock("a")])
    assert broken(text) != text
    assert refusal(broken(text)).code == "lock-invalid"


def test_names_that_are_one_folder_elsewhere_are_refused() -> None:
    assert "capital" in str(refusal(render_lock([lock("Tool"), lock("tool")])))


def test_a_lock_without_end_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "skills.lock"
    path.write_bytes(b"#" * (MAX_LOCK_BYTES + 1))
    with pytest.raises(ClawftError, match="limit"):
        load_lock(str(path))


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "skills.lock"
    with pytest.raises(ClawftError, match="not the name"):
        write_lock(str(path), [lock("../x")])
    assert not path.exists()


def test_a_lock_that_a_person_wrote_otherwise_is_read() -> None:
    text = render_lock([lock("a")])
    assert parse_lock(text.replace("\n", "\r\n").encode(), "") == parse_lock(text.encode(), "")
    assert parse_lock(text.replace("[skill.a]", "[skill.'a'] # mine").encode(), "") == parse_lock(text.encode(), "")


def conflict(ours: str, theirs: str, base: str = "") -> str:
    before = f"||||||| base\n{base}" if base else ""
    return f"<<<<<<< HEAD\n{ours}{before}=======\n{theirs}>>>>>>> branch\n"


def block(skill: LockedSkill) -> str:
    return render_lock([skill]).partition("version = 1\n")[2]


def test_a_lock_that_git_left_in_conflict_says_so() -> None:
    head = render_lock([lock("a")])
    assert refusal(head + conflict(block(lock("b")), block(lock("c")))).code == "lock-conflict"


@pytest.mark.parametrize("base", ["", "whatever was there\n"])
def test_skills_that_only_one_side_has_are_kept(base: str) -> None:
    text = render_lock([lock("a")]) + conflict(block(lock("b")), block(lock("c")), base)
    healed = merge_conflicted_lock(text.encode(), "")
    assert (sorted(healed.skills), healed.undecided) == (["a", "b", "c"], ())


def test_a_skill_of_which_each_side_has_another_version_is_left_to_a_person() -> None:
    old, new = block(lock("b", "old")), block(lock("b", "new"))
    start = next(at for at, (left, right) in enumerate(zip(old, new, strict=True)) if left != right)
    start, end = old.rindex("\n", 0, start) + 1, old.index("files")  # only some lines differ, as git would show it
    ours, theirs = old[start:], new[start:]
    text = render_lock([lock("a")]) + old[:start] + conflict(ours, theirs)
    assert start < end
    healed = merge_conflicted_lock(text.encode(), "")
    assert (list(healed.skills), healed.undecided) == (["a"], ("b",))
    assert healed.ours["b"].files != healed.theirs["b"].files
