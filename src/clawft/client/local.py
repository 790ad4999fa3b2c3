"""Where the user's own daemon is, and the token for it: read from the user folder, written by the daemon."""

from collections.abc import Mapping

from clawft.client.errors import ClientError
from clawft.client.places import find_place
from clawft.config.load import load_config
from clawft.config.serve import own_serve, own_token_file
from clawft.files import read_optional
from clawft.workspace import Workspace, find_workspace

__all__ = ["find_local"]


def find_local(environ: Mapping[str, str], cwd: str) -> tuple[str, str]:
    """The address of the daemon, and the user's own token. Raises: ClawftError."""
    workspace = find_workspace(environ, cwd)
    place = find_place(workspace.user_dir, workspace.project)
    if place is None:
        raise ClientError("serve-unreachable", "No daemon runs here", hint="Start it: weft serve")
    return place.local, _find_token(workspace, environ, place.token_file)


def _find_token(workspace: Workspace, environ: Mapping[str, str], file: str) -> str:
    if not file:  # the settings name one
        settings = own_serve(load_config(workspace, environ, lambda *_: False), workspace.user_dir, environ)
        if settings.token is not None:
            return settings.token.resolve(environ)
    token = (read_optional(file or own_token_file(workspace.user_dir), 4_096) or b"").decode("ascii", "replace").strip()
    if not token:
        raise ClientError("token-missing", "There is no token of the daemon", hint="It makes one: weft serve")
    return token
