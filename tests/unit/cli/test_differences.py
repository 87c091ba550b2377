"""Differences of effective policies as tables."""

from typing import Any

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


def side_with(policies: list[Any], **spec: Any) -> dict[str, Any]:
    """Return one side of a difference whose fields all come from the first policy."""
    owners = [policies[0]["policy"]]
    fields = [{"field": f"/{name}", "value": value, "policies": owners} for name, value in spec.items()]
    return {"spec": spec, "fields": fields, "policies": policies}


def test_removed_field_is_not_in_effect() -> None:
    removed = {"field": "/theme", "policies": ["example.com/ColorPolicy/infra/brand"]}
    side = {"spec": {}, "fields": [removed], "policies": []}
    (row,) = differences_table([DIFFERENCE | {"after": side}]).rows
    assert row[-1] == "{}"


def test_field_inside_a_merge_unit_has_the_policy_of_the_unit() -> None:
    unit = {"field": "/limits/all", "value": {"rates": 5, "window": "1s"}, "policies": ["acme.io/P/infra/floor"]}
    side = {"spec": {"limits": {"all": unit["value"]}}, "fields": [unit], "policies": []}
    (row,) = differences_table([DIFFERENCE | {"after": side}]).rows
    assert row[-1] == "limits.all.rates=5 [infra/floor], limits.all.window=1s [infra/floor]"


def test_a_row_has_the_nodes_that_distinguish_its_path() -> None:
    (row,) = differences_table([DIFFERENCE]).rows
    assert list(row)[:3] == ["HTTPRoute/shop/cart", "ColorPolicy", "infra/public#http"]


def test_sides_that_differ_in_the_overriding_policies_alone_name_them() -> None:
    brand = {"policy": "example.com/ColorPolicy/infra/brand", "target": GATEWAY, "outcome": "Programmed"}
    overridden = {**brand, "policy": "example.com/ColorPolicy/shop/x", "outcome": "Overridden", "strategy": "Patch"}
    sides = [
        {"spec": {}, "fields": [], "policies": [{**overridden, "overriddenBy": [f"example.com/ColorPolicy/{name}"]}]}
        for name in ("infra/brand", "shop/y")
    ]
    (row,) = differences_table([DIFFERENCE | dict(zip(("before", "after"), sides, strict=True))]).rows
    assert list(row)[-2:] == [
        f"shop/x on Gateway/infra/public (Patch: Overridden, overridden by {name})"
        for name in ("infra/brand", "shop/y")
    ]


def test_a_side_without_the_fields_of_the_other_says_so() -> None:
    brand = {"policy": "example.com/ColorPolicy/infra/brand", "target": GATEWAY, "outcome": "Programmed"}
    side = side_with([brand], theme="light")
    more = side_with([brand], contrast=7, theme="light")
    overridden = {
        **side,
        "policies": [brand, {**brand, "policy": "example.com/ColorPolicy/shop/x", "outcome": "Overridden"}],
    }
    cells = [
        tuple(differences_table([DIFFERENCE | {"before": before, "after": after}]).rows[0][-2:])
        for before, after in [(more, side), (side, None), (side, overridden), (more, side_with([brand]))]
    ]
    assert cells == [
        ("contrast=7 [infra/brand]", "(not set)"),
        ("theme=light [infra/brand]", "(no policy)"),
        ("infra/brand", "infra/brand, shop/x\u00a0(overridden)"),
        ("contrast=7 [infra/brand], theme=light [infra/brand]", "{}"),
    ]


def test_a_wide_row_has_the_whole_path() -> None:
    (row,) = differences_table([DIFFERENCE], wide=True).rows
    assert row[1] == "example.com/ColorPolicy"
    assert row[2] == "GatewayClass/example > Gateway/infra/public > Gateway/infra/public#http > HTTPRoute/shop/cart"
