"""Spans by OpenTelemetry's API and SDK. Imported only if traces are enabled.

OpenTelemetry's instrumentation of aiohttp is not used: each poll of OPA would be a trace of its own, spans would have
the name of the HTTP method alone, and its server half needs a provider for the whole process.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context as Parent
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.trace import Link, SpanContext, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from bridge import __version__

_MOST_LINKS = 128  # per span, the default of the SDK
_KINDS = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "consumer": SpanKind.CONSUMER,
}
_SERVICE = "policy-bridge"


def provider_of(exporter: str) -> TracerProvider:
    """Return a provider that sends spans by `otlp` (HTTP, OTEL_EXPORTER_OTLP_…) or prints them on the `console`."""
    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: _SERVICE}
    provider = TracerProvider(resource=Resource.create({**named, SERVICE_VERSION: __version__}))
    provider.add_span_processor(BatchSpanProcessor(_exporter(exporter)))
    return provider


def _exporter(name: str) -> SpanExporter:
    if name == "console":
        return ConsoleSpanExporter()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


class Traces:
    """The functions of `bridge.tracing` while traces are on, with a provider."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer(_SERVICE, __version__)
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def span(
        self,
        name: str,
        kind: str,
        links: Iterable[SpanContext],
        carrier: Mapping[str, str] | None,
        attributes: Mapping[str, str | int],
    ) -> Iterator[None]:
        """See `bridge.tracing.span`."""
        parent = None
        if carrier is not None:
            parent = self._propagator.extract({name.lower(): value for name, value in carrier.items()}, Parent())
        few = list({link.span_id: Link(link) for link in links}.values())[:_MOST_LINKS]
        with self._tracer.start_as_current_span(name, parent, _KINDS[kind], dict(attributes), few):
            yield

    @contextmanager
    def opened(self, name: str, since: Mapping[str, float]) -> Iterator[Sequence[SpanContext]]:
        """See `bridge.tracing.opened`."""
        offset = time.time_ns() - time.monotonic_ns()
        spans = [
            self._tracer.start_span(
                name, Parent(), SpanKind.CONSUMER, {"policy_bridge.object": about}, start_time=offset + int(began * 1e9)
            )
            for about, began in since.items()
        ]
        try:
            yield [span.get_span_context() for span in spans]
        finally:
            for span in spans:
                span.end()

    def in_span(self) -> bool:
        """Return whether the caller is in a span."""
        return trace.get_current_span().get_span_context().is_valid

    def current(self) -> tuple[SpanContext, ...]:
        """See `bridge.tracing.current`."""
        found = trace.get_current_span().get_span_context()
        return (found,) if found.is_valid else ()

    def headers(self) -> Mapping[str, str]:
        """See `bridge.tracing.headers`."""
        found: dict[str, str] = {}
        self._propagator.inject(found)
        return found

    def shutdown(self) -> None:
        """Send pending spans."""
        self._provider.shutdown()
