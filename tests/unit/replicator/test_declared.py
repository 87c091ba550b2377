from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from bridge.replicator.links import LinkFields
from tests.builders import resource

FIELDS = ["/kind", "/metadata/name", "/spec/rules/*/refs/*/name", "/spec/class"]


def read(obj: dict[str, Any], fields: list[str] | None = FIELDS) -> Any:
    return msgspec.json.decode(LinkFields(fields).select(obj))


def test_only_the_fields_that_are_read_are_there() -> None:
    obj = {
        "kind": "Route",
        "metadata": {"name": "cart", "labels": {"a": "b"}},
        "spec": msgspec.Raw(
            b'{"rules": [{"refs": [{"name": "x", "port": 1}, {}], "name": "y"}, {}], "class": {"a": [1]}}'
        ),
        "status": msgspec.Raw(b"{}"),
    }
    assert read(obj) == {
        "kind": "Route",
        "metadata": {"name": "cart"},
        "spec": {"rules": [{"refs": [{"name": "x"}, {}]}, {}], "class": {"a": [1]}},
    }


@pytest.mark.parametrize("spec", [None, 3, [], {"rules": None}, {"rules": [None]}, {"rules": [{"refs": "x"}]}])
def test_values_of_another_shape_are_left_as_they_are(spec: Any) -> None:
    assert read({"spec": spec}) == {"spec": spec}
    assert read({"spec": msgspec.Raw(msgspec.json.encode(spec))}) == {"spec": spec}


def test_where_any_field_may_be_read_only_the_status_is_left_out() -> None:
    assert read({"spec": {"a": 1}, "status": {"b": 2}, "metadata": {}}, None) == {"spec": {"a": 1}, "metadata": {}}


@pytest.mark.parametrize("field", ["ref", "refs"])
def test_object_with_a_field_that_asks_for_it_is_read_whole_without_status_and_other_metadata(field: str) -> None:
    fields: list[str | Mapping[str, str]] = ["/kind", "/metadata/name", {"with": "/spec/ref"}, {"with": "/spec/refs"}]
    obj = {"kind": "Policy", "metadata": {"name": "a", "labels": {"b": "c"}}, "status": {"d": 1}}
    spec = msgspec.Raw(msgspec.json.encode({field: [], "deep": {"x": [1]}}))
    assert msgspec.json.decode(LinkFields(fields).select({**obj, "spec": spec, "data": 2})) == {
        "kind": "Policy",
        "metadata": {"name": "a"},
        "spec": {field: [], "deep": {"x": [1]}},
        "data": 2,
    }
    assert msgspec.json.decode(LinkFields(fields).select({**obj, "spec": {"deep": 1}})) == {
        "kind": "Policy",
        "metadata": {"name": "a"},
    }


def test_object_of_a_type_that_asks_for_it_is_read_whole() -> None:
    fields: list[str | Mapping[str, str]] = ["/apiVersion", "/kind", "/metadata/name", {"type": "example.com/Limit"}]
    obj = resource("example.com/v1", "Limit", "a", spec={"deep": 1}, status={})
    assert msgspec.json.decode(LinkFields(fields).select(obj)) == {name: obj[name] for name in obj if name != "status"}
    assert "spec" not in msgspec.json.decode(LinkFields(fields).select({**obj, "kind": "Other"}))


def test_the_status_of_a_type_that_declares_links_there_is_read() -> None:
    listing = {"apiVersion": "acme.io/v1", "kind": "Listing", "metadata": {"name": "a"}, "status": {"found": ["b"]}}
    reading = LinkFields(["/metadata/name", {"type": "acme.io/Listing"}], None, ["acme.io/Listing"])
    assert msgspec.json.decode(reading.select(listing))["status"] == {"found": ["b"]}
