"""What `weft doctor` says of daemons."""

from pathlib import Path

from clawft.app.app import open_app
from clawft.cli.doctor.services import check_serving
from clawft.server.client.daemons import RunningDaemon, register_daemon


def test_daemons_that_run_are_told_and_a_token_that_others_can_read(tmp_path: Path) -> None:
    app = open_app({"HOME": str(tmp_path)}, str(tmp_path))
    user_dir = Path(app.workspace.user_dir)
    assert [*check_serving(app)] == []
    place = RunningDaemon(port=1, pid=7, url="https://a.example", local="http://127.0.0.1:1", project="/p", started="")
    with register_daemon(str(user_dir), place):
        (running,) = check_serving(app)
    assert (running.status, running.message) == (
        "ok",
        "a daemon at http://127.0.0.1:1, as https://a.example, process 7, for /p",
    )
    token = user_dir / "serve-token"
    token.write_text("wft_0123456789abcdef\n")
    token.chmod(0o600)
    assert [*check_serving(app)] == []
    token.chmod(0o644)
    (open_to_others,) = check_serving(app)
    assert (open_to_others.status, open_to_others.fix) == ("problem", f"chmod 600 {token}")
