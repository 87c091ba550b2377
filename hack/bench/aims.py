"""The targets for the engine's speed, and a check of the figures against them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hack.bench.figures import progress

ROUTES = 10_000  # the aims are for a cluster of this size


@dataclass(frozen=True, slots=True)
class Aim:
    """The worst of the figures named `what` with the properties `given` must be at most `most`."""

    what: str
    figure: str
    most: float
    given: Mapping[str, Any] = field(default_factory=dict)

    def value(self, figures: Iterable[Mapping[str, Any]]) -> float | None:
        """Return the worst value among figures; None if it was not measured."""
        found = [
            float(one["value"])
            for one in figures
            if one["figure"] == self.figure and all(one.get(name) == wanted for name, wanted in self.given.items())
        ]
        return max(found, default=None)


_ALONE = {"where": "opa_alone", "routes": ROUTES}
_CLUSTER = {"routes": ROUTES}
AIMS = (
    Aim("effective of one rule, OPA's time, p50 (ms)", "effective_one_rule_opa", 0.9, _ALONE),
    Aim("the same, 10,000 routes to 1,000", "effective_one_rule_size_ratio", 1.1),
    Aim("effective in batches of 1,000 (us a target)", "effective_all_rules_opa", 150, _ALONE),
    Aim("outcomes in batches of 1,000 (us a target)", "outcomes_all_rules_opa", 280, _ALONE),
    Aim("a stack of 64 policies to a stack of 1", "effective_stack_ratio", 20, {"policies": 64}),
    Aim("explain, OPA's time, p50 (ms)", "explain_opa", 2.5, _CLUSTER),
    Aim("a route policy's change until it is effective, p50 (ms)", "change_to_effective", 8, _CLUSTER),
    Aim("a route policy's change until its status, p50 (ms)", "change_to_status", 15, _CLUSTER),
    Aim("links with facts, OPA's time (us an object)", "links_opa", 130, _ALONE),
    Aim("initial sync to raw LIST and raw PUT", "fill_to_floor_ratio", 2.6, {**_CLUSTER, "where": "replication"}),
    Aim("memory of OPA after the initial sync (MiB)", "memory_opa_after_fill", 300, _CLUSTER),
    Aim("a ConfigMap active, p50 (ms)", "config_map_in_force_p50", 400, {"others": 0}),
    Aim("webhook to OPA's own webhook, p50 at 16 clients", "admission_to_opa_webhook_p50", 1.6, {"clients": 16}),
    Aim("ten vendors' kinds to one kind, the worst of five", "vendors_to_one_kind", 1.3, {"routes": ROUTES}),
    Aim("a Gateway policy over all routes to one batched query", "wide_change_to_batched_query_ratio", 2.5, _CLUSTER),
)


def report(figures: Sequence[Mapping[str, Any]], aims: Iterable[Aim] = AIMS, *, whole: bool = True) -> None:
    """Print a line of JSON for each measured target, and a table for people. `whole`: every part was measured."""
    for aim in aims:
        value = aim.value(figures)
        if value is None:
            if whole:
                progress(f"{aim.what:60} {'not measured':>12}   aim {aim.most:g}")
            continue
        reached = value <= aim.most
        print(json.dumps({"aim": aim.what, "value": value, "most": aim.most, "reached": reached}), flush=True)
        progress(f"{aim.what:60} {value:12g}   aim {aim.most:g}{'' if reached else '   MISSED'}")
