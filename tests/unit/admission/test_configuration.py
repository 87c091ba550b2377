from __future__ import annotations

import base64

from bridge.admission.configuration import Target, namespace_of, webhook_configuration
from bridge.admission.keeper import differences


def test_the_service_or_the_url_is_where_the_webhook_is() -> None:
    service = {"namespace": "infra", "name": "bridge", "path": "/admission", "port": 8443}
    assert Target(service="infra/bridge", port=8443).client_config() == {"service": service}
    url = "https://10.0.0.7/admission"
    assert Target(url=url, service="infra/bridge").client_config(b"CA") == {"url": url, "caBundle": "Q0E="}


def test_some_resources_alone_are_asked_for() -> None:
    document = webhook_configuration(
        "x", Target(url="https://h/admission"), exempt=["b", "a", "b"], timeout=10,
        resources=["pods", "deployments.apps"],
    )  # fmt: skip
    webhook, policies = document["webhooks"]
    assert [(rule["apiGroups"], rule["resources"]) for rule in webhook["rules"]] == [
        ([""], ["pods"]),
        (["apps"], ["deployments"]),
    ]
    assert webhook["namespaceSelector"]["matchExpressions"][0]["values"] == ["a", "b"]
    assert policies["namespaceSelector"] == webhook["namespaceSelector"]


def test_policies_of_any_group_are_asked_for_beside_some_resources() -> None:
    target = Target(url="https://h/admission")
    named = ["*.gateway.networking.k8s.io", "pods", "pods/resize"]
    _, policies = webhook_configuration("x", target, exempt=[], timeout=10, resources=named)["webhooks"]
    assert policies["name"] == "policies.admission.policybridge.io"
    assert policies["rules"][0]["resources"] == ["*"]
    conditions = {one["name"]: one["expression"] for one in policies["matchConditions"]}
    assert "has(object.spec.targetRefs)" in conditions["a-policy"]
    assert conditions["not-named"] == (
        '!((request.resource.group == "gateway.networking.k8s.io") || '
        '(request.resource.group == "" && request.resource.resource == "pods") || '
        '(request.resource.group == "" && request.resource.resource == "pods"))'
    )


def test_policies_are_not_asked_for_where_nobody_wants_it() -> None:
    target = Target(url="https://h/admission")
    alone = webhook_configuration("x", target, exempt=[], timeout=10, resources=["pods"], policies=False)
    everything = webhook_configuration("x", target, exempt=[], timeout=10)
    assert [len(document["webhooks"]) for document in (alone, everything)] == [1, 1]


def test_a_configuration_is_changed_only_where_it_differs() -> None:
    bundle = base64.b64encode(b"CA").decode()
    found = {"webhooks": [{"failurePolicy": "Fail", "clientConfig": {"caBundle": bundle}}]}
    assert differences(found, True, b"CA") == []
    assert differences(found, None, b"") == []
    assert differences(found, False, b"other") == [
        {"op": "add", "path": "/webhooks/0/failurePolicy", "value": "Ignore"},
        {"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": base64.b64encode(b"other").decode()},
    ]
    assert differences({}, True, b"CA") == []


def test_a_service_is_in_the_namespace_that_its_url_names() -> None:
    assert namespace_of("https://opa.policies.svc.cluster.local:8181/v1/data/a") == "policies"
    assert namespace_of("http://opa.policies.svc:8181") == "policies"
    assert not namespace_of("http://127.0.0.1:8181")
    assert not namespace_of("https://opa.example.com")
