"""`pbctl admin export`: configuration that other programs need to understand policies, made from the policy kinds."""

import asyncio
from collections.abc import Mapping
from typing import Any

import click

from bridge.cli.command import command
from bridge.cli.kind_source import KIND_SOURCE, KindSource, crd_specs
from bridge.cli.output import print_document
from bridge.cli.reading import INPUT_ERROR, report_problems, take_standard_input

_EVERY_VERSION = "*"  # kube-state-metrics looks the version up in the CRD


@command(
    "Print health checks or metrics of policies",
    click.Argument(["program"], type=click.Choice(["argocd", "kube-state-metrics"])),
    *KIND_SOURCE,
)
def export(program: str, **where: Any) -> int:
    """Print configuration with which another program shows the outcomes of policies.

    For Argo CD: a ConfigMap argocd-cm with a health check in Lua for each policy kind. For kube-state-metrics: a
    configuration of custom resources, with the conditions of each policy as metrics. With a source, only its kinds that
    have a CRD or a PolicyKind there; otherwise the shipped presets.

    Examples:
        # Health checks for the policy kinds of the cluster
        pbctl admin export argocd --cluster | kubectl apply --server-side -f -
        # Metrics for the policy kinds of a folder
        pbctl admin export kube-state-metrics --manifests kinds/ >metrics.yaml
    """
    kind_source = KindSource(**where)
    take_standard_input(kind_source.manifests)
    kinds, in_part = asyncio.run(_kinds(kind_source))
    print_document("yaml", _health_checks(kinds) if program == "argocd" else _metrics(kinds))
    return INPUT_ERROR if in_part else 0


async def _kinds(kind_source: KindSource) -> tuple[dict[str, dict[str, Any]], bool]:
    """Return the policy kinds by name, each with the `version` to read, and whether the source was read in part."""
    in_cluster = kind_source.is_cluster()
    async with kind_source.open(in_cluster=in_cluster) as engine:
        in_part = await report_problems(engine)
        kinds = await engine.opa.query("kinds_in_force", {})
        crds = await crd_specs(engine)
    stored = {f"{crd['group']}/{crd['names']['kind']}": _stored_version(crd) for crd in crds}
    return {
        name: {**kind, "version": stored.get(name, _EVERY_VERSION)}
        for name, kind in sorted(kinds.items())
        if not (kind_source.manifests or in_cluster) or name in stored or "PolicyKind" in kind["layers"]
    }, in_part


def _stored_version(crd: Mapping[str, Any]) -> str:
    return next((version["name"] for version in crd["versions"] if version.get("storage")), _EVERY_VERSION)


# Argo CD runs it with the object as `obj`. A policy that other policies override, or that reaches nothing, is not a
# failure of its deployment: it is suspended, and its message says why.
_HEALTH = """\
local conditions = {}
if obj.status ~= nil then
%(collect)s
end
local health = { status = "Progressing", message = "No controller has reported a status yet" }
local active = false
for _, condition in ipairs(conditions) do
  local generation = condition.observedGeneration
  if generation ~= nil and obj.metadata.generation ~= nil and generation < obj.metadata.generation then
    return { status = "Progressing", message = "The status is of an older generation" }
  end
  if condition.type == "Accepted" and condition.status == "False" then
    return { status = "Degraded", message = condition.message or condition.reason }
  end
  if condition.type == "%(effect)s" and condition.status == "False" then
    local idle = condition.reason == "Overridden" or condition.reason == "NoScope"
    health = { status = idle and "Suspended" or "Degraded", message = condition.message or condition.reason }
  elseif condition.type == "Overridden" and condition.status == "True" then
    health = { status = "Suspended", message = condition.message or condition.reason }
  elseif condition.status == "True" and health.status == "Progressing" then
    health = { status = "Healthy", message = condition.message or condition.reason }
  end
  local acts = condition.type == "%(effect)s" or condition.type == "PartiallyEnforced"
  if acts and condition.status == "True" then active = true end
end
if active and health.status == "Suspended" then health.status = "Healthy" end
return health
"""
_COLLECT = {
    "Conditions": """\
  for _, condition in ipairs(obj.status.conditions or {}) do table.insert(conditions, condition) end""",
    "Ancestors": """\
  for _, ancestor in ipairs(obj.status.ancestors or {}) do
    for _, condition in ipairs(ancestor.conditions or {}) do table.insert(conditions, condition) end
  end""",
}


def _health_checks(kinds: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the ConfigMap of Argo CD with a health check for each policy kind."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "argocd-cm",
            "namespace": "argocd",
            "labels": {"app.kubernetes.io/name": "argocd-cm", "app.kubernetes.io/part-of": "argocd"},
        },
        "data": {
            f"resource.customizations.health.{name.replace('/', '_')}": _HEALTH
            % {"collect": _COLLECT[kind["statusShape"]], "effect": kind["conditions"]}
            for name, kind in kinds.items()
        },
    }


def _metrics(kinds: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the configuration of kube-state-metrics: gauges `policy_…` of each policy kind, 1 for a true condition."""
    return {"kind": "CustomResourceStateMetrics", "spec": {"resources": [_resource(kind) for kind in kinds.values()]}}


def _resource(kind: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "groupVersionKind": {name: kind[name] for name in ("group", "version", "kind")},
        "metricNamePrefix": "policy",
        "labelsFromPath": {"namespace": ["metadata", "namespace"], "name": ["metadata", "name"]},
        "errorLogV": 4,  # policies without a status yet
        "metrics": _gauges(kind),
    }


def _gauges(kind: Mapping[str, Any]) -> list[dict[str, Any]]:
    if kind["statusShape"] == "Conditions":
        labels = {"type": ["type"], "reason": ["reason"]}
        return [_gauge("condition", "1 if the condition is True", ["status", "conditions"], labels, ["status"])]
    # kube-state-metrics reads one level of lists: a metric for each type of condition.
    # Each field of the ancestor is a label: one policy may have an ancestor for each section of a Gateway.
    labels = {"ancestor_*": ["ancestorRef"], "controller": ["controllerName"]}
    return [
        _gauge(
            condition.lower(),
            f"1 if the condition {condition} is True at the ancestor",
            ["status", "ancestors"],
            labels,
            ["conditions", f"[type={condition}]", "status"],
        )
        for condition in ("Accepted", kind["conditions"])
    ]


def _gauge(name: str, about: str, path: list[str], labels: Mapping[str, list[str]], value: list[str]) -> dict[str, Any]:
    gauge = {"path": path, "labelsFromPath": labels, "valueFrom": value}
    return {"name": name, "help": about, "each": {"type": "Gauge", "gauge": gauge}}
