"""What each preset must have besides its description: a scenario, documentation, and the short names of its CRD."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.files import rego_root
from hack.tools.vendor_crds import VENDORS, crds_of

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs/appendix/presets"
PRESETS = {
    f"{spec['group']}/{spec['kind']}": spec
    for file in sorted((rego_root() / "bridge/kinds/presets").glob("*.yaml"))
    for spec in [yaml.safe_load(file.read_text())["spec"]]
}
# The module has the CRDs of an older release.
NEWER_THAN_THE_MODULE = {"extensions.kuadrant.io/ThreatPolicy", "policy.networking.k8s.io/ClusterNetworkPolicy"}
# Their CRDs have no short names.
WITHOUT_SHORT_NAMES = {
    "admissionregistration.k8s.io": {"ValidatingAdmissionPolicy"},
    "aigateway.envoyproxy.io": {"BackendSecurityPolicy", "QuotaPolicy"},
    "alb.networking.azure.io": {
        "BackendTLSPolicy",
        "FrontendTLSPolicy",
        "HealthCheckPolicy",
        "RoutePolicy",
        "WebApplicationFirewallPolicy",
    },
    "apisix.apache.org": {"BackendTrafficPolicy", "HTTPRoutePolicy", "L4RoutePolicy"},
    "consul.hashicorp.com": {"GatewayPolicy"},
    "extensions.istio.io": {"TrafficExtension", "WasmPlugin"},
    "extensions.kuadrant.io": {"OIDCPolicy", "PlanPolicy", "TelemetryPolicy", "ThreatPolicy"},
    "gateway.k8s.aws": {"TargetGroupConfiguration"},
    "gateway.kgateway.dev": {"BackendConfigPolicy", "HTTPListenerPolicy", "ListenerPolicy", "TrafficPolicy"},
    "gateway.nginx.org": {"ObservabilityPolicy", "PayloadProcessor"},
    "kuadrant.io": {"AuthPolicy", "DNSPolicy", "RateLimitPolicy", "TLSPolicy", "TokenRateLimitPolicy"},
    "microgateway.airlock.com": {"ContentSecurityPolicy"},
    "networking.gke.io": {
        "GCPBackendPolicy",
        "GCPGatewayPolicy",
        "GCPSessionAffinityPolicy",
        "GCPTrafficDistributionPolicy",
        "HealthCheckPolicy",
    },
    "networking.istio.io": {"EnvoyFilter"},
    "policy.linkerd.io": {"AuthorizationPolicy", "HTTPLocalRateLimitPolicy"},
    "policy.networking.k8s.io": {"ClusterNetworkPolicy"},
}
API_VERSION = re.compile(r"^apiVersion: (\S+)/\S+\nkind: (\S+)$", re.MULTILINE)


def _kinds_of_scenarios() -> set[str]:
    files = (ROOT / "tests/scenarios").glob("*/objects.yaml")
    return {f"{group}/{kind}" for file in files for group, kind in API_VERSION.findall(file.read_text())}


def test_every_preset_has_a_scenario() -> None:
    assert PRESETS.keys() - _kinds_of_scenarios() == set()


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS.keys())
def test_every_preset_is_in_the_tables_of_the_documentation(preset: dict[str, Any]) -> None:
    rows = [line for line in (ROOT / "docs/reference/presets.md").read_text().splitlines() if line.startswith("|")]
    assert any(re.search(rf"\b{preset['kind']}\b", row) for row in rows)
    pages = [page.read_text() for page in PAGES.glob("*.md") if preset["group"] in page.read_text()]
    shipped = preset["group"].startswith("gateway.networking.")
    assert shipped or any(re.search(rf"\b{preset['kind']}\b", page) for page in pages)


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_every_page_names_its_judge_and_the_number_of_cases(page: Path) -> None:
    assert re.search(r"^## What this is based on\n\n(?:.+\n)*?.*\b\d[\d,]* cases\b", page.read_text(), re.MULTILINE)


def test_every_preset_has_short_names_unless_its_crd_has_none() -> None:
    without = {kind for kind, spec in PRESETS.items() if not spec.get("shortNames")}
    assert without == {f"{group}/{kind}" for group, kinds in WITHOUT_SHORT_NAMES.items() for kind in kinds}


@pytest.mark.long
def test_presets_have_the_short_names_of_their_crds() -> None:
    crds = {kind: crd for vendor in VENDORS for kind, crd in crds_of(vendor).items()}
    shared = PRESETS.keys() & crds.keys()
    assert shared
    assert {kind: PRESETS[kind].get("shortNames", []) for kind in shared} == {
        kind: crds[kind]["spec"]["names"].get("shortNames", []) for kind in shared
    }


@pytest.mark.long
def test_presets_have_the_schema_of_their_crd_if_a_module_has_those_of_their_group() -> None:
    crds = {kind for vendor in VENDORS for kind in crds_of(vendor)}
    groups = {kind.split("/")[0] for kind in crds}
    assert {kind for kind in PRESETS if kind.split("/")[0] in groups} - crds == NEWER_THAN_THE_MODULE
