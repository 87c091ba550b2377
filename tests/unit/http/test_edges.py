"""Reports of edges, which may send anything: what is kept of one is short, and none fails."""

import asyncio
import base64
import io
import json
import sys
import tarfile
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from yarl import URL

from bridge.destinations.urls import place_of
from bridge.http import edges as module
from bridge.http.edges import Edge, Edges, Published
from bridge.http.request_guard import LOGGED_PEERS
from bridge.opa.bundle import build_bundle, edge_config
from bridge.policy_loader.reporter import utc_ago
from bridge.settings.model import Settings
from tests.bundle_trust import shared_trust

PUBLIC, INTERNAL = "a-token-of-the-public-view", "a-token-of-the-internal-view"


@asynccontextmanager
async def listening(folder: Path) -> AsyncIterator[tuple[Edges, URL]]:
    """A listener of two views whose edges have tokens of their own."""
    (folder / "tokens").mkdir()
    for view, token in (("infra.public", PUBLIC), ("infra.internal", INTERNAL)):
        (folder / "tokens" / view).write_text(token)
    publish = ("Gateway/infra/public", "Gateway/infra/internal")
    edges = Edges(
        Settings(publish=publish, publish_credentials=str(folder / "hub"), publish_tokens=str(folder / "tokens"))
    )
    app = web.Application()
    edges.add_to(app)
    async with TestServer(app) as server:
        yield edges, server.make_url("/")


def reports_of(edges: Edges, view: str) -> dict[str, Edge]:
    """The last reports of the edges with a token of a view, by their ids."""
    return {id_: edge for (name, _), known in edges.reports.items() if name == view for id_, edge in known.items()}


async def send_report(url: URL, token: str, view: str, identity: str = "one") -> int:
    """Send a report of an edge of this view; return the status."""
    body = {"labels": {"id": identity, "view": view}, "bundles": {"policy-bridge": {"active_revision": "1"}}}
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.post(url.with_path("/status"), json=body) as answer,
    ):
        return answer.status


async def test_edge_reports_only_as_one_of_a_view_of_its_token(tmp_path: Path) -> None:
    async with listening(tmp_path) as (edges, url):
        assert await send_report(url, INTERNAL, "infra.internal") == 200
        known = reports_of(edges, "infra.internal")["one"]
        assert await send_report(url, PUBLIC, "infra.internal") == 200
        assert reports_of(edges, "infra.internal") == {"one": known}
        [shown] = reports_of(edges, "infra.public").values()
        assert (shown.view, shown.revision) == ("infra.public", "")
        assert shown.error == "it is configured for the view infra.internal, of which it has no token"
        assert await send_report(url, "wrong", "infra.public") == 401


async def test_edges_of_one_view_do_not_displace_those_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_EDGES", 5)
    async with listening(tmp_path) as (edges, url):
        await send_report(url, INTERNAL, "infra.internal")
        for number in range(20):
            await send_report(url, PUBLIC, "infra.public", str(number))
        await send_report(url, PUBLIC, "a-view-that-is-gone", "last")
        assert list(reports_of(edges, "infra.internal")) == ["one"]
        assert list(reports_of(edges, "infra.public")) == ["17", "18", "19", "last"]


