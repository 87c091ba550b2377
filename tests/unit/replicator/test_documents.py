from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from bridge.model.changes import Object
from bridge.model.keys import Key, key_of
from bridge.replicator.documents import (
    INDEXES,
    NO_LINKS,
    Difference,
    Documents,
    Entries,
    Held,
    Links,
    place_of,
)
from tests import builders
from tests.unit.replicator.json_patch import applied

NAMES = st.sampled_from(["one", "two", "three"])
# Parts of the index are as deep as policies, their targets and their selectors make them.
PLACES = (
    st.tuples(st.sampled_from(["children", "parents"]), NAMES)
    | st.tuples(st.just("attached"), NAMES, NAMES)
    | st.tuples(st.sampled_from(["selectors", "served"]), NAMES, NAMES, NAMES)
)
ENTRIES = st.lists(st.tuples(PLACES, st.integers()), unique_by=lambda e: e[0])
LINKS = st.builds(Links, ENTRIES, st.sampled_from([b"", b'{"a":1}', b'{"by":"x"}']))
STEPS = st.lists(st.tuples(st.sampled_from(["put", "facts", "remove", "plan", "refused"]), NAMES, LINKS), max_size=40)


def service(name: str, **metadata: Any) -> Object:
    return builders.service(name, metadata=metadata)


PLAN: tuple[str, str, Links] = ("plan", "", NO_LINKS)


def empty() -> dict[str, Any]:
    return {"objects": {}, "facts": {}, "index": {name: {} for name in INDEXES}}


def _step(
    documents: Documents,
    held: dict[str, Any],
    model: dict[Key, tuple[Object, Links]],
    step: tuple[str, str, Links],
    confirmed: dict[Key, tuple[Object, Links]],
) -> dict[str, Any]:
    what, name, links = step
    key = key_of(service(name))
    if what == "put":
        documents.plan_object(key, service(name), links)
        model[key] = (service(name), links)
    elif what == "facts":
        if key in model:
            documents.plan_links(key, links)
            model[key] = (service(name), links)
    elif what == "remove":
        documents.remove(key)
        model.pop(key, None)
    elif what == "refused":
        if held:  # the first plan begins, and has nothing to return to
            documents.take_plan()
            documents.undo()
            model.clear()
            model.update(confirmed)
    else:
        held = applied(held, documents.take_plan())
        documents.confirm()
        confirmed.clear()
        confirmed.update(model)
    return held


def _stepped(
    documents: Documents,
    held: dict[str, Any],
    model: dict[Key, tuple[Object, Links]],
    steps: list[tuple[str, str, Links]],
) -> dict[str, Any]:
    confirmed = dict(model)
    for step in [*steps, PLAN]:
        held = _step(documents, held, model, step, confirmed)
    return held


@given(STEPS, STEPS)
def test_a_bridge_that_adopts_the_documents_of_opa_continues_as_if_it_had_written_them(
    before: list[tuple[str, str, Links]], after: list[tuple[str, str, Links]]
) -> None:
    first = Documents()
    first.begin()
    model: dict[Key, tuple[Object, Links]] = {}
    held = _stepped(first, {}, model, before)
    second = Documents()
    second.adopt(_versions(held), held["index"], held["facts"])
    assert second.differences(_versions(held)) == []
    assert second.count_links() == first.count_links()
    assert _stepped(second, held, model, after) == _expected(model)


def test_index_entries_and_facts_of_objects_that_are_missing_are_removed_when_opa_is_adopted() -> None:
    held = empty()
    held["index"]["targeted"] = {"x": {"gone": 1, str(key_of(service("one"))): 2}, "y": {"gone": 1}}
    held["index"]["parents"] = {"g/K/n": {"g/K/n/a": {"g/K/n": {"g/K/n/gone": 1}}}}
    held["index"]["own"] = {"children": {"g/K/n": {"g/K/n/gone": 1}}}
    held["objects"] = {"core": {"Service": {"shop": {"one": service("one")}}}}
    held["facts"] = {"core": {"Service": {"shop": {"gone": {}}}}}
    documents = Documents()
    documents.adopt(_versions(held), held["index"], held["facts"])
    after = applied(held, documents.take_plan())
    assert after["facts"] == {}
    assert after["index"] == {**empty()["index"], "targeted": {"x": {str(key_of(service("one"))): 2}}}


def test_differences_are_counted_by_type() -> None:
    documents = Documents()
    documents.begin()
    for name in ("one", "two"):
        documents.plan_object(key_of(service(name)), service(name, resourceVersion="1"), NO_LINKS)
    found = documents.differences(
        {"core": {"Service": {"shop": {"two": "2", "three": "1"}}, "Pod": {"shop": {"a": ""}}}}
    )
    assert found == [Difference("core/Pod", 0, 1, 0), Difference("core/Service", 1, 1, 1)]


