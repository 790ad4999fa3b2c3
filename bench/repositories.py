"""Real git repositories for tests, hostile ones too, and a server of this machine that gives them."""

import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SKILL = b"---\nname: notes\ndescription: Takes notes.\nversion: 1.0.0\n---\nWrite it down.\n"
_ENV = {
    "PATH": os.defpath,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@example.org",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@example.org",
}
File = bytes | tuple[str, bytes]  # the content of a file, or its mode with that


class Repository:
    """A bare repository."""

    def __init__(self, folder: Path, *, partial: bool = True, sha256: bool = False) -> None:
        """`partial`: it gives commits without their files, if it is asked to."""
        self.folder = folder
        for name in ("objects", "refs"):
            (folder / name).mkdir(parents=True)
        (folder / "HEAD").write_text("ref: refs/heads/main\n")
        config = f"[core]\nrepositoryformatversion = {int(sha256)}\nbare = true\n"
        filtering = f"[uploadpack]\nallowFilter = {str(partial).lower()}\n"
        (folder / "config").write_text(config + filtering + ("[extensions]\nobjectFormat = sha256\n" if sha256 else ""))
        self._branches: set[str] = set()

    @property
    def url(self) -> str:
        return f"file://{self.folder}"

    def git(self, *words: str, stdin: bytes = b"") -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.folder, env=_ENV, input=stdin, capture_output=True, check=True, timeout=30
        )
        return done.stdout.decode().strip()

    def commit(self, files: Mapping[str, File], branch: str = "main") -> str:
        """A commit that has just these files; a branch begins with its first."""
        about = "mark :1\ncommitter Test <test@example.org> 1 +0000\ndata 1\nx\n"
        stream = [f"commit refs/heads/{branch}\n{about}".encode()]
        if branch in self._branches:
            stream.append(f"from refs/heads/{branch}^0\n".encode())
        self._branches.add(branch)
        stream.append(b"deleteall\n")
        for path, file in files.items():
            mode, data = file if isinstance(file, tuple) else ("100644", file)
            name = path.encode(errors="surrogateescape")
            if mode == "160000":
                stream.append(b"M 160000 %s %s\n" % (data, name))
            else:
                stream.append(b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), name, len(data), data))
        return self.git("fast-import", "--quiet", "--force", stdin=b"".join([*stream, b"get-mark :1\n"]))

    def drop(self, branch: str = "main") -> None:
        """Remove a branch; the next commit to it begins anew."""
        self.git("update-ref", "-d", f"refs/heads/{branch}")
        self._branches.discard(branch)

    def commit_tree(self, entries: list[tuple[str, str, str]], branch: str = "main") -> str:
        """A commit of a tree that git itself would not make: modes, names and objects as they are given."""
        raw = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
        tree = self.tree(raw)
        commit = self.git("commit-tree", tree, "-m", "x")
        self.git("update-ref", f"refs/heads/{branch}", commit)
        return commit

    def tree(self, raw: bytes) -> str:
        return self.git("hash-object", "-t", "tree", "--literally", "-w", "--stdin", stdin=raw)

    def blob(self, data: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", stdin=data)


Before = Callable[[str], str | None]  # is told the path of each request; where it leads to instead


@contextmanager
def serving(
    root: Path, before: Before = lambda _: None, *, old: bool = False, host: str = "127.0.0.1"
) -> Iterator[str]:
    """The repositories below a folder over HTTP, by git's own program for that; `old`: as servers were long ago, which
    gave only what their branches and tags point to."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers.get("content-length", 0))))

        def _answer(self, body: bytes) -> None:
            if (elsewhere := before(self.path)) is not None:
                self.send_response(302)
                self.send_header("location", elsewhere)
                self.send_header("content-length", "0")
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            env = {
                **_ENV,
                "GIT_PROJECT_ROOT": str(root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("content-type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
                "GIT_PROTOCOL": "" if old else self.headers.get("git-protocol", ""),
            }
            done = subprocess.run(
                ["git", "http-backend"], env=env, input=body, capture_output=True, check=False, timeout=30
            )
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            headers = [line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line]
            status = next((value for name, value in headers if name == "Status"), "200 OK")
            self.send_response(int(status[:3]))
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer((host, 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://{host}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
