"""Traces of a real bridge, as a collector gets them by OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/)."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.e2e.conftest import SHOP, Run
from tests.e2e.serving import bridge_runs
from tests.eventually import eventually

CART = "gateway.networking.k8s.io/HTTPRoute/shop/cart"
POLICY = "example.com/ColorPolicy/shop/cart"
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PATIENCE = 300.0


@dataclass
class Collector:
    """Takes spans in, and has them as dictionaries."""

    url: str = ""
    services: set[str] = field(default_factory=set)
    spans: dict[str, dict[str, Any]] = field(default_factory=dict)  # by their id

    async def export(self, request: web.Request) -> web.Response:
        """`POST /v1/traces`."""
        reported = ExportTraceServiceRequest.FromString(await request.read())
        for group in reported.resource_spans:
            for attribute in group.resource.attributes:
                if attribute.key == "service.name":
                    self.services.add(attribute.value.string_value)
            for scope in group.scope_spans:
                for span in scope.spans:
                    self.spans[span.span_id.hex()] = {
                        "name": span.name,
                        "trace": span.trace_id.hex(),
                        "parent": span.parent_span_id.hex(),
                        "links": [link.span_id.hex() for link in span.links],
                        "object": next((a.value.string_value for a in span.attributes if a.key.endswith("object")), ""),
                    }
        return web.Response()

    async def until(self, name: str, about: str = "", trace: str = "") -> dict[str, Any]:
        """A span with this name, about this object, of this trace."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for span in list(self.spans.values()):
                    if span["name"] == name and about in {"", span["object"]} and trace in {"", span["trace"]}:
                        return span
                await asyncio.sleep(0.05)

    def before(self, span: dict[str, Any]) -> list[dict[str, Any]]:
        """The spans that one links to."""
        return [self.spans[link] for link in span["links"] if link in self.spans]


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    found = Collector()
    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/v1/traces", found.export)
    async with TestServer(app) as server:
        found.url = str(server.make_url(""))
        yield found


async def test_a_change_is_followed_from_its_event_to_the_status_patch_and_a_query_keeps_its_trace(
    collector: Collector, bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    folder = shutil.copytree(SHOP, tmp_path / "shop")
    more = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}
    arguments = ("--manifests", folder, "--listen", "127.0.0.1:0")
    async with AsyncBridge(bridge_path, environment | more, tmp_path / "log", *arguments) as url:
        cart = folder / "64-cart.yaml"
        cart.write_text(cart.read_text().replace("strategy: patch", "strategy: atomic"))
        chains = await eventually(lambda: _chains(collector))
        _, compute, replicate, changed = chains[0]
        assert [span["name"] for span in (compute, replicate)] == ["compute statuses", "replicate"]
        assert changed["parent"] == ""
        assert len({span["trace"] for span in chains[0]}) == 4  # of batches: linked, not below each other
        requested = [
            span for span in collector.spans.values() if span["trace"] == replicate["trace"] and span["parent"]
        ]
        assert any(span["name"].startswith("OPA PATCH") for span in requested)
        headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.get(f"{url}/v1/effective", params={"target": f"{CART}#checkout"}) as response,
        ):
            assert response.status == 200
        query = await collector.until("GET /v1/effective", trace=TRACE)
        assert query["parent"] == PARENT
        below = await collector.until("OPA POST /v1/data/bridge/v1/effective", trace=TRACE)
        assert collector.spans[below["parent"]] == query
    assert collector.services == {"policy-bridge"}
    # The bridge's own queries of OPA have no trace.
    assert [span for span in collector.spans.values() if span["name"].startswith("OPA") and not span["parent"]] == []


def test_without_the_variables_nothing_of_opentelemetry_is_imported() -> None:
    script = "import bridge.cli.main, bridge.sidecar.program, sys; sys.exit('opentelemetry' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_traces_without_the_packages_are_a_clear_error(bridge_process: Run, tmp_path: Path) -> None:
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "__init__.py").write_text("raise ImportError(name='opentelemetry')\n")
    more = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "PYTHONPATH": str(tmp_path)}
    answer = bridge_process("run", "--manifests", SHOP, more=more)
    assert answer.returncode == 2
    assert "pip install 'policy-bridge[otel]'" in answer.stderr
    refused = bridge_process("run", "--manifests", SHOP, more={"OTEL_TRACES_EXPORTER": "zipkin"})
    assert refused.returncode == 2
    assert "OTEL_TRACES_EXPORTER=zipkin" in refused.stderr


def _chains(collector: Collector) -> list[list[dict[str, Any]]]:
    """The spans from patches of the policy's status back over their links to the change of the policy."""
    found = []
    for patch in [span for span in collector.spans.values() if span["name"] == "patch status"]:
        chain = [patch]
        while before := collector.before(chain[-1]):
            chain.append(next((one for one in before if one["object"] == POLICY), before[0]))
        if patch["object"] == POLICY and chain[-1]["name"] == "change":
            found.append(chain)
    return found


class AsyncBridge:
    """`bridge_runs` beside an event loop that serves the collector meanwhile."""

    def __init__(self, *arguments: Any) -> None:
        self._running = bridge_runs(*arguments)

    async def __aenter__(self) -> str:
        return (await asyncio.to_thread(self._running.__enter__)).url

    async def __aexit__(self, *error: object) -> None:
        await asyncio.to_thread(self._running.__exit__, None, None, None)
