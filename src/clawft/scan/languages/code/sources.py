"""Where values come from: the environment, the clipboard, the screen, the home folder."""

from typing import TYPE_CHECKING

from clawft.scan.facts import Kind
from clawft.scan.languages.code.calls import Call, Effect
from clawft.scan.languages.code.values import HOLE, Value, join

if TYPE_CHECKING:
    from clawft.scan.languages.code.machine import Machine

__all__ = ["EFFECTS"]

_HOME = frozenset(("HOME", "USERPROFILE", "HOMEPATH"))
_PLAIN = frozenset(
    ("PATH", "PWD", "SHELL", "TERM", "LANG", "NODE_ENV", "TMPDIR", "TEMP", "TMP", "DEBUG", "CI", "PORT", "TZ")
)


def _env(machine: "Machine", call: Call, _: str) -> Value:
    name = call.first("x", "name")
    if not call.arguments and not call.named:
        return _env_all(machine, call, "")
    found = []
    for one in name.texts() or [""]:
        mark = machine.mark(Kind.ENV, one if HOLE not in one else "", call.offset, call.ref, name.marks)
        if one in _HOME:
            found.append(Value(("~",)))
        else:
            found.append(Value((), () if one in _PLAIN else (mark,)))
    return join([*found, *call.arguments[1:2]])


def _env_all(machine: "Machine", call: Call, _: str) -> Value:
    return Value((), (machine.mark(Kind.ENV, "*", call.offset, call.ref),))


def _source(machine: "Machine", call: Call, what: str) -> Value:
    return Value((), (machine.mark(Kind.READ, what, call.offset, call.ref),))


def _home(_machine: "Machine", _call: Call, _: str) -> Value:
    return Value(("~",))


def _property(_machine: "Machine", call: Call, _: str) -> Value:
    """Java keeps the home folder among its properties."""
    return Value(("~",)) if call.first().const == "user.home" else Value()


def _home_folder(_machine: "Machine", call: Call, _: str) -> Value:
    which = call.first().ref.rpartition(".")[2]
    places = {
        "Startup": "~/AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Startup",
        "ApplicationData": "~/AppData/Roaming",
        "LocalApplicationData": "~/AppData/Local",
    }
    return Value((places.get(which, "~"),))


EFFECTS: dict[str, Effect] = {
    "env": _env,
    "env-all": _env_all,
    "source": _source,
    "is-source": _source,
    "home": _home,
    "is-home": _home,
    "property": _property,
    "home-folder": _home_folder,
}
