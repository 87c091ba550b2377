"""What a picture makes of what it is node_of, object by object."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridge.web.picture import PagePicture, sound

CLASS = "g/Class/-/c"
GATEWAY = "g/Gateway/infra/gw"
LISTENER = f"{GATEWAY}#http"
ROUTE = "g/Route/shop/r"
RULE = f"{ROUTE}#[0]"
SERVICE = "core/Service/shop/s"
PORT = f"{SERVICE}#80"
POLICY = "x/P/shop/p"


def _entry(keys: list[str], edges: list[list[str]], *, alone: bool = True, policies: Any = ()) -> dict[str, Any]:
    nodes: dict[str, Any] = {key: {"level": "L", "policies": []} for key in keys}
    nodes[keys[0]]["policies"] = [{"policy": policy, "policyKind": "x/P", "accepted": True} for policy in policies]
    sections = [[keys[0], key] for key in keys[1:]]
    return {"nodes": nodes, "edges": [*sections, *edges], "refused": [], "problems": [], "alone": alone, "created": ""}


def _picture() -> PagePicture:
    picture = PagePicture()
    picture.set_entry(CLASS, _entry([CLASS], []))
    picture.set_entry(GATEWAY, _entry([GATEWAY, LISTENER], [[CLASS, GATEWAY]]))
    picture.set_entry(ROUTE, _entry([ROUTE, RULE], [[LISTENER, ROUTE], [RULE, SERVICE]]))
    picture.set_entry(SERVICE, _entry([SERVICE, PORT], [], alone=False))
    return picture


def test_edges_stand_with_the_object_that_declares_them() -> None:
    picture = _picture()
    route, rule, service = picture.node_of(ROUTE), picture.node_of(RULE), picture.node_of(SERVICE)
    assert route
    assert rule
    assert service
    assert route["parents"] == [LISTENER]
    assert (rule["parents"], rule["leadsTo"]) == ([ROUTE], [SERVICE])
    assert (service["parents"], service["leadsTo"]) == ([], [])
    assert picture.top(1) == [CLASS]


def test_a_change_concerns_the_nodes_that_differ_and_the_ends_of_edges_that_do() -> None:
    picture = _picture()
    assert picture.set_entry(ROUTE, _entry([ROUTE, RULE], [[LISTENER, ROUTE], [RULE, SERVICE]])) == set()
    assert picture.set_entry(ROUTE, _entry([ROUTE, RULE], [[LISTENER, ROUTE]])) == {RULE, SERVICE}
    assert picture.set_entry(ROUTE, None) == {ROUTE, RULE, LISTENER}
    listener = picture.node_of(LISTENER)
    assert listener
    assert listener["children"] == 0


def test_unreachable_objects_are_shown_only_if_isolated_or_with_a_policy() -> None:
    picture = _picture()
    picture.set_entry(ROUTE, None)
    assert picture.node_of(SERVICE) is None
    assert SERVICE not in set(picture.shown())
    picture.set_entry(SERVICE, _entry([SERVICE, PORT], [], alone=False, policies=[POLICY]))
    assert picture.node_of(PORT) is not None


def test_an_edge_may_lead_to_a_node_that_is_not_reported_yet() -> None:
    picture = _picture()
    concerned = picture.set_entry(ROUTE, _entry([ROUTE, RULE], [[LISTENER, ROUTE], [RULE, "core/Service/shop/other"]]))
    assert picture.missing(concerned) == {"core/Service/shop/other"}
    rule = picture.node_of(RULE)
    assert rule
    assert rule["leadsTo"] == ["core/Service/shop/other"]
    assert picture.top(50) == [key for key in picture.top(50) if picture.node_of(key)]


def test_both_ends_may_declare_an_edge() -> None:
    picture = _picture()
    picture.set_entry(SERVICE, _entry([SERVICE, PORT], [[RULE, SERVICE]], alone=False))
    picture.set_entry(ROUTE, _entry([ROUTE, RULE], [[LISTENER, ROUTE]]))
    service = picture.node_of(SERVICE)
    assert service
    assert service["parents"] == [RULE]
    assert picture.top(6) == [CLASS, GATEWAY, LISTENER, ROUTE, RULE, SERVICE]  # no root by itself


def test_top_has_all_children_of_a_node_or_none() -> None:
    picture = _picture()
    for number in range(5):
        key = f"g/Route/shop/more-{number}"
        picture.set_entry(key, _entry([key], [[LISTENER, key]]))
    assert set(picture.top(12)) == set(picture.shown())
    assert picture.top(8) == [CLASS, GATEWAY, LISTENER]


_PUTS = st.tuples(
    st.sampled_from([CLASS, GATEWAY, ROUTE, SERVICE]),
    st.none() | st.tuples(st.booleans(), st.sets(st.sampled_from([CLASS, LISTENER, RULE, SERVICE])), st.booleans()),
)


@given(st.lists(_PUTS, max_size=12))
def test_the_total_is_the_number_of_shown_nodes(puts: list[tuple[str, tuple[bool, set[str], bool] | None]]) -> None:
    picture = PagePicture()
    sections = {GATEWAY: [LISTENER], ROUTE: [RULE], SERVICE: [PORT]}
    for name, entry in puts:
        keys = [name, *sections.get(name, [])]
        if entry is None:
            picture.set_entry(name, None)
        else:
            alone, others, has_policy = entry
            edges = [[other, name] for other in sorted(others - set(keys))]
            picture.set_entry(name, _entry(keys, edges, alone=alone, policies=[POLICY] if has_policy else []))
    shown = list(picture.shown())
    assert picture.total == len(shown)
    assert all(picture.node_of(key) for key in shown)


def test_names_that_are_not_keys_are_left_out_and_the_rest_is_shown() -> None:
    odd = "core/Service/shop/../infra/gw"
    entry = _entry([ROUTE, RULE, f"{ROUTE}#a#b"], [[LISTENER, ROUTE], [RULE, odd]], policies=[POLICY, "x/P/shop/"])
    entry["refused"] = [{"parent": odd, "child": ROUTE, "reason": "r", "message": "m"}]
    kept, wrong = sound(entry)
    assert wrong == {odd, f"{ROUTE}#a#b", "x/P/shop/"}
    assert set(kept["nodes"]) == {ROUTE, RULE}
    assert [one["policy"] for one in kept["nodes"][ROUTE]["policies"]] == [POLICY]
    assert (kept["edges"], kept["refused"]) == ([[ROUTE, RULE], [LISTENER, ROUTE]], [])
    assert sound(kept) == (kept, set())
