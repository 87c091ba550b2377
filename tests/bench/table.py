"""The figures of `make bench`: their names, units and aims, and the table that is printed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from tests.figures import short, table

Figures = Mapping[str, float]
SAME = 1.02  # two runs of one program differ by some percent


@dataclass(frozen=True, slots=True)
class Row:
    """A figure by its `name` in the parts. `aim` is the most in `unit`, with `share` as a share of before."""

    name: str
    text: str
    unit: str
    aim: float | None = None
    share: bool = False


ROWS = (
    Row("start_opa", "start of OPA with all modules, its processor time", "s", 0.55, share=True),
    Row("command", "`pbctl effective` of one rule in examples/three-gateways, processor time", "s", 0.5, share=True),
    Row("config_map", "a changed ConfigMap with Rego is active, OPA's processor time", "s", 0.4, share=True),
    Row("effective", "`effective` of one rule, with a tenth of the routes", "expressions", aim=500),
    Row("explain", "`explain` of one rule", "expressions", aim=1_200),
    Row("links", "`links` of one policy", "expressions", aim=500),
    Row("outdated", "`outdated` of one route policy, with its status", "expressions", aim=2_500),
    Row("command_small", "`pbctl effective` of one route in examples/shop, processor time", "s", aim=0.45),
    Row("folder_effective", "`pbctl effective` of one route in a folder with all routes, processor time", "s", aim=2),
    Row("folder_effective_opa", "the same, OPA's highest memory", "MiB", aim=150),
    Row("folder_explain", "`pbctl explain` of the same route, processor time", "s", aim=2),
    Row("folder_explain_opa", "the same, OPA's highest memory", "MiB", aim=150),
    Row("folder_policies", "`pbctl get policies -A` of that folder, processor time", "s", aim=6),
    Row("folder_problems", "`pbctl problems` of that folder, processor time", "s", aim=10),
    Row("folder_problems_opa", "the same, OPA's highest memory", "MiB", aim=600),
    Row("folder_status", "`pbctl status -A` of that folder, processor time", "s", aim=10),
    Row(
        "folder_analyze",
        "`pbctl analyze` of one changed policy of a route in that folder, processor time",
        "s",
        aim=3.5,
    ),
    Row("many_policies", "`pbctl effective` of a route below a Gateway with 5,000 policies of one kind", "s", aim=2),
    Row("many_listeners", "`pbctl status -A`, a policy on a Gateway with 64 listeners and 400 routes", "s", aim=1.5),
    Row("many_namespaces", "`pbctl effective` of one route of 10,000 namespaces", "s"),
    Row("large_route", "`pbctl explain` of a route with 64 parentRefs and 16 rules of 8 matches", "s"),
    Row("different_routes", "`pbctl status -A`, 3,000 routes without links in common", "s"),
    Row(
        "largest_memory",
        "`pbctl effective` in a folder with five times the routes, memory of the command",
        "MiB",
        aim=426,
    ),
    Row("largest_memory_opa", "the same, of its OPA", "MiB", aim=545),
    Row("cluster_effective", "`pbctl effective` of one route on a cluster with all routes, processor time", "s", aim=2),
    Row("cluster_explain", "`pbctl explain` of the same route", "s", aim=2),
    Row("others_effective", "`effective`, what five ConfigMaps with Rego of others add", "s", aim=0.3),
    Row("others_explain", "`explain`, the same", "s", aim=0.3),
    Row("page_live", "the page is complete after the first request, also after a restart", "s", aim=5),
    Row("page_opa", "the same, OPA's processor time for each node", "ms"),
    Row("sync_to_floor", "initial sync to raw LIST and PUT", "times", aim=2.5),
    Row("sync_cpu_bridge", "the same, processor time of the bridge from its start", "s", aim=2.0),
    Row("effective_p50", "a changed route policy is effective, p50", "ms", aim=10),
    Row("status_p50", "the same, its status is written, p50", "ms", aim=30),
    Row("status_pending_p99", "the same, while first statuses and marks are pending, p99", "ms", aim=1_000),
    Row("burst_writes", "a burst of 2,000 changes, writes to OPA", "writes", aim=150),
    Row("peer_fill", "initial sync to the fill of an OPA by kube-mgmt", "times", aim=1.2),
    Row("peer_fill_cpu", "the same, processor time of both with their OPAs", "times"),
    Row("visible_p50", "a changed route is in OPA, p50", "ms"),
    Row("visible_p99", "the same, p99", "ms"),
    Row("peer_p50", "the same p50 to that of kube-mgmt", "times", aim=3),
    Row("peer_p99", "the same p99 to that of kube-mgmt", "times", aim=2),
    Row("burst_lag", "a burst of 2,000 changes, lag until OPA has the last", "s", aim=0.35),
    Row("peer_burst_lag", "the same of kube-mgmt", "s"),
    Row("killed", "OPA killed until synced", "s", 0.55, share=True),
    Row("gateway_change", "a changed Gateway policy over all routes to one batched query, processor time", "times", 3),
    Row("webhook", "webhook to OPA's own webhook, 16 clients, p50", "times"),
    Row("webhook_cpu", "the same, processor time of a request", "times", aim=1.8),
    Row("guardrails_audit", "first audit of 20 guardrails to the first statuses, processor time", "times", aim=1.5),
    Row("guardrails_route", "20 guardrails after a changed route policy, p50", "ms", aim=50),
    Row("guardrails_gateway", "the same, after a policy of a Gateway with a twentieth of the routes", "ms", aim=2_000),
    Row("guardrails_admission", "admission of a route policy with guardrails to without, p50", "times", aim=1.5),
    Row("suite", "200 expectations to one `pbctl effective` of 2,000 objects, processor time", "times", aim=1.5),
    Row("fleet_change", "a changed policy is in effect at 20 OPAs with answers of one Gateway", "s", aim=2),
    Row("fleet_ratio", "the same, beside 2,000 clients, to one OPA alone", "times", aim=3),
    Row("fleet_cpu", "the same, processor time of the bridge for each further OPA", "ms", aim=0.2),
    Row("fleet_memory", "the same, memory of the bridge for each", "kB", aim=100),
    Row("fleet_share", "objects of one Gateway among 20", "%", aim=7),
    Row("fleet_answers", "bytes of its answers, to those of all objects with the Rego", "%"),
    Row("fleet_effective", "`effective` of one rule, looked up, by OPA's timer", "µs", aim=60),
    Row("fleet_request", "`request`, looked up, by OPA's timer", "µs", aim=200),
    Row("fleet_restart", "a restarted OPA answers from the bundle that it has kept", "s", aim=1),
    Row("verify_proxy", "`pbctl verify` of a proxy with all routes, processor time", "s", aim=5),
    Row("verify_parsing", "the same dump, only parsed as JSON by Python, processor time", "s"),
    Row("memory_opa", "OPA's memory with all routes, to an OPA with one raw PUT of them", "times", aim=1.5),
    Row("memory_bridge", "memory of the bridge after the initial sync", "MiB", aim=100),
)


def printed(before: Sequence[Figures], now: Sequence[Figures]) -> str:
    """Return the table of all measured figures: the means of both sides, their ratio, the aim, and if it is met."""
    rows = []
    for row in ROWS:
        old, new = _mean(before, row.name), _mean(now, row.name)
        if old is None and new is None:
            continue
        ratio = new / old if old and new is not None else None
        judged = ratio if row.share else new
        aim = "" if row.aim is None else short(row.aim) + (" of before" if row.share else "")
        met = "" if row.aim is None or judged is None else "yes" if judged <= row.aim * SAME else "no"
        rows.append([row.text, row.unit, short(old), short(new), short(ratio), aim, met])
    return table(["figure", "unit", "before", "now", "ratio", "aim", "met"], rows)


def _mean(side: Sequence[Figures], name: str) -> float | None:
    values = [figures[name] for figures in side if name in figures]
    return mean(values) if values else None