def _versions(held: dict[str, Any]) -> Held:
    return {
        group: {
            kind: {
                namespace: {name: obj["metadata"].get("resourceVersion", "") for name, obj in names.items()}
                for namespace, names in namespaces.items()
            }
            for kind, namespaces in kinds.items()
        }
        for group, kinds in held["objects"].items()
    }


@given(STEPS)
def test_opa_holds_each_object_with_its_present_index_entries_and_nothing_else(
    steps: list[tuple[str, str, Links]],
) -> None:
    documents = Documents()
    documents.begin()
    held: dict[str, Any] = {}
    model: dict[Key, tuple[Object, Links]] = {}
    confirmed: dict[Key, tuple[Object, Links]] = {}
    for step in [*steps, PLAN]:
        held = _step(documents, held, model, step, confirmed)
        if step[0] == "plan":
            assert held == _expected(model)
            assert documents.keys_of("core/Service") == set(model)
            assert len(documents) == len(model)


def _expected(model: dict[Key, tuple[Object, Links]]) -> dict[str, Any]:
    found = empty()
    for key, (obj, links) in model.items():
        found["objects"].setdefault("core", {}).setdefault("Service", {}).setdefault("shop", {})[key.name] = obj
        if links.facts:
            facts = found["facts"].setdefault("core", {}).setdefault("Service", {}).setdefault("shop", {})
            facts[key.name] = msgspec.json.decode(links.facts)
        for path, value in links.entries:
            part = found["index"]
            *above, last = place_of(path, str(key))
            for name in above:
                part = part.setdefault(name, {})
            part[last] = value
    return found


def test_an_object_is_known_as_it_was_put_last() -> None:
    documents = Documents()
    documents.begin()
    key = key_of(service("one"))
    assert (key in documents, documents.known(key).essence, documents.known(key).paths) == (False, None, ())
    obj = service("one", resourceVersion="7")
    documents.plan_object(key, obj, Links([(("parents", "x"), 1)]))
    assert documents.known(key).version == "7"
    assert documents.known(key).essence == essence_of(obj)
    assert documents.known(key).paths == (("parents", "x"),)


def test_an_object_in_another_version_of_its_crd_is_another_state() -> None:
    documents, obj = Documents(), service("one", resourceVersion="7")
    documents.plan_object(key_of(obj), obj, NO_LINKS)
    assert documents.has(key_of(obj), obj)
    assert not documents.has(key_of(obj), {**obj, "apiVersion": "v2"})


def test_objects_are_counted_by_type_whatever_is_put_removed_or_adopted() -> None:
    documents = Documents()
    one, two = service("one"), service("two")
    for obj in (one, two, one):
        documents.plan_object(key_of(obj), obj, NO_LINKS)
    documents.remove(key_of(two))
    documents.remove(key_of(two))
    assert (+documents.counts, documents.types()) == ({"core/Service": 1}, {"core/Service"})
    documents.adopt({"core": {"Namespace": {"-": {"shop": "1", "infra": "2"}}}}, {}, {})
    assert +documents.counts == {"core/Namespace": 2}
    documents.begin()
    assert documents.types() == set()


def test_beginning_again_forgets_and_replaces_everything() -> None:
    documents = Documents()
    documents.begin()
    documents.plan_object(key_of(service("one")), service("one"), NO_LINKS)
    held = applied({"foreign": 1}, documents.take_plan())
    documents.begin()
    assert len(documents) == 0
    assert applied(held, documents.take_plan()) == {"foreign": 1, **empty()}


def test_status_and_resource_version_are_not_of_the_essence_but_all_else_is() -> None:
    plain = service("one", resourceVersion="1")
    assert essence_of({**plain, "status": {"x": 1}}) == essence_of(service("one", resourceVersion="2"))
    assert essence_of({**plain, "spec": {}}) != essence_of(plain)
    assert essence_of(service("one", labels={"a": "b"})) != essence_of(plain)


def test_the_status_is_of_the_essence_of_an_object_that_declares_links_there() -> None:
    plain, reports = service("one"), {**service("one"), "status": {"x": 1}}
    assert essence_of(reports, declared_in_status=frozenset({"core/Service"})) != essence_of(plain)
    assert essence_of(reports, declared_in_status=frozenset({"core/Pod"})) == essence_of(plain)


def test_the_order_of_fields_is_not_of_the_essence() -> None:
    plain = service("one")
    assert essence_of({**plain, "spec": {"a": 1, "b": 2}}) == essence_of({**plain, "spec": {"b": 2, "a": 1}})


