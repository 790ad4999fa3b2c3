"""Is a mail from whom it says? The From header is anybody's to write; the receiving server checked it and says so.

It says so in Authentication-Results (RFC 8601), under a name of its own. Such a header can be forged, too, so only the
topmost one under the trusted name counts: that is the one which the receiving server put there.
"""

import re
from collections.abc import Sequence

__all__ = ["check_authenticity"]

_MAX_HEADER = 10_000
_MAX_DEPTH = 20
_RESULT = re.compile(r"(dmarc|dkim|spf)\s*=\s*([a-z]+)(.*)", re.IGNORECASE | re.DOTALL)
# Also what is of no interest, so that nothing which it quotes is taken for more.
_PROPERTY = re.compile(r'"[^"]*"|([^\s="]+)\s*=\s*((?:"[^"]*"|[^\s"])+)')
_DOMAIN = re.compile(r'(?:(?:"[^"]*"|[^"@]*)@)?([a-z0-9.-]+)')  # what a sender quotes before the @ is only a name
_NAMES = {"dmarc": ("header.from",), "dkim": ("header.d", "header.i"), "spf": ("smtp.mailfrom", "smtp.from")}


def check_authenticity(headers: Sequence[str], domain: str, authserv_id: str) -> str:
    """Why nobody knows that a mail is from this domain; nothing if it is.

    DMARC decides where it says something. Else DKIM or SPF do, for that very domain or one that it lies in.
    """
    found = (_read_results(header, authserv_id) for header in headers)
    results = next((one for one in found if one is not None), None)
    if results is None:
        return f"{authserv_id} did not check it"
    said = {(method, verdict) for method, verdict, _ in results}
    decided = [one for one in results if one[0] == "dmarc" and one[1] not in ("none", "temperror")]
    for method, verdict, domains in decided or results:
        if verdict == "pass" and any(_is_aligned(domain, one, strict=method == "dmarc") for one in domains):
            return ""
    told = ", ".join(sorted(f"{method}={verdict}" for method, verdict in said)) or "nothing"
    return f"{authserv_id} found {told} for {domain}"


def _read_results(header: str, authserv_id: str) -> list[tuple[str, str, list[str]]] | None:
    """(method, verdict, domains) each; None for a header of somebody else."""
    text = _without_comments(header) if len(header) <= _MAX_HEADER else None
    if text is None:  # it may be ours, spoilt by what the sender wrote: what is below it does not count
        return [] if authserv_id in header.lower() else None
    name, *parts = text.split(";")
    if name.lower().replace('"', "").split()[:1] != [authserv_id]:
        return None
    results = []
    for part in parts:
        found = _RESULT.fullmatch(part.strip())
        if found is None:
            continue
        method = found[1].lower()
        values = [value for key, value in _PROPERTY.findall(found[3]) if key.lower() in _NAMES[method]]
        results.append((method, found[2].lower(), [domain for value in values if (domain := _find_domain(value))]))
    return results


def _find_domain(value: str) -> str:
    """Of a domain or an address, maybe quoted as a whole; nothing where there is any doubt."""
    whole = re.fullmatch(r'"([^"]*)"', value)
    found = _DOMAIN.fullmatch((whole[1] if whole else value).lower())
    return found[1] if found else ""


def _without_comments(text: str) -> str | None:
    """The header without what stands in brackets, in which a sender may have words; None if they do not match."""
    out: list[str] = []
    depth, quoted, at = 0, False, 0
    while at < len(text):
        char = text[at]
        if char == "\\" and (depth or quoted):
            at += 1
        elif char == '"' and not depth:
            quoted = not quoted
        elif char == "(" and not quoted:
            depth += 1
        elif char == ")" and not quoted:
            depth -= 1
        if depth < 0 or depth > _MAX_DEPTH:
            return None
        if (depth == 0 and char != ")") or quoted:
            out.append(char if char != ";" or not quoted else " ")
        at += 1
    return None if depth or quoted else "".join(out)


def _is_aligned(domain: str, signed: str, *, strict: bool) -> bool:
    return domain == signed or (not strict and "." in signed and domain.endswith(f".{signed}"))
