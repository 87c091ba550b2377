"""Traces of changes, admission and queries by OpenTelemetry, which is optional: without it these functions do nothing.

`bridge run` calls `start`, which follows OpenTelemetry's own environment variables (OTEL_EXPORTER_OTLP_ENDPOINT, …).
While traces are off, each function below is one comparison, and no package of OpenTelemetry is imported.

Changes are handled in batches, so a span does not have the one before it as its parent but as a link:

    change (watch event until OPA holds it) <- replicate (a batch) <- compute statuses <- plan statuses, patch status
"""

from __future__ import annotations

from bridge.tracing.state import (
    Context,
    TracingError,
    child,
    current,
    headers,
    on,
    opened,
    span,
    start,
    stop,
    use,
)

__all__ = ["Context", "TracingError", "child", "current", "headers", "on", "opened", "span", "start", "stop", "use"]
