"""Differences of effective policies as tables."""

from bridge.cli.differences import differences_table

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


def test_a_side_without_the_fields_of_the_other_says_so() -> None:
    brand = {"policy": "example.com/ColorPolicy/infra/brand", "target": GATEWAY, "outcome": "Programmed"}
    side = {"spec": {"theme": "light"}, "origins": {}, "policies": [brand]}
    more = {**side, "spec": {"theme": "light", "contrast": 7}}
    overridden = {
        **side,
        "policies": [brand, {**brand, "policy": "example.com/ColorPolicy/shop/x", "outcome": "Overridden"}],
    }
    cells = [
        tuple(differences_table([DIFFERENCE | {"before": before, "after": after}]).rows[0][-2:])
        for before, after in [(more, side), (side, None), (side, overridden), (more, {**side, "spec": {}})]
    ]
    assert cells == [
        ("contrast=7", "(not set)"),
        ("theme=light", "(no policy)"),
        ("infra/brand", "infra/brand, shop/x\u00a0(overridden)"),
        ("contrast=7, theme=light", "{}"),
    ]


def test_a_wide_row_has_the_whole_path() -> None:
    (row,) = differences_table([DIFFERENCE], wide=True).rows
    assert row[1] == "example.com/ColorPolicy"
    assert row[2] == "GatewayClass/example > Gateway/infra/public > Gateway/infra/public#http > HTTPRoute/shop/cart"
