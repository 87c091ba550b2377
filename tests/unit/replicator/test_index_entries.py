from __future__ import annotations

from bridge.replicator.index_layout import entries_of

_ROUTE = "gateway.networking.k8s.io/HTTPRoute/shop/cart"
_GATEWAY = "gateway.networking.k8s.io/Gateway/infra/public"


def test_an_edge_is_written_at_both_ends() -> None:
    links = {"above": [_GATEWAY], "below": ["core/Service/shop/cart"], "facts": {"type": "x"}}
    assert dict(entries_of(_ROUTE, links)) == {
        ("children", _GATEWAY): [_ROUTE],
        ("parents", _ROUTE): [_GATEWAY],
        ("parents", "core/Service/shop/cart"): [_ROUTE],
        ("children", _ROUTE): ["core/Service/shop/cart"],
        ("referrers", "infra"): True,
    }


def test_a_policy_is_found_by_its_targets_and_by_its_selectors() -> None:
    policy = "example.com/ColorPolicy/shop/warm"
    links = {"targets": [f"{_ROUTE}#pay"], "classes": True, "selectors": [["shop", "core/Service", "{}"]]}
    assert dict(entries_of(policy, links)) == {
        ("attached", "example.com/ColorPolicy", f"{_ROUTE}#pay"): True,
        ("targeted", _ROUTE): True,
        ("limited", "example.com/ColorPolicy"): True,
        ("selecting", "example.com/ColorPolicy"): True,
        ("selectors", "shop", "core/Service", "{}"): True,
    }
