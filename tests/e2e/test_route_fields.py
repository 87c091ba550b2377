"""Fields of a route's rule that go before those of a policy, in all answers that show what is in effect."""

import json
from pathlib import Path

import pytest
import yaml

from tests.e2e.conftest import Run

SCENARIO = Path(__file__).parents[1] / "scenarios" / "envoy_gateway_route_timeouts" / "objects.yaml"
KIND = "gateway.envoyproxy.io/BackendTrafficPolicy"
RULE = "HTTPRoute/envoy-gateway-route-timeouts/export#whole"
SHADOWED = (
    f"not timeout.http.requestTimeout=10s of envoy-gateway-route-timeouts/edge, because {RULE} has timeouts.request"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "objects.yaml").write_text(SCENARIO.read_text())
    bound = {"kind": KIND, "field": "/timeout/http/requestTimeout", "maximum": "60s"}
    spec = {"policy": "bridge.guardrails.bounded_field", "match": {"kinds": [{"kinds": ["HTTPRoute"]}]}}
    api = {"apiVersion": "policybridge.io/v1alpha1", "kind": "Constraint", "metadata": {"name": "quick"}}
    (tmp_path / "quick.yaml").write_text(yaml.safe_dump({**api, "spec": {**spec, "parameters": bound}}))
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [("effective", RULE), ("explain", RULE), ("describe", RULE), ("request", "http://any.example.org/whole")],
    ids=lambda words: words[0],
)
def test_field_of_a_rule_is_shown_with_the_policys_field_that_it_shadows(
    bridge: Run, folder: Path, words: tuple[str, ...]
) -> None:
    printed = " ".join(bridge(*words, "--manifests", folder).stdout.split())
    assert SHADOWED in printed
    assert "120s" in printed


def test_guardrail_judges_the_field_of_the_rule(bridge: Run, folder: Path) -> None:
    found = json.loads(bridge("violations", "--manifests", folder, "-o", "json").stdout)
    values = sorted(one["message"].rpartition(" ")[2] for one in found)
    assert values == ["120s", "120s"]  # of the rules `whole` and `again`, not of the others
