"""Which downloaded files are trusted: pinned and signed ones."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bridge.opa.executable import ToolError, cache_root
from hack.tools.building import ChecksumError
from hack.tools.catalog import TOOLS, Release, Signer
from hack.tools.finding import ensure_tool
from hack.tools.releases import download_executable
from tests.unit.tools.test_installing import GO
from tests.unit.tools.test_releases import PROGRAM, Site, site

__all__ = ["site"]  # a fixture

SIGNER = Signer("releaser@project.example", "https://accounts.example")
OTHER = b"#!/bin/sh\necho evil\n"
OPENSSL = shutil.which("openssl") or ""  # looked up before a test empties PATH

# Stands for cosign: it verifies a signature by its certificate, and the identity in that, as cosign does; whether
# the certificate is Sigstore's own, which cosign verifies too, cannot be tested without Sigstore.
COSIGN = """#!/bin/sh
set -eu
[ "$1" = verify-blob ] && [ "$2" = --signature ] && [ "$4" = --certificate ]
[ "$6" = --certificate-identity ] && [ "$8" = --certificate-oidc-issuer ] && [ "$9" = https://accounts.example ]
folder=${{3%/*}}
{openssl} base64 -d -A -in "$3" >"$folder/raw"
{openssl} base64 -d -A -in "$5" >"$folder/pem"
{openssl} x509 -in "$folder/pem" -noout -checkemail "$7" >&2
{openssl} x509 -in "$folder/pem" -noout -checkemail "$7" | /bin/grep -q "does match" || exit 1
{openssl} x509 -in "$folder/pem" -noout -pubkey >"$folder/key"
shift 9
{openssl} dgst -sha256 -verify "$folder/key" -signature "$folder/raw" "$1" >&2
"""


@pytest.fixture
def cosign(bare_machine: Path) -> None:
    """A `cosign` on PATH."""
    if not OPENSSL:
        pytest.skip("there is no openssl to verify signatures with")
    path = bare_machine / "cosign"
    path.write_text(COSIGN.format(openssl=OPENSSL))
    path.chmod(0o755)


def _sign(site: Site, release: Release, content: bytes, identity: str = SIGNER.identity) -> Release:
    """Put a signature up as Kubernetes has them: base64 of DER, and base64 of a certificate in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)
    name = x509.Name([])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + dt.timedelta(minutes=10))
        .add_extension(x509.SubjectAlternativeName([x509.RFC822Name(identity)]), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = release.url.removeprefix(site.url)
    site.files[f"{path}.sig"] = base64.b64encode(key.sign(content, ec.ECDSA(hashes.SHA256())))
    site.files[f"{path}.cert"] = base64.b64encode(certificate.public_bytes(serialization.Encoding.PEM))
    return replace(release, signer=SIGNER)


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_can_be_pinned(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    release = site.publish("file", PROGRAM)
    variable = f"{name.upper().replace('-', '_')}_SHA256"
    monkeypatch.setenv(variable, hashlib.sha256(PROGRAM).hexdigest().upper())
    download_executable(name, release, tmp_path)
    monkeypatch.setenv(variable, "ab" * 32)
    with pytest.raises(ChecksumError, match=f"but {variable} is {'ab' * 32}: not used"):
        download_executable(name, release, tmp_path)


def test_a_signed_file_is_verified(
    site: Site, tmp_path: Path, cosign: None, capsys: pytest.CaptureFixture[str]
) -> None:
    release = _sign(site, site.publish("kubectl", PROGRAM), PROGRAM)
    download_executable("kubectl", release, tmp_path)
    assert f"signed by {SIGNER.identity}" in capsys.readouterr().err


@pytest.mark.parametrize(("signed", "identity"), [(OTHER, SIGNER.identity), (PROGRAM, "thief@project.example")])
def test_a_file_that_is_not_signed_by_its_signer_is_refused(
    site: Site, tmp_path: Path, cosign: None, signed: bytes, identity: str
) -> None:
    release = _sign(site, site.publish("kubectl", PROGRAM), signed, identity)
    with pytest.raises(ChecksumError, match=f"is not signed by {SIGNER.identity}: not used"):
        download_executable("kubectl", release, tmp_path)
    assert list(tmp_path.glob("kubectl*")) == []


def test_without_cosign_only_the_digest_is_checked_and_reported(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    download_executable("kubectl", replace(site.publish("kubectl", PROGRAM), signer=SIGNER), tmp_path)
    assert "digest only: cosign is not on PATH to verify the signature" in capsys.readouterr().err
    download_executable("opa", site.publish("opa", PROGRAM), tmp_path)
    assert "digest only: the project publishes no signature of it" in capsys.readouterr().err


def test_kubernetes_is_what_has_a_signer() -> None:
    releases = {name: tool.release("linux-amd64") for name, tool in TOOLS.items()}
    assert {name for name, release in releases.items() if release and release.signer} == {"kube-apiserver", "kubectl"}


def test_a_pin_may_have_one_digest_for_each_platform(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPA_SHA256", f"{'ab' * 32} {hashlib.sha256(PROGRAM).hexdigest()}")
    assert download_executable("opa", site.publish("opa", PROGRAM), tmp_path) in os.environ["OPA_SHA256"]


def test_a_changed_release_stops_the_installation_and_go_builds_nothing_instead(
    site: Site, bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = bare_machine / "go"
    go.write_text(GO)
    go.chmod(0o755)
    monkeypatch.setenv("OPA_SHA256", "ab" * 32)
    release = site.publish("opa", PROGRAM)
    with pytest.raises(ChecksumError):
        ensure_tool(replace(TOOLS["opa"], release=lambda _: release))
    assert not (cache_root() / "go-calls").exists()
    with pytest.raises(ToolError, match="OPA_SHA256 pins the release's file, which a build by Go is not"):
        ensure_tool(replace(TOOLS["opa"], release=lambda _: None))


def test_go_goes_first_on_request(site: Site, bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = bare_machine / "go"
    go.write_text(GO)
    go.chmod(0o755)
    monkeypatch.setenv("BRIDGE_PREFER_GO", "1")
    release = site.publish("opa", b"#!/bin/sh\necho Version: 1.22.0\n")
    found = ensure_tool(replace(TOOLS["opa"], release=lambda _: release))
    assert found.source == "built by Go from github.com/open-policy-agent/opa@v1.22.0"
