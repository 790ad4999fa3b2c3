"""A server without the SDK: quick to start, and able to misbehave. Its first argument says how."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from typing import Any

OBJECT = {"type": "object", "properties": {}}
cancelled: list[Any] = []


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def say(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def start(behaviour: str) -> None:
    """What goes wrong before the first message."""
    if behaviour == "crash":
        print("cannot reach the database", file=sys.stderr)
        print(f"the key is {os.environ.get('KEY')} \x1b[31m", file=sys.stderr)
        sys.exit(3)
    if behaviour == "hang":
        for _ in sys.stdin:
            pass
        sys.exit(0)
    if behaviour == "garbage":
        sys.stdout.buffer.write(b"Welcome!\n\xff\xfe\x00 not text\n\n[1, 2]\n" + b"[" * 100_000 + b"\n")
        sys.stdout.flush()
    if behaviour == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def list_tools(behaviour: str, params: dict[str, Any]) -> dict[str, Any]:
    if behaviour == "flood":  # pages without end
        page = int(params.get("cursor") or 0)
        named = [{"name": f"t{page}-{i}", "inputSchema": OBJECT} for i in range(200)]
        return {"tools": named, "nextCursor": str(page + 1)}
    names = ["echo", "die", "wait", "env", "cwd", "pid", "child", "cancelled", "huge", "ask",
             "write", "list", "fetch"]  # fmt: skip
    return {"tools": [{"name": name, "inputSchema": OBJECT} for name in names]}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    match name:
        case "die":
            print("out of memory", file=sys.stderr, flush=True)
            os._exit(9)
        case "env":
            return say(json.dumps(dict(os.environ)))
        case "cwd":
            return say(os.getcwd())
        case "pid":
            return say(str(os.getpid()))
        case "child":  # one that keeps the pipes open
            command = [sys.executable, "-c", "import signal; signal.pause()"]
            return say(str(subprocess.Popen(command).pid))
        case "cancelled":
            return say(json.dumps(cancelled))
        case "huge":
            sys.stdout.write("x" * 25_000_000)
            sys.stdout.flush()
            return None
        case "wait":
            return None
    return reach(name, arguments)


def reach(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What shows how much of the machine is there."""
    match name:
        case "write":
            try:
                with open(arguments["path"], "a") as file:
                    file.write("written")
            except OSError as error:
                return say(f"no: {error.strerror}")
            return say("written")
        case "list":
            try:
                return say(" ".join(sorted(os.listdir(arguments["path"]))))
            except OSError as error:
                return say(f"no: {error.strerror}")
        case "fetch":
            try:
                with urllib.request.urlopen(arguments["url"], timeout=10) as answer:
                    return say(answer.read().decode())
            except OSError as error:
                return say(f"no: {error}")
    return say(arguments.get("text", ""))


def main(behaviour: str) -> None:
    start(behaviour)
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params") or {}
        if behaviour == "old" and method == "server/discover":
            sys.exit("expected initialize")
        if method == "initialize":
            about = {"name": "plain", "version": "1"}
            result: dict[str, Any] | None = {"capabilities": {"tools": {}}, "serverInfo": about}
            result = {"protocolVersion": params["protocolVersion"], **(result or {})}
        elif method == "tools/list":
            result = list_tools(behaviour, params)
        elif method == "tools/call":
            result = call(params["name"], params.get("arguments") or {})
        elif method == "notifications/cancelled":
            cancelled.append(params.get("reason"))
            continue
        elif "id" in message and method:
            send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
            continue
        else:
            continue
        if result is not None:
            send({"id": message["id"], "result": result})
    if behaviour == "stubborn":
        while True:
            signal.pause()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
