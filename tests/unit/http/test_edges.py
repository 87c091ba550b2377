"""Reports of edges, which may send anything: what is kept of one is short, and none fails."""

import json
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bridge.http.edges import Edges
from bridge.settings.model import Settings


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


DEEP = '{"bundles": {"policy-bridge": {"errors": [' + "[" * 100_000 + "]" * 100_000 + "]}}}"


@pytest.mark.parametrize("body", ["", "no JSON", "[]", '{"labels": {"id": 1}}', DEEP])
async def test_report_that_cannot_be_read_is_refused(tmp_path: Path, body: str) -> None:
    status, edges = await report(tmp_path, body)
    assert (status, edges.reports) == (400, {})
