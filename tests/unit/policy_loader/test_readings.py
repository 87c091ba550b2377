"""Submissions by ConfigMaps and RegoPolicies, and the mistakes of invalid ones."""

from typing import Any

import msgspec
import pytest

from bridge.model.keys import key_of
from bridge.policy_loader.submissions import Reading, finish, read_config_map, read_rego_policy

POLICY = {"openpolicyagent.org/policy": "rego"}
DATA = {"openpolicyagent.org/data": "opa"}


def config_map(labels: dict[str, str], data: Any = None, *, namespace: str = "opa-policies", **fields: Any) -> Any:
    metadata = {"name": "one", "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data, **fields}


def read(obj: Any, *namespaces: str) -> Reading | None:
    return read_config_map(key_of(obj), obj, namespaces or ("opa-policies",))


def must_read(obj: Any) -> Reading:
    found = read(obj)
    assert found is not None
    return found


def rego_policy(spec: Any) -> Reading:
    obj = {"apiVersion": "policybridge.io/v1alpha1", "kind": "RegoPolicy", "metadata": {"name": "one"}, "spec": spec}
    return read_rego_policy(key_of(obj), obj)


def reported(reading: Reading) -> list[str]:
    return [f"{one.file}:{one.line}: {one.code}: {one.message}" for one in reading.submission.problems]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"openpolicyagent.org/policy": "Rego"}, 'policy has the value "Rego": it must be "rego"'),
        ({"openpolicyagent.org/policy": "regos"}, 'policy has the value "regos": it must be "rego"'),
        ({"openpolicyagent.org/data": "OPA"}, 'data has the value "OPA": it must be "opa"'),
    ],
)
def test_nearly_right_label_is_a_problem(labels: dict[str, str], message: str) -> None:
    assert reported(must_read(config_map(labels, {"a.rego": "package a"}))) == [
        f":0: label: its label openpolicyagent.org/{message}"
    ]


@pytest.mark.parametrize("value", ["opa", "true", "", "gatekeeper"])
def test_other_label_values_are_of_other_tools(value: str) -> None:
    assert read(config_map({"openpolicyagent.org/policy": value}, {"a.rego": "package a"})) is None
    assert read(config_map({"openpolicyagent.org/policy": "Rego"}, {}, namespace="elsewhere")) is None


def test_each_key_of_a_policy_is_a_module_whatever_it_is_called() -> None:
    reading = must_read(config_map(POLICY, {"main.rego": "package a", "other": "package b"}))
    assert reading.submission.modules == {"main.rego": "package a", "other": "package b"}
    assert reading.policy
    assert not reading.submission.problems


def test_data_has_the_layout_of_kube_mgmt() -> None:
    reading = must_read(config_map(DATA, {"x.json": '{"a": [1, 2]}', "y": "b:\n- on\n- 012"}))
    assert reading.submission.data == {
        ("opa-policies", "one"): {"x.json": {"a": [1, 2]}, "y": {"b": [True, 10]}},
    }
    assert not reading.policy


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 2]", [1, 2]),
        ("5", 5),
        ('"text"', "text"),
        ("null", None),
        ("- a\n- b", ["a", "b"]),
        ("[\n\t1\n]", [1]),
    ],
)
def test_any_json_value_is_data(text: str, value: Any) -> None:
    assert must_read(config_map(DATA, {"x": text})).submission.data == {("opa-policies", "one"): {"x": value}}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1,\n "b" 2}', "x:2: data_parse_error: invalid JSON: Expecting ':' delimiter"),
        ("a: 1\nb: ]", "x:2: data_parse_error: invalid YAML"),
        ("a: 1\na: 2", "x:2: data_parse_error: invalid YAML: duplicate key 'a'"),
        ("hello", "x:1: data_parse_error: neither JSON nor a mapping or list in YAML"),
        ("# nothing", "x:1: data_parse_error: it is empty"),
        ("a: 1\n---\nb: 2", "x:3: data_parse_error: it has a second document"),
        ('{"a": "\\ud800"}', "x:0: data_parse_error: it has an unpaired surrogate"),
    ],
)
def test_values_that_are_no_data_are_reported_with_their_line(text: str, problem: str) -> None:
    reading = must_read(config_map(DATA, {"x": text, "y": "{}"}))
    assert [one[: len(problem)] for one in reported(reading)] == [problem]
    assert not reading.policy


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: &a [*a]", "x:1: data_parse_error: YAML that JSON cannot represent"),
        ("[" * 100_000, "x:1: data_parse_error: YAML that JSON cannot represent"),
    ],
)
async def test_documents_that_may_cost_much_are_read_later(text: str, problem: str) -> None:
    reading = must_read(config_map(DATA, {"x": text, "y": "{}"}))
    assert list(reading.unread) == ["x"]
    finished = await finish(reading)
    assert [one[: len(problem)] for one in reported(finished)] == [problem]
    assert not finished.unread


