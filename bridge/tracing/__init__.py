"""Traces of changes, admission and queries by OpenTelemetry, which is optional: without it these functions do nothing.

`pbctl run` calls `start`, which follows OpenTelemetry's own environment variables (OTEL_EXPORTER_OTLP_ENDPOINT, …).
While traces are off, each function below is one comparison, and no package of OpenTelemetry is imported.

Changes are handled in batches, so a span does not have the one before it as its parent but as a link:

    change (watch event until OPA holds it) <- replicate (a batch) <- compute statuses <- plan statuses, patch status
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from bridge.tracing.otel import Traces

__all__ = ["Context", "TracingError", "child", "current", "headers", "on", "opened", "span", "start", "stop", "use"]


Context = Any  # where a span is in a trace (a SpanContext); only passed on
Kind = Literal["internal", "server", "client", "consumer"]
Attributes = Mapping[str, str | int]

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_NO_ATTRIBUTES: Attributes = MappingProxyType({})
_OFF: AbstractContextManager[None] = nullcontext()
_NOTHING_OPENED: AbstractContextManager[Sequence[Context]] = nullcontext(())
# Variables of OpenTelemetry that enable traces by themselves.
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

_traces: Traces | None = None


class TracingError(Exception):
    """Traces are enabled but not possible."""


def start(environ: Mapping[str, str]) -> bool:
    """Send traces if OpenTelemetry's variables enable them; return whether they do.

    Raises TracingError where the extra `otel` is not installed, or OTEL_TRACES_EXPORTER names an unknown exporter.
    """
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip()
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or exporter == "none":
        return False
    if not exporter and not any(environ.get(name) for name in _ENDPOINTS):
        return False
    if exporter not in {"", "otlp", "console"}:
        raise TracingError(f"OTEL_TRACES_EXPORTER={exporter} is unknown: use otlp, console or none")
    try:
        from bridge.tracing.otel import Traces, provider_of
    except ImportError as error:
        raise TracingError(
            f"OpenTelemetry's variables enable traces, but {error.name} is not installed: "
            "pip install 'policy-bridge[otel]', or set OTEL_SDK_DISABLED=true"
        ) from error
    use(Traces(provider_of(exporter or "otlp")))
    return True


def use(traces: Traces | None) -> None:
    """Send traces to this target; None turns them off."""
    global _traces  # noqa: PLW0603 - spans are made far from where they are turned on
    _traces = traces


def stop() -> None:
    """Send pending spans, and turn traces off."""
    traces = _traces
    use(None)
    if traces is not None:
        traces.shutdown()


def span(
    name: str,
    *,
    kind: Kind = "internal",
    links: Iterable[Context] = (),
    carrier: Mapping[str, str] | None = None,
    attributes: Attributes = _NO_ATTRIBUTES,
) -> AbstractContextManager[None]:
    """Open a span around a block. It records an exception that leaves the block.

    `links` are spans of other traces that it follows from. `carrier` are the headers of a request, whose `traceparent`
    (W3C Trace Context) is then its parent.
    """
    return _OFF if _traces is None else _traces.span(name, kind, links, carrier, attributes)


def child(name: str, *, attributes: Attributes = _NO_ATTRIBUTES) -> AbstractContextManager[None]:
    """Open a client's span around a block inside another span: a trace of only a health check is useless."""
    return _OFF if _traces is None or not _traces.in_span() else _traces.span(name, "client", (), None, attributes)


def opened(name: str, since: Mapping[str, float]) -> AbstractContextManager[Sequence[Context]]:
    """Open spans that began before a block and end with it: by object, the start on the monotonic clock.

    The block gets their contexts.
    """
    return _NOTHING_OPENED if _traces is None else _traces.opened(name, since)


def current() -> tuple[Context, ...]:
    """Return links to the span around the caller; empty if there is none."""
    return () if _traces is None else _traces.current()


def headers() -> Mapping[str, str]:
    """Return the headers that make the caller's span the parent of a server's spans."""
    return _NO_HEADERS if _traces is None else _traces.headers()


def on() -> bool:
    """Return whether traces are on."""
    return _traces is not None
