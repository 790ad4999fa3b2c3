"""What a person types for a skill, and what nobody may type."""

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.config.registries import RegistrySettings
from clawft.errors import ClawftError, NotFound, Refused
from clawft.install.sources.model import SkillReference
from clawft.install.sources.reference import parse_reference

REGISTRIES = {
    "clawhub": RegistrySettings("https://clawhub.ai"),
    "acme": RegistrySettings("https://skills.acme.example", kind="well-known"),
    "seed": RegistrySettings("https://hub.example/api/v1", kind="contract"),
}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def read(text: str, cwd: str = "/nowhere", home: str = "/nowhere") -> SkillReference:
    return parse_reference(text, REGISTRIES, cwd, home)


def shown(text: str) -> dict[str, str]:
    """The fields of a reference that are set, without its text."""
    found = read(text)
    fields = ("kind", "registry", "owner", "slug", "version", "url", "ref", "path", "skill")
    return {name: value for name in fields if (value := getattr(found, name))}


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("notes", {"slug": "notes"}),
        ("@jo/notes", {"owner": "jo", "slug": "notes"}),
        ("notes@1.2.3", {"slug": "notes", "version": "1.2.3"}),
        ("notes@latest", {"slug": "notes"}),
        ("@jo/notes@1.2.3-rc.1", {"owner": "jo", "slug": "notes", "version": "1.2.3-rc.1"}),
        ("clawhub:@jo/notes", {"owner": "jo", "slug": "notes"}),
        ("clawhub:jo/notes@2", {"owner": "jo", "slug": "notes", "version": "2"}),
        ("skills-sh:jo/skills/notes", {"slug": "skills-sh:jo/skills/notes"}),
    ],
)
def test_a_name_is_asked_for_in_the_default_registry(text: str, fields: dict[str, str]) -> None:
    assert shown(text) == {"kind": "clawhub", "registry": "clawhub", **fields}


def test_the_name_of_a_registry_stands_before_a_skill_and_tells_how_it_is_spoken_to() -> None:
    assert shown("acme:notes") == {"kind": "well-known", "registry": "acme", "slug": "notes"}
    assert shown("seed:notes@1") == {"kind": "contract", "registry": "seed", "slug": "notes", "version": "1"}


def test_another_default_registry_is_asked_for_bare_names() -> None:
    only = {"acme": REGISTRIES["acme"]}
    assert parse_reference("notes", only, "/", "/").registry == "acme"


