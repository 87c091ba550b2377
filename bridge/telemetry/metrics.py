"""Every metric that the bridge exposes; `/metrics` in Prometheus's format, and the probes `/livez` and `/readyz`.

Parts count in plain numbers, which are read at each scrape. The reference page is made from the families. Names have
the prefix `policy_bridge_` and base units. Labels name no objects but Constraints and
namespaces, because their number is unlimited.
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from math import isinf
from typing import Any, Literal, NamedTuple

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from bridge.admission.admission import OUTCOMES
from bridge.http.gate import REASONS
from bridge.http.listeners import serving
from bridge.http.request_guard import is_local
from bridge.kube.recording import RESULTS as EVENT_RESULTS
from bridge.model.observability import Histogram
from bridge.model.text import plain
from bridge.opa.client import FAILURES
from bridge.policy_loader.authors import STATES
from bridge.policy_loader.loader import BUNDLES
from bridge.replicator.intake import AUDITS, FILLS
from bridge.settings.model import Settings
from bridge.sources.cluster import LISTINGS

log = structlog.get_logger(__name__)

PREFIX = "policy_bridge_"


class Family(NamedTuple):
    """A metric. `name` is without the prefix and without `_total`, which a counter gets.

    `values` are the known values of the first label, which are exposed with 0 from the start.
    """

    name: str
    type: Literal["counter", "gauge", "histogram", "info"]
    text: str
    labels: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    @property
    def exposed(self) -> str:
        """Return the name in Prometheus."""
        return f"{PREFIX}{self.name}{'_total' if self.type == 'counter' else '_info' if self.type == 'info' else ''}"


FAMILIES = (
    Family("build", "info", "Always 1, with the versions of the bridge and of Python.", ("version", "python")),
    Family(
        "leader",
        "gauge",
        "1 if this bridge may write: it holds the Lease, or reads a folder. Not with read_only.",
    ),
    Family("ready", "gauge", "1 if the check of /readyz passes.", ("check",)),
    Family("replicated_objects", "gauge", "Objects in OPA, by type (group/Kind).", ("type",)),
    Family(
        "rejected_objects",
        "gauge",
        "Objects that the bridge does not replicate, such as too deep ones, by type (group/Kind).",
        ("type",),
    ),
    Family("unavailable_types", "gauge", "Types and files of the settings that the bridge cannot read."),
    Family(
        "replication_lag_seconds",
        "histogram",
        "Time from the arrival of a change at the bridge until OPA has it, without full syncs.",
    ),
    Family("replication_batch_objects", "histogram", "Objects in one batch of writes to OPA."),
    Family("replication_batch_bytes", "histogram", "Approximate size as JSON of the objects in one batch."),
    Family("listings", "counter", "Started lists of whole types, by reason.", ("reason",), LISTINGS),
    Family("opa_syncs", "counter", "Full syncs of OPA, by reason.", ("reason",), FILLS),
    Family("opa_sync_duration_seconds", "histogram", "Duration of a full sync."),
    Family("opa_audits", "counter", "Comparisons of OPA's data with the written data, by result.", ("result",), AUDITS),
    Family("opa_restarts", "counter", "Restarts of the bridge's own OPA."),
    Family("opa_request_duration_seconds", "histogram", "Duration of requests to OPA, by query.", ("query",)),
    Family(
        "opa_request_failures",
        "counter",
        "Failed requests to OPA, by query and failure (" + ", ".join(FAILURES) + ").",
        ("query", "failure"),
    ),
    Family(
        "rego_policies",
        "gauge",
        "ConfigMaps and RegoPolicies with Rego or data, by their state in OPA.",
        ("state",),
        STATES,
    ),
    Family("rego_modules", "gauge", "Modules of admins in the bundle that the bridge serves to OPA."),
    Family(
        "kubernetes_view_missing",
        "gauge",
        "1 if the view data.kubernetes is missing in OPA, because another client has documents there.",
    ),
    Family("rego_bundles", "counter", "Bundles offered to OPA, by result.", ("result",), BUNDLES),
    Family(
        "effective_recomputations",
        "counter",
        "Recomputed effective targets, by policy kind (mode Manage).",
        ("policy_kind",),
    ),
    Family(
        "status_writes",
        "counter",
        "Writes to the API server, by purpose (status, constraint, report, placement) and result.",
        ("writer", "result"),
    ),
    Family(
        "queue_depth",
        "gauge",
        "Queue lengths: objects for OPA (replication), statuses (status, constraint), reports of violations (report), "
        "objects to evaluate (audit, placement-judge) and to patch (placement-patch), Events (events).",
        ("queue",),
    ),
    Family("audited_objects", "counter", "Evaluations of objects by the audit of Constraints."),
    Family(
        "constraint_violations",
        "gauge",
        "Current violations from the audit, by Constraint and action; exempted ones have the action exempt.",
        ("constraint", "enforcement_action"),
    ),
    Family(
        "constraint_violating_objects",
        "gauge",
        "Objects with violations from the audit, without exempted ones, by Constraint and the objects' namespace.",
        ("constraint", "object_namespace"),
    ),
    Family("placement_events", "counter", "Placement actions and reports, by event.", ("event",)),
    Family("events", "counter", "Kubernetes Events, by result.", ("result",), EVENT_RESULTS),
    Family("admission_requests", "counter", "Admission requests, by outcome.", ("outcome",), OUTCOMES),
    Family("admission_request_duration_seconds", "histogram", "Response time of admission requests."),
    Family("webhook_connections", "gauge", "Open connections of the webhook."),
    Family(
        "webhook_connections_closed",
        "counter",
        "Connections of the webhook that the bridge closed, by reason: limit of all connections (full) or of one "
        "address (peer), replaced by a new connection (displaced), failed TLS handshake, invalid client certificate.",
        ("reason",),
        REASONS,
    ),
    Family(
        "wrong_tokens",
        "counter",
        "Requests with a wrong token, by listener.",
        ("listener",),
        ("page", "bundle", "edges"),
    ),
    Family(
        "edges",
        "gauge",
        "OPAs that reported to this bridge in the last hour, by view and state: current, behind (without the published "
        "revision for over a minute), failing (with an error), silent (for five minutes).",
        ("view", "state"),
    ),
    Family("view_downloads", "counter", "Bundles of views that edges downloaded from this bridge.", ("view",)),
    Family(
        "destination_problems",
        "gauge",
        "Views that a destination of publish_to does not have as published, by destination.",
        ("destination",),
    ),
    Family(
        "settings_reloads", "counter", "Reloads of settings on SIGHUP, by result.", ("result",), ("applied", "refused")
    ),
    Family("settings_current", "gauge", "1 if the file's settings are active; 0 after a failed reload."),
)


Value = float | Histogram
Values = Value | Mapping[Any, Any]  # values by label: a string, or a tuple of strings for a family with several labels
Read = Callable[[], Values]


class Metrics(Collector):
    """The families of `bridge.telemetry.metrics`; `read` sets the source of their values.

    A family without a source is exposed with its help text, and only with the samples that are known to be 0.
    """

    def __init__(self) -> None:
        self._read: dict[str, Read] = {}

    def read(self, name: str, values: Read) -> None:
        """Set the source of a family's values. Raises KeyError for an unknown name."""
        self._read[_BY_NAME[name].name] = values

    def collect(self) -> Iterator[Metric]:
        """Return the current families."""
        for family in FAMILIES:
            values = self._read[family.name]() if family.name in self._read else {}
            yield _family(family, _by_labels(family, values))


