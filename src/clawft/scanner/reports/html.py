"""Reports as one HTML page: no scripts, nothing loaded from elsewhere, everything in it escaped."""

from collections.abc import Sequence
from html import escape

from clawft import __version__
from clawft.scanner.findings import VERDICTS, Finding, Report
from clawft.scanner.reports.json import count_verdicts
from clawft.scanner.reports.text import Excerpt, Load, render_evidence, render_power, reveal

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --page: #fbfaf8; --card: #fff; --text: #1f2328; --faint: #626870; --line: #dedbd4;
  --code: #f3f1ec; --mark: #fbe3e0; --bad: #b3261e; --odd: #8a5a00; --good: #2c6e3f; --accent: #2f5d9e; }
@media (prefers-color-scheme: dark) { :root { --page: #16181b; --card: #1b1e22; --text: #e4e6e9; --faint: #9aa1a9;
  --line: #33373c; --code: #212529; --mark: #4a2522; --bad: #ff8a80; --odd: #f0b95a; --good: #7fcf95;
  --accent: #8db4ee; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 0; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 0 0 .3rem; font-weight: 600; overflow-wrap: anywhere; }
p { margin: .3rem 0; overflow-wrap: anywhere; } .faint, dt { color: var(--faint); } .small { font-size: .87rem; }
.counts { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.25rem 0 2rem; padding: 0; list-style: none; }
.counts li { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .6rem 1rem; }
.counts b { display: block; font-size: 1.6rem; line-height: 1.2; }
section { background: var(--card); border: 1px solid var(--line); border-left: .35rem solid var(--good);
  border-radius: .6rem; padding: 1rem 1.2rem; margin: 1rem 0; }
section.malicious { border-left-color: var(--bad); } section.suspicious { border-left-color: var(--odd); }
.malicious > header b, b.critical, b.high, .counts .malicious { color: var(--bad); }
.suspicious > header b, b.medium, .counts .suspicious { color: var(--odd); }
.clean > header b, .counts .clean { color: var(--good); } b.low, b.info { color: var(--accent); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .6rem 0; font-size: .9rem; }
dd { margin: 0; overflow-wrap: anywhere; }
article { border-top: 1px solid var(--line); margin-top: .9rem; padding-top: .9rem; }
code, pre { font: .85rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { margin: .5rem 0; padding: .5rem 0; background: var(--code); border-radius: .4rem; overflow-x: auto; }
pre span { display: block; padding: 0 .8rem; white-space: pre-wrap; } pre .hit { background: var(--mark); }
pre i { display: inline-block; min-width: 3rem; color: var(--faint); font-style: normal; user-select: none; }
ul.clean { columns: 18rem; padding-left: 1.2rem; overflow-wrap: anywhere; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .3rem; } }
""".strip()


def render_html(reports: Sequence[Report], load: Load) -> str:
    """One page that needs nothing else; `load` gives the lines around a finding."""
    sections = [report for report in reports if _has_news(report)]
    quiet = [report for report in reports if not _has_news(report)]
    body = "".join(
        _report(report, load) for report in sorted(sections, key=lambda report: -VERDICTS.index(report.verdict))
    )
    if quiet:
        names = "".join(f"<li>{_text(report.name)}</li>\n" for report in quiet)
        body += f'<h2 id="clean">Clean: nothing found</h2>\n<ul class="clean">\n{names}</ul>\n'
    title = f"Scan of {len(reports)} skill{'s' * (len(reports) != 1)}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{title}</h1>\n<p class="faint small">weft {_text(__version__)}. Nothing of them was run.</p>\n'
        f'<ul class="counts">\n{_counts(reports)}</ul>\n{body}</main>\n</body>\n</html>\n'
    )


def _has_news(report: Report) -> bool:
    return report.verdict != "clean" or bool(report.findings)


def _counts(reports: Sequence[Report]) -> str:
    counts = count_verdicts(reports)
    return "".join(
        f'<li><b class="{label}">{number}</b> {label}</li>\n'
        for label, number in counts.items()
        if number or label != "failed"
    )


def _report(report: Report, load: Load) -> str:
    facts = [(label, ", ".join(values)) for label, values in render_power(report.power)]
    facts += [("not analysed", f"{gap.path}: {gap.reason}" if gap.path else gap.reason) for gap in report.coverage.gaps]
    rows = "".join(f"<dt>{_text(label)}</dt><dd>{_text(value)}</dd>\n" for label, value in facts)
    findings = "".join(_finding(report, finding, load) for finding in report.findings)
    return (
        f'<section class="{report.verdict}">\n<header><h2>{_text(report.name)}</h2>\n'
        f"<p><b>{report.verdict}</b>, {report.confidence:.0%} sure</p>\n"
        f'<p class="faint small"><code>{_text(report.path)}</code></p></header>\n'
        f"<dl>\n{rows}</dl>\n{findings}</section>\n"
    )


def _finding(report: Report, finding: Finding, load: Load) -> str:
    excerpt = load(report, finding)
    shown = _excerpt(excerpt) if excerpt else ""
    how = render_evidence(finding, excerpt)
    if how:
        shown += (
            f'<p class="small faint">{_text(how)}:</p>\n<pre><span class="hit">{_text(finding.evidence)}</span></pre>\n'
        )
    return (
        f'<article>\n<h3><b class="{finding.severity}">{finding.severity}</b> {_text(finding.message)}</h3>\n'
        f'<p class="small faint"><code>{_text(finding.rule)}</code> at '
        f"<code>{_text(finding.path)}:{finding.line}</code>, {finding.confidence:.0%} sure</p>\n{shown}"
        f"<p><b>Why:</b> {_text(finding.why)}</p>\n<p><b>What to do:</b> {_text(finding.fix)}</p>\n</article>\n"
    )


def _excerpt(excerpt: Excerpt) -> str:
    lines = ""
    for number, text in excerpt.lines:
        mark = ' class="hit"' if excerpt.first <= number <= excerpt.last else ""
        lines += f"<span{mark}><i>{number}</i>{_text(text)}</span>"
    return f"<pre>{lines}</pre>\n"


def _text(text: str) -> str:
    return escape(reveal(text).encode("utf-8", errors="replace").decode())
