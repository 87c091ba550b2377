"""Which rights follow from settings and policy kinds: each only where it is used."""

from bridge.model.types import Access
from bridge.settings.model import PlacementSettings, Settings, TypeSettings
from bridge.sidecar.permissions import READ, Facts, explained_kinds, needed_access, replicated_types

COLOR = "example.com/ColorPolicy"


NO_KINDS = Facts()


def _verbs(settings: Settings, facts: Facts = NO_KINDS) -> dict[tuple[str, str], set[str]]:
    """The verbs by namespace and resource."""
    found: dict[tuple[str, str], set[str]] = {}
    for one in needed_access(settings, facts):
        found.setdefault((one.namespace, one.what), set()).update(one.verbs)
    return found


def test_replicated_types_are_read_and_never_written() -> None:
    verbs = _verbs(Settings(types=("apps/Deployment",)))
    for what in ("httproutes.gateway.networking.k8s.io", "services", "deployments.apps"):
        assert verbs["", what] == set(READ)
    assert not [what for _, what in verbs if what.endswith("/status") and not what.endswith("policybridge.io/status")]


def test_read_only_bridge_needs_no_permission_to_write() -> None:
    placed = (PlacementSettings(type="apps/Deployment", mode="Write"),)
    found = needed_access(Settings(read_only=True, placement=placed), Facts([COLOR], {"status": [COLOR]}))
    assert {one.verbs for one in found} == {READ}
    assert {one.what for one in found} >= {"colorpolicies.example.com", "deployments.apps", "configmaps"}


def test_policies_of_a_kind_are_read_and_the_statuses_that_opa_names_are_patched() -> None:
    facts = Facts([COLOR], {"status": [COLOR, "core/Service"], "annotations": ["acme.io/Bucket"]})
    verbs = _verbs(Settings(), facts)
    assert verbs["", "colorpolicies.example.com"] == set(READ)
    assert verbs["", "colorpolicies.example.com/status"] == {"patch"}
    assert verbs["", "services/status"] == {"patch"}
    assert verbs["", "buckets.acme.io"] == {"patch"}


def test_a_type_of_some_namespaces_is_read_and_written_in_those_alone() -> None:
    settings = Settings(types=(TypeSettings(type="core/Service", namespaces=("shop", "blog")),))
    verbs = _verbs(settings, Facts(written={"status": ["core/Service"]}))
    assert {namespace for namespace, what in verbs if what in {"services", "services/status"}} == {"shop", "blog"}


def test_a_cluster_scoped_type_ignores_the_namespaces_setting() -> None:
    settings = Settings(types=(TypeSettings(type="acme.io/Region", namespaces=("shop",)),))
    verbs = _verbs(settings, Facts(namespaced=lambda type_id: type_id != "acme.io/Region"))
    assert verbs["", "regions.acme.io"] == set(READ)


def test_objects_are_patched_only_where_placement_writes() -> None:
    placed = (PlacementSettings(type="apps/Deployment", mode="Write"), PlacementSettings(type="apps/StatefulSet"))
    verbs = _verbs(Settings(placement=placed))
    assert verbs["", "deployments.apps"] == {*READ, "patch"}
    assert verbs["", "statefulsets.apps"] == set(READ)


def test_config_maps_are_touched_in_the_namespaces_of_policies_alone() -> None:
    assert [place for place in _verbs(Settings()) if place[1] == "configmaps"] == [("opa-policies", "configmaps")]
    assert [place for place in _verbs(Settings(policy_namespaces=("*",))) if place[1] == "configmaps"] == [
        ("", "configmaps")
    ]
    assert not [place for place in _verbs(Settings(policy_namespaces=())) if place[1] == "configmaps"]


def test_the_lease_and_the_webhook_configurations_are_named() -> None:
    settings = Settings(lease_namespace="infra", lease_name="pb", webhook_listen="0.0.0.0:8443")
    named = {(one.namespace, one.resource): one.names for one in needed_access(settings, NO_KINDS) if one.names}
    assert named == {
        ("", "mutatingwebhookconfigurations"): ("policy-bridge",),
        ("", "validatingwebhookconfigurations"): ("policy-bridge",),
        ("infra", "leases"): ("pb",),
    }


def test_the_bridge_touches_no_secret() -> None:
    for settings in (Settings(), Settings(webhook_listen="0.0.0.0:8443")):
        assert not [what for _, what in _verbs(settings) if what == "secrets"]


def test_a_presets_kind_is_left_out_where_the_cluster_does_not_serve_it() -> None:
    kinds = {
        "a/Preset": {"layers": ["Preset"], "traits": {"reads": ["a/Binding"]}},
        "a/Served": {
            "layers": ["Preset", "CustomResourceDefinition"],
            "traits": {"reads": ["a/Proxy", "core/Service"]},
        },
    }
    assert explained_kinds(kinds, served=True) == ["a/Served", "a/Proxy"]
    assert explained_kinds(kinds, served=False) == ["a/Preset", "a/Served", "a/Binding", "a/Proxy"]


def test_placed_types_are_replicated() -> None:
    assert "apps/Deployment" in replicated_types(Settings(placement=("apps/Deployment",)))


def test_access_is_called_as_kubectl_does() -> None:
    assert Access("", "apps", "deployments/status", ("patch",)).what == "deployments.apps/status"
    assert Access("", "", "services", READ).what == "services"
