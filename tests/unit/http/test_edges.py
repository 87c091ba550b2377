"""Reports of edges, which may send anything: what is kept of one is short, and none fails."""

import json
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bridge.http.edges import Edges
from bridge.opa.bundle import edge_config
from bridge.settings.model import Settings
from tests.bundle_trust import shared_trust


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
    [(identity, edge)] = edges.reports.items()
    assert len(identity) + sum(len(getattr(edge, name)) for name in edge.__struct_fields__) < 5000


async def test_edge_without_a_name_is_shown_by_the_id_of_its_opa(tmp_path: Path) -> None:
    named = edge_config("http://127.0.0.1:8484", shared_trust(), "all")["labels"]["edge"]
    _, edges = await report(tmp_path, json.dumps({"labels": {"id": "one", "edge": named}}))
    assert edges.reports["one"].name == "one"


DEEP = '{"bundles": {"policy-bridge": {"errors": [' + "[" * 100_000 + "]" * 100_000 + "]}}}"


@pytest.mark.parametrize("body", ["", "no JSON", "[]", '{"labels": {"id": 1}}', DEEP])
async def test_report_that_cannot_be_read_is_refused(tmp_path: Path, body: str) -> None:
    status, edges = await report(tmp_path, body)
    assert (status, edges.reports) == (400, {})
