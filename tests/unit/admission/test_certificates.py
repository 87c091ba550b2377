import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme
from aiohttp import web
from cryptography import x509
from structlog.testing import capture_logs

from bridge.admission import certificates as module
from bridge.admission.certificates import CertificateError, Certificates, Clients, create_certificate
from bridge.http import listeners
from bridge.http.bodies import is_verified
from bridge.http.listeners import serving
from bridge.settings.model import Settings
from bridge.sidecar.webhook import TLS_VERSIONS
from tests.eventually import eventually

AUTHORITY = trustme.CA()


def test_created_certificate_is_trusted_by_its_authority_for_the_names(tmp_path: Path) -> None:
    files = create_certificate(["policy-bridge.infra.svc", "127.0.0.1"], tmp_path)
    served = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    names = served.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(map(str, [one.value for one in names])) == ["policy-bridge.infra.svc", "127.0.0.1"]
    served.verify_directly_issued_by(x509.load_pem_x509_certificate(files.authority))
    assert files.key.stat().st_mode & 0o077 == 0
    Certificates(files.certificate, files.key).load()


@asynccontextmanager
async def served(certificates: Certificates) -> AsyncIterator[int]:
    async def echo(request: web.Request) -> web.StreamResponse:
        return web.Response(text=f"{is_verified(request)} {request.remote}")

    app = web.Application()
    app.router.add_get("/", echo)
    async with serving(app, "127.0.0.1:0", "--webhook-listen", certificates, shutdown_timeout=0.1) as url:
        yield int(url.rpartition(":")[2])


