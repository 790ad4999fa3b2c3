"""A web server on loopback that answers as it is told to, also as no honest server would; and a registry on it."""

import hashlib
import io
import json
import socket
import socketserver
import ssl
import threading
import zipfile
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["Reply", "Request", "ScriptedRegistry", "ScriptedSite", "make_zip"]


class Request:
    """What came in."""

    def __init__(self, method: str, target: str, headers: dict[str, str], body: bytes) -> None:
        self.method = method
        self.target = target
        self.path = urlsplit(target).path
        self.query = {key: values[0] for key, values in parse_qs(urlsplit(target).query).items()}
        self.headers = headers
        self.body = body


class Reply:
    """What goes out: a whole answer, or `raw` pieces that are sent as they are before the connection is closed."""

    def __init__(
        self,
        body: bytes | str | dict[str, Any] | list[Any] = b"",
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        raw: Iterable[bytes] | None = None,
    ) -> None:
        kind = "application/json" if isinstance(body, dict | list) else "text/plain" if isinstance(body, str) else ""
        text = json.dumps(body) if isinstance(body, dict | list) else body
        self.body = text.encode() if isinstance(text, str) else text
        self.status = status
        self.headers = {"Content-Type": kind or "application/octet-stream", **(headers or {})}
        self.raw = raw

    def encode(self) -> bytes:
        length = {} if any(name.lower() == "content-length" for name in self.headers) else {"Content-Length": None}
        lines = [
            f"{name}: {len(self.body) if value is None else value}"
            for name, value in {**self.headers, **length}.items()
        ]
        return f"HTTP/1.1 {self.status} Answer\r\n".encode() + "\r\n".join([*lines, "", ""]).encode() + self.body


Answer = Reply | Callable[[Request], Reply]


class ScriptedSite:
    """The server. `answers` are by path; `requests` is what came, in order; `stop` is set when it ends."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.answers: dict[str, Answer] = {}
        self.requests: list[Request] = []
        self.connections = 0
        self.stop = threading.Event()
        site = self

        class Handler(socketserver.StreamRequestHandler):
            timeout = 30
            disable_nagle_algorithm = True

            def setup(self) -> None:
                if tls is not None:
                    self.request = tls.wrap_socket(self.request, server_side=True)
                super().setup()

            def finish(self) -> None:
                super().finish()
                self.connection.close()

            def handle(self) -> None:
                site.connections += 1
                try:
                    while not site.stop.is_set() and site._serve(self.rfile, self.connection):
                        pass
                except OSError:
                    pass  # the client has gone, as it should

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """Who does not like our certificate hangs up."""

            allow_reuse_address = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.port = int(self._server.server_address[1])
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self) -> "ScriptedSite":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def asked(self) -> list[str]:
        """The paths that were asked for."""
        return [one.path for one in self.requests]

    def drip(self, piece: bytes, head: bytes = b"") -> Iterable[bytes]:
        """The same for ever, a little at a time."""
        yield head
        while not self.stop.wait(0.02):
            yield piece

    def _serve(self, file: Any, connection: socket.socket) -> bool:
        """One request; whether the connection stays."""
        line = file.readline(65536).decode("latin-1").split()
        if len(line) < 2:
            return False
        headers = {}
        while (header := file.readline(65536).decode("latin-1").strip()) != "":
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        request = Request(line[0], line[1], headers, file.read(int(headers.get("content-length", 0))))
        self.requests.append(request)
        answer = self.answers.get(request.path, Reply("Not found", 404))
        reply = answer(request) if callable(answer) else answer
        if reply.raw is None:
            connection.sendall(reply.encode())
            return True
        for piece in reply.raw:
            connection.sendall(piece)
        return False


def make_zip(files: Mapping[str, bytes], *, executable: Iterable[str] = ()) -> bytes:
    """An archive as ClawHub makes them."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, content in files.items():
            one = zipfile.ZipInfo(name)
            one.external_attr = (0o100755 if name in executable else 0o100644) << 16
            archive.writestr(one, content, zipfile.ZIP_DEFLATED)
    return whole.getvalue()


class ScriptedRegistry:
    """ClawHub's interface, as far as a client reads it; each answer can be replaced by a worse one."""

    def __init__(self, site: ScriptedSite) -> None:
        self.site = site
        self.verdicts: dict[str, str] = {}
        self.results: list[dict[str, Any]] = []
        self.archives: dict[str, bytes] = {}
        self._listed: dict[str, dict[str, list[dict[str, Any]]]] = {}
        site.answers["/.well-known/clawhub.json"] = Reply({"apiBase": site.url})
        site.answers["/api/v1/search"] = lambda _: Reply({"results": self.results})
        site.answers["/api/v1/skills/-/security-verdicts"] = self._judge

    def publish(self, owner: str, slug: str, version: str, files: Mapping[str, bytes]) -> bytes:
        """A version, the newest from now on; its archive."""
        archive = make_zip({**files, "_meta.json": json.dumps({"slug": slug, "version": version}).encode()})
        self.archives[f"{slug}@{version}"] = archive
        listed = [
            {
                "path": path,
                "size": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
                "contentType": "text/plain",
            }
            for path, content in files.items()
        ]
        place = f"/api/v1/agent-skills/{owner}/{slug}"
        answers = self.site.answers
        answers[f"{place}/archive"] = lambda request: Reply(self.archives[f"{slug}@{request.query['version']}"])
        answers["/api/v1/download"] = lambda request: Reply(
            self.archives[f"{request.query['slug']}@{request.query['version']}"]
        )
        entry = {"name": slug, "type": "archive", "description": "", "url": f"{place}/archive?version={version}"}
        digest = f"sha256:{hashlib.sha256(archive).hexdigest()}"
        schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
        answers[f"{place}/index.json"] = Reply({"$schema": schema, "skills": [{**entry, "digest": digest}]})
        kept = self._listed.setdefault(slug, {})
        kept[version] = listed

        def verify(request: Request) -> Reply:
            exact = request.query.get("version", version)
            if exact not in kept or request.query.get("ownerHandle", owner) != owner:
                return Reply("Version not found", 404)
            status = self.verdicts.get(slug, "clean")
            return Reply({
                "schema": "clawhub.skill.verify.v1", "ok": status == "clean", "decision": "pass", "reasons": [],
                "slug": slug, "publisherHandle": owner, "version": exact, "artifact": {"files": kept[exact]},
                "security": {"status": status}, "signature": {"status": "unsigned"},
            })  # fmt: skip

        answers[f"/api/v1/skills/{slug}/verify"] = verify
        answers[f"/api/v1/skills/{slug}"] = Reply({
            "skill": {"slug": slug, "summary": "A skill"}, "latestVersion": {"version": version},
            "owner": {"handle": owner}, "moderation": None,
        })  # fmt: skip
        for exact, files_of in kept.items():
            answers[f"/api/v1/skills/{slug}/versions/{exact}"] = Reply(
                {"version": {"version": exact, "files": files_of}}
            )
        return archive

    def _judge(self, request: Request) -> Reply:
        items = json.loads(request.body)["items"]
        said = [
            {
                "ok": True, "requestedSlug": one["slug"], "requestedOwnerHandle": one.get("ownerHandle"),
                "version": one["version"], "reasons": [],
                "security": {"status": self.verdicts.get(one["slug"], "clean")},
            }
            for one in items
        ]  # fmt: skip
        return Reply({"schema": "clawhub.skill.security-verdicts.v1", "items": said})
