"""Istio's own control plane makes the configurations that `pbctl verify` reads, of random Gateways and waypoints.

Nothing differs; then each configuration is changed, and each change is found. `istio_translator` runs Istio's discovery
server on manifests.
"""

import copy
import json
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hack.tools.building import go_program
from hack.tools.catalog import GoBuild
from tests.e2e.conftest import ROOT, Run

MAIN = ROOT / "tests/e2e/istio_translator/main.go"
VERSION = "v0.0.0-20260827124520-eed52ebb66ad"  # Istio 1.31
ISTIO = GoBuild("istio.io/istio", VERSION, ".", main=MAIN.read_text())
NAMESPACES, CLUSTERS = 12, 4  # namespaces of a cluster
PATIENCE = 300.0  # seconds for a translation
WRONG = {"differs", "missing in the proxy", "stale"}
Object = dict[str, Any]


def _translate(folder: Path, objects: list[Object]) -> Object:
    """Return dumps of the proxies of the Gateways, as Istio configures them."""
    file = folder / "objects.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    done = subprocess.run(
        [go_program("istio-translate", ISTIO), file], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: Object = json.loads(done.stdout)
    return found


def _rows(bridge: Run, folder: Path, dump: Object) -> list[Object]:
    file = folder / "dump.json"
    file.write_text(json.dumps(dump))
    done = bridge("verify", "--config-dump", file, "--manifests", folder / "objects.yaml", "--all", "-o", "json")
    assert done.stdout, done.stderr
    rows: list[Object] = json.loads(done.stdout)["rows"]
    return rows


def _wrong(rows: list[Object]) -> list[Object]:
    return [row for row in rows if row["state"] in WRONG]


def _object(api: str, kind: str, namespace: str, name: str, spec: Object, **metadata: Any) -> Object:
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {}), **metadata},
        "spec": spec,
    }


def _random_objects(seed: int) -> list[Object]:
    """A mesh whose namespaces have a Gateway, a waypoint, Services of it, and policies for them."""
    draw = random.Random(seed)
    gateway = "gateway.networking.k8s.io/v1"
    found = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "istio-system"}},
        _object(gateway, "GatewayClass", "", "istio", {"controllerName": "istio.io/gateway-controller"}),
        _object(gateway, "GatewayClass", "", "istio-waypoint", {"controllerName": "istio.io/mesh-controller"}),
    ]
    for number in range(NAMESPACES):
        namespace = f"n{number}"
        found.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        listeners: list[Object] = [{"name": "http", "port": 80, "protocol": "HTTP"}]
        if draw.random() < 0.5:
            listeners.append({"name": "other", "port": 8080, "protocol": "HTTP", "hostname": "a.example.com"})
        found.append(
            _object(gateway, "Gateway", namespace, "public", {"gatewayClassName": "istio", "listeners": listeners})
        )
        mesh = [{"name": "mesh", "port": 15008, "protocol": "HBONE"}]
        found.append(
            _object(
                gateway, "Gateway", namespace, "waypoint", {"gatewayClassName": "istio-waypoint", "listeners": mesh}
            )
        )
        for place, service in enumerate(("cart", "pages")):
            spec = {
                "clusterIP": f"10.96.{number}.{place + 1}",
                "selector": {"app": service},
                "ports": [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}],
            }
            found.append(
                _object("v1", "Service", namespace, service, spec, labels={"istio.io/use-waypoint": "waypoint"})
            )
        rules = [
            {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], "backendRefs": [{"name": "cart", "port": 80}]}
        ]
        found.append(
            _object(gateway, "HTTPRoute", namespace, "all", {"parentRefs": [{"name": "public"}], "rules": rules})
        )
        found += _random_policies(draw, namespace)
    found += [
        _object(
            "security.istio.io/v1",
            "AuthorizationPolicy",
            "istio-system",
            "mesh",
            {"action": "DENY", "rules": [_rule(draw)]},
        ),
        _object(
            "security.istio.io/v1",
            "AuthorizationPolicy",
            "istio-system",
            "waypoints",
            {
                "action": "DENY",
                "targetRefs": [
                    {"group": "gateway.networking.k8s.io", "kind": "GatewayClass", "name": "istio-waypoint"}
                ],
                "rules": [_rule(draw)],
            },
        ),
    ]
    return found


