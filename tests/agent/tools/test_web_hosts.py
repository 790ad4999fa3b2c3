"""Which hosts the web tools reach unasked, where redirects lead, and what is written down of it."""

import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from clawft.agent.tools.tool import HostGrants, ToolContext
from clawft.agent.tools.web import web_fetch_tool, web_search_tool
from clawft.config.tools import SearchSettings, WebSettings
from clawft.trust.modes import Mode
from clawft.trust.path_patterns import CheckedCall, PatternRoots, ToolTraits
from clawft.trust.patterns import parse_pattern
from clawft.trust.permissions import (
    CallAuthority,
    PermissionRule,
    PermissionRules,
    ToolDecision,
    ToolLimit,
    decide_call,
)
from tool_contexts import adjust

pytestmark = pytest.mark.anyio
OPEN = WebSettings(block_private_ips=False)
Records = list[tuple[str, str, str, str]]


@pytest.fixture
def site() -> Iterator[ThreadingHTTPServer]:
    """`/to/URL` redirects there; all else is a text. The paths that were asked for are in `paths`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            to = self.path.removeprefix("/to/") if self.path.startswith("/to/") else ""
            self.send_response(302 if to else 200)
            if to:
                self.send_header("Location", to)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:
            pass

    paths: list[str] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.paths = paths  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join(60)


FETCHING = ToolTraits(read_only=True, fetches=True)


@pytest.fixture
def records(context: ToolContext) -> Records:
    kept: Records = []

    def record(kind: str, subject: str, decision: str, rule: str = "", *, detail: object = None) -> None:
        kept.append((kind, subject, decision, rule))

    adjust(context, record=record)
    return kept


def under(context: ToolContext, authority: CallAuthority) -> None:
    """Have the tool judge what it meets on the way by this."""

    def judge(tool: str, arguments: Mapping[str, Any]) -> ToolDecision:
        return decide_call(CheckedCall(tool, arguments, PatternRoots(context.workspace.project), FETCHING), authority)

    adjust(context, decide=judge)


def rules(**patterns: str) -> PermissionRules:
    return PermissionRules(**{kind: (PermissionRule(kind, parse_pattern(text)),) for kind, text in patterns.items()})  # type: ignore[arg-type]


def fetch_of(url: str) -> CheckedCall:
    return CheckedCall("web_fetch", {"url": url}, PatternRoots("/p"), FETCHING)


STRANGER = ToolLimit("the skill 'x'", is_untrusted=True, hosts=("api.example.com",))


@pytest.mark.parametrize(
    ("authority", "host", "expected"),
    [
        (CallAuthority(), "a.test", "pass"),
        (CallAuthority(Mode.FULL), "a.test", "allow"),
        (CallAuthority(Mode.ASK), "a.test", "ask"),
        (CallAuthority(Mode.ASK, rules(allow="WebFetch(domain:a.test)")), "a.test", "allow"),
        (CallAuthority(limits=(STRANGER,)), "api.example.com", "pass"),
        (CallAuthority(limits=(STRANGER,)), "evil.test", "ask"),
        (CallAuthority(limits=(STRANGER,)), "sub.api.example.com", "ask"),
        (CallAuthority(limits=(STRANGER,)), "api.example.com:8443", "ask"),
        (CallAuthority(Mode.FULL, limits=(STRANGER,)), "evil.test", "ask"),
        (CallAuthority(Mode.FULL, rules(ask="WebFetch"), limits=(STRANGER,)), "evil.test", "ask"),
        (CallAuthority(Mode.ASK, rules(allow="WebFetch(domain:a.test)"), (STRANGER,)), "a.test", "allow"),
        (CallAuthority(Mode.FULL, rules(deny="WebFetch(domain:a.test)")), "a.test", "deny"),
        (CallAuthority(limits=(STRANGER, ToolLimit("the skill 'y'", hosts=()))), "api.example.com", "ask"),
    ],
)
def test_a_host_is_asked_for_by_mode_rule_and_approval(authority: CallAuthority, host: str, expected: str) -> None:
    decision = decide_call(fetch_of(f"https://{host}/"), authority)

    assert decision.decision == expected


def test_the_question_names_the_skill_and_the_host() -> None:
    rule = decide_call(fetch_of("https://evil.test/x"), CallAuthority(limits=(STRANGER,))).rule

    assert rule == "the skill 'x' was not approved for the host 'evil.test'"


async def test_each_address_of_a_fetch_is_written_down(
    call: Callable[..., Any], context: ToolContext, records: Records, site: Any
) -> None:
    base = f"http://127.0.0.1:{site.server_port}"
    adjust(context, granted=ToolDecision("allow", "mode full"))

    await call(web_fetch_tool(OPEN), url=f"{base}/to//end")

    assert records == [("url", f"{base}/to//end", "allow", "mode full"), ("url", f"{base}/end", "allow", "mode full")]


async def test_what_the_policy_refuses_is_written_down(call: Callable[..., Any], records: Records, site: Any) -> None:
    await call(web_fetch_tool(WebSettings()), url="http://169.254.169.254/meta")
    await call(web_fetch_tool(OPEN), url=f"http://127.0.0.1:{site.server_port}/to/file:///etc/passwd")

    assert [(subject, decision) for _, subject, decision, _ in records] == [
        ("http://169.254.169.254/meta", "deny"),
        (f"http://127.0.0.1:{site.server_port}/to/file:///etc/passwd", "allow"),
        ("file:///etc/passwd", "deny"),
    ]
    assert records[0][3].startswith("url-private-address: ")


async def test_redirect_to_a_host_the_skill_was_not_approved_for_is_asked_for(
    call: Callable[..., Any], context: ToolContext, records: Records, site: Any, questions: list[tuple[str, str]]
) -> None:
    port = site.server_port
    under(context, CallAuthority(Mode.FULL, limits=(ToolLimit("the skill 'x'", hosts=(f"127.0.0.1:{port}",)),)))

    envelope = await call(web_fetch_tool(OPEN), url=f"http://127.0.0.1:{port}/to/http://localhost:{port}/stolen")

    assert envelope.error["code"] == "PERMISSION_DENIED"
    assert len(site.paths) == 1
    assert questions == [
        (f"Follow a redirect from 127.0.0.1:{port} to http://localhost:{port}/stolen",
         "the skill 'x' was not approved for the host 'localhost'")
    ]  # fmt: skip
    assert records[-1][1:3] == (f"http://localhost:{port}/stolen", "deny")


async def test_redirect_that_a_person_agrees_to_is_followed(
    call: Callable[..., Any], context: ToolContext, records: Records, site: Any
) -> None:
    async def agree(question: str, reason: str, *, dangerous: bool = False) -> bool:
        return True

    port = site.server_port
    adjust(context, ask=agree)
    under(context, CallAuthority(limits=(ToolLimit("the skill 'x'", hosts=()),)))

    envelope = await call(web_fetch_tool(OPEN), url=f"http://127.0.0.1:{port}/to/http://localhost:{port}/x")

    assert envelope.status == "success"
    assert records[-1][3] == "approved (the skill 'x' was not approved for the host 'localhost')"


async def test_redirect_to_a_denied_host_is_not_followed(
    call: Callable[..., Any], context: ToolContext, records: Records, site: Any, questions: list[tuple[str, str]]
) -> None:
    port = site.server_port
    under(context, CallAuthority(Mode.FULL, rules(deny="WebFetch(domain:localhost)")))

    envelope = await call(web_fetch_tool(OPEN), url=f"http://127.0.0.1:{port}/to/http://localhost:{port}/x")

    assert "rule deny WebFetch(domain:localhost)" in envelope.error["message"]
    assert (len(site.paths), questions) == (1, [])


async def test_search_is_written_down_too(call: Callable[..., Any], records: Records, site: Any) -> None:
    engine = f"http://127.0.0.1:{site.server_port}"
    tool = web_search_tool(WebSettings(search=SearchSettings("searxng", engine)))
    assert tool is not None

    await call(tool, query="x")

    assert records == [("url", f"{engine}/search?q=x&format=json", "allow", "tools.web.search")]


def test_programs_reach_what_rules_allow_and_nothing_else(context: ToolContext) -> None:
    assert context.hosts.find_hosts() == ()
    granted = rules(allow="WebFetch(domain:*.example.com)", deny="WebFetch(domain:evil.example.com)")
    adjust(context, hosts=HostGrants(granted))
    assert context.hosts.find_hosts() == ("!evil.example.com", "*.example.com")
