"""The hub in a browser."""

import html
import re
from collections.abc import Iterator

import httpx2
import pytest

from hub_world import ServedHub

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)> {query} \u202e'


@pytest.fixture
def client(served_hub: ServedHub) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=served_hub.url, trust_env=False, verify=False) as opened:
        yield opened


def get(client: httpx2.Client, path: str, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status, answer.text
    return answer.text


def test_skills_are_listed_searched_and_linked(served_hub: ServedHub, client: httpx2.Client) -> None:
    assert "No skill is published yet" in get(client, "/")
    served_hub.put("alice/weather-report")
    served_hub.put("bob/tides")
    listed = get(client, "/")
    assert 'href="./@alice/weather-report"' in listed
    assert 'href="./@bob/tides"' in listed
    found = get(client, "/?q=weather")
    assert "@alice/weather-report" in found
    assert "tides" not in found
    assert "Nothing fits “quinces”" in get(client, "/?q=quinces")
    assert "weather" not in get(client, "/@bob")
    get(client, "/@nobody", 404)


def test_a_long_list_comes_in_pages(served_hub: ServedHub, client: httpx2.Client) -> None:
    for number in range(51):
        served_hub.put(f"alice/skill-{number}")
    first = get(client, "/")
    following = re.search(r'href="(\?cursor=[^"]+)"', first)
    assert following
    second = get(client, f"/{html.unescape(following[1])}")
    assert first.count("<li>") + second.count("<li>") == 51
    assert "cursor=" not in second


def test_one_skill_says_its_versions_and_how_each_client_installs_it(
    served_hub: ServedHub, client: httpx2.Client
) -> None:
    version = served_hub.put("alice/tides", "1.0.0", changelog="The first.")
    served_hub.put("alice/tides", "1.1.0", changelog="Knows spring tides.")
    served_hub.store.yank(version.skill, "1.0.0", "It drowns people")
    shown = get(client, "/@alice/tides")
    for text in (
        "The first.",
        "Knows spring tides.",
        "Taken back: It drowns people",
        '<span class="clean">clean</span>',
    ):
        assert text in shown
    assert f"weft registries add team {served_hub.url}\nweft skills install team:@alice/tides" in shown
    assert f"npx skills add {served_hub.url}/@alice/tides" in shown
    assert f"CLAWHUB_REGISTRY={served_hub.url} clawhub install tides" in shown
    archive = re.search(r'href="\.\.(/api/v1/agent-skills/[^"]+)"', shown)
    assert archive
    assert client.get(html.unescape(archive[1])).headers["content-type"] == "application/zip"
    served_hub.put("bob/tides")  # now the name alone means neither
    assert "clawhub install" not in get(client, "/@alice/tides")
    served_hub.store.yank(version.skill, "1.1.0", "")
    assert "Every version of it was taken back" in get(client, "/@alice/tides")
    served_hub.store.delete(version.skill)
    get(client, "/@alice/tides", 410)
    get(client, "/@alice/none", 404)


def test_the_address_that_the_hub_hands_out_is_a_page(served_hub: ServedHub, client: httpx2.Client) -> None:
    served_hub.put("alice/tides")
    told = client.get("/api/v1/skills/tides/verify").json()
    for address in (told["pageUrl"], told["publisherProfileUrl"]):
        assert "@alice/tides" in client.get(address).text


def test_strangers_words_are_text_and_a_page_runs_and_fetches_nothing(
    served_hub: ServedHub, client: httpx2.Client
) -> None:
    served_hub.put("alice/tides", changelog=HOSTILE, files={"<b>&.md": "x\n"})
    for path in ("/@alice/tides", f"/?q={HOSTILE}", "/"):
        answer = client.get(path)
        markup = answer.text
        assert "<script" not in markup
        assert "<img" not in markup
        assert "\u202e" not in markup
        assert "<b>" not in markup
        assert not re.search(r'(?:src|href|action)="(?!\./|\.\./|\?)', markup)
        policy = answer.headers.get_list("content-security-policy")
        assert len(policy) == 1
        assert policy[0].startswith("default-src 'none'; style-src 'sha256-")
        assert "unsafe" not in policy[0]
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert "&lt;script&gt;" in get(client, "/@alice/tides")


def test_what_is_no_page_is_still_run_nowhere(served_hub: ServedHub, client: httpx2.Client) -> None:
    served_hub.put("alice/tides")
    policy = client.get("/api/v1/skills/tides").headers.get_list("content-security-policy")
    assert policy == ["default-src 'none'; frame-ancestors 'none'; sandbox"]