def _random_policies(draw: random.Random, namespace: str) -> Iterator[Object]:
    targets: list[tuple[str, Object]] = [
        ("public", {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "public"}),
        ("waypoint", {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "waypoint"}),
        ("cart", {"group": "", "kind": "Service", "name": "cart"}),
        ("pages", {"group": "", "kind": "Service", "name": "pages"}),
        ("namespace", {}),
    ]
    for name, ref in targets:
        refs = {"targetRefs": [ref]} if ref else {}
        for place in range(draw.choice((0, 1, 1, 2))):
            spec: Object = refs | {"action": draw.choice(("ALLOW", "DENY", "AUDIT"))}
            if spec["action"] == "ALLOW" and draw.random() < 0.5:
                del spec["action"]
            if draw.random() < 0.85 or spec.get("action") == "DENY":
                spec["rules"] = [_rule(draw) for _ in range(draw.choice((1, 1, 2)))]
            annotations = {"istio.io/dry-run": "true"} if draw.random() < 0.15 and spec.get("action") != "AUDIT" else {}
            yield _object(
                "security.istio.io/v1",
                "AuthorizationPolicy",
                namespace,
                f"{name}-{place}",
                spec,
                annotations=annotations,
            )
        if ref and draw.random() < 0.4:
            rule: Object = {"issuer": f"https://{name}.example.com", "jwks": '{"keys":[]}'}
            if draw.random() < 0.5:
                rule["audiences"] = ["shop", "bank"]
            yield _object(
                "security.istio.io/v1", "RequestAuthentication", namespace, name, {**refs, "jwtRules": [rule]}
            )


def _rule(draw: random.Random) -> Object:
    operations = (
        {"methods": ["GET", "POST"]},
        {"paths": ["/cart", "/cart/*"], "methods": ["PUT"]},
        {"hosts": ["a.example.com"], "notPaths": ["/open"]},
        {"ports": ["80"]},
    )
    sources = ({"namespaces": ["shop", "bank"]}, {"ipBlocks": ["192.0.2.0/24"]}, {"notNamespaces": ["test"]})
    rule: Object = {}
    if draw.random() < 0.8:
        rule["to"] = [{"operation": one} for one in draw.sample(operations, draw.choice((1, 2)))]
    if draw.random() < 0.5:
        rule["from"] = [{"source": draw.choice(sources)}]
    if draw.random() < 0.2:
        rule["when"] = [{"key": "request.headers[x-user]", "values": ["a"]}]
    return rule


def _managers(dump: Object) -> Iterator[tuple[str, Object]]:
    """Yield each connection manager with rules for authorization, and the name of its proxy."""
    for proxy, config in dump["xds"].items():
        parts = {one["@type"].rpartition(".")[2]: one for one in config["configs"]}
        for one in parts["ListenersConfigDump"]["dynamicListeners"]:
            for chain in one["activeState"]["listener"].get("filterChains", ()):
                for filter_ in chain["filters"]:
                    if any(one["name"].endswith(".rbac") for one in filter_["typedConfig"].get("httpFilters", ())):
                        yield proxy, filter_["typedConfig"]


def _rbac(manager: Object) -> list[Object]:
    return [one for one in manager["httpFilters"] if one["name"].endswith(".rbac") and "rules" in one["typedConfig"]]


def _without_a_policy(manager: Object) -> None:
    policies = _rbac(manager)[0]["typedConfig"]["rules"]["policies"]
    name = min(policies).partition("-rule[")[0]
    for one in [one for one in policies if one.startswith(f"{name}-rule[")]:
        del policies[one]


def _without_filters(manager: Object) -> None:
    manager["httpFilters"] = [one for one in manager["httpFilters"] if not one["name"].endswith(".rbac")]


def _with_another_action(manager: Object) -> None:
    rules = _rbac(manager)[0]["typedConfig"]["rules"]
    rules["action"] = "DENY" if rules.get("action", "ALLOW") != "DENY" else "LOG"


def _in_shadow(manager: Object) -> None:
    config = _rbac(manager)[0]["typedConfig"]
    config["shadowRules"] = config.pop("rules")


def _of_another_policy(manager: Object) -> None:
    policies = _rbac(manager)[0]["typedConfig"]["rules"]["policies"]
    policies["ns[other]-policy[other]-rule[0]"] = policies[min(policies)]


CHANGES: tuple[Callable[[Object], None], ...] = (
    _without_a_policy,
    _without_filters,
    _with_another_action,
    _in_shadow,
    _of_another_policy,
)


@pytest.mark.long
def test_policies_that_istio_translates_are_verified_and_each_change_is_found(
    bridge: Run, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    verified = changed = 0
    for seed in range(CLUSTERS):
        dump = _translate(tmp_path, _random_objects(seed))
        rows = _rows(bridge, tmp_path, dump)
        assert _wrong(rows) == [], seed
        verified += sum(row["state"] == "verified" for row in rows)
        draw = random.Random(seed)
        for change in CHANGES:
            other = copy.deepcopy(dump)
            proxies = set()
            for proxy, manager in _managers(other):
                if _rbac(manager) and draw.random() < 0.4:
                    change(manager)
                    proxies.add(proxy)
            found = {row["proxy"].rpartition(" ")[2] for row in _wrong(_rows(bridge, tmp_path, other))}
            assert proxies - found == set(), (seed, change.__name__)
            changed += len(proxies)
    line = (
        f"{verified:,} fields of {CLUSTERS * NAMESPACES} random namespaces verified; {changed:,} changed proxies found"
    )
    request.config.get_terminal_writer().line(line)
    assert verified > CLUSTERS * NAMESPACES * 5
