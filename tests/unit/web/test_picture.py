"""What a picture makes of what it is node_of, object by object."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridge.model.keys import parse_key
from bridge.web.picture import PagePicture, sound
from bridge.web.topology import Wanted, chosen, unattached

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
    return {"nodes": nodes, "edges": [*sections, *edges], "refused": [], "alone": alone}


def _picture() -> PagePicture:
    picture = PagePicture()
    picture.put(CLASS, _entry([CLASS], []))
    picture.put(GATEWAY, _entry([GATEWAY, LISTENER], [[CLASS, GATEWAY]]))
    picture.put(ROUTE, _entry([ROUTE, RULE], [[LISTENER, ROUTE], [RULE, SERVICE]]))
    picture.put(SERVICE, _entry([SERVICE, PORT], [], alone=False))
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
    assert picture.parents(SERVICE) == [RULE]
    assert picture.roots() == [CLASS]


def test_a_change_concerns_the_nodes_that_differ_and_the_ends_of_edges_that_do() -> None:
    picture = _picture()
    assert picture.put(ROUTE, _entry([ROUTE, RULE], [[LISTENER, ROUTE], [RULE, SERVICE]])) == set()
    assert picture.put(ROUTE, _entry([ROUTE, RULE], [[LISTENER, ROUTE]])) == {RULE, SERVICE}
    assert picture.put(ROUTE, None) == {ROUTE, RULE, LISTENER}
    listener = picture.node_of(LISTENER)
    assert listener
    assert listener["children"] == 0


def test_unreachable_objects_are_shown_only_if_isolated_or_with_a_policy() -> None:
    picture = _picture()
    picture.put(ROUTE, None)
    assert picture.node_of(SERVICE) is None
    assert SERVICE not in set(picture.shown())
    picture.put(SERVICE, _entry([SERVICE, PORT], [], alone=False, policies=[POLICY]))
    assert picture.node_of(PORT) is not None
    assert unattached(picture, {POLICY: {}, "x/P/shop/q": {}}) == ["x/P/shop/q"]


def test_an_edge_may_lead_to_what_is_not_reported_yet() -> None:
    picture = _picture()
    concerned = picture.put(ROUTE, _entry([ROUTE, RULE], [[LISTENER, ROUTE], [RULE, "core/Service/shop/other"]]))
    assert picture.missing(concerned) == {"core/Service/shop/other"}
    assert picture.children(RULE) == []


def test_both_ends_may_declare_an_edge() -> None:
    picture = _picture()
    picture.put(SERVICE, _entry([SERVICE, PORT], [[RULE, SERVICE]], alone=False))
    picture.put(ROUTE, _entry([ROUTE, RULE], [[LISTENER, ROUTE]]))
    assert picture.children(RULE) == [SERVICE]
    assert picture.parents(SERVICE) == [RULE]


def test_a_view_has_all_children_of_a_node_or_none() -> None:
    picture = _picture()
    for number in range(5):
        key = f"g/Route/shop/more-{number}"
        picture.put(key, _entry([key], [[LISTENER, key]]))
    everything = [CLASS, GATEWAY, LISTENER, ROUTE, RULE, SERVICE, PORT]
    assert set(chosen(picture, Wanted())) >= set(everything)
    assert chosen(picture, Wanted(limit=5)) == [CLASS, GATEWAY, LISTENER]
    assert chosen(picture, Wanted(below=LISTENER, limit=2, offset=1)) == ["g/Route/shop/more-1", "g/Route/shop/more-2"]


def test_what_is_looked_for_comes_with_all_above_it() -> None:
    picture = _picture()
    picture.put(SERVICE, _entry([SERVICE, PORT], [], alone=False, policies=[POLICY]))
    assert set(chosen(picture, Wanted(kinds=["Service"]))) == {SERVICE, PORT, RULE, ROUTE, LISTENER, GATEWAY, CLASS}
    assert set(chosen(picture, Wanted(policy_kinds=["x/P"]))) == {SERVICE, RULE, ROUTE, LISTENER, GATEWAY, CLASS}
    assert set(chosen(picture, Wanted(name="HTTP"))) == {LISTENER, GATEWAY, CLASS}
    assert chosen(picture, Wanted(namespaces=["nowhere"])) == []
    assert picture.counts.facets == {
        "namespaces": ["infra", "shop"],
        "kinds": ["core/Service", "g/Class", "g/Gateway", "g/Route"],
        "policyKinds": ["x/P"],
        "undescribed": [],
    }


_PUTS = st.tuples(
    st.sampled_from([CLASS, GATEWAY, ROUTE, SERVICE]),
    st.none() | st.tuples(st.booleans(), st.sets(st.sampled_from([CLASS, LISTENER, RULE, SERVICE])), st.booleans()),
)


@given(st.lists(_PUTS, max_size=12))
def test_what_is_counted_is_what_is_shown(puts: list[tuple[str, tuple[bool, set[str], bool] | None]]) -> None:
    picture = PagePicture()
    sections = {GATEWAY: [LISTENER], ROUTE: [RULE], SERVICE: [PORT]}
    for name, entry in puts:
        keys = [name, *sections.get(name, [])]
        if entry is None:
            picture.put(name, None)
        else:
            alone, others, has_policy = entry
            edges = [[other, name] for other in sorted(others - set(keys))]
            picture.put(name, _entry(keys, edges, alone=alone, policies=[POLICY] if has_policy else []))
    shown = list(picture.shown())
    assert picture.counts.nodes == len(shown)
    assert picture.counts.facets == {
        "namespaces": sorted({parse_key(key).namespace for key in shown} - {"-"}),
        "kinds": sorted({parse_key(key).type_id for key in shown}),
        "policyKinds": ["x/P"] if any(picture.policies_at(key) for key in shown) else [],
        "undescribed": [],
    }


def test_kinds_of_undescribed_policies_are_counted_by_themselves() -> None:
    picture = _picture()
    entry = _entry([ROUTE, RULE], [[LISTENER, ROUTE]], policies=[POLICY])
    unknown = {"policy": "x/Q/shop/q", "policyKind": "x/Q", "accepted": False, "reason": "NotDescribed"}
    entry["nodes"][RULE]["policies"] = [unknown]
    picture.put(ROUTE, entry)
    assert picture.counts.facets["policyKinds"] == ["x/P", "x/Q"]
    assert picture.counts.facets["undescribed"] == ["x/Q"]
    picture.put(ROUTE, None)
    assert picture.counts.facets["undescribed"] == []


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
