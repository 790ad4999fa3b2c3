"""`ssh-keygen -Y sign`: signing by keys that people have already."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from clawft.errors import ClawftError

__all__ = ["find_ssh_keygen", "make_with_passphrase", "sign_with"]

SIGN_S = 300.0  # somebody may have to type a passphrase or touch a key
_PASSED = (  # what finds an agent, asks for a passphrase, or reaches a security key
    *("HOME", "USER", "LANG", "TERM", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"),
    *("SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "SSH_SK_PROVIDER"),
)
_PATH = "/usr/local/bin:/usr/bin:/bin"


def find_ssh_keygen(environ: Mapping[str, str]) -> str:
    """Where the program is; '' if there is none. Folders that depend on where we are do not count."""
    folders = [one for one in environ.get("PATH", "").split(os.pathsep) if os.path.isabs(one)]
    return shutil.which("ssh-keygen", path=os.pathsep.join(folders)) or ""


def sign_with(program: str, key: str, namespace: str, message: bytes, environ: Mapping[str, str]) -> bytes:
    """The armored signature by a key file, or by the agent that has the private half of a `.pub` file.

    A passphrase is asked for by ssh-keygen itself. Raises: ClawftError with code `signing-failed`.
    """
    done = _run([program, "-Y", "sign", "-f", key, "-n", namespace], message, _passed(environ), SIGN_S)
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())[-300:] or "it does not say why"
        hint = "Check --key; for a .pub file the agent must hold the key: ssh-add -l"
        raise ClawftError("signing-failed", f"ssh-keygen did not sign: {said}", path=key, hint=hint)
    return done.stdout


def make_with_passphrase(program: str, path: str, comment: str, environ: Mapping[str, str]) -> None:
    """Make an Ed25519 key; ssh-keygen asks for its passphrase on the terminal. Raises: ClawftError."""
    words = [program, "-q", "-t", "ed25519", "-f", path, "-C", comment]
    if subprocess.run(words, env=_passed(environ), check=False).returncode:
        raise ClawftError("key-not-made", "ssh-keygen made no key", path=path)


def _passed(environ: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": _PATH} | {name: environ[name] for name in _PASSED if name in environ}


def _run(
    words: Sequence[str], message: bytes, environ: Mapping[str, str], limit_s: float
) -> subprocess.CompletedProcess[bytes]:
    """The program, given the message. It stays in our group of processes, else it could not ask on the terminal.

    Raises: ClawftError.
    """
    try:
        return subprocess.run(words, input=message, capture_output=True, env=environ, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise ClawftError("signing-failed", f"ssh-keygen took more than {limit_s:.0f} seconds") from error
    except OSError as error:
        why = f"ssh-keygen cannot be started: {error.strerror}"
        raise ClawftError("signing-failed", why, path=words[0]) from error
