"""Commands about a rule show that Envoy Gateway answers its requests with 500, where it rejects a policy."""

from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, Run

OBJECTS = ROOT / "examples/proxies/objects.yaml"
REMARK = (
    "Envoy Gateway rejects SecurityPolicy/shop/doors, so its proxies answer 500 themselves: ExtAuth: no such service."
)
POLICY = """\
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {{name: doors, namespace: shop, generation: 2}}
spec:
  targetRefs: [{{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart, sectionName: view}}]
  extAuth: {{http: {{backendRefs: [{{name: missing, port: 80}}]}}}}
status:
  ancestors:
  - ancestorRef: {{group: gateway.networking.k8s.io, kind: Gateway, namespace: shop, name: public}}
    controllerName: gateway.envoyproxy.io/gatewayclass-controller
    conditions:
    - {{type: Accepted, status: "{accepted}", reason: Any, message: "ExtAuth: no such service.", observedGeneration: 2}}
"""


@pytest.mark.parametrize(
    "command",
    [
        ("request", "--host", "shop.example.com", "--path", "/cart"),
        ("describe", "httproute/shop/cart"),
        ("effective", "httproute/shop/cart#view"),
    ],
    ids=lambda command: command[0],
)
def test_rejected_policy_is_a_note_at_its_rule(bridge: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    for accepted in ("False", "True"):
        (tmp_path / "policy.yaml").write_text(POLICY.format(accepted=accepted))
        done = bridge(*command, "--manifests", OBJECTS, "--manifests", tmp_path)
        assert done.returncode == 0, done.stderr
        noted = [line for line in done.stdout.splitlines() if REMARK in line]
        places = ["HTTPRoute/shop/cart#view"] if accepted == "False" else []
        assert [line.split()[0] for line in noted] == places, done.stdout
