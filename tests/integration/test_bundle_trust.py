"""Which clients get the bundle, and which bundle OPA accepts."""

import asyncio
import functools
import io
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bridge.http.bundles import BundleEndpoint, BundleGuard, sign_bundle
from bridge.http.request_guard import WrongTokens
from bridge.opa.bundle import (
    BUNDLE_NAME,
    BUNDLE_PATH,
    Bundle,
    archive_of,
    build_bundle,
    build_view_bundle,
    edge_config,
    opa_config,
)
from bridge.opa.client import BundleStatus, Opa
from bridge.opa.credentials import BundleCredentials, CredentialsError, kept_credentials, new_credentials
from bridge.opa.process import ManagedOpa

# What JSON may hold: Go writes some characters differently from other encoders, and sorts keys by bytes.
ODD = "".join(map(chr, [*range(0x300), 0x2028, 0x2029, 0xE000, 0xFFFD, 0xFFFF, 0x1F600]))
DATA = {
    "odd": {"text": ODD, "<>&": 1, "\ue000": 2, "\U0001f600": 3, "a\u2028": 4, "\x7f": "\x7f"},
    "numbers": [1, 1.5, 1e300, -0.0, 2**63, 1e-7, 1.0, None, True],
    "empty": [{}, [], ""],
}


def numbered(number: int) -> Bundle:
    return build_bundle({"a/b.rego": f"package a.b\n\nx := {number}\n"}, DATA, ["a", *DATA])


@asynccontextmanager
async def serving(
    credentials: BundleCredentials, scope: str = BUNDLE_NAME
) -> AsyncIterator[tuple[BundleEndpoint, str]]:
    endpoint = BundleEndpoint(BUNDLE_PATH, functools.partial(sign_bundle, credentials.key, scope), numbered(1))
    app = web.Application()
    endpoint.add_to(
        app, BundleGuard(lambda given: given == credentials.token, WrongTokens("bundle"), "for OPA only", local=True)
    )
    async with TestServer(app) as server:
        yield endpoint, str(server.make_url(""))


async def _status(opa: Opa) -> BundleStatus:
    async with asyncio.timeout(300):
        while True:
            status = await opa.bundle_status()
            if status is not None and (status.active_revision or status.code):
                return status
            await asyncio.sleep(0.05)


async def test_opa_accepts_a_bundle_of_any_data_that_the_bridge_has_signed(opa_path: Path) -> None:
    credentials = new_credentials()
    async with (
        serving(credentials) as (endpoint, url),
        ManagedOpa(opa_path, opa_config(url, credentials.trust)) as managed,
        Opa(managed.url) as opa,
    ):
        assert (await _status(opa)).active_revision == numbered(1).revision
        assert await opa.get("odd/text") == ODD
        async with asyncio.timeout(300):
            await endpoint.serve_next(numbered(2))
            await endpoint.wait_until_taken(numbered(2).revision)
        assert await opa.get("a/b/x") == 2


@pytest.mark.parametrize("forged", ["key", "scope", "content", "missing"])
async def test_opa_refuses_a_bundle_that_the_bridge_has_not_signed(opa_path: Path, forged: str) -> None:
    credentials = new_credentials()
    async with serving(credentials, "policy-bridge-tokens" if forged == "scope" else BUNDLE_NAME) as (endpoint, url):
        signed = endpoint._archive
        changed = {**numbered(1).files, "a/b.rego": b"package a.b\n\nx := 666\n"}
        match forged:
            case "key":
                endpoint._content = sign_bundle(new_credentials().key, BUNDLE_NAME, numbered(1))
            case "missing":
                endpoint._content = numbered(1).content
            case "content":
                endpoint._content = _with_signature_of(signed(numbered(1)), changed)
        async with (
            ManagedOpa(opa_path, opa_config(url, credentials.trust)) as managed,
            Opa(managed.url) as opa,
        ):
            status = await _status(opa)
            assert (status.active_revision, status.code) == ("", "bundle_error")
            assert await opa.get("a") is None


VIEW = build_view_bundle(numbered(1), {"objects": DATA, "index": {}}, "shop", "2026-01-01T00:00:00Z")


