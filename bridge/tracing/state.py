"""Whether there are traces, and what other packages call: each function does nothing while there are none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from bridge.tracing.otel import Traces

Context = Any  # where a span is in a trace (a SpanContext); only passed on
Kind = Literal["internal", "server", "client", "consumer"]
Attributes = Mapping[str, str | int]

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_NO_ATTRIBUTES: Attributes = MappingProxyType({})
_OFF: AbstractContextManager[None] = nullcontext()
_NOTHING_OPENED: AbstractContextManager[Sequence[Context]] = nullcontext(())
# Variables of OpenTelemetry that ask for traces, where nothing else is said.
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

_traces: Traces | None = None


class TracingError(Exception):
    """Traces are asked for and cannot be had."""


def start(environ: Mapping[str, str]) -> bool:
    """Send traces where OpenTelemetry's variables ask for them; return whether they do.

    Raises TracingError where the extra `otel` is not installed, or OTEL_TRACES_EXPORTER names an unknown exporter.
    """
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip()
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or exporter == "none":
        return False
    if not exporter and not any(environ.get(name) for name in _ENDPOINTS):
        return False
    if exporter not in {"", "otlp", "console"}:
        raise TracingError(f"OTEL_TRACES_EXPORTER={exporter} is not known: use otlp, console or none")
    try:
        from bridge.tracing.otel import Traces, provider_of
    except ImportError as error:
        raise TracingError(
            f"OpenTelemetry's variables ask for traces, but {error.name} is not installed: "
            "pip install 'policy-bridge[otel]', or set OTEL_SDK_DISABLED=true"
        ) from error
    use(Traces(provider_of(exporter or "otlp")))
    return True


def use(traces: Traces | None) -> None:
    """Send traces there from now on; None turns them off."""
    global _traces  # noqa: PLW0603 - spans are made far from where they are turned on
    _traces = traces


def stop() -> None:
    """Send what has not been sent yet, and turn traces off."""
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
    """A span around a block. An exception that leaves the block is recorded in it.

    `links` are spans of other traces that it follows from. `carrier` are the headers of a request, whose `traceparent`
    (W3C Trace Context) is then its parent.
    """
    return _OFF if _traces is None else _traces.span(name, kind, links, carrier, attributes)


def child(name: str, *, kind: Kind = "client", attributes: Attributes = _NO_ATTRIBUTES) -> AbstractContextManager[None]:
    """A span around a block, if there is one around it already: a trace of only a health check is useless."""
    return _OFF if _traces is None or not _traces.in_span() else _traces.span(name, kind, (), None, attributes)


def opened(name: str, since: Mapping[str, float]) -> AbstractContextManager[Sequence[Context]]:
    """Spans that end with a block and began before it: by the object that each is about, when, by the monotonic clock.

    The block gets their contexts.
    """
    return _NOTHING_OPENED if _traces is None else _traces.opened(name, since)


def current() -> tuple[Context, ...]:
    """Where the span around the caller is, as links of another one; empty where there is none."""
    return () if _traces is None else _traces.current()


def headers() -> Mapping[str, str]:
    """The headers that make the span around the caller the parent of what a server does for a request."""
    return _NO_HEADERS if _traces is None else _traces.headers()


def on() -> bool:
    """Whether there are traces."""
    return _traces is not None