def essence_of(obj: Object, declared_in_status: frozenset[str] = frozenset()) -> int | None:
    documents = Documents()
    documents.declared_in_status = declared_in_status
    documents.plan_object(key_of(obj), obj, NO_LINKS)
    return documents.known(key_of(obj)).essence


def test_an_object_with_unchanged_links_is_one_operation() -> None:
    documents = Documents()
    documents.begin()
    key = key_of(service("one"))
    documents.plan_object(key, service("one"), Links([(("children", "gateway"), [str(key)])], b"1"), 17)
    documents.take_plan()
    documents.plan_object(key, service("one", resourceVersion="2"), None, 17)
    (operation,) = documents.take_plan()
    assert operation["value"] == service("one", resourceVersion="2")
    assert documents.known(key).paths == (("children", "gateway"),)
    documents.remove(key)
    paths = [operation["path"] for operation in documents.take_plan()]
    assert paths == ["/objects/core", "/facts/core", "/index/children/gateway"]


def test_links_that_were_written_are_known_until_a_new_beginning_is_finished() -> None:
    documents = Documents()
    documents.begin()
    one, two = key_of(service("one")), key_of(service("two"))
    links: Entries = [
        (("children", "gateway"), [str(one)]),
        (("parents", str(one)), ["gateway"]),
        (("limited", "x"), True),
    ]
    documents.plan_object(one, service("one"), Links(links, b"1"), 17)
    documents.plan_object(two, service("two"), NO_LINKS, 18)
    before = applied({}, documents.take_plan())
    documents.begin()
    assert (documents.made_from(one), documents.made_from(two)) == (17, 18)
    documents.plan_object(two, service("two"), None, 18)
    documents.plan_object(one, service("one"), None, 17)
    assert applied({}, documents.take_plan()) == before
    documents.begin()
    documents.finish()
    assert documents.made_from(one) is None


def _route(number: int, namespace: str) -> tuple[Key, Object, Links]:
    obj = builders.resource("g/v1", "Route", f"r{number}", namespace)
    key = key_of(obj)
    service = f"core/Service/{namespace}/s{number % 2}"
    links: Entries = [
        (("children", "g/Gateway/infra/public"), [str(key)]),
        (("children", str(key)), [service]),
        (("parents", service), [str(key)]),
        (("parents", str(key)), ["g/Gateway/infra/public"]),
        (("referrers", "infra"), True),
        (("served", "g/Gateway/infra/public", f"r{number}.example.com", "/"), True),
    ]
    return key, obj, Links(links, b"1")


def test_namespaces_that_are_new_to_opa_are_few_operations_however_much_is_there() -> None:
    documents = Documents()
    documents.begin()
    counts = []
    for piece in range(5):
        for namespace in (f"n{piece}-{number}" for number in range(4)):
            for number in range(50):
                key, obj, links = _route(number, namespace)
                documents.plan_object(key, obj, links)
        counts.append(len(documents.take_plan()))
    # Of each namespace: its objects and their facts, what its routes declare of themselves (twice), of its Services, of
    # the Gateway's children, of those that refer to the Gateway's namespace, and of what the Gateway serves.
    assert counts == [3, 32, 32, 32, 32]


def test_declarations_of_an_object_stand_by_the_homes_of_both_ends() -> None:
    documents = Documents()
    documents.begin()
    key, obj, links = _route(0, "shop")
    documents.plan_object(key, obj, links)
    index = applied({}, documents.take_plan())["index"]
    assert {part: found for part, found in index.items() if found} == {
        "children": {"g/Gateway/infra": {"g/Gateway/infra/public": {"g/Route/shop": {str(key): [str(key)]}}}},
        "parents": {"core/Service/shop": {"core/Service/shop/s0": {"g/Route/shop": {str(key): [str(key)]}}}},
        "own": {
            "children": {"g/Route/shop": {str(key): ["core/Service/shop/s0"]}},
            "parents": {"g/Route/shop": {str(key): ["g/Gateway/infra/public"]}},
        },
        "referrers": {"infra": {"g/Route/shop": {str(key): True}}},
        "served": {"g/Gateway/infra/public": {"g/Route/shop": {"r0.example.com": {"/": {str(key): True}}}}},
    }


def test_facts_are_outdated_where_their_stamp_is_not_that_of_their_type() -> None:
    documents = Documents()
    documents.begin()
    for name, facts in (("current", b'{"by":"now"}'), ("old", b'{"by":"before"}'), ("plain", b"{}"), ("none", b"")):
        documents.plan_object(key_of(service(name)), service(name), Links([], facts))
    assert [key.name for key in documents.find_outdated({"core/Service": "now"})] == ["old", "plain", "none"]
    assert [key.name for key in documents.find_outdated({})] == ["current", "old"]
