from pathlib import Path

from bridge.sources.defaults import Defaulter, load_defaults
from hack.tools.fields import DEFAULTS, extract_defaults, render_defaults
from tests.builders import resource


def test_the_shipped_defaults_are_in_step_with_the_crds(gateway_api_crds: Path) -> None:
    assert render_defaults(extract_defaults(gateway_api_crds)) == DEFAULTS.read_text(encoding="utf-8")


def test_every_field_of_the_standard_channel_has_the_same_default_in_the_experimental_one(
    gateway_api_crds: Path,
) -> None:
    shipped = load_defaults().kinds
    for type_id, kind in extract_defaults(gateway_api_crds, "standard").kinds.items():
        assert is_part(kind.schema, shipped[type_id].schema), type_id


def test_policies_of_vendors_have_the_defaults_of_their_crds_without_these() -> None:
    spec = {
        "targetSelectors": [{"kind": "Gateway"}],
        "circuitBreaker": {"maxConnections": 5, "maxPendingRequests": None},
    }
    policy = resource("gateway.envoyproxy.io/v1alpha1", "BackendTrafficPolicy", "edge", spec=spec)
    assert Defaulter().complete(policy)["spec"] == {
        "targetSelectors": [{"kind": "Gateway", "group": "gateway.networking.k8s.io"}],
        "circuitBreaker": {
            "maxConnections": 5,
            **dict.fromkeys(("maxParallelRequests", "maxParallelRetries", "maxPendingRequests"), 1024),
        },
    }


def is_part(part: object, whole: object) -> bool:
    """Whether `whole` has all that `part` has."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and is_part(value, whole[name]) for name, value in part.items())
    return part == whole
