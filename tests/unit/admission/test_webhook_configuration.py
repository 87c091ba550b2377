import base64
from typing import Any

from bridge.admission.webhook_configuration import (
    MUTATING,
    VALIDATING,
    Kind,
    Target,
    differences,
    namespace_of,
    webhook_configuration,
)


def test_the_service_or_the_url_is_where_each_webhook_is() -> None:
    service = {"namespace": "infra", "name": "bridge", "path": "/validation", "port": 8443}
    assert Target(service="infra/bridge", port=8443).client_config("/validation") == {"service": service}
    target = Target(url="https://10.0.0.7/bridge/admission", service="infra/bridge", ca_bundle=b"CA")
    assert target.client_config(MUTATING.path) == {"url": target.url, "caBundle": "Q0E="}
    assert target.client_config(VALIDATING.path) == {"url": "https://10.0.0.7/bridge/validation", "caBundle": "Q0E="}


def _webhook(which: Kind, *resources: str) -> dict[str, Any]:
    document = webhook_configuration(
        which, "x", Target(url="https://h/admission"), exempt=["b", "a", "b"], timeout=10,
        resources=resources,
    )  # fmt: skip
    assert document["kind"] == which.kind
    webhook = document["webhooks"][0]
    found: dict[str, Any] = webhook
    return found


def test_resources_that_are_named_are_requested_with_the_subresources_that_write_them() -> None:
    webhook = _webhook(MUTATING, "pods", "deployments.apps", "*.example.com", "*")
    assert [(rule["apiGroups"], rule["resources"]) for rule in webhook["rules"]] == [
        ([""], ["pods", "pods/ephemeralcontainers", "pods/resize"]),
        (["apps"], ["deployments", "deployments/scale"]),
        (["example.com"], ["*", "*/scale"]),
        ([""], ["*", "*/scale", "pods/ephemeralcontainers", "pods/resize"]),
    ]
    assert webhook["namespaceSelector"]["matchExpressions"][0]["values"] == ["a", "b"]


def test_resources_of_guardrails_are_requested_beside_others() -> None:
    target = Target(url="https://h/admission")
    named = ["*.gateway.networking.k8s.io", "pods", "pods/resize"]
    _, policies = webhook_configuration(MUTATING, "x", target, exempt=[], timeout=10, resources=named)["webhooks"]
    assert policies["name"] == "policies.admission.policybridge.io"
    assert policies["rules"][0]["resources"] == ["*"]
    _, validated, _ = webhook_configuration(VALIDATING, "x", target, exempt=[], timeout=10, resources=named)["webhooks"]
    assert validated["rules"][0]["resources"] == ["*", "namespaces/status", "namespaces/finalize", "services/status"]
    conditions = {one["name"]: one["expression"] for one in policies["matchConditions"]}
    assert "has(one.spec.targetRefs)" in conditions["of-the-hierarchy"]
    assert "resource == 'services'" in conditions["of-the-hierarchy"]
    assert "resource == 'namespaces'" in conditions["of-the-hierarchy"]
    # A kind with a plural of any form is described by its PolicyKind or its preset.
    assert '"extensions.istio.io/WasmPlugin"' in conditions["of-the-hierarchy"]
    assert conditions["not-named"] == (
        '!((request.resource.group == "gateway.networking.k8s.io") || '
        '(request.resource.group == "" && request.resource.resource == "pods") || '
        '(request.resource.group == "" && request.resource.resource == "pods"))'
    )


def test_policies_are_not_requested_where_no_client_wants_it() -> None:
    target = Target(url="https://h/admission")
    alone = webhook_configuration(MUTATING, "x", target, exempt=[], timeout=10, resources=["pods"], policies=False)
    everything = webhook_configuration(MUTATING, "x", target, exempt=[], timeout=10)
    assert [len(document["webhooks"]) for document in (alone, everything)] == [1, 1]


def test_without_names_every_object_is_requested_with_the_subresources_that_write_it() -> None:
    (rule,) = _webhook(VALIDATING)["rules"]
    assert (rule["apiGroups"], rule["operations"]) == (["*"], ["CREATE", "UPDATE"])
    spec = ["*", "*/scale", "pods/ephemeralcontainers", "pods/resize"]
    assert rule["resources"] == [*spec, "*/status", "pods/binding", "namespaces/finalize"]


def test_validating_webhook_also_gets_requests_that_write_metadata_beside_their_object() -> None:
    mutating, validating = _webhook(MUTATING, "pods", "configmaps"), _webhook(VALIDATING, "pods", "configmaps")
    differing = {name for name in mutating if mutating[name] != validating.get(name)}
    assert differing == {"name", "clientConfig", "reinvocationPolicy", "rules"}
    more = [
        after["resources"][len(before["resources"]) :]
        for before, after in zip(mutating["rules"], validating["rules"], strict=True)
    ]
    assert more == [["pods/status", "pods/binding", "bindings"], ["configmaps/status"]]


