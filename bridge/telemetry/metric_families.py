"""Every metric that the bridge exposes: name, type, labels, and what it says. Data only; the reference is made of it.

Names have the prefix `policy_bridge_` and base units. No label has an object's name, of which there may be any number.
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

    `values` are those of the first label that are known, so that they are there with 0 before anything has happened.
    """

    name: str
    type: Literal["counter", "gauge", "histogram", "info"]
    text: str
    labels: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    @property
    def exposed(self) -> str:
        """The name as Prometheus has it."""
        return f"{PREFIX}{self.name}{'_total' if self.type == 'counter' else '_info' if self.type == 'info' else ''}"


FAMILIES = (
    Family("build", "info", "1, with the version of the bridge and of its Python.", ("version", "python")),
    Family("leader", "gauge", "Whether this bridge writes: 1 for the holder of the Lease, and for a folder."),
    Family("ready", "gauge", "Whether a check of /readyz is ready.", ("check",)),
    Family("replicated_objects", "gauge", "Objects in OPA, by type (group/Kind).", ("type",)),
    Family(
        "rejected_objects",
        "gauge",
        "Objects that OPA must not hold, such as too deep ones, by type (group/Kind).",
        ("type",),
    ),
    Family(
        "types_without_delivery",
        "gauge",
        "Types and files that deliver nothing, where somebody has named them.",
    ),
    Family(
        "replication_lag_seconds",
        "histogram",
        "Time from a change's arrival at the bridge until OPA has it. A fill's are not counted.",
    ),
    Family("replication_batch_objects", "histogram", "Objects that were taken out at once to be written to OPA."),
    Family("replication_batch_bytes", "histogram", "Their size as JSON, about."),
    Family("listings", "counter", "Whole listings of a type that were begun, by why.", ("reason",), LISTINGS),
    Family("opa_fills", "counter", "Times that OPA was filled, by why.", ("reason",), FILLS),
    Family("opa_fill_duration_seconds", "histogram", "Duration of a fill."),
    Family(
        "opa_audits",
        "counter",
        "Comparisons of all that OPA holds with what was written, by result.",
        ("result",),
        AUDITS,
    ),
    Family("opa_restarts", "counter", "Times that the bridge's own OPA ended and was started again."),
    Family("opa_request_duration_seconds", "histogram", "Duration of requests to OPA, by what was asked.", ("query",)),
    Family(
        "opa_request_failures",
        "counter",
        "Requests to OPA that failed, by what was asked and how (" + ", ".join(FAILURES) + ").",
        ("query", "failure"),
    ),
    Family(
        "rego_policies",
        "gauge",
        "ConfigMaps and RegoPolicies with Rego or data, by what OPA has of them.",
        ("state",),
        STATES,
    ),
    Family("rego_modules", "gauge", "Modules of admins among those that are served to OPA."),
    Family(
        "rego_bundles",
        "counter",
        "Bundles of modules that OPA was given, by what became of them.",
        ("result",),
        BUNDLES,
    ),
    Family(
        "effective_recomputations",
        "counter",
        "Effective targets computed anew, by policy kind (mode Manage).",
        ("policy_kind",),
    ),
    Family(
        "status_writes",
        "counter",
        "Writes to the API server, by what for (status, constraint, placement) and result.",
        ("writer", "result"),
    ),
    Family(
        "queue_depth",
        "gauge",
        "What waits: objects for OPA (replication), statuses (status, constraint), objects to judge (audit, "
        "placement-judge) and to patch (placement-patch), Events (events).",
        ("queue",),
    ),
    Family("audited_objects", "counter", "Objects that Constraints were audited on, each as often as it was."),
    Family("constraint_violations", "gauge", "Violations that the audit has found, of all Constraints."),
    Family("placement_events", "counter", "What placement did, or told of an object.", ("event",)),
    Family("events", "counter", "Kubernetes Events, by what became of them.", ("result",), EVENT_RESULTS),
    Family("admission_requests", "counter", "Admission requests, by outcome.", ("outcome",), OUTCOMES),
    Family("admission_request_duration_seconds", "histogram", "Duration of an answer to an admission request."),
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
        "Requests with a wrong token, by what they asked for.",
        ("listener",),
        ("page", "bundle"),
    ),
    Family(
        "settings_reloads",
        "counter",
        "Times that settings were read anew on SIGHUP, by result.",
        ("result",),
        ("applied", "refused"),
    ),
    Family("settings_current", "gauge", "1; 0 after a reload whose settings were refused, so that older ones hold."),
)


def metrics_table() -> str:
    """The table of all metrics."""
    rows = [_metric_row(family) for family in FAMILIES]
    return "\n".join(["| metric | type | labels | |", "|---|---|---|---|", *rows])


def _metric_row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    if family.values:
        labels += ": " + ", ".join(family.values)
    kind = "gauge" if family.type == "info" else family.type
    return f"| `{family.exposed}` | {kind} | {labels} | {family.text} |"
