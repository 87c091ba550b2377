"""Requests that a guardrail denies, on an API server that calls the webhook of a bridge."""

import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.admitting import Said, bridge_beside_the_shop, speaking, until
from tests.e2e.conftest import SHOP

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def kubectl(module_control_plane: ControlPlane, kubectl_path: Path) -> Said:
    return speaking(kubectl_path, module_control_plane)


@pytest.fixture(scope="module")
def bridge(
    module_control_plane: ControlPlane,
    kubectl: Said,
    bridge_path: Path,
    environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[subprocess.Popen[bytes]]:
    folder = tmp_path_factory.mktemp("bridge")
    # One resource by name: the others that guardrails judge are in webhooks of their own.
    with bridge_beside_the_shop(
        module_control_plane, kubectl, bridge_path, environment, folder, "configmaps"
    ) as process:
        yield process


@pytest.fixture(autouse=True)
def _without_guardrails(kubectl: Said, bridge: subprocess.Popen[bytes]) -> Iterator[None]:
    assert bridge.poll() is None
    yield
    assert kubectl("delete", "constraints", "--all")[0] == 0


GUARDRAIL = """
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: public-routes-have-colors}
spec:
  policy: bridge.guardrails.required_policy
  match: {kinds: [{apiGroups: [gateway.networking.k8s.io], kinds: [HTTPRoute]}]}
  parameters: {kinds: [example.com/ColorPolicy]}
"""
KEPT = """
apiVersion: example.com/v1
kind: ColorPolicy
metadata: {name: kept, namespace: infra}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: redirect}]
  defaults: {contrast: 3}
"""


def test_a_deletion_that_a_guardrail_does_not_allow_is_denied(kubectl: Said) -> None:
    assert kubectl("apply", "-f", "-", text=GUARDRAIL)[0] == 0
    delete = ["delete", "colorpolicy", "--namespace=infra"]
    denied = (
        "[public-routes-have-colors] HTTPRoute/infra/redirect: rule to-https via Gateway/infra/public#http: "
        "no ColorPolicy is in effect for * (because of ColorPolicy/infra/"
    )
    until(kubectl, [*delete, "brand", "--dry-run=server"], "", denied)
    code, reported = kubectl(*delete, "brand")
    assert (code, denied in reported) == (1, True), reported
    # The route has another policy then, and the deletion introduces no violation.
    assert kubectl("apply", "-f", "-", text=KEPT)[0] == 0
    until(kubectl, [*delete, "brand", "--dry-run=server"], "", "deleted")
    assert kubectl(*delete, "brand")[0] == 0
    until(kubectl, [*delete, "kept", "--dry-run=server"], "", denied)  # OPA knows by then that the other one is gone
    code, reported = kubectl(*delete, "kept")
    assert (code, denied in reported) == (1, True), reported


@pytest.mark.parametrize("together", [False, True], ids=["one after the other", "at the same time"])
def test_one_of_two_deletions_that_violate_a_guardrail_only_together_is_denied(kubectl: Said, together: bool) -> None:
    assert kubectl("apply", f"--filename={SHOP}")[0] == 0
    kubectl("delete", "colorpolicy", "--namespace=infra", "kept", "--ignore-not-found")
    assert kubectl("apply", "-f", "-", text=GUARDRAIL)[0] == 0
    delete = ["delete", "colorpolicy", "--namespace=infra"]
    until(kubectl, [*delete, "brand", "--dry-run=server"], "", "denied the request: [public-routes")
    until(kubectl, ["apply", "-f", "-"], KEPT, "kept created")  # the guardrail is loaded again meanwhile
    until(kubectl, [*delete, "brand", "--dry-run=server"], "", "deleted")  # OPA has the other one
    if together:
        with ThreadPoolExecutor() as pool:
            found = list(pool.map(lambda name: kubectl(*delete, name), ["brand", "kept"]))
    else:
        found = [kubectl(*delete, "brand", "kept")]
    reported = "".join(text for _, text in found)
    assert max(code for code, _ in found) == 1, reported
    assert "rule to-https via Gateway/infra/public#http: no ColorPolicy is in effect" in reported
    assert len(re.findall("deleted", reported)) == 1, reported


def test_a_guardrail_with_misspelled_parameters_is_denied(kubectl: Said) -> None:
    misspelled = GUARDRAIL.replace("{kinds: [example", "{kind: [example")
    until(kubectl, ["apply", "-f", "-"], misspelled, 'parameters: unknown field "kind"; did you mean "kinds"?')


# A kind of policies that name no targets, which no preset describes.
SHIELDS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shields.acme.io}
spec:
  group: acme.io
  scope: Namespaced
  names: {kind: Shield, plural: shields}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: policybridge.io/v1alpha1
