"""What of the hierarchy is drawn, and what is only counted."""

from typing import Any

from bridge.queries.hierarchies import ALL, Bound, Link, Picture, picture_of

CLASS = "gateway.networking.k8s.io/GatewayClass/-/example"
GATEWAY = "gateway.networking.k8s.io/Gateway/infra/public"
HTTP = f"{GATEWAY}#http"
SVC = "core/Service/shop/cart"


def route(name: str, namespace: str = "shop") -> str:
    return f"gateway.networking.k8s.io/HTTPRoute/{namespace}/{name}"


def node(level: str, *children: str, policies: tuple[str, ...] = (), **more: str) -> dict[str, Any]:
    reported = [{"policy": f"example.com/ColorPolicy/{name}", "accepted": True} for name in policies]
    return {"level": level, "children": list(children), "policies": reported, **more}


def world(*routes: str, policies_on: tuple[str, ...] = ()) -> dict[str, Any]:
    nodes = {
        CLASS: node("GatewayClass", GATEWAY),
        GATEWAY: node("Gateway", HTTP),
        HTTP: node("Listener", *routes),
        **{key: node("Route", SVC, policies=("shop/own",) if key in policies_on else ()) for key in routes},
        SVC: node("Backend", f"{SVC}#http"),
        f"{SVC}#http": node("Port"),
    }
    return {"roots": [CLASS], "nodes": nodes, "refused": []}


def texts(picture: Picture) -> list[tuple[str, str]]:
    return [(counted.parent, counted.text) for counted in picture.counted]


def test_everything_small_is_drawn_but_ports_without_policies() -> None:
    picture = picture_of(world(route("a"), route("b")), Bound())
    assert list(picture.nodes) == [CLASS, GATEWAY, HTTP, route("a"), route("b"), SVC]
    assert Link(route("b"), SVC) in picture.links
    assert f"{SVC}#http" in picture_of(world(), ALL).nodes


def test_of_many_siblings_those_with_policies_are_drawn_and_the_others_counted() -> None:
    routes = [route(f"r{number:02}") for number in range(30)]
    picture = picture_of(world(*routes, policies_on=(routes[29], routes[28])), Bound(siblings=3))
    assert [key for key in picture.nodes if "HTTPRoute" in key] == [routes[28], routes[29], routes[0]]
    assert texts(picture) == [(HTTP, "27 more HTTPRoutes")]
    some = picture_of(world(*routes, policies_on=tuple(routes[20:])), Bound(siblings=3))
    assert texts(some) == [(HTTP, "27 more HTTPRoutes (7 with policies)")]


def test_a_level_without_room_is_counted_as_a_whole() -> None:
    routes = [route(f"r{number:02}") for number in range(30)]
    picture = picture_of(world(*routes), Bound(nodes=3))
    assert list(picture.nodes) == [CLASS, GATEWAY, HTTP]
    assert texts(picture) == [(HTTP, "30 HTTPRoutes")]


def test_all_draws_all() -> None:
    picture = picture_of(world(*(route(f"r{number}") for number in range(500))), ALL)
    assert (len(picture.nodes), picture.counted) == (505, [])


def test_a_namespace_is_drawn_with_the_objects_above_and_below_it() -> None:
    found = world(route("mine", "blog"), route("other"))
    found["nodes"]["gateway.networking.k8s.io/Gateway/infra/alone"] = node("Gateway")
    picture = picture_of(found, Bound(), "blog")
    assert list(picture.nodes) == [CLASS, GATEWAY, HTTP, route("mine", "blog"), SVC]
    assert texts(picture) == []


def test_a_policy_on_the_namespace_is_drawn_at_its_members() -> None:
    found = world(route("a"))
    found["nodes"]["core/Namespace/-/shop"] = node("Namespace", policies=("shop/all",))
    found["nodes"][route("a")]["namespace"] = "core/Namespace/-/shop"
    [attached] = picture_of(found, Bound()).nodes[route("a")].policies
    assert (attached.policy.name, attached.on_namespace) == ("all", True)


def test_the_missing_object_of_a_refused_link_is_drawn() -> None:
    gone = "gateway.networking.k8s.io/Gateway/infra/gone"
    far = route("far", "blog")
    found = world(route("a"))
    found["refused"] = [
        {"parent": gone, "child": route("a"), "reason": "ParentNotFound", "message": ""},
        {"parent": HTTP, "child": far, "reason": "NotAllowedByListeners", "message": ""},
    ]
    picture = picture_of(found, Bound())
    assert [(drawn.key.name, drawn.missing) for drawn in picture.nodes.values()][-2:] == [
        ("gone", True),
        ("far", False),
    ]
    assert picture.links[-2:] == [Link(gone, route("a"), "ParentNotFound"), Link(HTTP, far, "NotAllowedByListeners")]


def test_refused_links_have_a_bound_too() -> None:
    found = world()
    found["refused"] = [
        {"parent": HTTP, "child": route(f"r{number:02}"), "reason": "NotAllowedByListeners", "message": ""}
        for number in range(40)
    ]
    assert len(picture_of(found, Bound(siblings=5)).nodes) == 3 + 1 + 5


def test_parameters_are_drawn_beside_the_hierarchy_and_not_counted() -> None:
    found = world(route("a"))
    config = "core/ConfigMap/infra/large"
    found["nodes"][GATEWAY]["parameters"] = found["nodes"][CLASS]["parameters"] = config
    picture = picture_of(found, Bound())
    assert [key for key, drawn in picture.nodes.items() if drawn.parameters] == [config]
    assert [link for link in picture.links if link.parameters] == [
        Link(CLASS, config, parameters=True),
        Link(GATEWAY, config, parameters=True),
    ]
    assert picture.total == picture_of(world(route("a")), Bound()).total
