"""Envoy Gateway's own translator makes the configurations that `pbctl verify` reads: of random clusters and scenarios.

Everything is verified, or cannot be read; then each configuration is changed, and each change is found. A failure names
the target and the field; `pbctl verify` and `egctl x translate --to xds` show the two sides.
"""

import json
import random
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import yaml

from hack.tools.building import go_command
from tests.e2e.conftest import ROOT, Run
from tests.e2e.random_envoy_gateway import CLASS, Object, classes, random_cluster
from tests.e2e.test_against_egctl import EGCTL

CLUSTERS, BATCH = 100, 10
PATIENCE = 600.0  # seconds for a translation
WRONG = {"differs", "missing in the proxy", "stale"}
_CONNECTIONS = ("/timeout/tcp/", "/timeout/http/connectionIdleTimeout", "/timeout/http/maxConnectionDuration")

# What the proxies of these scenarios do not have, and why.
LACKING = {
    "envoy_gateway_merged_gateways": "egctl translates each Gateway alone, whatever its EnvoyProxy merges",
    "envoy_gateway_selectors_of_namespaces": "egctl reads no labels of namespaces; CORS without origins is none",
}

# Scenarios with objects that an API server refuses, which egctl does too.
REFUSED = {
    "envoy_gateway_clienttrafficpolicy",
    "envoy_gateway_envoyextensionpolicy",
    "envoy_gateway_envoypatchpolicy",
    "envoy_gateway_securitypolicy",
}


