"""PII redaction: what is found, what stays, and that nothing of it reaches a model."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from clawft.agent.loop import compact
from clawft.agent.run_request import TurnRequest
from clawft.contracts import PluginError
from clawft.messages import Compacted, Image, TurnFailed, TurnFinished
from effort import within
from pii_redaction.allowed import Allowed
from pii_redaction.kinds import DETECTORS
from pii_redaction.own import make_detector
from pii_redaction.placeholders import Placeholders
from pii_redaction.redactor import Redactor
from wire import call, say
from world import World, collect, only

ID = "org.clawft.pii-redaction"
PLANTED = {
    "alice@example.org": "EMAIL",
    "+49 30 901820": "PHONE",
    "DE89 3704 0044 0532 0130 00": "IBAN",
    "4111 1111 1111 1111": "CARD",
    "203.0.113.7": "IP",
}
FOUND = {
    "EMAIL": "bob.o'hara+x@mail.example.co.uk jörg@müller.de a_b%40example.org x&#64;example.org",
    "PHONE": "+4930901820 +1-415-555-2671 (415) 555-2671 415.555.2671 +33 (0)1 42 68 53 00",
    "IBAN": "GB82WEST12345698765432 gb82-west-1234-5698-7654-32 NL91ABNA0417164300",
    "CARD": "5500-0000-0000-0004 378282246310005 6011111111111117 3782 822463 10005",
    "IP": "2001:db8:85a3::8a2e:370:7334 192.168.178.23 ::ffff:192.0.2.128",
}
ORDINARY = """
version = "1.2.3.4"; requires foo==10.2.3.4, Chrome/120.0.0.0, see 23.2.1.1 and 10.1.2.3.4
2024-01-02 2024-01-02T10:11:12+01:00 12:30:45 20240102101112 1700000000000000000 1736942400
da39a3ee5e6b4b0d3255bfef95601890afd80709 550e8400-e29b-41d4-a716-446655440000
0x4111111111111111 3.4111111111111111 1234567890123456 4111111111111112 DE89370400440532013001
git@github.com:owner/name.git icon@2x.png getty@tty1.service @app.route pkg@1.2.3 std::vector<a::b> fe::d
127.0.0.1 0.0.0.0 255.255.255.0 10.0.0.0/8 ::1 :: 224.0.0.1
+ 352364506 x+4930901820 00000010: 0049 3012 3456 7890  06 12 34 56 78 0123456789 (555) 1-2
@@ -1,2 +1,3 @@ offset 030 12345678
"""


class Numbers:
    """Placeholders without a file."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], str] = {}

    def get(self, kind: str, plain: str) -> str:
        return self.known.setdefault((kind, plain), f"[{kind}_{len(self.known) + 1}]")


def redact(text: str, *, allow: tuple[str, ...] = (), patterns: dict[str, str] | None = None) -> str:
    own = [make_detector(name, pattern) for name, pattern in (patterns or {}).items()]
    return Redactor([*DETECTORS, *own], Allowed(allow)).redact(text, Numbers(), {})


@pytest.mark.parametrize("kind", FOUND)
def test_personal_data_is_found_however_it_is_written(kind: str) -> None:
    shown = redact(f"before {FOUND[kind]}, after").removeprefix("before ").removesuffix(", after")
    assert all(one.startswith(f"[{kind}_") for one in shown.split()), shown


@pytest.mark.parametrize("text", [*ORDINARY.strip().splitlines()])
def test_ordinary_text_of_code_stays(text: str) -> None:
    assert redact(text) == text


def test_the_sources_of_this_product_have_no_numbers_of_persons() -> None:
    found, numbers = Redactor(DETECTORS, Allowed(())), Numbers()
    texts = [file.read_text() for file in (Path(__file__).parents[2] / "src" / "clawft").glob("[ast]*/[drt]*/*.py")]
    size = sum(map(len, texts))
    with within(size / 100_000):  # it takes a tenth of that
        for text in texts:
            found.redact(text, numbers, {})
    assert {kind for kind, _ in numbers.known} <= {"IP"}  # examples in comments
    assert size > 500_000


def test_a_local_number_is_one_where_words_say_so() -> None:
    assert redact("Tel.: 030 12345678, then build 030 12345678") == "Tel.: [PHONE_1], then build 030 12345678"
    assert redact("Call me at 0171/1234567.") == "Call me at [PHONE_1]."


def test_what_stands_behind_a_number_stays() -> None:
    assert redact("4111 1111 1111 1111 123, DE89 3704 0044 0532 0130 00 is mine") == "[CARD_2] 123, [IBAN_1] is mine"


def test_the_same_value_has_the_same_placeholder_in_every_form() -> None:
    shown = redact("Alice@Example.org alice%40example.org +49 30 901820 +4930901820")
    assert shown == "[EMAIL_1] [EMAIL_1] [PHONE_2] [PHONE_2]"