async def test_edge_reports_for_itself_alone_beside_another_with_its_id_and_view(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_EDGES", 5)
    neighbor = "a-neighbor-of-the-public-edge"
    async with listening(tmp_path) as (edges, url):
        (tmp_path / "tokens" / "infra.public").write_text(f"{PUBLIC}\n{neighbor}\n")
        edges._reread = 0.0
        await send_report(url, neighbor, "infra.public", "one")
        [(_, theirs)] = edges.reports
        known = dict(edges.reports["infra.public", theirs])
        for identity in ("one", *map(str, range(20))):
            await send_report(url, PUBLIC, "infra.public", identity)
        assert edges.reports["infra.public", theirs] == known
        assert sum(map(len, edges.reports.values())) == 5


async def test_changed_tokens_count_soon_and_unreadable_ones_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FILES", 0.0)
    async with listening(tmp_path) as (_, url):
        file = tmp_path / "tokens" / "infra.public"
        file.write_text("another-token-of-the-public-view")
        assert await send_report(url, PUBLIC, "infra.public") == 401
        assert await send_report(url, "another-token-of-the-public-view", "infra.public") == 200
        file.write_text("short")
        assert await send_report(url, "another-token-of-the-public-view", "infra.public") == 200
        file.unlink()
        assert await send_report(url, "another-token-of-the-public-view", "infra.public") == 401


async def test_edges_are_counted_by_state_and_forgotten_after_an_hour(tmp_path: Path) -> None:
    async with listening(tmp_path) as (edges, url):
        edges.published["infra.public"] = Published("infra.public", "1", utc_ago(120))
        for identity in ("current", "behind", "failing", "silent", "gone"):
            await send_report(url, PUBLIC, "infra.public", identity)
        await send_report(url, PUBLIC, "a-view-that-is-gone", "other")
        [known] = edges.reports.values()
        for identity, change in {
            "behind": {"revision": "0"},
            "failing": {"error": "scope mismatch"},
            "silent": {"reported": utc_ago(301), "error": "scope mismatch"},
        }.items():
            known[identity] = msgspec.structs.replace(known[identity], **change)
        [key] = edges.reports
        edges.reports[key] = {
            "gone": msgspec.structs.replace(known.pop("gone"), reported=utc_ago(3601)),
            **known,
        }
        assert {state: number for state, number in edges.count().items() if number} == {
            ("infra.public", "current"): 2,
            ("infra.public", "behind"): 1,
            ("infra.public", "failing"): 1,
            ("infra.public", "silent"): 1,
        }
        assert "gone" not in reports_of(edges, "infra.public")
        edges.published["infra.public"] = Published("infra.public", "2", utc_ago(1))
        assert edges.count()["infra.public", "behind"] == 0


async def test_edge_that_is_stuck_is_behind_also_while_newer_revisions_follow_each_other(tmp_path: Path) -> None:
    async with listening(tmp_path) as (edges, url):
        for revision, seconds in (("1", 200), ("2", 100), ("3", 0)):
            edges.published["infra.public"] = Published("infra.public", revision, utc_ago(seconds))
            await send_report(url, PUBLIC, "infra.public")
        assert edges.count()["infra.public", "behind"] == 1
        edges.published["infra.public"] = Published("infra.public", "1", utc_ago(0))
        await send_report(url, PUBLIC, "infra.public")
        assert reports_of(edges, "infra.public")["one"].behind == ""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8")
async def test_10_000_edges_with_wrong_tokens_leave_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with listening(tmp_path) as (edges, url):
        tracemalloc.start()

        async def try_all(first: int) -> int:
            """Send requests from 1,000 addresses, each with other tokens, views and names."""
            for number in range(first, first + 1_000):
                source = f"127.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
                reader, writer = await asyncio.open_connection(url.host, url.port, local_addr=(source, 0))
                for line in (f"GET /bundles/{number}.tar.gz", "GET /bundles/infra.public.tar.gz", "POST /status"):
                    head = f"{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong-{number}\r\n"
                    writer.write(f"{head}Content-Length: 0\r\n\r\n".encode())
                    assert b" 401 " in await reader.readline()
                    while (await reader.readline()).strip():
                        pass
                    await reader.readuntil(b"}}")
                writer.close()
            return tracemalloc.get_traced_memory()[0]

        before = await try_all(0)
        for first in range(1_000, 10_000, 1_000):
            after = await try_all(first)
        tracemalloc.stop()
    assert edges.wrong_tokens.total == 30_000
    assert edges.reports == {}
    assert after - before < 1 << 20
    assert capsys.readouterr().out.count("wrong token") <= 2 * LOGGED_PEERS


async def report(folder: Path, body: str) -> tuple[int, Edges]:
    edges = Edges(Settings(publish=("all",), publish_credentials=str(folder / "hub")))
    app = web.Application()
    edges.add_to(app)
    headers = {"Authorization": f"Bearer {(folder / 'hub' / 'token').read_text()}"}
    async with (
        TestClient(TestServer(app)) as client,
        client.post("/status", data=body, headers=headers) as answer,
    ):
        return answer.status, edges


async def test_long_texts_of_a_report_are_shortened(tmp_path: Path) -> None:
    long = "x" * 100_000
    bundle = {"message": long, "active_revision": long, "last_successful_activation": long, "errors": [long]}
    body = {"labels": {"id": long, "edge": long, "view": long}, "bundles": {"policy-bridge": bundle}}
    status, edges = await report(tmp_path, json.dumps(body))
    assert status == 200
    [(identity, edge)] = reports_of(edges, "all").items()
    assert len(identity) + sum(len(getattr(edge, name)) for name in edge.__struct_fields__) < 5000


async def test_edge_without_a_name_is_shown_by_the_id_of_its_opa(tmp_path: Path) -> None:
    named = edge_config("http://127.0.0.1:8484", shared_trust(), "all")["labels"]["edge"]
    _, edges = await report(tmp_path, json.dumps({"labels": {"id": "one", "edge": named}}))
    assert reports_of(edges, "all")["one"].name == "one"


def test_edge_that_reports_to_no_bridge_knows_only_the_place_of_its_view() -> None:
    config = edge_config("", shared_trust(), "all", source=place_of("s3://fleet/east").source_of("all"))
    assert config["services"].keys() == {config["bundles"]["policy-bridge"]["service"]}
    assert config["status"] == {"prometheus": True}


def test_edges_of_google_and_azure_have_tokens_of_their_machines() -> None:
    """Without one OPA would ask these storages anonymously, and Azure refuses tokens without a version of its API."""
    google = place_of("gs://fleet-views/east/a").source_of("all")
    assert google.resource == "east/a/all.tar.gz"
    assert google.service["url"] == "https://storage.googleapis.com/fleet-views"
    assert google.service["credentials"].keys() == {"gcp_metadata"}
    for url in ("az://fleet/east?account=s01", "abfss://fleet@s01.dfs.core.windows.net/east"):
        azure = place_of(url).source_of("all")
        assert azure.resource == "east/all.tar.gz"
        assert azure.service["url"] == "https://s01.blob.core.windows.net/fleet"
        assert azure.service["credentials"] == {"azure_managed_identity": {}}
        assert azure.service["headers"].keys() == {"x-ms-version"}


DEEP = '{"bundles": {"policy-bridge": {"errors": [' + "[" * 100_000 + "]" * 100_000 + "]}}}"


@pytest.mark.parametrize("body", ["", "no JSON", "[]", '{"labels": {"id": 1}}', DEEP])
async def test_report_that_cannot_be_read_is_refused(tmp_path: Path, body: str) -> None:
    status, edges = await report(tmp_path, body)
    assert (status, edges.reports) == (400, {})


def test_signature_has_no_time_so_clocks_do_not_matter(tmp_path: Path) -> None:
    edges = Edges(Settings(publish=("all",), publish_credentials=str(tmp_path / "hub")))
    archive = edges.sign("all", build_bundle({}, {}, ["objects"]))
    with tarfile.open(fileobj=io.BytesIO(archive)) as found:
        file = found.extractfile(".signatures.json")
        assert file
        [token] = json.load(file)["signatures"]
    payload = token.split(".")[1]
    assert json.loads(base64.urlsafe_b64decode(payload + "==")).keys() == {"files", "scope"}
