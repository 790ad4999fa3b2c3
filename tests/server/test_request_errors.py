"""What is wrong with a request is said with what would be right."""

import httpx2
import pytest

from clawft.config.serve import ServeSettings
from clawft.errors import Refused
from clawft.server.callers import DaemonCaller
from clawft.server.client import Client as RemoteClient
from clawft.server.client.connection import ClientError
from clawft.server.http.addresses import ServerNames
from clawft.server.websocket import BadFrame, parse_frame
from serve_site import TOKEN, open_site
from serve_world import ServeWorld

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("frame", "hint"),
    [
        ('{"type":"execute_skill","name":"a","argumens":"x"}', "Did you mean 'arguments'?"),
        ('{"type":"answer_question","question":"1","answer":"yes"}', "One of 'always', 'no', 'once', 'session'"),
        ('{"type":"list_skills","state":"wat"}', "'untrusted'"),
        ('{"type":"subscribe","topics":["wat"]}', "One of 'approvals', 'executions', 'runs', 'skills'"),
    ],
)
def test_a_wrong_value_or_field_comes_with_the_right_ones(frame: str, hint: str) -> None:
    with pytest.raises(BadFrame) as caught:
        parse_frame(frame)
    assert hint in (caught.value.diagnostic.hint or "")


async def test_http_says_the_same_and_which_paths_and_methods_there_are(world: ServeWorld) -> None:

    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        open_site(world) as site,
        httpx2.AsyncClient(base_url=site.url, trust_env=False, verify=False, headers=headers) as client,
    ):
        for method, path, status, hint in (
            ("GET", "/api/v1/skills?state=wat", 400, "'ready'"),
            ("GET", "/api/v1/events?topics=wat", 400, "'skills'"),
            ("GET", "/api/v1/nothing", 404, "openapi.json"),
            ("DELETE", "/api/v1/skills", 405, "GET"),
        ):
            answer = await client.request(method, path)
            assert (answer.status_code, hint in answer.json()["error"]["hint"]) == (status, True), answer.text


def test_whoever_lacks_a_scope_is_told_how_to_get_it() -> None:
    for caller, hint in (
        (DaemonCaller("ci", frozenset({"read"})), "weft serve token new NAME --scope run"),
        (DaemonCaller("mcp", frozenset({"read"}), is_local=True), "weft mcp --scope read --scope run"),
    ):
        with pytest.raises(Refused) as caught:
            caller.need("run")
        assert hint in (caught.value.diagnostic.hint or "")


@pytest.mark.parametrize("url", ["127.0.0.1:8717", "ftp://x", "http://", "http://[::1"])
async def test_an_address_that_is_none_is_not_called_silent(url: str) -> None:
    with pytest.raises(ClientError) as caught:
        async with RemoteClient.connect(url, "token-of-somebody"):
            pass
    assert caught.value.code == "serve-address"


def test_a_page_of_our_name_without_tls_is_a_strangers() -> None:
    names = ServerNames.of(ServeSettings(public_url="https://weft.example.com"))
    assert names.is_own("https://weft.example.com", "http://weft.example.com")
    assert not names.is_own("http://weft.example.com", "http://weft.example.com")
    assert names.is_own("http://localhost:8717", "http://localhost:8717")
