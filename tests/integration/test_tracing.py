"""Spans of admission and of requests to OPA, by the SDK's exporter in memory; what OPA itself traces, by OTLP."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from bridge import tracing
from bridge.tracing.otel import Traces
from tests.integration.served_webhook import review_of, serving
from tests.warm_opa import WarmOpa

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """What is traced."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing.use(Traces(provider))
    yield exporter
    tracing.stop()


async def test_a_review_keeps_the_trace_of_the_api_server(
    spans: InMemorySpanExporter, opa: WarmOpa, tmp_path: Path
) -> None:
    async with serving(tmp_path, opa.url) as ask:
        headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "Content-Type": "application/json"}
        url = f"https://127.0.0.1:{ask.port}/admission?timeout=20s"
        async with ask.session.post(url, data=review_of({}), headers=headers) as answer:
            assert answer.status == 200
    found = {span.name: span for span in spans.get_finished_spans()}
    review = found["POST /admission"]
    assert f"{review.context.trace_id:032x}" == TRACE
    assert review.parent is not None
    assert f"{review.parent.span_id:016x}" == PARENT
    requested = [span for name, span in found.items() if name.startswith("OPA POST")]
    assert requested
    assert {span.parent.span_id for span in requested if span.parent} == {review.context.span_id}
