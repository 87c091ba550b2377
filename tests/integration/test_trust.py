"""Certificates are verified: OPA's and the API server's. There is no way around it."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from bridge.kube.kube_client import KubeClient
from bridge.kube.kube_errors import Untrusted
from bridge.opa.address import TlsFiles
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaUnavailable
from bridge.replicator.replicator import Replicator
from tests.controlplane.credentials import write_kubeconfig
from tests.controlplane.plane import ControlPlane
from tests.eventually import eventually
from tests.integration.scripted import ScriptedSource
from tests.working import working

PATIENCE = 300.0


def _pair(folder: Path, name: str, authority: trustme.CA, *names: str) -> TlsFiles:
    made = authority.issue_cert(*names)
    made.cert_chain_pems[0].write_to_path(folder / f"{name}.crt")
    made.private_key_pem.write_to_path(folder / f"{name}.key")
    return TlsFiles(None, str(folder / f"{name}.crt"), str(folder / f"{name}.key"))


@dataclass
class Secured:
    """An OPA that speaks TLS, at two names for one port; `authority` has signed its certificate, for the first name."""

    url: str
    other_name: str
    authority: str
    stranger: str


@pytest.fixture
async def secured(opa_path: Path, tmp_path: Path, unused_tcp_port: int) -> AsyncIterator[Secured]:
    for name in ("authority", "stranger"):
        made = trustme.CA()
        made.cert_pem.write_to_path(tmp_path / f"{name}.crt")
        if name == "authority":
            files = _pair(tmp_path, "opa", made, "127.0.0.1")
    assert files.cert_file
    assert files.key_file
    with (tmp_path / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(opa_path, "run", "--server", f"--addr=127.0.0.1:{unused_tcp_port}", "--skip-version-check"),
            *("--tls-cert-file", files.cert_file, "--tls-private-key-file", files.key_file),
            stdout=log,
            stderr=log,
        )
    found = Secured(
        f"https://127.0.0.1:{unused_tcp_port}",
        f"https://localhost:{unused_tcp_port}",
        str(tmp_path / "authority.crt"),
        str(tmp_path / "stranger.crt"),
    )
    try:
        async with asyncio.timeout(PATIENCE), Opa(found.url, tls=TlsFiles(found.authority)) as opa:
            while not await opa.is_ready():
                assert process.returncode is None, (tmp_path / "log").read_text()
                await asyncio.sleep(0.05)
        yield found
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("authority", ["stranger", None])
async def test_an_opa_that_another_authority_has_signed_is_not_spoken_to(
    secured: Secured, authority: str | None
) -> None:
    files = TlsFiles(secured.stranger) if authority else None
    async with Opa(secured.url, tls=files, token="token-that-nobody-else-shall-have") as opa:
        with pytest.raises(OpaUnavailable) as caught:
            await opa.put("x", 1)
    said = str(caught.value)
    assert said.startswith(f"no trusted TLS connection to OPA at {secured.url}: ")
    assert "certificate verify failed" in said
    assert "opa_ca_file" in said
    assert "token" not in said


async def test_certificate_of_opa_is_trusted_without_its_authority_and_for_its_names_alone(secured: Secured) -> None:
    own = TlsFiles(str(Path(secured.authority).with_name("opa.crt")))
    async with Opa(secured.url, tls=own) as opa:
        assert await opa.is_ready()
    async with Opa(secured.other_name, tls=own) as opa:
        with pytest.raises(OpaUnavailable, match=r"(?i)hostname mismatch|not valid for"):
            await opa.get("x")


async def test_an_opa_of_another_name_is_not_spoken_to(secured: Secured) -> None:
    async with Opa(secured.other_name, tls=TlsFiles(secured.authority)) as opa:
        with pytest.raises(OpaUnavailable, match=r"(?i)hostname mismatch|not valid for"):
            await opa.get("x")


async def test_readiness_names_the_certificate_that_has_other_names(secured: Secured) -> None:
    async with Opa(secured.other_name, tls=TlsFiles(secured.authority)) as opa:
        replicator = Replicator(ScriptedSource(()), opa, ("core/Service",))
        async with working(replicator.run):
            await eventually(lambda: "write one of its names in the URL" in replicator.explain_unready())


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (TlsFiles("/no/such/ca.crt"), "/no/such/ca.crt cannot be used: No such file or directory"),
        (TlsFiles(__file__), "test_trust.py cannot be used"),
        (TlsFiles(None, "/no/such/client.crt", "/no/such/client.key"), "cannot be used: No such file or directory"),
    ],
)
def test_files_that_cannot_be_used_are_named(files: TlsFiles, said: str) -> None:
    with pytest.raises(OpaError, match=said):
        Opa("https://127.0.0.1:1", tls=files)


async def test_files_that_are_renewed_are_taken_up_by_new_connections(
    secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bridge.opa.address.CREDENTIALS", 0.0)
    ours = tmp_path / "ours.crt"
    ours.write_bytes(Path(secured.stranger).read_bytes())
    async with Opa(secured.url, tls=TlsFiles(str(ours))) as opa:
        with pytest.raises(OpaUnavailable):
            await opa.get("x")
        ours.write_text("no certificate")  # reported in the log; what was there counts on
        with pytest.raises(OpaUnavailable):
            await opa.get("x")
        ours.write_bytes(Path(secured.authority).read_bytes())
        await opa.put("x", 1)
        assert await opa.get("x") == 1


async def test_an_api_server_that_another_authority_has_signed_is_not_spoken_to(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    stranger = trustme.CA().cert_pem.bytes()
    path = write_kubeconfig(
        tmp_path / "kubeconfig", url=control_plane.url, token=control_plane.token, certificate_authority=stranger
    )
    async with await KubeClient.connect(path) as client:
        with pytest.raises(Untrusted) as caught:
            await client.get("/version")
    assert str(caught.value).startswith(f"no trusted TLS connection to {control_plane.url}: ")
    assert "certificate verify failed" in str(caught.value)
    assert control_plane.token not in str(caught.value)


def test_nothing_in_the_package_turns_the_verification_off() -> None:
    package = Path(__file__).parents[2] / "bridge"
    switches = ("CERT_NONE", "check_hostname = False", "ssl=False", "verify_ssl = False", "_create_unverified_context")
    for file in package.rglob("*.py"):
        text = file.read_text()
        assert not [switch for switch in switches if switch in text], file
    assert ssl.create_default_context().verify_mode is ssl.CERT_REQUIRED
