"""Two clusters with a bridge each, which store their data in one bucket, and an OPA that has both."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.opa.credentials import VERIFICATION_KEY
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import Run
from tests.e2e.serving import Serving, bridge_runs
from tests.e2e.test_views import Fleet, _send
from tests.eventually import eventually, eventually_blocking
from tests.integration.served_webhook import review_of_object, serving
from tests.integration.webhook import Facts, StatedPolicies
from tests.ports import free_address
from tests.storing import StorageServer

pytestmark = [pytest.mark.long, pytest.mark.needs("versitygw")]

# A decision over all clusters: those in a region whose nodes have enough processors.
PLACEMENT = """
apiVersion: v1
kind: ConfigMap
metadata: {name: placement, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  placement.rego: |
    package acme.placement

    _nodes[cluster] := data.clusters[cluster].objects.core.Node["-"]

    suitable contains cluster if {
      some cluster, nodes in _nodes
      some node in nodes
      node.metadata.labels["topology.kubernetes.io/region"] == input.region
      sum([to_number(one.status.capacity.cpu) | some one in nodes]) >= input.cpus
    }
  admission.rego: |
    package io.k8s.federation.admission

    _wanted := object.get(input.metadata, "annotations", {})

    _request := {"region": _wanted["acme.example/region"], "cpus": to_number(_wanted["acme.example/cpus"])}

    _suitable := found if found := data.acme.placement.suitable with input as _request

    annotations["acme.example/clusters"] := concat(",", sort(_suitable)) if count(_suitable) > 0

    errors contains "no cluster of this region has as many processors" if count(_suitable) == 0
"""
WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: default
  annotations: {{acme.example/region: {region}, acme.example/cpus: "{cpus}"}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: [{{name: a, image: a.example/a}}]}}}}
"""
OBJECTS = """
apiVersion: v1
kind: Namespace
metadata: {{name: opa-policies}}
---
apiVersion: v1
kind: Node
metadata: {{name: node, labels: {{topology.kubernetes.io/region: {region}}}}}
---
apiVersion: v1
kind: Service
metadata: {{name: cart, namespace: default}}
spec: {{ports: [{{name: http, port: 80}}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {{name: tls, namespace: default}}
spec:
  targetRefs: [{{group: "", kind: Service, name: cart}}]
  validation: {{hostname: {region}.example.com, wellKnownCACertificates: System}}
"""
CLUSTERS = {"east": ("eu", 8), "west": ("us", 64)}  # region, processors


@dataclass
class Federation:
    """An OPA with the data of both clusters, and what each of them has of its own."""

    url: str
    hubs: dict[str, Serving]
    kubectls: dict[str, Kubectl]
    kubeconfig: Path  # with a context for each


@pytest.fixture
def federation(
    module_control_plane: ControlPlane,
    own_control_plane: ControlPlane,
    kubectl_path: Path,
    bridge_path: Path,
    opa_path: Path,
    environment: dict[str, str],
    bridge: Run,
    tmp_path: Path,
) -> Iterator[Federation]:
    with ExitStack() as stack:
        (tmp_path / "s3").mkdir()
        server = stack.enter_context(StorageServer("s3", tmp_path / "s3").running())
        environment = {**environment, **server.environment}
        planes = {"east": module_control_plane, "west": own_control_plane}
        hubs, kubectls = {}, {}
        for name, (region, processors) in CLUSTERS.items():
            plane = planes[name]
            kubectl = kubectls[name] = Kubectl(kubectl_path, plane)
            kubectl("apply", "--server-side", "-f", "-", text=OBJECTS.format(region=region))
            kubectl("apply", "--server-side", "-f", "-", text=PLACEMENT)
            capacity = json.dumps({"status": {"capacity": {"cpu": str(processors)}}})
            kubectl("patch", "node", "node", "--subresource=status", "--type=merge", "-p", capacity)
            settings = tmp_path / f"{name}.yaml"
            settings.write_text(
                f"cluster: {name}\n"
                "types: [apps/Deployment, {type: core/Node, keep: [/metadata/labels, /status/capacity]}]\n"
                "publish: [cluster, federation]\n"
                f"publish_to: ['{server.url(name)}']\npublish_listen: {free_address()}\n"
                f"publish_credentials: {tmp_path / f'keys-{name}'}\nlisten: 127.0.0.1:0\n"
            )
            run = bridge_runs(
                *(bridge_path, environment, tmp_path / f"{name}.log"),
                "--kubeconfig",
                plane.kubeconfig,
                "--config",
                settings,
            )
            hubs[name] = stack.enter_context(run)
        clusters = [f"--cluster={name}={server.url(name)}" for name in hubs]
        printed = bridge(
            *("opa-config", "--view", "federation", "--from", server.url("east"), *clusters, "-o", "json"),
            *("--publish-credentials", tmp_path / "keys-east"),
            f"--cluster-key=west={tmp_path / 'keys-west' / VERIFICATION_KEY}",
        )
        assert printed.returncode == 0, printed.stderr
        config = json.loads(printed.stdout)
        for bundle in config["bundles"].values():
            bundle["polling"] = {"min_delay_seconds": 1, "max_delay_seconds": 1}
        fleet = Fleet(tmp_path, bridge_path, opa_path, environment, stack)
        url, _ = fleet.start_edge("federation", config, "--optimize-store-for-read-speed")
        eventually_blocking(
            lambda: _send(f"{url}/v1/data/bridge/fleet/clusters")["result"], lambda found: len(found) == 2
        )
        yield Federation(url, hubs, kubectls, merge_kubeconfigs(tmp_path, planes))


def merge_kubeconfigs(folder: Path, planes: Mapping[str, ControlPlane]) -> Path:
    """Write a kubeconfig with a context for each cluster, by their names."""
    merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []}
    for name, plane in planes.items():
        config = yaml.safe_load(plane.kubeconfig.read_text())
        for kind in ("clusters", "users"):
            merged[kind].append({**config[kind][0], "name": name})
        merged["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(merged))
    return file


def test_one_opa_answers_for_each_cluster_and_for_all(federation: Federation, bridge: Run) -> None:
    own = {
        name: json.loads(bridge("effective", "--opa", hub.opa_url, "-o", "json").stdout)
        for name, hub in federation.hubs.items()
    }
    assert own["east"] != own["west"]
    of_all = ("effective", "--opa", federation.url)
    for name in CLUSTERS:
        found = bridge(*of_all, "--cluster", name, "-o", "json")
        assert (json.loads(found.stdout), found.stderr) == (own[name], "")
    assert json.loads(bridge(*of_all, "--all-clusters", "-o", "json").stdout) == own
    assert bridge(*of_all, "--cluster", "west", "--cluster", "east", "-o", "name").stdout.splitlines() == [
        f"{name}: {target}"
        for name in ("west", "east")
        for target in dict.fromkeys(entry["target"] for entry in own[name])
    ]
    for read in (("get", "policies", "-o", "json"), ("describe", "svc/cart", "-n", "default")):
        of_one = {name: bridge(*read, "--opa", hub.opa_url).stdout for name, hub in federation.hubs.items()}
        assert {name: bridge(*read, "--opa", federation.url, "--cluster", name).stdout for name in CLUSTERS} == of_one
    shown = bridge(*of_all, "--all-clusters").stdout
    assert [line for line in shown.splitlines() if line.endswith(":")] == ["east:", "west:"]
    unknown = bridge(*of_all, "--cluster", "north")
    assert (unknown.returncode, unknown.stderr) == (
        2,
        f"error: no cluster 'north' at {federation.url}: it has east, west\n",
    )
    commands = (
        ("effective",),
        ("effective", "svc/cart"),
        ("get", "policies"),
        ("placement", "--kind", "apps/Deployment"),
    )
    for words in commands:
        none = bridge(*words, "--opa", federation.url)
        assert none.returncode == 2
        assert "several clusters (east, west): name one with --cluster, or give --all-clusters" in none.stderr
    federation.kubectls["east"]("create", "service", "clusterip", "own", "--tcp=80", "-n", "default")
    own_target = (*of_all, "svc/own", "-n", "default", "--all-clusters", "-o", "json")
    partly = eventually_blocking(lambda: bridge(*own_target), lambda found: found.returncode == 0)
    assert (json.loads(partly.stdout).keys(), partly.stderr[:26]) == ({"east"}, "west: svc/own is not found")
    refused = bridge("effective", "--opa", federation.hubs["east"].opa_url, "--all-clusters")
    assert "has no data of clusters" in refused.stderr

    # A change in one cluster arrives, and concerns no other.
    federation.kubectls["west"]("delete", "backendtlspolicy", "tls", "-n", "default")
    arrived = eventually_blocking(
        lambda: json.loads(bridge(*of_all, "--all-clusters", "-o", "json").stdout), lambda found: found != own
    )
    assert arrived["east"] == own["east"]
    assert arrived["west"] == []


def test_placement_is_decided_by_labels_and_capacities_of_all_clusters(federation: Federation) -> None:
    def suitable(region: str, cpus: int) -> list[str]:
        found: list[str] = _send(
            f"{federation.url}/v1/data/acme/placement/suitable", {"input": {"region": region, "cpus": cpus}}
        )["result"]
        return found

    assert eventually_blocking(lambda: suitable("eu", 4)) == ["east"]
    assert (suitable("eu", 16), suitable("us", 16)) == ([], ["west"])
    federation.kubectls["west"]("label", "node", "node", "topology.kubernetes.io/region=eu", "--overwrite")
    assert eventually_blocking(lambda: suitable("eu", 16)) == ["west"]
    assert suitable("eu", 4) == ["east", "west"]


def test_placement_command_shows_where_workloads_of_each_cluster_can_run(federation: Federation, bridge: Run) -> None:
    workloads = (("east", "small", "eu", 4), ("east", "large", "us", 16), ("west", "huge", "us", 99))
    for cluster, name, region, cpus in workloads:
        text = WORKLOAD.format(name=name, region=region, cpus=cpus)
        federation.kubectls[cluster]("apply", "--server-side", "-f", "-", text=text)
    asked = ("placement", "--kind", "apps/Deployment", "--opa", federation.url)

    def decided(*more: str) -> Any:
        return json.loads(bridge(*asked, *more, "-o", "json").stdout)

    found = eventually_blocking(
        lambda: decided("--all-clusters"), lambda found: (len(found["east"]), len(found["west"])) == (2, 1)
    )
    wanted = {one["object"]: [each["wanted"] for each in one["annotations"]] for one in found["east"]}
    assert wanted == {"apps/Deployment/default/large": ["west"], "apps/Deployment/default/small": ["east"]}
    [huge] = found["west"]
    assert (huge["annotations"], huge["errors"]) == ([], ["no cluster of this region has as many processors"])
    assert decided("--cluster", "west") == found["west"]
    table = bridge(*asked, "--all-clusters").stdout
    assert re.search(
        r"^east:\n\nOBJECT .*\nDeployment/default/large +acme.example/clusters .*west$", table, re.MULTILINE
    )

    # A Node's label changes the decision about a workload of the other cluster.
    federation.kubectls["west"]("label", "node", "node", "topology.kubernetes.io/region=asia", "--overwrite")
    moved = eventually_blocking(lambda: decided("--cluster", "east"), lambda now: now != found["east"])
    [large] = [one for one in moved if one["object"].endswith("/large")]
    assert large["errors"] == ["no cluster of this region has as many processors"]
    federation.kubectls["west"]("label", "node", "node", "topology.kubernetes.io/region=us", "--overwrite")


async def test_webhook_places_a_workload_by_the_data_of_all_clusters(federation: Federation, tmp_path: Path) -> None:
    decision = f"{federation.url}/v1/data/io/k8s/federation/admission"
    own = federation.hubs["east"].opa_url
    policies = StatedPolicies(Facts())
    async with serving(tmp_path, own, policies=policies, webhook_decision=decision) as ask:

        async def place(cpus: int) -> dict[str, Any]:
            deployment = yaml.safe_load(WORKLOAD.format(name="new", region="us", cpus=cpus))
            return await ask.review(review_of_object(deployment))

        placed = await eventually(lambda: place(16), lambda found: "patch" in found)
        assert [one["value"] for one in json.loads(base64.b64decode(placed["patch"]))] == ["west"]
        refused = await place(99)
        assert refused["status"]["message"] == "no cluster of this region has as many processors"


def test_contexts_are_read_one_after_the_other(federation: Federation, bridge: Run) -> None:
    read = ("effective", "svc/cart", "-n", "default", "--kubeconfig", federation.kubeconfig)
    each = {name: json.loads(bridge(*read, "--context", name, "-o", "json").stdout) for name in CLUSTERS}
    assert each["east"] != each["west"]
    both = bridge(*read, "--context", "east", "--context", "west", "-o", "json")
    assert (json.loads(both.stdout), both.returncode) == (each, 0)
    watched = bridge(*read, "--context", "east", "--context", "west", "--watch")
    assert (watched.returncode, "--watch follows one source" in watched.stderr) == (2, True)
