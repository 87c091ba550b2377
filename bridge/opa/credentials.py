"""Trust between a bridge and its OPA: a token for bundle requests, and a key that signs bundles.

A folder of credentials has three files: `token`, `signing-key.pem` (private), `verification-key.pem` (public).
"""

import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bridge.files import read_file, read_text
from bridge.opa.bundle import Bundle, BundleTrust, build_bundle

ROOT = "system/policy_bridge"
SHORTEST = 16  # characters of a token: the sum of a short one can be guessed


class TokenError(ValueError):
    """A file does not contain a valid token. The text has the cause, and never the token."""


def tokens_bundle(bridge: Iterable[str], readers: Iterable[str]) -> Bundle:
    """Return the bundle of accepted tokens: of the bridge, which may do anything, and of readers."""
    roles = dict.fromkeys(map(_sum, readers), "reader") | dict.fromkeys(map(_sum, bridge), "bridge")
    return build_bundle({}, {"system": {"policy_bridge": {"tokens": roles}}}, [ROOT])


def checked_token(text: str, shortest: int = SHORTEST) -> str:
    """Return a token without surrounding space. Raises TokenError for an invalid one."""
    token = text.strip()
    if len(token) < shortest:
        raise TokenError(f"a token has at least {shortest} characters, and this one has {len(token)}")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise TokenError("a token consists of printable ASCII characters without spaces")
    return token


def _sum(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


_REMEDY = "restore the files, or remove the folder, and give each OPA the new ones"
TOKEN, SIGNING_KEY, VERIFICATION_KEY = "token", "signing-key.pem", "verification-key.pem"


class CredentialsError(Exception):
    """A folder of credentials cannot be read or created: one line with the cause."""


@dataclass(frozen=True, slots=True)
class BundleCredentials:
    """OPA's token for the bridge, and the key with which the bridge signs bundles. `folder` is their source."""

    token: str = field(repr=False)
    key: ec.EllipticCurvePrivateKey = field(repr=False)
    folder: Path | None = None

    @property
    def trust(self) -> BundleTrust:
        """Return OPA's part: the path of the token if it is a file, and the public key."""
        public = _public_pem(self.key).decode()
        if self.folder is None:
            return BundleTrust(public_key=public, token=self.token)
        return BundleTrust(public_key=public, token_path=str(self.folder / TOKEN))


def new_credentials() -> BundleCredentials:
    """Return credentials for the lifetime of this process."""
    return BundleCredentials(secrets.token_urlsafe(32), ec.generate_private_key(ec.SECP256R1()))


def default_folder(name: str = "bundle") -> Path:
    """Return `policy-bridge/<name>` in `$XDG_STATE_HOME` or `~/.local/state`; raises CredentialsError without both."""
    if base := os.environ.get("XDG_STATE_HOME"):
        return Path(base) / "policy-bridge" / name
    try:
        return Path.home() / ".local" / "state" / "policy-bridge" / name
    except RuntimeError as error:
        raise CredentialsError(f"no home folder for credentials: set {name}_credentials to a folder") from error


def kept_credentials(folder: Path) -> BundleCredentials:
    """Return the credentials in a folder, created if the folder does not exist yet. Raises CredentialsError."""
    folder = folder.expanduser().absolute()
    try:
        if not folder.exists():
            _make(folder)
        token = checked_token(read_text(folder / TOKEN, "ascii"))
        key = serialization.load_pem_private_key(read_file(folder / SIGNING_KEY), None)
    except OSError as error:
        raise CredentialsError(f"credentials in {folder}: {error.filename}: {error.strerror}") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise CredentialsError(f"credentials in {folder} cannot be used: {error}; {_REMEDY}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise CredentialsError(f"credentials in {folder} have a key that is not of P-256; {_REMEDY}")
    return BundleCredentials(token, key, folder)


def _make(folder: Path) -> None:
    """Create the complete folder or none: another process may create the same one now."""
    made = new_credentials()
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))  # of mode 0700, like the folder
    try:
        private = made.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        for name, content in ((TOKEN, made.token.encode()), (SIGNING_KEY, private)):
            with os.fdopen(os.open(temporary / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
        (temporary / VERIFICATION_KEY).write_bytes(_public_pem(made.key))
        try:
            temporary.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _public_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
