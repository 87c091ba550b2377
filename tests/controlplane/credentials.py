"""Credentials of a control plane that lives for a test run: the key that signs its tokens, and kubeconfig files."""

import base64
import json
import secrets
from pathlib import Path

_P256 = bytes.fromhex("06082a8648ce3d030107")  # the object identifier of the curve P-256 in DER
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def new_signing_key() -> str:
    """A private key on P-256 in the form of RFC 5915, as PEM. Go derives the public half itself."""
    number = (secrets.randbelow(_ORDER - 1) + 1).to_bytes(32, "big")
    body = _der(0x02, b"\x01") + _der(0x04, number) + _der(0xA0, _P256)
    text = base64.encodebytes(_der(0x30, body)).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{text}-----END EC PRIVATE KEY-----\n"


def write_kubeconfig(path: Path, *, url: str, token: str, certificate_authority: bytes) -> Path:
    """A kubeconfig (as JSON, which is YAML) with one context, named `test`."""
    cluster = {"server": url, "certificate-authority-data": base64.b64encode(certificate_authority).decode()}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "default"}}],
    }
    path.write_text(json.dumps(config, indent=2))
    path.chmod(0o600)
    return path


def _der(tag: int, content: bytes) -> bytes:
    return bytes([tag, len(content)]) + content  # all contents here are shorter than 128 bytes
