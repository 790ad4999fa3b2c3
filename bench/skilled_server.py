"""An MCP server that offers skills by a script, for tests: what it lists and what it gives need not agree.

Run as a program it is that server, on stdio and without the SDK. The script is a file of JSON that is read anew for
every request: `pages` are lists of entries, `files` what is read at an address, `unlisted` further entries; with
`endless` the last page is followed by another. What it was asked is written beside the script, a line each.
"""

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["SkilledServer", "list_skill", "make_skill_md"]

_EXTENSION = "io.modelcontextprotocol/skills"
_INVALID = {"error": {"code": -32602, "message": "There is no such thing"}}


def make_skill_md(name: str, body: str = "Do it.") -> str:
    return f"---\nname: {name}\ndescription: Does {name}\n---\n{body}\n"


def list_skill(root: str, files: Mapping[str, str], front: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """An honest entry of a skill whose files are given by path; `front` is what its SKILL.md is said to say."""
    name = root.rpartition("/")[2]
    listed = [(f"{root}/{path}", text.encode()) for path, text in files.items()]
    return {
        "uri": f"{root}/SKILL.md",
        "frontmatter": {"name": name, "description": f"Does {name}"} if front is None else front,
        "resources": [
            {"uri": uri, "digest": f"sha256:{hashlib.sha256(data).hexdigest()}", "size": len(data)}
            for uri, data in listed
        ],
    }


class SkilledServer:
    """The script of one server, in a folder, and how the server is started."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.script = folder / "skilled.json"
        self.command = sys.executable
        self.args = ("-IS", __file__, str(self.script))
        self.write(pages=[[]], files={})

    def write(self, **script: Any) -> None:
        self.script.write_text(json.dumps(script))

    def serve(self, *skills: tuple[str, Mapping[str, str]], **more: Any) -> None:
        """Offer skills, each by the address of its folder and its files."""
        files = {f"{root}/{path}": text for root, inside in skills for path, text in inside.items()}
        self.write(**{"pages": [[list_skill(root, inside) for root, inside in skills]], "files": files, **more})

    @property
    def asked(self) -> list[str]:
        """What it was asked so far: `method uri`."""
        file = self.script.with_suffix(".asked")
        return [line.strip() for line in file.read_text().splitlines()] if file.exists() else []


def _answer(script: Mapping[str, Any], method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            capabilities: dict[str, Any] = {
                "resources": {},
                "extensions": {} if script.get("plain") else {_EXTENSION: {}},
            }
            told = {"protocolVersion": "2025-11-25", "capabilities": capabilities}
            return {"result": {**told, "serverInfo": {"name": "skilled", "version": "1"}}}
        case "tools/list":
            return {"result": {"tools": []}}
        case "skills/list":
            pages, number = script["pages"], int(params.get("cursor") or 0)
            more = number + 1 < len(pages) or script.get("endless")
            page = {"skills": pages[min(number, len(pages) - 1)], "ttlMs": script.get("ttlMs", 0)}
            return {"result": page | ({"nextCursor": str(number + 1)} if more else {})}
        case "skills/get":
            entries = [*(one for page in script["pages"] for one in page), *script.get("unlisted", [])]
            found = next((one for one in entries if one["uri"] == params["uri"]), None)
            return {"result": {"skill": found}} if found else _INVALID
        case "resources/read":
            text = script["files"].get(params["uri"])
            content = {"uri": params["uri"], "text": text}
            return {"result": {"contents": [content]}} if text is not None else _INVALID
    return {"error": {"code": -32601, "message": "Method not found"}}


def _serve(script: Path) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            method, params = message["method"], message.get("params") or {}
            with script.with_suffix(".asked").open("a") as asked:
                asked.write(f"{method} {params.get('uri', '')}\n")
            answer = _answer(json.loads(script.read_text()), method, params)
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