GITHUB = "https://github.com/jo/skills.git"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("jo/skills", {"url": GITHUB}),
        ("jo/skills.git", {"url": GITHUB}),
        ("github:jo/skills", {"url": GITHUB}),
        ("gitlab:jo/skills", {"url": "https://gitlab.com/jo/skills.git"}),
        ("jo/skills/some/notes", {"url": GITHUB, "path": "some/notes"}),
        ("jo/skills/some/notes/", {"url": GITHUB, "path": "some/notes"}),
        ("jo/skills/some/notes/SKILL.md", {"url": GITHUB, "path": "some/notes"}),
        ("jo/skills#main:SKILL.md", {"url": GITHUB, "ref": "main"}),
        ("jo/skills@notes", {"url": GITHUB, "skill": "notes"}),
        ("jo/skills#v1", {"url": GITHUB, "ref": "v1"}),
        ("jo/skills@notes#feature/x", {"url": GITHUB, "skill": "notes", "ref": "feature/x"}),
        ("jo/skills#notes@1.0.0", {"url": GITHUB, "ref": "notes@1.0.0"}),
        (f"jo/skills/notes#{COMMIT}", {"url": GITHUB, "path": "notes", "ref": COMMIT}),
        (f"jo/skills#{COMMIT.upper()}:notes", {"url": GITHUB, "path": "notes", "ref": COMMIT}),
        ("https://github.com/jo/skills", {"url": GITHUB}),
        ("https://github.com/jo/skills/", {"url": GITHUB}),
        ("https://github.com/jo/skills#v1:notes", {"url": GITHUB, "ref": "v1", "path": "notes"}),
        ("https://github.com/jo/skills/tree/main", {"url": GITHUB, "ref": "main"}),
        ("https://github.com/jo/skills/tree/main/a/b%20c", {"url": GITHUB, "ref": "main", "path": "a/b c"}),
        ("https://github.com/jo/skills/blob/main/a/SKILL.md", {"url": GITHUB, "ref": "main", "path": "a"}),
        ("https://github.com/jo/skills/commit/" + COMMIT, {"url": GITHUB, "ref": COMMIT}),
        ("https://gitlab.com/a/b/c", {"url": "https://gitlab.com/a/b/c.git"}),
        ("https://gitlab.com/a/b/c/-/tree/v1/x", {"url": "https://gitlab.com/a/b/c.git", "ref": "v1", "path": "x"}),
        ("https://git.acme.example/a/b/-/tree/v1", {"url": "https://git.acme.example/a/b.git", "ref": "v1"}),
        (
            "https://git.acme.example/x.git#v1:y/z",
            {"url": "https://git.acme.example/x.git", "ref": "v1", "path": "y/z"},
        ),
        ("git+https://git.acme.example:8443/x", {"url": "https://git.acme.example:8443/x"}),
        ("git+http://127.0.0.1:9000/x.git", {"url": "http://127.0.0.1:9000/x.git"}),
        ("git+ssh://git@git.acme.example:22/x", {"url": "ssh://git@git.acme.example:22/x"}),
        ("ssh://git.acme.example/~jo/x.git#main", {"url": "ssh://git.acme.example/~jo/x.git", "ref": "main"}),
        (
            "git@github.com:jo/skills.git#v1:notes",
            {"url": "git@github.com:jo/skills.git", "ref": "v1", "path": "notes"},
        ),
        ("git+file:///srv/a b/x#:notes", {"url": "file:///srv/a%20b/x", "path": "notes"}),
    ],
)
def test_a_repository_is_named_in_many_ways(text: str, fields: dict[str, str]) -> None:
    assert shown(text) == {"kind": "git", **fields}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("https://acme.example/notes.skill", "archive"),
        ("https://acme.example/notes.tar.gz?token=1", "archive"),
        ("https://github.com/jo/skills/archive/refs/heads/main.zip", "archive"),
        ("https://raw.githubusercontent.com/jo/skills/main/SKILL.md", "archive"),
        ("https://acme.example", "well-known"),
        ("https://acme.example/team/skills", "well-known"),
        ("http://127.0.0.1:8000/", "well-known"),
    ],
)
def test_an_address_is_an_archive_by_its_end_and_a_site_otherwise(text: str, kind: str) -> None:
    found = read(text)
    assert (found.kind, found.url.startswith("http")) == (kind, True)


def test_paths_are_looked_for_on_this_machine(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "SKILL.md").write_text("hi")
    (tmp_path / "notes.skill").write_bytes(b"")
    place = str(tmp_path)
    at = str(tmp_path / "notes")
    for text in ("./notes", "./notes/", "./x/../notes", "~/notes", at, "./notes/SKILL.md"):
        found = read(text, place, place)
        assert (found.kind, found.url) == ("folder", at), text
    found = read("notes.skill", place, place)
    assert (found.kind, found.url) == ("archive", f"{at}.skill")
    assert read("notes", place, place).kind == "clawhub", "a bare word is never a path"


