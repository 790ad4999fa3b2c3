"""The least that answers what a hub does: one starlette endpoint that reads the same rows, on the same server.

Run as a program with the hub's database; prints the port.
"""

import sqlite3
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from clawft.server.http.addresses import listen

_SKILL = "SELECT * FROM hub_skill WHERE slug = ? ORDER BY owner"
_VERSION = "SELECT * FROM hub_version WHERE skill = ? AND version = ?"
_TAGS = "SELECT tag, version FROM hub_tag WHERE skill = ?"


def main(database: str) -> None:
    connection = sqlite3.connect(database, isolation_level=None)
    connection.row_factory = sqlite3.Row

    async def show(request: Request) -> JSONResponse:
        skill = connection.execute(_SKILL, (request.path_params["slug"],)).fetchone()
        version = connection.execute(_VERSION, (skill["id"], skill["latest"])).fetchone()
        tags = connection.execute(_TAGS, (skill["id"],)).fetchall()
        return JSONResponse({"skill": dict(skill), "version": dict(version), "tags": [dict(one) for one in tags]})

    listening = listen("127.0.0.1", 0, name="The hub", code="hub-address")
    print(listening.getsockname()[1], flush=True)
    app = Starlette(routes=[Route("/api/v1/skills/{slug}", show)])
    config = uvicorn.Config(app, http="h11", ws="none", log_config=None, access_log=False, backlog=1_024)
    uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    main(sys.argv[1])