async def connect(
    port: int, authority: trustme.CA, own: tuple[Path, Path] | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    context = ssl.create_default_context(cadata=authority.cert_pem.bytes().decode())
    if own:
        context.load_cert_chain(*own)
    return await asyncio.open_connection("127.0.0.1", port, ssl=context)


async def ask(streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> str:
    """What is answered by this connection; empty where it is closed."""
    reader, writer = streams
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split()[0])
        return (await reader.readexactly(length)).decode()
    except (OSError, asyncio.IncompleteReadError):
        return ""


async def answered(port: int, own: tuple[Path, Path] | None = None) -> str:
    """What a new connection with this client certificate is answered."""
    try:
        streams = await connect(port, AUTHORITY, own)
    except OSError:
        return ""
    said = await ask(streams)
    streams[1].close()
    with contextlib.suppress(OSError):
        await streams[1].wait_closed()
    return said


def write(folder: Path, pair: trustme.LeafCert) -> tuple[Path, Path]:
    folder.mkdir(exist_ok=True)
    pair.cert_chain_pems[0].write_to_path(folder / "tls.crt")
    pair.private_key_pem.write_to_path(folder / "tls.key")
    return folder / "tls.crt", folder / "tls.key"


async def test_another_certificate_is_taken_up_while_connections_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FILES", 0.02)
    other = trustme.CA()
    files = write(tmp_path, AUTHORITY.issue_cert("127.0.0.1"))
    certificates = Certificates(*files)
    certificates.load()
    following = asyncio.create_task(certificates.follow())
    async with served(certificates) as port:
        old = await connect(port, AUTHORITY)
        other.issue_cert("127.0.0.1").private_key_pem.write_to_path(tmp_path / "tls.key")  # a half of the next pair
        await asyncio.sleep(0.2)
        again = await connect(port, AUTHORITY)
        write(tmp_path, other.issue_cert("127.0.0.1"))
        async with asyncio.timeout(300):
            while True:
                try:
                    new = await connect(port, other)
                    break
                except ssl.SSLCertVerificationError:
                    await asyncio.sleep(0.05)
        assert await ask(old) == "False 127.0.0.1"
        for _, writer in (old, again, new):
            writer.close()
            await writer.wait_closed()
    following.cancel()


def test_files_that_cannot_be_used_are_reported(tmp_path: Path) -> None:
    files = write(tmp_path, AUTHORITY.issue_cert("127.0.0.1"))
    (tmp_path / "nonsense").write_text("nonsense")
    with pytest.raises(CertificateError, match="no matching certificate and key"):
        Certificates(tmp_path / "nonsense", files[1]).load()
    with pytest.raises(CertificateError, match=r"gone: No such file"):
        Certificates(tmp_path / "gone", files[1]).load()
    with pytest.raises(CertificateError, match="no certificates in PEM"):
        Certificates(*files, Clients(tmp_path / "nonsense")).load()


def client(folder: Path, authority: trustme.CA, name: str) -> tuple[Path, Path]:
    """The files of a client's certificate."""
    return write(folder, authority.issue_cert(common_name=name))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FILES", 0.02)
    monkeypatch.setattr(listeners, "LOG_PERIOD", 0.0)


@pytest.mark.usefixtures("quick")
async def test_only_clients_with_a_certificate_of_the_authority_and_a_name_are_answered(tmp_path: Path) -> None:
    server = write(tmp_path, AUTHORITY.issue_cert("127.0.0.1"))
    ours, other = trustme.CA(), trustme.CA()
    ours.cert_pem.write_to_path(tmp_path / "clients.crt")
    certificates = Certificates(*server, Clients(tmp_path / "clients.crt", ("kube-apiserver", "front")))
    certificates.load()
    async with served(certificates) as port:
        with capture_logs() as logs:
            assert await answered(port) == ""
            assert await answered(port, client(tmp_path / "a", other, "kube-apiserver")) == ""
            assert await answered(port, client(tmp_path / "b", ours, "kubelet")) == ""
            assert await answered(port, client(tmp_path / "c", ours, "kube-apiserver")) == "True 127.0.0.1"
    assert [(line["event"], line["why"]) for line in logs] == [
        ("client certificate refused", "the client sent no certificate"),
        ("client certificate refused", "unable to get local issuer certificate"),
        ("client certificate refused", "the common name is 'kubelet', and 'kube-apiserver' or 'front' is expected"),
    ]


@pytest.mark.usefixtures("quick")
async def test_another_authority_of_clients_is_taken_up(tmp_path: Path) -> None:
    server = write(tmp_path, AUTHORITY.issue_cert("127.0.0.1"))
    before, after = trustme.CA(), trustme.CA()
    before.cert_pem.write_to_path(tmp_path / "clients.crt")
    certificates = Certificates(*server, Clients(tmp_path / "clients.crt"))
    certificates.load()
    following = asyncio.create_task(certificates.follow())
    files = client(tmp_path / "a", before, "a"), client(tmp_path / "b", after, "b")
    async with served(certificates) as port:
        assert [bool(await answered(port, one)) for one in files] == [True, False]
        after.cert_pem.write_to_path(tmp_path / "clients.crt")
        await eventually(lambda: answered(port, files[1]))
        assert not await answered(port, files[0])
    following.cancel()


async def test_refusals_are_logged_now_and_then(tmp_path: Path) -> None:
    server = write(tmp_path, AUTHORITY.issue_cert("127.0.0.1"))
    AUTHORITY.cert_pem.write_to_path(tmp_path / "clients.crt")
    certificates = Certificates(*server, Clients(tmp_path / "clients.crt"))
    certificates.load()
    async with served(certificates) as port:
        with capture_logs() as logs:
            for _ in range(5):
                assert await answered(port) == ""
    assert [line["event"] for line in logs] == ["client certificate refused"]


async def test_tls_1_3_is_spoken_by_default_and_1_2_where_it_is_set(tmp_path: Path) -> None:
    server = write(tmp_path, AUTHORITY.issue_cert("127.0.0.1"))
    old = ssl.create_default_context(cadata=AUTHORITY.cert_pem.bytes().decode())
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    certificates = Certificates(*server)  # without settings
    for settings, spoken in [(None, False), (Settings(), False), (Settings(webhook_tls_min_version="TLSv1.2"), True)]:
        if settings is not None:
            minimum = TLS_VERSIONS[settings.webhook_tls_min_version]
            certificates = Certificates(*server, minimum_version=minimum)
        certificates.load()
        async with served(certificates) as port:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=old)
            except OSError:
                assert not spoken
            else:
                assert spoken
                writer.close()
                await writer.wait_closed()
