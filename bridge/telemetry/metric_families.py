"""Every metric that the bridge exposes: name, type, labels, and help text.

Data only; the reference page is made from it.

Names have the prefix `policy_bridge_` and base units. No label contains an object's name, because their number is
unlimited.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from bridge.admission.admission import OUTCOMES
from bridge.http.gate import REASONS
from bridge.kube.recording import RESULTS as EVENT_RESULTS
from bridge.opa.request_counts import FAILURES
from bridge.policy_loader.authors import STATES
from bridge.policy_loader.loader import BUNDLES
from bridge.replicator.counts import AUDITS, FILLS
from bridge.sources.cluster import LISTINGS

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
    Family("build", "info", "1, with the version of the bridge and of its Python.", ("version", "python")),
    Family("leader", "gauge", "Whether this bridge writes: 1 for the holder of the Lease, and for a folder."),
    Family("ready", "gauge", "Whether a check of /readyz is ready.", ("check",)),
    Family("replicated_objects", "gauge", "Objects in OPA, by type (group/Kind).", ("type",)),
    Family(
        "rejected_objects",
        "gauge",
        "Objects that OPA must not have, such as too deep ones, by type (group/Kind).",
        ("type",),
    ),
    Family(
        "types_without_delivery",
        "gauge",
        "Types and files of the settings that deliver nothing.",
    ),
    Family(
        "replication_lag_seconds",
        "histogram",
        "Time from a change's arrival at the bridge until OPA has it, without full syncs.",
    ),
    Family("replication_batch_objects", "histogram", "Objects of one batch of writes to OPA."),
    Family("replication_batch_bytes", "histogram", "Approximate size of these objects as JSON."),
    Family("listings", "counter", "Started listings of whole types, by reason.", ("reason",), LISTINGS),
    Family("opa_fills", "counter", "Full syncs of OPA, by reason.", ("reason",), FILLS),
    Family("opa_fill_duration_seconds", "histogram", "Duration of a full sync."),
    Family(
        "opa_audits",
        "counter",
        "Comparisons of OPA's data with the written data, by result.",
        ("result",),
        AUDITS,
    ),
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
    Family("rego_modules", "gauge", "Admins' modules among those that are served to OPA."),
    Family(
        "rego_bundles",
        "counter",
        "Bundles of modules for OPA, by result.",
        ("result",),
        BUNDLES,
    ),
    Family(
        "effective_recomputations",
        "counter",
        "Recomputed effective targets, by policy kind (mode Manage).",
        ("policy_kind",),
    ),
    Family(
        "status_writes",
        "counter",
        "Writes to the API server, by purpose (status, constraint, placement) and result.",
        ("writer", "result"),
    ),
    Family(
        "queue_depth",
        "gauge",
        "Queue lengths: objects for OPA (replication), statuses (status, constraint), objects to evaluate (audit, "
        "placement-judge) and to patch (placement-patch), Events (events).",
        ("queue",),
    ),
    Family("audited_objects", "counter", "Evaluations of objects by the audit of Constraints."),
    Family("constraint_violations", "gauge", "Violations of all Constraints, from the audit."),
    Family("placement_events", "counter", "Actions and reports of placement.", ("event",)),
    Family("events", "counter", "Kubernetes Events, by result.", ("result",), EVENT_RESULTS),
    Family("admission_requests", "counter", "Admission requests, by outcome.", ("outcome",), OUTCOMES),
    Family("admission_request_duration_seconds", "histogram", "Duration of responses to admission requests."),
    Family("webhook_connections", "gauge", "Open connections of the webhook."),
    Family(
        "webhook_connections_closed",
        "counter",
        "Connections of the webhook that the bridge closed, by reason: no room (full), none for that address (peer), "
        "closed for a new one (displaced), a failed TLS handshake, a missing or wrong client certificate.",
        ("reason",),
        REASONS,
    ),
    Family(
        "wrong_tokens",
        "counter",
        "Requests with a wrong token, by its purpose.",
        ("listener",),
        ("page", "bundle"),
    ),
    Family(
        "settings_reloads",
        "counter",
        "Reloads of settings on SIGHUP, by result.",
        ("result",),
        ("applied", "refused"),
    ),
    Family("settings_current", "gauge", "1; 0 after a reload with invalid settings, which keeps the previous ones."),
)


def metrics_table() -> str:
    """Return the table of all metrics."""
    rows = [_metric_row(family) for family in FAMILIES]
    return "\n".join(["| metric | type | labels | |", "|---|---|---|---|", *rows])


def _metric_row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    if family.values:
        labels += ": " + ", ".join(family.values)
    kind = "gauge" if family.type == "info" else family.type
    return f"| `{family.exposed}` | {kind} | {labels} | {family.text} |"
