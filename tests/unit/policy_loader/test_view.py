"""The text of the view that has replicated objects where kube-mgmt has them."""

import re

from bridge.model.types import regular_plural
from bridge.policy_loader.assembly import kubernetes_view


def rules(text: str) -> dict[str, str]:
    """What follows `data.objects` in the first branch with objects of each rule, by its name."""
    return dict(re.findall(r'^(\w+) := [^}]*\n} else := data\.objects(\S+)\["-"\] if', text, re.MULTILINE))


def view(plurals: list[tuple[str, str]]) -> str:
    return kubernetes_view([type_id for type_id, _ in plurals], dict(plurals).__getitem__)


def test_each_type_has_a_rule() -> None:
    text = view([("core/Namespace", "namespaces"), ("apps/Deployment", "deployments")])
    assert text.startswith("package kubernetes\n")
    assert rules(text) == {"deployments": '["apps"]["Deployment"]', "namespaces": '["core"]["Namespace"]'}


def test_of_two_types_with_one_plural_kubernetes_own_comes_first() -> None:
    gateways = [("networking.istio.io/Gateway", "gateways"), ("gateway.networking.k8s.io/Gateway", "gateways")]
    events = [("events.k8s.io/Event", "events"), ("core/Event", "events")]
    others = [("z.example.com/Thing", "things"), ("a.example.com/Thing", "things")]
    assert rules(view([*gateways, *events, *others])) == {
        "events": '["core"]["Event"]',
        "gateways": '["gateway.networking.k8s.io"]["Gateway"]',
        "things": '["a.example.com"]["Thing"]',
    }


def test_texts_that_cannot_name_a_rule_are_left_out() -> None:
    assert view([("a.b/C", "import"), ("a.b/D", "my-things"), ("a.b/E", "9s")]) == "package kubernetes\n"


def test_plurals_by_the_rule() -> None:
    kinds = ("Ingress", "NetworkPolicy", "Gateway", "Endpoints", "HTTPRoute", "GatewayClass")
    assert [regular_plural(kind) for kind in kinds] == [
        "ingresses",
        "networkpolicies",
        "gateways",
        "endpoints",
        "httproutes",
        "gatewayclasses",
    ]
