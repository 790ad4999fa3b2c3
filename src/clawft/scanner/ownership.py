"""Ownership of hosts: the skill's own, a well-known vendor's, or foreign."""

import re

from clawft.scanner.facts import Fact
from clawft.scanner.regex import lazy, words
from clawft.scanner.rule import Subject
from clawft.scanner.vocabulary.hosts import KNOWN, OPEN, VENDOR_KEYS, HostKind, host_of, judge_address, registrable

_AFFIXES = re.compile(r"^(get|try|use|my|the)(?=\w{3})|(?<=\w{3})(cli|app|api|hq|labs?|hub|ai|io|js|dev|skills?)$")
_WORD = lazy(r"[a-z0-9]{3,}")
# Words that say nothing about whose a host is.
_GENERIC = words(
    """
    the and for with use using your you from that this when can via all any into not are has any get set new one api
    app web www http https com net org dev io cloud data site online service services server host hosts code docs
    doc info agent agents skill skills tool tools cli sdk core main test beta prod helper install installer update
    updates auto manager system file files user users help example examples invalid local home page pages email mail
    chat bot bots model models llm ai openclaw clawdbot claude clawhub moltbot hub github raw cdn assets static
    download downloads release releases git repo content search automation workflow assistant smart free best easy
    metrics telemetry analytics collect collector sync monitor monitoring health status check backup support
    security secure audit log logs
    """
)


# A name put before one of these is anybody's: notes-sync, deploy-metrics.
_REPORTS = words(
    """
    sync stats stat metrics metric telemetry analytics collect collector tracker tracking report reports log logs
    beacon backup audit monitor ingest relay drop mirror archive cdn update updates
    """
)


def is_own(subject: Subject, address: str) -> bool:
    """Return whether an address is one that the skill itself is about: by its name, what it says it does, or its
    home."""
    host = host_of(address)
    if not host:
        return False
    home = host_of(subject.skill.homepage) if subject.skill else ""
    if home and registrable(home) == registrable(host) and registrable(host) not in OPEN:
        return True
    label = registrable(host).split(".")[0]
    if not _REPORTS.isdisjoint(label.split("-")):
        return False
    names = label if registrable(host) not in OPEN else address.lower()
    named = {word for word in _WORD.findall(names) if word not in _GENERIC}
    own = _own_words(subject)
    return any(word in own or any(len(name) >= 5 and name in word for name in own) for word in named) or (
        _bare(label) in {_bare(name) for name in (subject.name, subject.skill.name if subject.skill else "")}
    )


def _bare(name: str) -> str:
    """A name without what is put before and after the names of products: getfoo, foocli, foo-app."""
    plain = "".join(_WORD.findall(name.lower()))
    return _AFFIXES.sub("", plain) or plain


def is_own_file(subject: Subject, path: str) -> bool:
    """Return whether a path is named after the skill: its own settings and logins are kept there."""
    return any(len(name) >= 5 and name in path.lower() for name in _own_words(subject))


def is_trusted(subject: Subject, address: str) -> bool:
    """Return whether something from there may be run as far as anyone can tell: a vendor's own place, or the
    skill's."""
    host = host_of(address)
    known = registrable(host) in KNOWN or host in KNOWN
    return (known and not is_published_by_anyone(address)) or is_own(subject, address)


def is_foreign(subject: Subject, address: str) -> bool:
    """Return whether what goes there leaves for someone the skill does not speak of."""
    place = judge_address(address)
    if place in (HostKind.LOCAL, HostKind.UNKNOWN):
        return False
    if place in (HostKind.BARE, HostKind.DROP, HostKind.SHORT):
        return True
    host = host_of(address)
    return not (registrable(host) in KNOWN or host in KNOWN or is_own(subject, address))


def is_named(subject: Subject, sink: Fact) -> bool:
    """Return whether another text of the skill tells of the host that something goes to."""
    name = registrable(host_of(sink.target))
    texts = (
        document for document in subject.documents if document.language == "markdown" and document is not sink.document
    )
    return bool(name) and any(name in text.text for text in texts)


def belongs_to_key(name: str, address: str) -> bool:
    """Return whether a variable's name and a host name the same party, or the name tells of none."""
    first = re.split(r"[_\W]", name.upper())[0]
    return names_host(name, address) or (first not in VENDOR_KEYS and not _parties(name))


def names_host(name: str, address: str) -> bool:
    """Return whether a variable is named after a host: `STRIPE_SECRET_KEY` and api.stripe.com."""
    host = host_of(address)
    first = re.split(r"[_\W]", name.upper())[0]
    if first in VENDOR_KEYS:
        return any(part in host for part in VENDOR_KEYS[first])
    labels = [label for label in host.split(".") if len(label) >= 5]
    return any(word in host or any(word[:5] == label[:5] for label in labels) for word in _parties(name))


def _parties(name: str) -> list[str]:
    return [word for word in _WORD.findall(name.lower()) if word not in _GENERIC and word not in _KEY_WORDS]


_KEY_WORDS = words("key token secret password passwd pass auth apikey credentials access private bearer client id url")


def is_published_by_anyone(address: str) -> bool:
    """Return whether anyone may publish there, so that the host says nothing about whose it is."""
    host = host_of(address)
    return registrable(host) in OPEN or host in OPEN


def _own_words(subject: Subject) -> frozenset[str]:
    own: frozenset[str] | None = subject.__dict__.get("own_words")
    if own is None:
        skill = subject.skill
        texts = [subject.name]
        if skill:
            needs = skill.requires
            texts += [skill.name, skill.description, skill.homepage, skill.author, skill.primary_env, *skill.tags]
            texts += [
                *needs.bins,
                *needs.any_bins,
                *needs.env,
                *(name for installer in skill.install for name in installer.bins),
            ]
        found = {word for text in texts for word in _WORD.findall(text.lower())}
        joined = {text.lower().replace("-", "").replace("_", "").replace(" ", "") for text in texts[:2]}
        own = frozenset((found | {name for name in joined if len(name) >= 4}) - _GENERIC)
        subject.__dict__["own_words"] = own
    return own