def test_what_is_allowed_stays() -> None:
    text = "help@example.com a@mail.example.net 415-555-2671 10.1.2.3:80"
    allow = ("HELP@example.com", "@example.net", "+1 (415) 555 2671", "10.0.0.0/8")
    assert redact(text, allow=allow) == text
    assert "[EMAIL_1]" in redact("a@evilexample.net", allow=allow)


def test_patterns_of_ones_own_are_found() -> None:
    patterns = {"EMPLOYEE": r"\bEMP-\d{4,6}\b", "PROJECT": r"(?:Blue|Red) (?:Fox|Owl)"}
    assert redact("EMP-12345 works on Red Owl", patterns=patterns) == "[EMPLOYEE_1] works on [PROJECT_2]"


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"\d+", "without an end"),
        (r"(a{1,9}){1,9}", "varies itself"),
        (r"\w{1,99}\w{1,99}!", "ways"),
        (r"(a|a){1,50}b", "varies itself"),
        (r"(?=x)y", "not looked for"),
        (r"(x)\1", "not looked for"),
        (r"x{0,3}", "everywhere"),
        (r"(", "is none"),
    ],
)
def test_a_pattern_that_could_take_for_ever_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(PluginError, match=said):
        make_detector("OWN", pattern)


HOSTILE = (
    *("+" + "1" * 40, "0" + "1" * 45, "1 " * 20, "4 " * 20, "4444 " * 9, "(0" + "1-" * 20, "4" * 19, "1-1 " * 9),
    *("a'a@", "a." * 30 + "@", "@a-" * 20, "a@" + "b." * 30, "DE89 a ", "1:" * 20, "2001:" * 9, "1." * 9, "tel " * 9),
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_for_ever(piece: str) -> None:
    text = (f"{piece} " * 20_000)[:50_000]
    with within(1):  # most take a twentieth of that
        redact(text)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "placeholders.sqlite")


def test_placeholders_stay_the_same_after_a_restart_and_the_values_are_not_kept(path: str, tmp_path: Path) -> None:
    with closing(Placeholders(path)) as one, closing(Placeholders(path)) as other:
        first = [one.of("a").get("EMAIL", "x@example.org"), other.of("a").get("EMAIL", "y@example.org")]
        assert one.of("b").get("EMAIL", "y@example.org") == "[EMAIL_1]"
    with closing(Placeholders(path)) as again:
        assert [again.of("a").get("EMAIL", f"{name}@example.org") for name in "xyz"] == [*first, "[EMAIL_3]"]
    assert first == ["[EMAIL_1]", "[EMAIL_2]"]
    assert not any(b"example.org" in file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.anyio
async def test_nothing_of_it_reaches_a_model_by_any_way(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.add_example("pii-redaction")
    secret = ", ".join(PLANTED)
    world.add_skill("contact", f"Write to {secret}.", f"Knows {secret}.")
    (world.project / "people.json").write_text(json.dumps({secret: [secret]}))
    (world.user_dir / "memory").mkdir()
    (world.user_dir / "memory" / "MEMORY.md").write_text(f"## people\n\n{secret}\n")
    world.config = "[agents.compaction]\nkeep_turns = 1\n"
    world.replies = [
        call("read_file", {"path": "people.json"}),
        call("Skill", {"name": "contact", "args": "alice@example.org"}),
        call("delegate", {"task": "Read people.json"}),
        call("read_file", {"path": "people.json"}),
        say("The fork read it."),
        say("Mail [EMAIL_1]."),
        say("again"),
        say("They know [EMAIL_1]."),
        say("yes"),
    ]
    async with world.talk() as conversation:
        events = await collect(conversation, f"Who is {secret}?")
        await collect(conversation, "and again?")
        events += [event async for event in compact(conversation)]
        events += await collect(conversation, "still there?")
        kept = conversation.session.path
    assert all(isinstance(events[-1], TurnFinished) for _ in events)
    assert only(events, Compacted)
    sent = [json.dumps(one.body) for one in world.server.asked]
    assert len(sent) == 9
    assert [value for value in PLANTED for one in sent if value in one] == []
    summary = sent[7]
    assert all(f"[{kind}_1]" in text for kind in PLANTED.values() for text in (sent[0], sent[4], summary))
    assert not any(f"[{kind}_2]" in text for kind in PLANTED.values() for text in sent)  # forks name them alike
    assert secret in Path(kept).read_text()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("setting", "code"),
    [('images = "refuse"', "stage-refused"), ('patterns = [{name = "X", pattern = "x+"}]', "stage-failed")],
)
async def test_nothing_is_sent_where_it_will_not_or_cannot_look(tmp_path: Path, setting: str, code: str) -> None:
    world = World(tmp_path)
    world.add_example("pii-redaction")
    world.config = f'[plugins.entries."{ID}".config]\n{setting}\n'
    world.replies = [say("yes")]
    async with world.talk() as conversation:
        events = await collect(conversation, TurnRequest("look", images=(Image("image/png", "aGk="),)))
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code == code
    assert world.server.asked == []