@pytest.mark.parametrize("text", ["./notes", "/nowhere/notes", "~/notes", "notes.skill", "a/notes.zip"])
def test_a_path_that_is_not_there_is_not_looked_for_elsewhere(text: str, tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        read(text, str(tmp_path), str(tmp_path))
    assert caught.value.code == "reference-missing"


def test_an_unknown_registry_is_told_with_those_there_are() -> None:
    with pytest.raises(NotFound) as caught:
        read("clawhbu:notes")
    assert caught.value.code == "reference-registry"
    assert "did you mean 'clawhub:'" in caught.value.hint
    with pytest.raises(NotFound):
        parse_reference("notes", {}, "/", "/")


@pytest.mark.parametrize(
    "text",
    [
        "--upload-pack=touch /tmp/x",
        "-oProxyCommand=touch",
        "ext::sh -c touch% /tmp/x",
        "git+ext::sh -c x",
        "fd::17/x",
        "no\ntes",
        "no\0tes",
        "notes\u202e",
        "jo/skills\x1b[31m",
        "x" * 5000,
        "ssh://-oProxyCommand=touch/x",
        "ssh://git@-oProxyCommand=x/y",
        "git@-oProxyCommand=x:y",
        "-x@host:y",
        "ssh://git@host/x;touch y",
        "ssh://git@host/$(touch y)",
        "ssh://git@host/'x",
        "ssh://git@host/../x",
        "ssh://a:b@host/x",
        "ssh://git@host:99999/x",
        "git+https://gïthub.com/jo/skills",
        "https://g\u0131thub.com/jo/skills",
        "git+file://host/x",
        "git+file:///srv/%2e%2e/x",
        "git+file:///srv/%00",
        "git+https://host/%2e%2e/x",
        "git+https://host/x?y=z",
        "jo/skills#--upload-pack=x",
        "jo/skills#-x",
        "jo/skills#a..b",
        "jo/skills#a b",
        "jo/skills#a.lock",
        "jo/skills#main:../x",
        "jo/skills#main:.git/hooks",
        "jo/skills#main:/x",
        "jo/skills#%0a",
        "jo/skills/../x",
        "jo/skills/x/../../y",
        "jo/skills/a//b",
        "jo/skills/a\\..\\b",
        "https://github.com/jo/skills/tree/main/%2e%2e/%2e%2e/x",
        "https://github.com/jo/skills/tree/--x/y",
        "https://github.com/jo/skills/tree/main/.GIT/x",
        "https://acme.example/a/%2e%2e/b.zip",
        "gopher://host/x",
        "git://host/x",
        "javascript://x",
    ],
)
def test_what_could_be_more_than_a_reference_is_refused(text: str) -> None:
    with pytest.raises(Refused) as caught:
        read(text)
    assert caught.value.code == "reference-unsafe"
    assert caught.value.hint
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("https://jo:secret@acme.example/x.zip", "reference-credentials"),
        ("git+https://ghp_secret@github.com/jo/skills", "reference-credentials"),
        ("git+http://acme.example/x", "reference-insecure"),
        ("http://10.0.0.1/x.git", "reference-insecure"),
        ("https://acme.example:99999/", "url-invalid"),
    ],
)
def test_an_address_that_gives_away_a_secret_or_trusts_the_way_is_refused(text: str, code: str) -> None:
    with pytest.raises(Refused) as caught:
        read(text)
    assert caught.value.code == code
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no tes",
        "@jo",
        "@jo/a/b",
        "notes@",
        "a..b",
        "clawhub:",
        "clawhub:../x",
        "jo/",
        "jo/skills@",
        "jo/skills@a/b",
        "jo/skills/x#main:y",
        "skills-sh:jo/x",
        "file:///srv/x",
        "https://github.com/jo",
        "https://github.com/jo/skills/issues/3",
        "https://github.com/jo/skills/tree/main/x#v1",
    ],
)
def test_what_means_nothing_is_an_error_that_tells_what_to_write(text: str) -> None:
    with pytest.raises(ClawftError) as caught:
        read(text)
    assert caught.value.code in ("reference-invalid", "reference-registry", "reference-unsafe")
    assert caught.value.hint


_PIECES = st.sampled_from(
    ("jo", "a" * 60, "clawhub", "github.com", "tree", "ext", "1.2", ".git", ".zip", "é", "[::1]", "$(x)", "%2e", "git+")
) | st.sampled_from(
    ("/", "@", "#", ":", "::", "..", ".", "https://", "ssh://", "-", "--", "\\", "\0", "~", " ", "?", "\n")
)


@given(st.lists(_PIECES, max_size=9).map("".join))
def test_whatever_is_typed_gives_a_safe_reference_or_an_error_of_ours(text: str) -> None:
    try:
        found = read(text)
    except ClawftError:
        return
    assert not found.url.startswith("-")
    assert not found.ref.startswith("-")
    assert "::" not in found.url.partition("[")[0]
    assert ".." not in [*found.path.split("/"), found.slug, found.owner]
    for value in (found.url, found.ref, found.path, found.skill, found.slug, found.owner, found.version):
        assert value.isprintable(), value


@given(st.lists(_PIECES, max_size=9).map("".join))
def test_a_reference_to_a_repository_is_read_the_same_again(text: str) -> None:
    try:
        found = read(f"git+https://host/x.git#{text}")
    except ClawftError:
        return
    again = read(f"git+{found.url}#{quote(found.ref)}:{quote(found.path)}")
    assert (again.url, again.ref, again.path) == (found.url, found.ref, found.path)
