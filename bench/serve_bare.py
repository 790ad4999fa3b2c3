"""The least that a WebSocket server of the same stack does: to every message it sends the bytes of a file, as text."""

import socket
import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect


def main(path: str) -> None:
    text = Path(path).read_text("utf-8")

    async def answer(websocket: WebSocket) -> None:
        await websocket.accept()
        try:
            while True:
                await websocket.receive_text()
                await websocket.send_text(text)
        except WebSocketDisconnect:
            pass

    listening = socket.socket(proto=socket.IPPROTO_TCP)  # so named, asyncio sends at once (TCP_NODELAY)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(listening.getsockname()[1], flush=True)
    app = Starlette(routes=[WebSocketRoute("/ws", answer)])
    config = uvicorn.Config(app, ws="websockets-sansio", ws_per_message_deflate=False, log_config=None)
    uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    main(sys.argv[1])
