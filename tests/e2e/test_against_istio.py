"""Istio's own translator is the judge of its presets: its discovery server configures the proxies of random meshes.

Compared are the policies in effect at each Gateway, also one whose proxies are deployed by hand, waypoint and sidecar:
AuthorizationPolicies by their action, RequestAuthentications, and WasmPlugins in their order. A failure names the seed
and the proxy; `pbctl effective -A --manifests FILE` and the filters of the proxy show the two answers.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hack.tools.building import go_program
from tests.e2e.conftest import Run
from tests.e2e.random_istio import CLASSES, Object, random_cluster
from tests.e2e.test_verify_against_istio import ISTIO

CLUSTERS, BATCH = 60, 10
PATIENCE = 600.0  # seconds for a translation
ACTIONS = ("AUDIT", "DENY", "ALLOW")  # in the order of the filters
AUTHORIZATION, AUTHENTICATION = "security.istio.io/AuthorizationPolicy", "security.istio.io/RequestAuthentication"
WASM = "extensions.istio.io/WasmPlugin"
RULE = re.compile(r"^ns\[(.*?)\]-policy\[(.*?)\]-rule\[")
OF_SERVICE = re.compile(r"inbound-vip\|\d+\|http\|([^.]+)\.([^.]+)\.")  # the name of a waypoint's chain
PLUGIN = re.compile(r"trafficextension/([^.]+)\.([^~]+)")

Answer = dict[str, Any]  # actions in their order with the names of policies, issuers of tokens, plugins in their order


@pytest.mark.long
def test_policies_act_as_istio_translates_them(bridge: Run, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    program = go_program("istio-translate", ISTIO)
    agreeing, compared, differences = 0, 0, list[str]()
    for first in range(0, CLUSTERS, BATCH):
        clusters = {seed: random_cluster(seed) for seed in range(first, first + BATCH)}
        files = {seed: tmp_path / f"cluster-{seed}.yaml" for seed in clusters}
        for seed, file in files.items():
            file.write_text(yaml.safe_dump_all(clusters[seed]))
        done = subprocess.run([program, *files.values()], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        for (seed, objects), line in zip(clusters.items(), done.stdout.splitlines(), strict=True):
            effective = _effective(bridge, files[seed])
            found = []
            for proxy, theirs in _translated(objects, json.loads(line)["xds"]):
                compared += 1
                ours = _answered(objects, effective, proxy)
                if ours != theirs:
                    found.append(f"seed {seed}, {proxy}: the bridge has {ours}, Istio {theirs}")
            agreeing += not found
            differences += found
    line = f"{agreeing} of {CLUSTERS} random clusters agree with Istio's translator at {compared} proxies and Services"
    request.config.get_terminal_writer().line(line)
    assert compared >= CLUSTERS
    assert differences == [], "\n".join(differences)


def _translated(objects: list[Object], dumps: Object) -> Iterator[tuple[str, Answer]]:
    """Yield what Istio configures for each Gateway, `Gateway/n0/gate`, and Service, `Service/n0/cart`."""
    for proxy, dump in dumps.items():
        parts = {one["@type"].rpartition(".")[2]: one for one in dump["configs"]}
        listeners = [one["activeState"]["listener"] for one in parts["ListenersConfigDump"]["dynamicListeners"]]
        chains = [
            (chain.get("name", ""), filters)
            for listener in listeners
            for chain in listener.get("filterChains", ())
            if (filters := list(_http_filters(chain)))
        ]
        place = proxy.removeprefix("Pod/")
        services = [(match, filters) for name, filters in chains if (match := OF_SERVICE.match(name))]
        if services:  # of a waypoint
            for match, filters in services:
                answer = _of_filters(filters)
                yield f"Service/{match[2]}/{match[1]}", {**answer, "plugins": sorted(answer["plugins"])}
        elif proxy.startswith("Pod/") and not place.endswith("/entry-1"):  # a sidecar
            [filters, *_] = [filters for name, filters in chains if name == "0.0.0.0_8080"]
            yield f"Service/{place.removesuffix('-1')}", _of_filters(filters)
        else:
            yield f"Gateway/{place.split('/')[0]}/gate", _of_filters(chains[0][1])
    for one in objects:
        if one["kind"] == "Gateway" and CLASSES[one["spec"]["gatewayClassName"]].startswith("example.com/"):
            yield f"Gateway/{one['metadata']['namespace']}/{one['metadata']['name']}", _of_filters([])


def _http_filters(chain: Object) -> Iterator[Object]:
    for one in chain["filters"]:
        if one["name"] == "envoy.filters.network.http_connection_manager":
            yield from one["typedConfig"].get("httpFilters", ())


def _of_filters(filters: list[Object]) -> Answer:
    actions: list[tuple[str, list[str]]] = []
    issuers: set[str] = set()
    plugins: list[str] = []
    for one in filters:
        config = one.get("typedConfig", {})
        if one["name"].endswith(".rbac") and "rules" in config:
            action = {"LOG": "AUDIT"}.get(
                config["rules"].get("action", "ALLOW"), config["rules"].get("action", "ALLOW")
            )
            names = {"/".join(match.groups()) for name in config["rules"]["policies"] if (match := RULE.match(name))}
            actions.append((action, sorted(names)))
        elif one["name"].endswith(".jwt_authn"):
            issuers |= {provider["issuer"] for provider in config["providers"].values()}
        elif match := PLUGIN.search(one["name"]):
            plugins.append("/".join(match.groups()))
    return {"actions": actions, "issuers": sorted(issuers), "plugins": plugins}


def _effective(bridge: Run, file: Path) -> dict[tuple[str, str], Object]:
    """The answers of the bridge, by target and policy kind."""
    answer = bridge("effective", "-A", "--manifests", file, "-o", "json")
    assert answer.returncode == 0, answer.stderr
    return {(one["target"], one["policyKind"]): one["paths"][0] for one in json.loads(answer.stdout)}


def _answered(objects: list[Object], effective: dict[tuple[str, str], Object], proxy: str) -> Answer:
    kind, namespace, name = proxy.split("/")
    gateway = f"gateway.networking.k8s.io/Gateway/{namespace}/gate"
    of_gateway = gateway if kind == "Gateway" else None
    service = f"core/Service/{namespace}/{name}"
    targeting = {
        (f"{one['apiVersion'].split('/')[0]}/{one['kind']}/{one['metadata']['namespace']}/{one['metadata']['name']}")
        for one in objects
        if "targetRefs" in one["spec"]
    }
    has_waypoint = any(
        one["kind"] == "Gateway"
        and one["metadata"]["namespace"] == namespace
        and one["spec"]["gatewayClassName"] == "istio-waypoint"
        for one in objects
    )
    items: dict[str, list[tuple[str, Object]]] = {}
    for policy_kind in (AUTHORIZATION, AUTHENTICATION, WASM):
        places = [of_gateway] if of_gateway else [service]
        if has_waypoint:
            places = [gateway, "gateway.networking.k8s.io/GatewayClass/-/istio-waypoint", service]
        found = items.setdefault(policy_kind, [])
        for place in places:
            path = effective.get((place, policy_kind), {"spec": [], "origins": {}})
            for number, spec in enumerate(path["spec"]):
                policy = path["origins"][f"/{number}"]
                # Policies that select Pods apply at the Pods, and those that name the Service apply at its waypoint.
                if place != service or (policy in targeting) == has_waypoint:
                    found.append((policy, spec))
                elif policy in targeting:
                    assert any("waypoint" in mark for mark in path["incomplete"]), (proxy, policy)
    plugins = [_named(policy) for policy, _ in items[WASM]]
    actions = {action: list[str]() for action in ACTIONS}
    sequence = []
    for policy, spec in items[AUTHORIZATION]:
        action = spec.get("action", "ALLOW")
        sequence.append(ACTIONS.index(action))
        actions[action].append(_named(policy))
    if not has_waypoint:
        assert sequence == sorted(sequence), proxy
    return {
        "actions": [(action, sorted(names)) for action, names in actions.items() if names],
        "issuers": sorted(rule["issuer"] for _, spec in items[AUTHENTICATION] for rule in spec["jwtRules"]),
        "plugins": sorted(plugins) if has_waypoint else plugins,
    }


def _named(policy: str) -> str:
    return "/".join(policy.split("/")[2:])
