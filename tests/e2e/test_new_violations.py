"""The violations that a change introduces, by the Constraint, object, target and field and not by the message."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Run

CLASS = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: eg}
spec: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
"""
GATEWAY = """---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: %s, namespace: edge}
spec:
  gatewayClassName: eg
  listeners:
"""
LISTENER = "  - {name: %s, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}\n"
DOORS = CLASS + "".join(GATEWAY % name + LISTENER % "web" for name in ("front", "back"))
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
AT_BOTH = BOOKS.replace("parentRefs: [", "parentRefs: [{name: back, namespace: edge}, ")
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


SHELF = """
apiVersion: v1
kind: Service
metadata: {name: shelf, namespace: library}
spec: {ports: [{port: 80}]}
---
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: alike}
spec:
  policy: bridge.guardrails.same_value
  match: {kinds: [{apiGroups: [""], kinds: [Service]}]}
  parameters: {kind: gateway.envoyproxy.io/BackendTrafficPolicy, field: /timeout/http/requestTimeout}
"""
AT_A_DOOR = """
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: %s, namespace: edge}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: %s}]
  timeout: {http: {requestTimeout: %s}}
"""


@pytest.mark.parametrize("change", [("-",), ("--delete", "backendtrafficpolicy/edge/back")])
def test_a_policy_of_a_gateway_introduces_violations_at_services_below(
    bridge: Run, folder: Path, change: tuple[str, ...]
) -> None:
    shelved = AT_BOTH.replace("value: /lend}}]", "value: /lend}}], backendRefs: [{name: shelf, port: 80}]")
    doors = "".join(AT_A_DOOR % (name, name, "5s") for name in ("front", "back"))
    for name, text in {"books": shelved, "shelf": SHELF, "late": "", "times": doors}.items():
        (folder / f"{name}.yaml").write_text(text)
    found = _problems(bridge, folder, *change, text=AT_A_DOOR % ("back", "back", "6s"))
    assert "alike" in found["introduced"]


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
    restored = _problems(bridge, folder, "-", text=CLASS)
    assert (restored["introduced"], restored["unchanged"]) == (set(), {"short", "locked"})


KEPT = """
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: kept}
spec:
  policy: bridge.guardrails.no_weakening
  match: {kinds: [{kinds: [HTTPRoute, Gateway]}]}
  parameters: {kinds: [gateway.envoyproxy.io/SecurityPolicy]}
"""
LEND_LOCK = LOCK.replace("name: %s}]", "name: %s, sectionName: lend}]") % ("library", "HTTPRoute", "books")
WEB_LOCK = LOCK.replace("name: %s}]", "name: %s, sectionName: web}]") % ("edge", "Gateway", "front")
OTHER_CLASS = CLASS.replace("name: eg", "name: other").replace("envoyproxy.io/", "example.io/", 1)
# By what is done: the policy that is in effect, and the change that takes it from requests without naming it.
WEAKENINGS = {
    "a route moves to a Gateway without the policy": (
        LOCK % ("edge", "Gateway", "front"),
        BOOKS.replace("front", "back"),
    ),
    "a route gets a second Gateway without the policy": (
        LOCK % ("edge", "Gateway", "front"),
        AT_BOTH,
    ),
    "a rule gets another name": (LEND_LOCK, BOOKS.replace("name: lend", "name: borrow")),
    "a rule gets another name and another match": (
        LEND_LOCK,
        BOOKS.replace("name: lend, matches: [{path: {type: PathPrefix, value: /lend}}]", "name: borrow"),
    ),
    "two rules change places": (
        LEND_LOCK,
        BOOKS.replace("name: lend", "name: x").replace("name: read", "name: lend").replace("name: x", "name: read"),
    ),
    "a listener gets another name": (WEB_LOCK, DOORS.replace("name: web", "name: door", 1)),
    "a Gateway gets a class of another controller": (
        LOCK % ("edge", "Gateway", "front"),
        OTHER_CLASS + "---" + DOORS.split("---")[1].replace("gatewayClassName: eg", "gatewayClassName: other"),
    ),
}


