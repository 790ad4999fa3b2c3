"""The console's files: served with strict rules, and written so that nothing strange becomes markup."""

import re
from pathlib import Path

from serve_thread import serve_here
from serve_world import ServeWorld


def test_the_page_is_served_with_strict_rules(tmp_path: Path) -> None:
    with serve_here(ServeWorld(tmp_path)) as here, here.client(token="") as client:
        page = client.get("/")
        policy = page.headers["content-security-policy"].split("; ")
        assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} <= {*policy}
        assert not any("unsafe" in one or "http" in one or "*" in one for one in policy)
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        for address in re.findall("<(/[^>]+)>", page.headers["link"]):
            assert client.head(address).status_code == 200
        script = client.get("/console/app.js")
        assert script.headers["content-type"] == "text/javascript; charset=utf-8"
        assert (script.headers["x-content-type-options"], script.headers["cache-control"]) == ("nosniff", "no-cache")
        again = client.get("/console/app.js", headers={"If-None-Match": script.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        wrong = ("/console/README.md", "/console/", "/console/../console.py", "/console/%2e%2e/console.py", "/app.js")
        assert {client.get(one).status_code for one in wrong} == {404}


def test_every_file_of_the_console_is_of_ours_alone() -> None:
    console = Path(__file__).parents[2] / "src" / "clawft" / "server" / "console"
    texts = {one: one.read_text("utf-8") for one in console.rglob("*") if one.suffix in (".js", ".css", ".html")}
    assert len(texts) > 30
    for path, text in texts.items():
        assert len(text.splitlines()) <= 400, path
        for word in ("innerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser"):
            assert word not in text, f"{path} uses {word}"
        assert path.suffix == ".js" or "://" not in text, f"{path} names another site"