kind: PolicyKind
metadata: {name: shields.acme.io}
spec:
  group: acme.io
  kind: Shield
  class: Inherited
  targets: [{group: gateway.networking.k8s.io, kind: Gateway}]
  selectors: [{path: /spec/selector, targets: [{group: gateway.networking.k8s.io, kind: Gateway}]}]
  effectiveTarget: Rule
  specPaths: [{path: /spec, without: [selector]}]
  defaultStrategy: Additive
"""
SHIELD = """
apiVersion: acme.io/v1
kind: Shield
metadata: {name: all, namespace: infra}
spec: {selector: {}, level: 3}
"""


def test_a_deletion_of_a_policy_that_only_its_policykind_describes_is_denied(
    module_control_plane: ControlPlane, kubectl: Said
) -> None:
    assert kubectl("apply", "-f", "-", text=SHIELDS)[0] == 0
    module_control_plane.api.wait_for_crds({"shields.acme.io"})
    code, reported = kubectl("apply", "-f", "-", text=SHIELD)
    assert code == 0, reported
    assert kubectl("apply", "-f", "-", text=GUARDRAIL.replace("example.com/ColorPolicy", "acme.io/Shield"))[0] == 0
    delete = ["delete", "shield", "all", "--namespace=infra"]
    denied = "HTTPRoute/infra/redirect: rule to-https via Gateway/infra/public#http: no Shield is in effect for *"
    until(kubectl, [*delete, "--dry-run=server"], "", denied)
    code, reported = kubectl(*delete)
    assert (code, denied in reported) == (1, True), reported
    # An update is reviewed too, although the kind has no plural of policies and no targetRefs.
    elsewhere = ["patch", "shield", "all", "--namespace=infra", "--type=merge", "--patch"]
    elsewhere += ['{"spec": {"selector": {"matchLabels": {"app": "none"}}}}']
    until(kubectl, [*elsewhere, "--dry-run=server"], "", denied)


# A Gateway without a policy: its listeners admit no route, or only hostnames that are not public.
DOORS = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: doors, namespace: infra}
spec:
  gatewayClassName: example
  listeners:
  - {name: open, protocol: HTTP, port: 8000, allowedRoutes: {namespaces: {from: All}}}
  - {name: own, protocol: HTTP, port: 8001, allowedRoutes: {namespaces: {from: Same}}}
  - name: inner
    protocol: HTTP
    port: 8002
    hostname: "*.internal.example.com"
    allowedRoutes: {namespaces: {from: All}}
  - name: chosen
    protocol: HTTP
    port: 8003
    allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {exposure: public}}}}
"""
BEHIND = """---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: at-%s, namespace: payments}
spec:
  parentRefs: [{name: %s, namespace: infra, sectionName: %s}]
  rules: [{name: all}]
"""
# By name: the request that opens the door, and the end of the denial.
OPENING = {
    "a route moves to another Gateway": (
        ["patch", "httproute", "at-http", "--namespace=payments", "--type=merge"],
        '{"spec": {"parentRefs": [{"name": "doors", "namespace": "infra", "sectionName": "open"}]}}',
        "HTTPRoute/payments/at-http: rule all via Gateway/infra/doors#open: no ColorPolicy is in effect for *",
    ),
    "a listener takes routes of all namespaces": (
        ["patch", "gateway", "doors", "--namespace=infra", "--type=json"],
        '[{"op": "replace", "path": "/spec/listeners/1/allowedRoutes/namespaces/from", "value": "All"}]',
        "HTTPRoute/payments/at-own: rule all via Gateway/infra/doors#own: no ColorPolicy is in effect for *",
    ),
    "a listener's hostname becomes public": (
        ["patch", "gateway", "doors", "--namespace=infra", "--type=json"],
        '[{"op": "replace", "path": "/spec/listeners/2/hostname", "value": "*.a.org"}]',
        "HTTPRoute/payments/at-inner: rule all via Gateway/infra/doors#inner: no ColorPolicy is in effect for *.a.org",
    ),
    "a Namespace gets the label of a listener": (
        ["patch", "namespace", "payments", "--type=json"],
        '[{"op": "add", "path": "/metadata/labels/exposure", "value": "public"}]',
        "HTTPRoute/payments/at-chosen: rule all via Gateway/infra/doors#chosen: no ColorPolicy is in effect for *",
    ),
}


