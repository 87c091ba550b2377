"""The violations that a change introduces, by the Constraint, object, target and field and not by the message."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Run

DOORS = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: eg}
spec: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: front, namespace: edge}
spec:
  gatewayClassName: eg
  listeners:
  - {name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: back, namespace: edge}
spec:
  gatewayClassName: eg
  listeners:
  - {name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
"""
BOOKS = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: books, namespace: library}
spec:
  parentRefs: [{name: front, namespace: edge}]
  hostnames: [books.example.org]
  rules:
  - {name: lend, matches: [{path: {type: PathPrefix, value: /lend}}]}
  - {name: read, matches: [{path: {type: PathPrefix, value: /read}}]}
"""
LATE = """
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: late, namespace: library}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: books}]
  timeout: {http: {requestTimeout: 90s}}
"""
LOCK = """
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {name: lock, namespace: %s}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: %s, name: %s}]
  jwt: {providers: [{name: p, remoteJWKS: {uri: https://id.example.org/keys}}]}
"""
RULES = """
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: short}
spec:
  policy: bridge.guardrails.bounded_field
  match: {kinds: [{kinds: [HTTPRoute]}]}
  parameters: {kind: gateway.envoyproxy.io/BackendTrafficPolicy, field: /timeout/http/requestTimeout, maximum: 30s}
---
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: locked}
spec:
  policy: bridge.guardrails.required_policy
  match: {kinds: [{kinds: [HTTPRoute]}]}
  parameters: {kinds: [gateway.envoyproxy.io/SecurityPolicy]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"doors": DOORS, "books": BOOKS, "late": LATE, "rules": RULES}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def _problems(bridge: Run, folder: Path, *change: str, text: str = "") -> dict[str, set[str]]:
    done = bridge("analyze", *change, "--manifests", folder, "-o", "json", text=text)
    assert done.returncode in {0, 1}, done.stderr
    problems: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)["problems"]
    return {
        how: {one["about"].rpartition("/")[2] for one in found if one["reason"] == "Violation"}
        for how, found in problems.items()
    }


def test_a_worse_value_is_a_new_violation_and_a_better_one_is_not(bridge: Run, folder: Path) -> None:
    worse = _problems(bridge, folder, "-", text=LATE.replace("90s", "91s"))
    assert (worse["introduced"], worse["fixed"]) == ({"short"}, set())
    better = _problems(bridge, folder, "-", text=LATE.replace("90s", "89s"))
    assert (better["introduced"], better["fixed"]) == (set(), set())


def test_a_renamed_rule_has_the_violations_that_it_had(bridge: Run, folder: Path) -> None:
    renamed = _problems(bridge, folder, "-", text=BOOKS.replace("name: lend", "name: borrow"))
    assert (renamed["introduced"], renamed["fixed"]) == (set(), set())
    added = "  - {name: buy, matches: [{path: {type: PathPrefix, value: /buy}}]}\n"
    assert _problems(bridge, folder, "-", text=BOOKS + added)["introduced"] == {"short", "locked"}


def test_a_hostname_more_without_a_required_policy_is_a_new_violation(bridge: Run, folder: Path) -> None:
    wider = _problems(
        bridge, folder, "-", text=BOOKS.replace("[books.example.org]", "[books.example.org, b.example.org]")
    )
    assert wider["introduced"] == {"locked"}
    moved = _problems(bridge, folder, "-", text=BOOKS.replace("front", "back"))
    assert (moved["introduced"], moved["unchanged"]) == (set(), {"short", "locked"})


def test_a_gatewayclass_that_comes_back_introduces_nothing(bridge: Run, folder: Path) -> None:
    doors = (folder / "doors.yaml").read_text()
    (folder / "doors.yaml").write_text(doors.partition("---")[2])
    restored = _problems(bridge, folder, "-", text=doors.partition("---")[0])
    assert (restored["introduced"], restored["unchanged"]) == (set(), {"short", "locked"})