@pytest.mark.parametrize("weakening", WEAKENINGS)
def test_a_change_that_takes_a_policy_from_requests_is_a_weakening(bridge: Run, folder: Path, weakening: str) -> None:
    policy, change = WEAKENINGS[weakening]
    (folder / "lock.yaml").write_text(policy)
    (folder / "rules.yaml").write_text(KEPT)
    assert _problems(bridge, folder, "-", text=change)["introduced"] == {"kept"}


def test_a_change_that_takes_nothing_is_no_weakening(bridge: Run, folder: Path) -> None:
    (folder / "lock.yaml").write_text(LOCK % ("edge", "Gateway", "front"))
    (folder / "rules.yaml").write_text(KEPT)
    (folder / "books.yaml").write_text(AT_BOTH)
    for change in (
        AT_BOTH.replace("books.example.org", "b.example.org"),
        AT_BOTH.replace("name: lend", "name: borrow"),
        AT_BOTH + "  - {name: buy, matches: [{path: {type: PathPrefix, value: /buy}}]}\n",
        BOOKS,
    ):
        assert _problems(bridge, folder, "-", text=change)["introduced"] == set(), change


SWAP = CLASS + GATEWAY % "front"
SWAP += LISTENER % "web, hostname: books.example.org" + LISTENER % "inner, hostname: books.internal"


def test_a_hostname_that_moves_to_a_listener_without_the_policy_is_a_weakening(bridge: Run, folder: Path) -> None:
    (folder / "doors.yaml").write_text(SWAP)
    (folder / "books.yaml").write_text(BOOKS.replace("[books.example.org]", "[books.example.org, books.internal]"))
    (folder / "lock.yaml").write_text(WEB_LOCK)
    (folder / "rules.yaml").write_text(KEPT.replace(", Gateway]", "]"))
    swapped = (
        SWAP.replace("books.example.org", "x")
        .replace("books.internal", "books.example.org")
        .replace(": x,", ": books.internal,")
    )
    assert _problems(bridge, folder, "-", text=swapped)["introduced"] == {"kept"}


def test_a_field_inside_a_unit_that_goes_is_a_weakening(bridge: Run, folder: Path) -> None:
    limits = """
apiVersion: kuadrant.io/v1
kind: RateLimitPolicy
metadata: {name: slow, namespace: library}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: books}
  limits:
    lending:
      rates: [{limit: 5, window: 1s}]
      counters: [{expression: auth.identity.reader}]
"""
    (folder / "limits.yaml").write_text(limits)
    (folder / "doors.yaml").write_text(
        DOORS.replace("gateway.envoyproxy.io/gatewayclass-controller", "istio.io/gateway-controller")
    )
    parameters = "{kinds: [kuadrant.io/RateLimitPolicy], fields: [/limits/lending/counters]}"
    kept = KEPT.replace("{kinds: [gateway.envoyproxy.io/SecurityPolicy]}", parameters)
    (folder / "rules.yaml").write_text(kept)
    without = limits.replace("      counters: [{expression: auth.identity.reader}]\n", "")
    assert _problems(bridge, folder, "-", text=without)["introduced"] == {"kept"}
    assert _problems(bridge, folder, "-", text=limits.replace("reader", "guest"))["introduced"] == set()
    assert _problems(bridge, folder, "--delete", "ratelimitpolicy/library/slow")["introduced"] == {"kept"}


def test_requests_that_another_route_takes_are_judged_by_required_policy_alone(bridge: Run, folder: Path) -> None:
    new = BOOKS.replace("name: books", "name: fines").replace("/lend}", "/lend/fines}")
    (folder / "lock.yaml").write_text(LOCK % ("library", "HTTPRoute", "books"))
    assert _problems(bridge, folder, "-", text=new)["introduced"] == {"locked"}
    (folder / "rules.yaml").write_text(KEPT)
    assert _problems(bridge, folder, "-", text=new)["introduced"] == set()
