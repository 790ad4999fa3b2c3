"""Fails when a locked package has a licence that does not go with MIT, or none that is known.

What users get (requirements/all.txt: runtime and every extra) must be permissive. What only builds or checks
the project (the other lock files) is not distributed and may be copyleft, but its licence must be known too.
Licences are read from the installed packages; what cannot be read there is recorded in tools/licences.toml.

A library under the LGPL may be imported by a program under MIT as long as users can replace it. Each one is named in
tools/licences.toml with the extra that brings it, and is refused where the program cannot do without it.
"""

import re
import sys
import tomllib
from collections.abc import Collection, Iterable
from email.message import Message
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path
from typing import cast

ROOT = Path(__file__).parent.parent
EXCEPTIONS = ROOT / "tools" / "licences.toml"

PERMISSIVE = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD", "BSD-2-Clause", "BSD-3-Clause", "ISC",
    "MIT", "MIT-0", "MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib",
}  # fmt: skip
COPYLEFT = re.compile(r"A?GPL-[23]\.0(-only|-or-later)?|LGPL-(2\.1|3\.0)(-only|-or-later)?|EPL-2\.0")

WEAK_COPYLEFT = re.compile(r"LGPL-(2\.1|3\.0)(-only|-or-later)?")

# Spellings of the older metadata fields, `Classifier: License ::` and `License:`, in lower case.
SPELLINGS = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd license": "BSD",
    "gnu affero general public license v3": "AGPL-3.0-only",
    "gnu general public license v2 (gplv2)": "GPL-2.0-only",
    "gnu general public license v3 (gplv3)": "GPL-3.0-only",
    "gnu lesser general public license v3 (lgplv3)": "LGPL-3.0-only",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mit no attribution license (mit-0)": "MIT-0",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
    "psf": "PSF-2.0",
    "the unlicense (unlicense)": "Unlicense",
    "zlib/libpng license": "Zlib",
} | {name.lower(): name for name in PERMISSIVE}


def parse_lock(text: str) -> list[str]:
    """Return the names of the packages that a lock file pins."""
    return re.findall(r"^([A-Za-z0-9][\w.-]*)==", text, re.MULTILINE)


def find_licence(package: Message) -> str | None:
    """Return the SPDX expression of a package's metadata, None where it tells none that is known."""
    if expression := package["License-Expression"]:
        return str(expression)
    classifiers = [str(line) for line in package.get_all("Classifier", [])]
    names = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License :: ")]
    names = [name for name in names if name != "OSI Approved"] or [str(package["License"] or "")]
    known = [SPELLINGS.get(name.strip().lower()) for name in names]
    return " AND ".join(name for name in known if name) if all(known) else None


def is_allowed(expression: str, *, distributed: bool) -> bool:
    """Judge an SPDX expression: every part of an AND, at least one of an OR.

    Parentheses are ignored, which can refuse a mixed expression too many and never accepts one too many.
    """
    plain = re.sub(r"[()]", "", expression)
    parts = [part.split(" OR ") for part in plain.split(" AND ")]
    return all(any(_is_allowed_name(name.strip(), distributed) for name in part) for part in parts)


def _is_allowed_name(name: str, distributed: bool) -> bool:
    return name in PERMISSIVE or (not distributed and COPYLEFT.fullmatch(name) is not None)


def check_package(name: str, licence: str | None, *, distributed: bool, beside: bool = False) -> str | None:
    """Return what is wrong with a package's licence, if anything. `beside`: a record lets it be weak copyleft."""
    if licence is None:
        return (
            f"{name}: licence unknown. Read it, then record it in tools/licences.toml:\n"
            f'  [{name}]\n  licence = "<SPDX expression>"\n  reason = "<where you read it>"'
        )
    if is_allowed(licence, distributed=distributed):
        return f"{name}: {licence} needs no extra in tools/licences.toml" if distributed and beside else None
    if beside and WEAK_COPYLEFT.fullmatch(licence):
        return None
    return f"{name}: licence {licence} may not be " + ("distributed under MIT" if distributed else "used")


def load_licence(name: str, exceptions: dict[str, dict[str, str]]) -> str | None:
    """Return the licence recorded by hand or, without a record, that of the installed package.

    A record with an extra permits what is installed as long as that has the licence which was recorded.
    """
    record = exceptions.get(name)
    if record and not record.get("reason"):
        return None
    if record and "extra" not in record:
        return record["licence"]
    installed = _load_installed(name)
    return installed if record is None or installed == record["licence"] else None


def _load_installed(name: str) -> str | None:
    try:
        return find_licence(cast(Message, metadata(name)))
    except PackageNotFoundError:
        return None  # locked for another platform


def find_required(lines: Iterable[str]) -> set[str]:
    """Find the packages that some requirements bring, without what only an extra of theirs would."""
    found: set[str] = set()
    pending = list(lines)
    while pending:
        line = pending.pop()
        name = re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", line, maxsplit=1)[0]).lower()
        if name in found or re.search(r"\bextra\s*==", line):
            continue
        found.add(name)
        try:
            pending += requires(name) or []
        except PackageNotFoundError:  # locked for another platform
            continue
    return found


def check_extra(name: str, extra: str, extras: Collection[str], required: Collection[str]) -> str | None:
    """Return what is wrong with the claim that a package comes with an extra only, if anything."""
    if name in required:
        return f"{name}: the program cannot do without it, so it is no part of an extra"
    return None if extra in extras else f"{name}: pyproject.toml has no extra {extra}"


def main() -> int:
    exceptions = tomllib.loads(EXCEPTIONS.read_text("utf-8"))
    locks = {path.stem: parse_lock(path.read_text("utf-8")) for path in (ROOT / "requirements").glob("*.txt")}
    distributed = set(locks.pop("all"))
    everything = distributed.union(*locks.values())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras, required = project["optional-dependencies"], find_required(project["dependencies"])
    beside = {name: record["extra"] for name, record in exceptions.items() if "extra" in record}
    findings = [
        check_package(name, load_licence(name, exceptions), distributed=name in distributed, beside=name in beside)
        for name in sorted(everything)
    ]
    findings += [check_extra(name, extra, extras, required) for name, extra in beside.items()]
    findings += [f"{name}: in tools/licences.toml but not locked" for name in exceptions.keys() - everything]
    problems = [finding for finding in findings if finding]
    print("\n".join(problems) or f"{len(everything)} licences are fine")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
