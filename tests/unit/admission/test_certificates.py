from __future__ import annotations

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bridge.admission import certificates as module
from bridge.admission.certificates import CertificateError, Certificates, Pair, read_files
from bridge.admission.issuing import AUTHORITY_DAYS, SERVER_DAYS, new_authority, new_server, serves

NOW = dt.datetime.now(dt.UTC)
AUTHORITY = new_authority(NOW)


def test_a_certificate_serves_its_names_until_a_third_of_its_life_is_left() -> None:
    pair = new_server(AUTHORITY, ["policy-bridge.infra.svc", "127.0.0.1"], NOW)
    assert serves(pair.certificate, ["127.0.0.1"], NOW)
    assert not serves(pair.certificate, ["127.0.0.1", "other.infra.svc"], NOW)
    assert not serves(pair.certificate, ["127.0.0.1"], NOW + dt.timedelta(days=SERVER_DAYS * 0.7))
    assert not serves(b"", ["127.0.0.1"], NOW)
    assert not serves(AUTHORITY.certificate, ["127.0.0.1"], NOW)
    assert AUTHORITY_DAYS > 2 * SERVER_DAYS


def test_what_is_no_authority_of_ours_signs_nothing() -> None:
    with pytest.raises(ValueError, match=r".+"):
        new_server(Pair(b"", b""), ["127.0.0.1"], NOW)


@asynccontextmanager
async def serving(certificates: Certificates) -> AsyncIterator[int]:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=certificates.context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def connect(port: int, authority: Pair) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    return await asyncio.open_connection("127.0.0.1", port, ssl=context)


def write(folder: Path, pair: Pair) -> tuple[Path, Path]:
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    return folder / "tls.crt", folder / "tls.key"


async def test_another_certificate_is_taken_up_while_connections_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK", 0.02)
    other = new_authority(NOW)
    files = write(tmp_path, new_server(AUTHORITY, ["127.0.0.1"], NOW))
    certificates = Certificates(read_files(*files), "the files")
    await certificates.first()
    following = asyncio.create_task(certificates.follow())
    async with serving(certificates) as port:
        reader, writer = await connect(port, AUTHORITY)
        (tmp_path / "tls.key").write_bytes(new_server(other, ["127.0.0.1"], NOW).key)  # a half of the next pair
        await asyncio.sleep(0.2)
        _, again = await connect(port, AUTHORITY)
        write(tmp_path, new_server(other, ["127.0.0.1"], NOW))
        async with asyncio.timeout(60):
            while True:
                try:
                    _, new = await connect(port, other)
                    break
                except ssl.SSLCertVerificationError:
                    await asyncio.sleep(0.05)
        writer.write(b"still here\n")
        assert await reader.readline() == b"still here\n"
        for one in (writer, again, new):
            one.close()
            await one.wait_closed()
    following.cancel()


async def test_files_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    files = write(tmp_path, Pair(b"x", b"y"))
    with pytest.raises(CertificateError, match="no certificate and key that fit"):
        await Certificates(read_files(*files), "the files").first()
    with pytest.raises(CertificateError, match=r"gone: No such file"):
        await Certificates(read_files(tmp_path / "gone", files[1]), "the files").first()