def test_changes_that_open_a_way_around_policies_are_denied(kubectl: Said) -> None:
    guarded = GUARDRAIL.replace("ColorPolicy]}", 'ColorPolicy], internalHostnames: ["*.internal.example.com"]}')
    behind = BEHIND % ("http", "internal", "http")
    behind += "".join(BEHIND % (name, "doors", name) for name in ("own", "inner", "chosen"))
    code, reported = kubectl("apply", "-f", "-", text=f"{guarded}---{DOORS}{behind}")
    assert code == 0, reported
    for what, (request, patch, denial) in OPENING.items():
        asked = [*request, "--patch", patch]
        until(kubectl, [*asked, "--dry-run=server"], "", denial)
        code, reported = kubectl(*asked)
        assert (code, denial in reported) == (1, True), f"{what}: {reported}"
    # What opens nothing is not denied.
    assert kubectl("label", "namespace", "payments", "exposure=inner")[0] == 0


LOANED = """
apiVersion: v1
kind: Namespace
metadata: {name: loans}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: colors-of-loans, namespace: infra}
spec:
  from: [{group: example.com, kind: ColorPolicy, namespace: loans}]
  to: [{group: gateway.networking.k8s.io, kind: Gateway}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: lent, namespace: infra}
spec:
  gatewayClassName: example
  listeners: [{name: web, protocol: HTTP, port: 8100, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: lent, namespace: payments}
spec:
  parentRefs: [{name: lent, namespace: infra}]
  rules: [{name: all}]
---
apiVersion: example.com/v1
kind: ColorPolicy
metadata: {name: lent, namespace: loans}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: infra, name: lent}]
  defaults: {contrast: 3}
"""


def test_a_namespace_that_takes_policies_of_others_along_is_not_deleted(kubectl: Said) -> None:
    for manifests in (LOANED, GUARDRAIL):
        code, reported = kubectl("apply", "-f", "-", text=manifests)
        assert code == 0, reported
    denied = "HTTPRoute/payments/lent: rule all via Gateway/infra/lent#web: no ColorPolicy is in effect for *"
    until(kubectl, ["delete", "namespace", "loans", "--dry-run=server"], "", denied)
    until(kubectl, ["delete", "referencegrant", "colors-of-loans", "--namespace=infra", "--dry-run=server"], "", denied)


def test_a_deletion_above_thousands_of_routes_is_denied(module_control_plane: ControlPlane, kubectl: Said) -> None:
    api = module_control_plane.api
    routes = "/apis/gateway.networking.k8s.io/v1/namespaces/payments/httproutes"
    wide = LOANED.replace("lent", "wide").replace("8100", "8101").replace("namespace: loans", "namespace: infra")
    code, reported = kubectl("apply", "-f", "-", text=wide)
    assert code == 0, reported
    with api.session() as session:
        for number in range(2_050):
            route = {
                "apiVersion": "gateway.networking.k8s.io/v1",
                "kind": "HTTPRoute",
                "metadata": {"name": f"wide-{number}", "namespace": "payments"},
                "spec": {"parentRefs": [{"name": "wide", "namespace": "infra"}], "rules": [{"name": "all"}]},
            }
            session.request("POST", routes, route)
    assert kubectl("apply", "-f", "-", text=GUARDRAIL)[0] == 0
    delete = ["delete", "colorpolicy", "wide", "--namespace=infra"]
    until(kubectl, [*delete, "--dry-run=server"], "", "[public-routes-have-colors] HTTPRoute/payments/wide")
    code, reported = kubectl(*delete)
    assert (code, "denied the request" in reported) == (1, True), reported
