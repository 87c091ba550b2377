"""Differences of effective policies as tables."""

from __future__ import annotations

from bridge.cli.impact import differences_table

GATEWAY = "gateway.networking.k8s.io/Gateway/infra/public"
ROUTE = "gateway.networking.k8s.io/HTTPRoute/shop/cart"
DIFFERENCE = {
    "policyKind": "example.com/ColorPolicy",
    "target": ROUTE,
    "path": ["gateway.networking.k8s.io/GatewayClass/-/example", GATEWAY, f"{GATEWAY}#http", ROUTE],
    "before": None,
    "after": None,
}


def test_a_row_has_the_nodes_that_distinguish_its_path() -> None:
    (row,) = differences_table([DIFFERENCE]).rows
    assert list(row)[:3] == ["HTTPRoute/shop/cart", "ColorPolicy", "infra/public#http"]


def test_a_wide_row_has_the_whole_path() -> None:
    (row,) = differences_table([DIFFERENCE], wide=True).rows
    assert row[1] == "example.com/ColorPolicy"
    assert row[2] == "GatewayClass/example > Gateway/infra/public > Gateway/infra/public#http > HTTPRoute/shop/cart"
