"""`ssh-keygen -Y sign`: signing by keys that people have already."""

import subprocess

from clawft.errors import ClawftError, NotFound
from clawft.programs import Launcher, Program

__all__ = ["make_with_passphrase", "prepare_ssh_keygen", "sign_with"]

SIGN_S = 300.0  # somebody may have to type a passphrase or touch a key
_PASSED = (  # what finds an agent, asks for a passphrase, or reaches a security key
    *("HOME", "USER", "LANG", "TERM", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"),
    *("SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "SSH_SK_PROVIDER"),
)
_PATH = "/usr/local/bin:/usr/bin:/bin"


def prepare_ssh_keygen(launcher: Launcher, what: str) -> Program:
    """Prepare the program that something needs. Raises: NotFound; Refused."""
    program = launcher.find("ssh-keygen")
    if not program:
        hint = "Install OpenSSH's client; or sign by an Ed25519 key without a passphrase"
        raise NotFound("ssh-keygen-missing", f"{what} needs ssh-keygen, which is not on PATH", hint=hint)
    passed = {name: launcher.environ[name] for name in _PASSED if name in launcher.environ}
    return launcher.prepare((program,), {"PATH": _PATH, **passed})


def sign_with(program: Program, key: str, namespace: str, message: bytes) -> bytes:
    """Return the armored signature by a key file, or by the agent that has the private half of a `.pub` file.

    ssh-keygen stays in our group of processes, so that it can ask for a passphrase on the terminal.
    Raises: ClawftError with code `signing-failed`.
    """
    words = (*program.words, "-Y", "sign", "-f", key, "-n", namespace)
    try:
        done = subprocess.run(
            words,
            cwd=program.cwd,
            env=program.env,
            input=message,
            capture_output=True,
            timeout=SIGN_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ClawftError("signing-failed", f"ssh-keygen took more than {SIGN_S:.0f} seconds") from error
    except OSError as error:
        why = f"ssh-keygen cannot be started: {error.strerror}"
        raise ClawftError("signing-failed", why, path=words[0]) from error
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())[-300:] or "it does not say why"
        hint = "Check --key; for a .pub file the agent must hold the key: ssh-add -l"
        raise ClawftError("signing-failed", f"ssh-keygen did not sign: {said}", path=key, hint=hint)
    return done.stdout


def make_with_passphrase(program: Program, path: str, comment: str) -> None:
    """Make an Ed25519 key; ssh-keygen asks for its passphrase on the terminal. Raises: ClawftError."""
    words = (*program.words, "-q", "-t", "ed25519", "-f", path, "-C", comment)
    if subprocess.run(words, cwd=program.cwd, env=program.env, check=False).returncode:
        raise ClawftError("key-not-made", "ssh-keygen made no key", path=path)