def test_a_configuration_is_changed_only_where_it_differs() -> None:
    bundle = base64.b64encode(b"CA").decode()
    found = {"webhooks": [{"failurePolicy": "Fail", "clientConfig": {"caBundle": bundle}}]}
    assert differences(found, True, {"example.com/Quota"}, b"CA") == []
    assert differences(found, None, (), b"") == []
    assert differences(found, False, (), b"other") == [
        {"op": "add", "path": "/webhooks/0/failurePolicy", "value": "Ignore"},
        {"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": base64.b64encode(b"other").decode()},
    ]
    assert differences({}, True, (), b"CA") == []


def test_deletions_of_active_policy_kinds_are_reviewed() -> None:
    found = webhook_configuration(VALIDATING, "x", Target(url="https://h/admission"), exempt=[], timeout=10)
    [_, deletions] = found["webhooks"]
    kinds = {"example.com/Quota", "core/ConfigMap"}
    assert differences(found, False, (), b"") == []  # while no kind is known, the configuration stays as it is
    [patch] = differences(found, False, kinds, b"")
    *_, last = deletions["matchConditions"]
    assert patch["path"] == f"/webhooks/1/matchConditions/{len(deletions['matchConditions']) - 1}/expression"
    assert 'in ["/ConfigMap", "example.com/Quota"]' in patch["value"]
    last["expression"] = patch["value"]
    assert differences(found, False, kinds, b"") == []


def test_a_service_is_in_the_namespace_that_its_url_names() -> None:
    assert namespace_of("https://opa.policies.svc.cluster.local:8181/v1/data/a") == "policies"
    assert namespace_of("http://opa.policies.svc:8181") == "policies"
    assert not namespace_of("http://127.0.0.1:8181")
    assert not namespace_of("https://opa.example.com")


def test_decision_about_reviews_gets_deletions_and_connections_of_the_validating_webhook() -> None:
    target = Target(url="https://h/admission")
    found = {
        which: webhook_configuration(which, "x", target, exempt=["a"], timeout=10, every_operation=True)["webhooks"]
        for which in (MUTATING, VALIDATING)
    }
    assert len(found[MUTATING]) == 1
    requests = found[VALIDATING][-1]
    assert requests["name"] == "requests.validation.policybridge.io"
    rules = [(rule["operations"], rule["resources"]) for rule in requests["rules"]]
    assert rules[0][0] == ["DELETE"]
    assert rules[1] == (["CONNECT"], ["pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy"])


def test_deletions_of_modules_are_reviewed_and_never_fail_closed() -> None:
    target = Target(url="https://h/admission")
    there = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a", "b"]}
    for namespaces, selector in ((["b", "a"], {"matchExpressions": [there]}), (["*"], {})):
        found = webhook_configuration(VALIDATING, "x", target, exempt=["a"], timeout=10, policy_namespaces=namespaces)
        modules = found["webhooks"][-1]
        assert modules["name"] == "modules.validation.policybridge.io"
        assert modules["namespaceSelector"] == selector
        assert [rule["resources"] for rule in modules["rules"]] == [["configmaps"], ["regopolicies"]]
        paths = {operation["path"] for operation in differences(found, True, (), b"")}
        assert paths == {"/webhooks/0/failurePolicy", "/webhooks/1/failurePolicy"}


def test_deletions_of_objects_in_effect_are_requested_of_the_validating_webhook_alone() -> None:
    target = Target(url="https://h/admission")
    found = {
        which: webhook_configuration(which, "x", target, exempt=[], timeout=10)["webhooks"]
        for which in (MUTATING, VALIDATING)
    }
    assert [one["name"] for one in found[MUTATING]] == ["admission.policybridge.io"]
    [_, deletions] = found[VALIDATING]
    assert deletions["name"] == "deletions.validation.policybridge.io"
    assert [rule["operations"] for rule in deletions["rules"]] == [["DELETE"]]
    conditions = {one["name"]: one["expression"] for one in deletions["matchConditions"]}
    assert "has(one.spec.targetRefs)" in conditions["of-the-hierarchy"]
    # Istio's policies may have a selector, or nothing, in place of targetRefs.
    assert "group == 'gateway.networking.k8s.io'" in conditions["of-the-hierarchy"]
    assert '"security.istio.io/PeerAuthentication"' in conditions["of-the-hierarchy"]