@pytest.mark.long
def test_translated_policies_are_verified_and_each_change_is_found(
    bridge: Run, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    egctl = go_command(*EGCTL)
    verified = changed = 0
    for first in range(0, CLUSTERS, BATCH):
        objects = [obj for seed in range(first, first + BATCH) for obj in random_cluster(seed)]
        manifests = tmp_path / "manifests.yaml"
        manifests.write_text(yaml.safe_dump_all([*classes(), *objects]))
        dump = _translated(egctl, tmp_path, objects)
        rows = _rows(bridge, tmp_path, manifests, dump)
        verified += sum(row["state"] == "verified" for row in rows)
        lacking = [row for row in rows if row["state"] in WRONG]
        assert [row for row in lacking if not _is_shared(row, rows)] == [], f"seeds {first} to {first + BATCH - 1}"
        before = {_place(row) for row in lacking}
        for change in (_without_policies, _with_other_values):
            expected = change(dump, random.Random(first))
            found = _changed_places(bridge, tmp_path, manifests, expected.dump, before)
            assert expected.places - found == set(), (first, change.__name__)
            changed += len(expected.places)
        older = _without_newest(objects)
        found = _changed_places(bridge, tmp_path, manifests, _translated(egctl, tmp_path, older), before)
        assert found, f"seeds {first}: an older version is not found"
    line = f"{verified:,} fields of {CLUSTERS} random clusters verified; {changed:,} changed targets found"
    request.config.get_terminal_writer().line(line)
    assert verified > CLUSTERS * 10


def _translated(egctl: Path, folder: Path, objects: Iterable[Object]) -> Object:
    """The configurations of proxies, by Gateway. The translator takes one class, and policies in the file's order."""
    file = folder / "translated.yaml"
    kept = [obj for obj in classes() if obj["metadata"]["name"] == CLASS]
    ordered = sorted(objects, key=lambda obj: (obj["metadata"].get("namespace", ""), obj["metadata"]["name"]))
    file.write_text(yaml.safe_dump_all([*kept, *ordered]))
    return _translate(egctl, file)


def _translate(egctl: Path, file: Path) -> Object:
    options = ("--from=gateway-api", "--to=xds", "--type=all", "--add-missing-resources", "--output=json")
    command: list[str | Path] = [egctl, "experimental", "translate", *options, f"--file={file}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    found: Object = json.loads(done.stdout)
    return found


def _rows(bridge: Run, folder: Path, manifests: Path, dump: Object) -> list[Object]:
    file = folder / "dump.json"
    file.write_text(json.dumps(dump))
    done = bridge("verify", "--config-dump", file, "--manifests", manifests, "--all", "-o", "json")
    assert done.stdout, done.stderr
    rows: list[Object] = json.loads(done.stdout)["rows"]
    return rows


def _place(row: Object) -> tuple[str, str, str, str]:
    return row["target"], row["path"][-1] if len(row["path"]) < 4 else row["path"][2], row["policyKind"], row["field"]


def _is_shared(row: Object, rows: list[Object]) -> bool:
    """Listeners of one port share a connection manager, and listeners of one Gateway a rule's cluster.

    If their policies differ, the proxy has the settings of one of them only.
    """
    if row["policyKind"].endswith("ClientTrafficPolicy"):
        gateway = row["target"].partition("#")[0]
        return any(other["target"].partition("#")[0] == gateway and other["target"] != row["target"] for other in rows)
    if not row["field"].startswith(_CONNECTIONS):
        return False
    specs = {json.dumps([other["field"], other["expected"]]) for other in rows if _is_same_cluster(other, row)}
    listeners = {other["path"][2] for other in rows if _is_same_cluster(other, row)}
    per_listener = defaultdict(set)
    for other in rows:
        if _is_same_cluster(other, row):
            per_listener[other["path"][2]].add(json.dumps([other["field"], other["expected"]]))
    return any(found != specs for found in per_listener.values()) or len(listeners) < 2


def _is_same_cluster(one: Object, other: Object) -> bool:
    if one["target"] != other["target"] or not str(one["field"]).startswith(_CONNECTIONS):
        return False
    return bool(one["path"][1] == other["path"][1])


class Changed:
    """A changed dump, and the places `(target, listener)` that must be found."""

    def __init__(self, dump: Object) -> None:
        self.dump: Object = json.loads(json.dumps(dump))
        self.places: set[tuple[str, str]] = set()


def _routes(dump: Object) -> Iterator[tuple[Object, str, str]]:
    """Yield each route with its rule and its listener, as keys."""
    for config in dump["xds"].values():
        parts = {one["@type"].rpartition(".")[2]: one for one in config["configs"]}
        for one in parts.get("RoutesConfigDump", {}).get("dynamicRouteConfigs", ()):
            for host in one["routeConfig"].get("virtualHosts", ()):
                for route in host["routes"]:
                    yield route, _key(route), _key(host)


def _key(named: Object) -> str:
    [one] = named["metadata"]["filterMetadata"]["envoy-gateway"]["resources"]
    return f"gateway.networking.k8s.io/{one['kind']}/{one['namespace']}/{one['name']}#{one['sectionName']}"


def _without_policies(dump: Object, draw: random.Random) -> Changed:
    """Half of the routes that name a policy or have a filter lose all."""
    changed = Changed(dump)
    for route, rule, listener in _routes(changed.dump):
        named = route["metadata"]["filterMetadata"]["envoy-gateway"]
        if (named.get("policies") or route.get("typedPerFilterConfig")) and draw.random() < 0.5:
            named.pop("policies", None)
            route.pop("typedPerFilterConfig", None)
            changed.places.add((rule, listener))
    return changed


def _with_other_values(dump: Object, draw: random.Random) -> Changed:
    """Half of the routes with CORS allow it for another time, or another method."""
    changed = Changed(dump)
    for route, rule, listener in _routes(changed.dump):
        cors = route.get("typedPerFilterConfig", {}).get("envoy.filters.http.cors")
        if not cors or draw.random() < 0.5:
            continue
        if "maxAge" in cors:
            cors["maxAge"] = str(int(cors["maxAge"]) + 1)
        elif "allowMethods" in cors:
            cors["allowMethods"] = "PATCH"
        else:
            cors["allowHeaders"] = "x-other"
        changed.places.add((rule, listener))
    return changed


def _without_newest(objects: list[Object]) -> list[Object]:
    """The clusters before their last policy of each kind for routes was made."""
    last = {(obj["metadata"]["namespace"], obj["kind"]): obj for obj in objects if obj["kind"] == "SecurityPolicy"}
    return [obj for obj in objects if obj not in last.values()]


def _changed_places(
    bridge: Run, folder: Path, manifests: Path, dump: Object, before: set[tuple[str, str, str, str]]
) -> set[tuple[str, str]]:
    rows = _rows(bridge, folder, manifests, dump)
    return {_place(row)[:2] for row in rows if row["state"] in WRONG and _place(row) not in before}


def _is_foreign_class(obj: Object) -> bool:
    return obj["kind"] == "GatewayClass" and not obj["spec"]["controllerName"].startswith("gateway.envoyproxy.io/")


@pytest.mark.long
def test_policies_of_scenarios_are_verified(bridge: Run, tmp_path: Path) -> None:
    egctl, compared = go_command(*EGCTL), 0
    for file in sorted((ROOT / "tests/scenarios").glob("envoy_gateway_*/objects.yaml")):
        if file.parent.name in REFUSED:
            continue
        objects = [obj for obj in yaml.safe_load_all(file.read_text()) if not _is_foreign_class(obj)]
        manifests = tmp_path / "manifests.yaml"
        manifests.write_text(yaml.safe_dump_all(objects))
        rows = _rows(bridge, tmp_path, file, _translate(egctl, manifests))
        wrong = [row for row in rows if row["state"] in WRONG]
        assert bool(wrong) == (file.parent.name in LACKING), (file.parent.name, wrong)
        compared += sum(row["state"] == "verified" for row in rows)
    assert compared > 5


_FEATURES = """
kind: Gateway
apiVersion: gateway.networking.k8s.io/v1
metadata: {name: edge, namespace: books}
spec:
  gatewayClassName: envoy
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
kind: Service
apiVersion: v1
metadata: {name: shelf, namespace: books}
spec: {clusterIP: 10.96.0.7, ports: [{name: http, port: 80, protocol: TCP}]}
---
kind: ConfigMap
apiVersion: v1
metadata: {name: code, namespace: books}
data: {lua: "function envoy_on_response(handle) handle:headers():add('x-shelf', '1') end"}
---
kind: HTTPRoute
apiVersion: gateway.networking.k8s.io/v1
metadata: {name: shelf, namespace: books}
spec:
  parentRefs: [{name: edge}]
  rules:
    - {name: read, matches: [{path: {type: PathPrefix, value: /read}}], backendRefs: [{name: shelf, port: 80}]}
    - name: idle
      matches: [{path: {type: PathPrefix, value: /idle}}]
      backendRefs: [{name: shelf, port: 80, weight: 0}]
---
kind: GRPCRoute
apiVersion: gateway.networking.k8s.io/v1
metadata: {name: calls, namespace: books}
spec:
  parentRefs: [{name: edge}]
  hostnames: [calls.example.com]
  rules:
    - {name: get, matches: [{method: {method: Get}}], backendRefs: [{name: shelf, port: 80}]}
    - {name: other, backendRefs: [{name: shelf, port: 80}]}
---
kind: BackendTrafficPolicy
apiVersion: gateway.envoyproxy.io/v1alpha1
metadata: {name: traffic, namespace: books}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: edge}]
  httpUpgrade: [{type: websocket}]
  rateLimit: {type: Local, local: {rules: [{limit: {requests: 9, unit: Hour}}]}}
---
kind: SecurityPolicy
apiVersion: gateway.envoyproxy.io/v1alpha1
metadata: {name: clients, namespace: books}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: edge}]
  authorization:
    defaultAction: Deny
    rules: [{action: Allow, principal: {clientCIDRs: [10.0.0.0/8]}}]
---
kind: EnvoyExtensionPolicy
apiVersion: gateway.envoyproxy.io/v1alpha1
metadata: {name: code, namespace: books}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: edge}]
  lua: [{type: ValueRef, valueRef: {group: "", kind: ConfigMap, name: code}}]
"""


@pytest.mark.long
def test_nothing_differs_where_the_translator_writes_a_feature_in_its_own_way(bridge: Run, tmp_path: Path) -> None:
    objects = list(yaml.safe_load_all(_FEATURES))
    manifests = tmp_path / "manifests.yaml"
    manifests.write_text(yaml.safe_dump_all([*classes(), *objects]))
    rows = _rows(bridge, tmp_path, manifests, _translated(go_command(*EGCTL), tmp_path, objects))
    assert [row for row in rows if row["state"] in WRONG] == []
    assert {row["state"] for row in rows if row["field"] == "(rule)"} == {"verified"}
