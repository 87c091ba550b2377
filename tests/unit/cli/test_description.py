"""The sections of `pbctl describe`, as tables."""

from typing import Any

from bridge.cli.describe import description
from bridge.cli.table import Table
from bridge.model.keys import parse_key
from bridge.queries.description import Description


def conditions_of(status: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the rows below the title of the conditions."""
    key = parse_key("gateway.networking.k8s.io/HTTPRoute/shop/cart")
    obj = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "cart"}}
    blocks = description(Description(key, {**obj, "status": status}, [], [], [], [], [], [], []))
    table = blocks[blocks.index("Conditions") + 1]
    assert isinstance(table, Table)
    return [tuple(row) for row in table.rows]


def test_an_equal_condition_of_parents_and_listeners_is_one_row_with_their_places() -> None:
    condition = {"type": "Accepted", "status": "True", "reason": "Accepted", "message": "fine"}
    cells = ("Accepted", "True", "Accepted", "fine")
    parents = [
        {"parentRef": {"name": "edge"}, "conditions": [condition]},
        {"parentRef": {"name": "edge", "namespace": "infra", "sectionName": "http"}, "conditions": [condition]},
        {"parentRef": {"kind": "Service", "name": "cart"}, "conditions": [condition]},
    ]
    found = conditions_of({"parents": parents, "listeners": [{"name": "https", "conditions": [condition]}]})
    assert found == [("#https, Gateway/edge, Gateway/infra/edge#http, Service/cart", *cells)]


def test_different_conditions_have_a_row_each() -> None:
    conditions = [
        {"type": "Accepted", "status": status, "reason": reason, "message": "why"}
        for status, reason in (("True", "Accepted"), ("False", "NotAllowedByListeners"))
    ]
    parents = [{"parentRef": {"name": "edge"}, "conditions": [one]} for one in conditions]
    assert [row[2] for row in conditions_of({"parents": parents})] == ["True", "False"]
