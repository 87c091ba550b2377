"""The sources of each metric's values: packages count, and the counts get their names here."""

import platform
from collections import Counter
from collections.abc import Mapping, Sequence

from bridge import __version__
from bridge.destinations.destination import Destination
from bridge.http.edges import Edges
from bridge.http.request_guard import WrongTokens
from bridge.opa.client import Requests
from bridge.opa.process import ManagedOpa
from bridge.remediator.audit import Audit
from bridge.remediator.placement_updates import Placement
from bridge.remediator.remediator import Remediator
from bridge.remediator.violation_reports import ViolationReports
from bridge.remediator.write_loop import RESULTS
from bridge.replicator.replicator import Replicator
from bridge.sidecar.policy_loading import PolicyLoading
from bridge.sidecar.signals import Reloading
from bridge.sidecar.store import Store
from bridge.sidecar.webhook import Webhook
from bridge.telemetry.metrics import Checks, Metrics

Writers = tuple[Remediator, Audit, Placement]


def measure_start(metrics: Metrics, checks: Checks, store: Store, reloading: Reloading) -> None:
    """Register metrics that are known before anything has started."""
    metrics.read("build", lambda: {(__version__, platform.python_version()): 1})
    metrics.read("ready", lambda: {name: not why for name, why in checks().items()})
    if store.writes:
        metrics.read("leader", store.sink.may_write)
    metrics.read("listings", store.listings)
    metrics.read("settings_reloads", lambda: reloading.results)
    metrics.read("settings_current", lambda: reloading.current)
    metrics.read("events", lambda: store.events.results if store.events else {})


def measure_guards(metrics: Metrics, guards: Mapping[str, WrongTokens]) -> None:
    """Register counts of wrong tokens, by purpose."""
    metrics.read("wrong_tokens", lambda: {listener: guard.total for listener, guard in guards.items()})


def measure_opa(metrics: Metrics, requests: Requests, own: ManagedOpa | None) -> None:
    """Register metrics of requests to OPA, and of the bridge's own OPA."""
    metrics.read("opa_request_duration_seconds", lambda: requests.seconds)
    metrics.read("opa_request_failures", lambda: requests.errors)
    metrics.read("opa_restarts", lambda: max(own.starts - 1, 0) if own else 0)


def measure_work(
    metrics: Metrics,
    store: Store,
    replicator: Replicator,
    loading: PolicyLoading,
    writers: Writers,
    reports: ViolationReports,
) -> None:
    """Register metrics of writes to OPA, of admins' Rego, and of results and statuses."""
    counted, loader = replicator.counted, loading.loader
    metrics.read("replicated_objects", lambda: replicator.objects)
    metrics.read("rejected_objects", lambda: replicator.rejected)
    metrics.read("unavailable_types", lambda: len(replicator.troubles.serious))
    metrics.read("replication_lag_seconds", lambda: counted.lag)
    metrics.read("replication_batch_objects", lambda: counted.batch_objects)
    metrics.read("replication_batch_bytes", lambda: counted.batch_bytes)
    metrics.read("opa_syncs", lambda: counted.fills)
    metrics.read("opa_sync_duration_seconds", lambda: counted.fill_seconds)
    metrics.read("opa_audits", lambda: counted.audits)
    metrics.read("rego_policies", lambda: Counter(author.state for author in loading.authors.known.values()))
    metrics.read("rego_modules", lambda: loader.modules)
    metrics.read("kubernetes_view_missing", lambda: bool(loader.view_missing))
    metrics.read("rego_bundles", lambda: loader.bundles)
    remediator, audit, placement = writers
    metrics.read("effective_recomputations", lambda: remediator.computed)
    metrics.read("status_writes", lambda: _writes(writers, reports))
    metrics.read("audited_objects", lambda: audit.audited.judged)
    metrics.read("constraint_violations", lambda: audit.audited.violations)
    metrics.read("constraint_violating_objects", lambda: audit.audited.violating)
    metrics.read("placement_events", lambda: placement.counts)
    metrics.read("queue_depth", lambda: _depths(store, replicator, writers, reports))


def measure_admission(metrics: Metrics, webhook: Webhook) -> None:
    """Register metrics of admission requests."""
    metrics.read("admission_requests", lambda: webhook.counted.outcomes)
    metrics.read("admission_request_duration_seconds", lambda: webhook.counted.seconds)
    metrics.read("webhook_connections", lambda: webhook.gate.open if webhook.gate else 0)
    metrics.read("webhook_connections_closed", lambda: webhook.gate.closed if webhook.gate else {})


def measure_views(metrics: Metrics, edges: Edges, destinations: Sequence[Destination]) -> None:
    """Register states and downloads of edges, and what destinations of views lack."""
    metrics.read("edges", edges.count)
    metrics.read("view_downloads", lambda: {view: endpoint.downloads for view, endpoint in edges.endpoints.items()})
    metrics.read("destination_problems", lambda: {one.url: one.problems for one in destinations})


def _writes(writers: Writers, reports: ViolationReports) -> dict[tuple[str, str], int]:
    remediator, audit, placement = writers
    counts = {"status": remediator.results, "constraint": audit.results, "placement": placement.results}
    counts["report"] = reports.results
    return {(writer, result): found.get(result, 0) for writer, found in counts.items() for result in RESULTS}


def _depths(store: Store, replicator: Replicator, writers: Writers, reports: ViolationReports) -> dict[str, int]:
    remediator, audit, placement = writers
    return {
        "replication": replicator.waiting,
        "status": remediator.waiting,
        "constraint": audit.waiting,
        "audit": audit.audited.stale,
        "report": reports.waiting,
        "placement-judge": placement.to_judge,
        "placement-patch": placement.waiting,
        "events": store.events.waiting if store.events else 0,
    }