_BY_NAME = {family.name: family for family in FAMILIES}


def add_metrics(app: web.Application, metrics: Metrics) -> None:
    """Add `/metrics` to an application, with the process metrics of Prometheus's library."""
    registry = CollectorRegistry()
    registry.register(metrics)
    ProcessCollector(registry=registry)

    async def collected(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app.router.add_get("/metrics", collected)


def _by_labels(family: Family, values: Values) -> dict[tuple[str, ...], Value]:
    if not isinstance(values, Mapping):
        return {(): values}
    found: dict[tuple[str, ...], Value] = {(known,): 0.0 for known in family.values}
    for labels, value in sorted(values.items(), key=str):
        found[(labels,) if isinstance(labels, str) else tuple(labels)] = value
    return found


def _family(family: Family, samples: Mapping[tuple[str, ...], Value]) -> Metric:
    name = f"{PREFIX}{family.name}"
    match family.type:
        case "info":
            info = InfoMetricFamily(name, family.text, labels=())
            for labels in samples:
                info.add_metric((), dict(zip(family.labels, labels, strict=True)))
            return info
        case "histogram":
            histogram = HistogramMetricFamily(name, family.text, labels=family.labels)
            for labels, value in samples.items():
                if isinstance(value, Histogram):
                    buckets = [("+Inf" if isinf(bound) else repr(bound), count) for bound, count in value.cumulated()]
                    histogram.add_metric(labels, buckets, value.total)
            return histogram
    plain = (CounterMetricFamily if family.type == "counter" else GaugeMetricFamily)(
        name, family.text, labels=family.labels
    )
    for labels, value in samples.items():
        if not isinstance(value, Histogram):
            plain.add_metric(labels, value)
    return plain


Checks = Callable[[], Mapping[str, str]]  # by name why a check is not ready; empty text: ready


def add_probes(app: web.Application, checks: Checks, notes: Checks = dict) -> None:
    """Add `/livez`: the process responds. `/readyz`: 200 only if every check is ready; `?verbose` lists them.

    `notes` are, by name, what else is wrong, without making the bridge unready; `?verbose` lists these, too. Reasons
    may name objects: only clients on this machine get them.
    """

    async def livez(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(request: web.Request) -> web.Response:
        found = checks()
        bad = {name: why for name, why in found.items() if why}
        told = is_local(request)
        lines = [
            (f"[-] {name}: {plain(why)}" if told else f"[-] {name}") if why else f"[+] {name} ok"
            for name, why in found.items()
        ]
        wrong = [f"[!] {name}: {plain(why)}" if told else f"[!] {name}" for name, why in notes().items() if why]
        listed = [*lines, *wrong] if "verbose" in request.query else [line for line in lines if line.startswith("[-]")]
        text = "\n".join([*listed, "readyz check failed" if bad else "ok"])
        return web.Response(status=503 if bad else 200, text=text + "\n")

    app.router.add_get("/livez", livez)
    app.router.add_get("/readyz", readyz)


@contextlib.asynccontextmanager
async def probe_listening(
    settings: Settings, checks: Checks, metrics: Metrics, notes: Checks = dict
) -> AsyncIterator[None]:
    """Serve only probes and metrics at the setting `probe_listen`. Raises ServeError."""
    if settings.probe_listen is None:
        yield
        return
    app = web.Application()
    add_probes(app, checks, notes)
    add_metrics(app, metrics)
    async with serving(app, settings.probe_listen, "--probe-listen") as url:
        log.info("probe and metrics server started", at=url)
        yield
