"""Facts of dumps: what belongs together."""

from typing import Any

import msgspec

from bridge.proxies.comparison import Facts

Entry = dict[str, Any]


def _fact(**fields: Any) -> Entry:
    return {"vendor": "Acme", "proxy": "edge", **fields}


def _requires(*filters: Entry) -> Any:
    """What is known of the filter that a route requires, in a proxy with two connection managers."""
    facts = Facts()
    managers = [_fact(key="manager", name="http", place=place) for place in (0, 1)]
    route = _fact(target="rule", via="listener", requires={"Kind": {"/limit": ["filter"]}})
    facts.add_answer({"facts": [*managers, *filters, route], "abouts": []})
    facts.proxies["edge"]["sections"] = ["listeners"]
    [family] = facts.of(["rule"])["families"]
    return msgspec.json.decode(family)["requires"]["Kind"]["/limit"]


def _filter(place: int, value: int) -> Entry:
    return _fact(key="filter", among="manager", name="http", place=place, values={"Kind": {"/other": value}})


def test_filter_that_each_manager_has_is_there() -> None:
    assert _requires(_filter(0, 1), _filter(1, 2)) == "there"


def test_filter_that_one_manager_has_twice_is_missing_in_the_other() -> None:
    assert _requires(_filter(0, 1), _filter(0, 2)) == "missing"


def _updated(route: Entry, *parts: Entry) -> Any:
    """When a proxy received the configuration of a route with these parts."""
    facts = Facts()
    facts.add_answer({"facts": [*parts, _fact(target="rule", via="listener", **route)], "abouts": []})
    [family] = facts.of(["rule"])["families"]
    return msgspec.json.decode(family)["updated"]


def test_configuration_is_as_old_as_the_newest_of_its_parts() -> None:
    parts = _fact(key="routes", updated="2026-11-10T12:00:00Z"), _fact(key="cluster", updated="2026-11-07T09:00:00Z")
    assert _updated({"within": ["routes"], "refers": ["cluster"]}, *parts) == "2026-11-10T12:00:00Z"


def test_part_that_a_proxy_has_at_several_places_is_as_old_as_the_oldest_of_them() -> None:
    parts = [_fact(key="manager", place=place, updated=f"2026-11-10T{12 - place}:00:00Z") for place in (0, 1)]
    assert _updated({"refers": ["manager"]}, *parts) == "2026-11-10T11:00:00Z"