def test_with_both_labels_it_is_data_as_for_kube_mgmt() -> None:
    assert must_read(config_map(POLICY | DATA, {"x": "{}"})).submission.data == {("opa-policies", "one"): {"x": {}}}


@pytest.mark.parametrize("labels", [{}, {"openpolicyagent.org/policy": "other"}])
def test_without_a_label_it_is_no_author(labels: dict[str, str]) -> None:
    assert read(config_map(labels, {"x": "package a"})) is None


def test_in_another_namespace_it_is_no_author() -> None:
    obj = config_map(POLICY, {"x": "package a"}, namespace="shop")
    assert read(obj) is None
    assert read(obj, "opa-policies", "shop") is not None
    assert read(obj, "*") is not None


@pytest.mark.parametrize(
    ("obj", "problem"),
    [
        pytest.param(
            config_map(POLICY, {"a.rego": "package a"}, binaryData={"b.rego": "cGFja2FnZSBi"}),
            "b.rego:0: binary_data: it is under binaryData: put it under data",
            id="binary data",
        ),
        pytest.param(config_map(POLICY), ":0: empty: it has no module: add it as a key of data", id="empty"),
        pytest.param(config_map(DATA), ":0: empty: it has no document: add it as a key of data", id="no data"),
        pytest.param(
            config_map(POLICY, {"a": 5}),
            "a:0: no_text: its value is not a string: quote it",
            id="a number",
        ),
    ],
)
def test_a_rejected_config_map_has_the_reason(obj: Any, problem: str) -> None:
    assert reported(must_read(obj)) == [problem]


def test_the_version_names_the_content_alone() -> None:
    one = must_read(config_map(POLICY, {"a": "package a", "b": "package b"})).submission.version
    obj = config_map(POLICY, msgspec.Raw(b'{"b": "package b", "a": "package a"}'))
    obj["metadata"] |= {"resourceVersion": "7", "annotations": {"policybridge.io/status": "{}"}}
    assert must_read(obj).submission.version == one
    assert must_read(config_map(POLICY, {"a": "package a"})).submission.version != one
    assert (
        must_read(config_map(DATA, {"a": "{}"})).submission.version
        != must_read(config_map(POLICY, {"a": "{}"})).submission.version
    )


def test_a_rego_policy_submits_modules_and_tests() -> None:
    reading = rego_policy({"modules": {"a.rego": "package a"}, "tests": {"a_test.rego": "package a_test"}})
    assert reading.submission.modules == {"a.rego": "package a"}
    assert reading.submission.tests == {"a_test.rego": "package a_test"}
    assert not reading.submission.problems


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (None, ":0: invalid_spec: spec is missing: write spec.modules, a map of names to Rego"),
        ("package a", ":0: invalid_spec: spec is missing: write spec.modules, a map of names to Rego"),
        ({}, ":0: invalid_spec: spec.modules has no module"),
        ({"modules": None}, ":0: invalid_spec: spec.modules is not a map of names to Rego"),
        ({"modules": ["package a"]}, ":0: invalid_spec: spec.modules is not a map of names to Rego"),
        ({"modules": {"a": 5}}, "a:0: invalid_spec: its value is not a string"),
        ({"modules": {"a": "package a"}, "rego": ""}, ":0: invalid_spec: unknown field spec.rego"),
        ({"module": {"a": "package a"}}, ":0: invalid_spec: unknown field spec.module; did you mean modules?"),
        ({"modules": {"a": "package a"}, "tests": {"a": ""}}, "a:0: invalid_spec: a module and a test have the same"),
        ({"modules": {"../a": "package a"}}, ":0: invalid_spec: spec.modules: the name '../a' may contain only"),
    ],
)
def test_a_rejected_rego_policy_has_the_reason(spec: Any, problem: str) -> None:
    reading = rego_policy(spec)
    assert [one[: len(problem)] for one in reported(reading)] == [problem]
    assert reading.policy


def test_data_that_is_not_a_mapping_is_reported() -> None:
    reading = must_read({**config_map(POLICY, {}), "data": ["package a"]})
    assert reported(reading) == [":0: no_text: its data is not a mapping of names to strings"]
    assert reading.policy
