"""The hierarchy as a tree."""

from typing import Any

from bridge.cli.table import render
from bridge.cli.tree import tree_table
from bridge.queries.hierarchies import Tree

GATEWAY = "gateway.networking.k8s.io/Gateway/infra/public"


def node(level: str, *children: str, policies: tuple[dict[str, Any], ...] = (), **more: str) -> dict[str, Any]:
    return {"level": level, "children": list(children), "policies": list(policies), **more}


def policy(name: str, reason: str = "") -> dict[str, Any]:
    key = f"example.com/ColorPolicy/{name}"
    return {"policy": key, "policyKind": "example.com/ColorPolicy", "accepted": not reason, "reason": reason}


def route(name: str) -> str:
    return f"gateway.networking.k8s.io/HTTPRoute/shop/{name}"


def printed(roots: list[str], nodes: dict[str, Any], outcomes: dict[str, str], **how: bool) -> list[str]:
    return render(tree_table(Tree({"roots": roots, "nodes": nodes}, outcomes), **how)).splitlines()[1:]


def test_of_many_children_those_with_policies_are_shown_and_the_rest_counted() -> None:
    routes = [route(f"r{number:04}") for number in range(3000)]
    nodes = {GATEWAY: node("Gateway", *routes)} | {name: node("Route") for name in routes}
    nodes[routes[2999]] = node("Route", policies=(policy("shop/last"),))
    shown = printed([GATEWAY], nodes, {"example.com/ColorPolicy/shop/last": "Programmed"})
    assert len(shown) == 22
    assert shown[1].split() == ["├─", "HTTPRoute/shop/r2999", "ColorPolicy/shop/last"]
    assert shown[-1] == "└─ … 2,980 more HTTPRoutes (--all shows them)"
    assert len(printed([GATEWAY], nodes, {}, everything=True)) == 3001


def test_nodes_beyond_the_depth_are_counted() -> None:
    nodes = {GATEWAY: node("Gateway", f"{GATEWAY}#http")}
    assert printed([GATEWAY], nodes, {}) == ["Gateway/infra/public", "└─ … 1 more listener (below --depth)"]


def test_a_port_is_shown_where_a_policy_is_attached_to_it() -> None:
    service = "core/Service/shop/cart"
    nodes = {
        service: node("Backend", f"{service}#http", f"{service}#admin"),
        f"{service}#http": node("Port"),
        f"{service}#admin": node("Port", policies=(policy("shop/admin"),)),
    }
    outcomes = {"example.com/ColorPolicy/shop/admin": "PartiallyProgrammed"}
    assert printed([service], nodes, outcomes) == [
        "Service/shop/cart",
        "└─ #admin           ColorPolicy/shop/admin (partly)",
    ]
    assert len(printed([service], nodes, outcomes, everything=True)) == 3


def test_policies_of_a_namespace_are_printed_beside_its_members() -> None:
    namespace = "core/Namespace/-/infra"
    nodes = {
        GATEWAY: node("Gateway", namespace=namespace),
        namespace: node("Namespace", policies=(policy("infra/all"),)),
    }
    assert printed([GATEWAY], nodes, {}) == ["Gateway/infra/public   ColorPolicy/infra/all on its Namespace"]


def test_parameters_are_the_first_line_below_their_gateway() -> None:
    nodes = {
        GATEWAY: node("Gateway", f"{GATEWAY}#http", parameters="core/ConfigMap/infra/large"),
        f"{GATEWAY}#http": node("Listener"),
    }
    assert printed([GATEWAY], nodes, {}) == [
        "Gateway/infra/public",
        "├─ ConfigMap/infra/large (parameters)",
        "└─ #http",
    ]