async def test_opa_accepts_the_bundle_of_a_view_with_any_objects(opa_path: Path) -> None:
    credentials = new_credentials()
    async with serving(credentials, "shop") as (endpoint, url):
        await endpoint.serve_next(VIEW)
        config = edge_config(url, credentials.trust, "shop")
        config["bundles"][BUNDLE_NAME] |= {"resource": BUNDLE_PATH, "persist": False}
        async with ManagedOpa(opa_path, config) as managed, Opa(managed.url) as opa:
            assert (await _status(opa)).active_revision == VIEW.revision
            assert await opa.get("objects/odd/text") == ODD
            assert await opa.get("bridge_view/revision") == VIEW.revision


@pytest.mark.parametrize(
    ("file", "text"),
    [("objects/data.json", "1.5"), ("bridge_view/data.json", "shop"), (".manifest", VIEW.revision), ("a/b.rego", "1")],
)
async def test_opa_refuses_the_bundle_of_a_view_with_another_file(opa_path: Path, file: str, text: str) -> None:
    credentials = new_credentials()
    async with serving(credentials, "shop") as (endpoint, url):
        await endpoint.serve_next(VIEW)
        changed = {**VIEW.files, file: VIEW.files[file].replace(text.encode(), b"2")}
        assert changed != VIEW.files
        endpoint._content = _with_signature_of(endpoint._content, changed)
        config = edge_config(url, credentials.trust, "shop")
        config["bundles"][BUNDLE_NAME] |= {"resource": BUNDLE_PATH, "persist": False}
        async with ManagedOpa(opa_path, config) as managed, Opa(managed.url) as opa:
            status = await _status(opa)
            assert (status.active_revision, status.code) == ("", "bundle_error")
            assert await opa.get("objects") is None


def _with_signature_of(archive: bytes, files: dict[str, bytes]) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(archive)) as found:
        stream = found.extractfile(".signatures.json")
        assert stream is not None
        return archive_of({**files, ".signatures.json": stream.read()})


async def test_a_request_without_the_token_gets_no_bundle_and_changes_nothing() -> None:
    credentials = new_credentials()
    right = {"Authorization": f"Bearer {credentials.token}"}
    async with serving(credentials) as (endpoint, url), aiohttp.ClientSession() as session:
        starts: list[int] = []
        endpoint.on_fresh_start(lambda: starts.append(1))
        refused: list[tuple[dict[str, str], int]] = [
            ({}, 401),
            ({"If-None-Match": f'"{numbered(1).revision}"'}, 401),
            ({"Authorization": "Bearer wrong"}, 401),
            ({**right, "Host": "rebound.example"}, 421),
            ({**right, "Origin": "http://rebound.example"}, 403),
            ({**right, "Sec-Fetch-Site": "cross-site"}, 403),
        ]
        for headers, status in refused:
            async with session.get(f"{url}{BUNDLE_PATH}", headers=headers) as answer:
                assert answer.status == status
                assert "package" not in await answer.text()
        assert (starts, endpoint.handed_revision, endpoint._confirmed) == ([], "", "")
        async with session.get(f"{url}{BUNDLE_PATH}", headers=right) as answer:
            assert answer.status == 200
        assert (starts, endpoint.handed_revision) == ([1], numbered(1).revision)


async def test_opa_shows_neither_the_token_nor_the_key(opa_path: Path) -> None:
    credentials = new_credentials()
    async with (
        serving(credentials) as (_, url),
        ManagedOpa(opa_path, opa_config(url, credentials.trust)) as managed,
        Opa(managed.url) as opa,
    ):
        shown = msgspec.json.encode(await opa.config()).decode()
    assert "policy-bridge" in shown
    assert credentials.token not in shown
    assert "BEGIN" not in shown


def test_kept_credentials_stay_the_same_and_are_readable_for_one_user_alone(tmp_path: Path) -> None:
    made = kept_credentials(tmp_path / "state" / "bundle")
    found = kept_credentials(tmp_path / "state" / "bundle")
    assert (made.token, made.trust) == (found.token, found.trust)
    assert len(made.token) >= 32
    assert (tmp_path / "state" / "bundle").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("token", ""),
        ("token", "one-token-of-two-lines\nanother-one"),
        ("signing-key.pem", "no key"),
        ("signing-key.pem", None),
    ],
)
def test_damaged_credentials_are_an_error_that_names_the_folder(tmp_path: Path, file: str, content: str | None) -> None:
    folder = tmp_path / "bundle"
    kept_credentials(folder)
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(content)
    with pytest.raises(CredentialsError, match=str(folder)):
        kept_credentials(folder)
