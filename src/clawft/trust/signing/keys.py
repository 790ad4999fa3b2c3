"""Keys that sign: the user's own, a file, or one of an SSH agent; and signing a skill with one."""

import hashlib
import os
import shlex
import stat
import subprocess
from typing import TYPE_CHECKING

from msgspec import Struct

from clawft.errors import ClawftError, NotFound, Refused
from clawft.files import read_optional, read_regular, replace_file
from clawft.trust.programs import HostPrograms, PreparedProgram
from clawft.trust.signing.publishers import SKILL_SPACE, SkillStatement
from clawft.trust.signing.signatures import SIGNATURE_NAME
from clawft.trust.signing.sshsig import (
    ED25519,
    PublicKey,
    make_public_key,
    parse_private_key,
    parse_public_key,
    parse_signature,
    sign_ed25519,
    verify_signature,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


SIGN_S = 300.0  # the user may have to type a passphrase or touch a key
_PASSED = (  # what finds an agent, asks for a passphrase, or reaches a security key
    *("HOME", "USER", "LANG", "TERM", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"),
    *("SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "SSH_SK_PROVIDER"),
)
_PATH = "/usr/local/bin:/usr/bin:/bin"


def prepare_ssh_keygen(host_programs: HostPrograms, what: str) -> PreparedProgram:
    """Prepare the program that something needs. Raises: NotFound; Refused."""
    program = host_programs.find("ssh-keygen")
    if not program:
        hint = "Install OpenSSH's client; or sign by an Ed25519 key without a passphrase"
        raise NotFound("ssh-keygen-missing", f"{what} needs ssh-keygen, which is not on PATH", hint=hint)
    passed = {name: host_programs.environ[name] for name in _PASSED if name in host_programs.environ}
    return host_programs.prepare((program,), {"PATH": _PATH, **passed})


def sign_with(program: PreparedProgram, key: str, namespace: str, message: bytes) -> bytes:
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
        reason = " ".join(done.stderr.decode(errors="replace").split())[-300:] or "it does not say why"
        hint = "Check --key; for a .pub file the agent must hold the key: ssh-add -l"
        raise ClawftError("signing-failed", f"ssh-keygen did not sign: {reason}", path=key, hint=hint)
    return done.stdout


def make_with_passphrase(program: PreparedProgram, path: str, comment: str) -> None:
    """Make an Ed25519 key; ssh-keygen asks for its passphrase on the terminal. Raises: ClawftError."""
    words = (*program.words, "-q", "-t", "ed25519", "-f", path, "-C", comment)
    if subprocess.run(words, cwd=program.cwd, env=program.env, check=False).returncode:
        raise ClawftError("key-not-made", "ssh-keygen made no key", path=path)


MAX_BYTES = 64 << 10
_SSH_NAMES = ("id_ed25519", "id_ed25519_sk", "id_ecdsa", "id_ecdsa_sk", "id_rsa")


class Signer(Struct, frozen=True):
    """A key that can sign. `program` is the ssh-keygen that does it; None where we do."""

    path: str
    key: PublicKey
    program: PreparedProgram | None = None

    def sign(self, namespace: str, message: bytes) -> str:
        """The armored signature, verified once more. Raises: ClawftError."""
        if not self.program:
            return sign_ed25519(_load_private(self.path), namespace, message)
        signature = parse_signature(sign_with(self.program, self.path, namespace, message))
        holds = verify_signature(signature, message)
        if signature.key != self.key or signature.namespace != namespace or not holds:
            raise ClawftError("signing-failed", "ssh-keygen signed something else, or by another key", path=self.path)
        return signature.text


def own_key_path(user_dir: str) -> str:
    """Return the path of the user's own key; its public half ends in `.pub`."""
    return os.path.join(user_dir, "keys", "signing")


def find_own_key(user_dir: str) -> PublicKey | None:
    """The public half of our own key, if there is one. Raises: ClawftError."""
    path = own_key_path(user_dir)
    content = read_optional(path, MAX_BYTES)
    try:
        return None if content is None else parse_private_key(content)[0]
    except ClawftError as error:
        message = "Your signing key is damaged: skills that it signed stay so, and no new one can be"
        hint = "Restore it from a backup; or move it away, make another, and give it to who trusts you"
        raise ClawftError(error.code, message, path=path, hint=f"{hint}: weft publishers key --make") from error


def find_ssh_key(home: str) -> str:
    """The key that ssh would take first. Raises: NotFound."""
    for name in _SSH_NAMES:
        path = os.path.join(home, ".ssh", name)
        if os.path.isfile(f"{path}.pub") or os.path.isfile(path):
            return path if os.path.isfile(path) else f"{path}.pub"
    raise NotFound("key-not-found", "There is no key of yours in ~/.ssh", hint="Make one: ssh-keygen -t ed25519")


def make_own_key(user_dir: str, host_programs: HostPrograms, comment: str, *, passphrase: bool) -> PublicKey:
    """Make our own key; one that is there stays. ssh-keygen asks for the passphrase, if there is to be one.

    Raises: ClawftError.
    """
    path = own_key_path(user_dir)
    if os.path.lexists(path):
        raise Refused("key-exists", "There is a key already, and what it signed needs it", path=path)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if passphrase:
            make_with_passphrase(prepare_ssh_keygen(host_programs, "A key with a passphrase"), path, comment)
        else:
            _write_key(path, comment)
    except OSError as error:
        raise ClawftError("key-not-made", f"The key cannot be written: {error.strerror}", path=path) from error
    made = find_own_key(user_dir)
    if made is None:
        raise ClawftError("key-not-made", "The key does not stay where it was written", path=path)
    return made


def replace_own_key(user_dir: str, host_programs: HostPrograms, comment: str, *, passphrase: bool) -> str:
    """Make another key of our own; where the one that was there is kept now, to vouch for it. Raises: ClawftError."""
    path, old = own_key_path(user_dir), find_own_key(user_dir)
    if old is None:
        raise NotFound("key-not-found", "There is no key of yours to replace", hint="Run: weft publishers key --make")
    old_path = f"{path}-{hashlib.sha256(old.blob).hexdigest()[:12]}"
    moves = [(f"{path}{end}", f"{old_path}{end}") for end in ("", ".pub") if os.path.lexists(f"{path}{end}")]
    for here, there in moves:
        os.rename(here, there)
    try:
        make_own_key(user_dir, host_programs, comment, passphrase=passphrase)
    except BaseException:
        for here, there in moves:
            os.replace(there, here)
        raise
    return old_path


def _write_key(path: str, comment: str) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    content = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(content)
    public = make_public_key(private.public_key().public_bytes_raw())
    replace_file(f"{path}.pub", f"{public.line} {comment}\n".encode(), 0o644)


def open_signer(path: str, host_programs: HostPrograms, *, ssh: bool = False) -> Signer:
    """The key of a file, or of a `.pub` file whose private half an agent holds; `ssh`: ssh-keygen signs in any case.

    Raises: ClawftError.
    """
    try:
        content, status = read_regular(path, MAX_BYTES, follow=True)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound("key-not-found", "There is no such key", path=path, hint="Check --key") from None
    if content.startswith(b"-----BEGIN "):
        if stat.S_IMODE(status.st_mode) & 0o077 or status.st_uid not in (os.geteuid(), 0):
            hint = f"If nobody did: chmod 600 {shlex.quote(path)}; else make a new one, and revoke this one"
            raise Refused("key-exposed", "Others may read or change this key", path=path, hint=hint)
        key, closed = _read_private(path, content)
        if key.kind == ED25519 and not closed and not ssh:
            return Signer(path, key)
    else:
        key = parse_public_key(content.decode("ascii", errors="replace"))
    return Signer(path, key, prepare_ssh_keygen(host_programs, "Signing by this key"))


def _read_private(path: str, content: bytes) -> tuple[PublicKey, bool]:
    """The public half, which older formats have in a file of its own."""
    public_content = (
        None if b"OPENSSH PRIVATE" in content[:64] else read_optional(f"{path}.pub", MAX_BYTES, follow=True)
    )
    if public_content is None:
        return parse_private_key(content)
    return parse_public_key(public_content.decode("ascii", errors="replace")), True


def _load_private(path: str) -> "Ed25519PrivateKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    try:
        private = load_ssh_private_key(read_regular(path, MAX_BYTES, follow=True)[0], None)
    except (ValueError, TypeError) as error:
        raise ClawftError("key-format", "The key cannot be read", path=path) from error
    assert isinstance(private, Ed25519PrivateKey)
    return private


def sign_skill(folder: str, statement: SkillStatement, signer: Signer) -> str:
    """Write the signature of a skill; where. Raises: ClawftError."""
    path = os.path.join(folder, SIGNATURE_NAME)
    armor = signer.sign(SKILL_SPACE, statement.text)
    try:
        replace_file(path, armor.encode(), 0o644)
    except OSError as error:
        raise ClawftError("not-written", f"The signature was not written: {error.strerror}", path=path) from error
    return path
