from typing import Any

import pytest

from bridge.model.placement_decision import (
    Decision,
    DecisionError,
    annotation_text,
    decision_path,
    differing,
    read_decision,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("", ""),
        (True, "true"),
        (None, "null"),
        (3, "3"),
        (1.5, "1.5"),
        (["b", "a"], '["b","a"]'),
        (
            {"rebalance": True, "clusters": {"gce-europe-west1": {"weight": 1}}},
            '{"clusters":{"gce-europe-west1":{"weight":1}},"rebalance":true}',
        ),
        ({"ü": "é"}, '{"ü":"é"}'),
    ],
)
def test_a_value_that_is_not_a_string_is_written_as_json(value: Any, text: str) -> None:
    assert annotation_text(value) == text


def test_a_decision_has_annotations_errors_and_warnings() -> None:
    result = {"annotations": {"a": 1}, "errors": ["no"], "warnings": "careful", "helper": {"x": 1}}
    assert read_decision(result) == Decision({"a": "1"}, ("no",), ("careful",))


def test_an_empty_decision_wants_nothing() -> None:
    assert read_decision({}) == Decision()
    assert read_decision({"annotations": None, "errors": [], "warnings": None}) == Decision()


def test_a_message_that_is_not_a_string_is_reported_as_json() -> None:
    assert read_decision({"errors": [{"msg": "no"}]}).errors == ('{"msg":"no"}',)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (None, "the decision is null"),
        (["a"], "the decision is a list"),
        (True, "the decision is a boolean"),
        ({"annotations": ["a"]}, "`annotations` of the decision is a list"),
        ({"errors": {"no": True}}, "`errors` of the decision is an object"),
        ({"warnings": 1}, "`warnings` of the decision is a number"),
    ],
)
def test_a_decision_of_another_form_is_refused_with_the_reason(result: Any, said: str) -> None:
    with pytest.raises(DecisionError, match=said):
        read_decision(result)


def test_only_differing_annotations_are_set_and_none_is_removed() -> None:
    shown = {"kept": "1", "other": "x", "same": "s"}
    assert differing(shown, {"same": "s", "other": "y", "new": "n"}) == {"other": "y", "new": "n"}
    assert differing(shown, {"same": "s"}) == {}
    assert differing(None, {"new": "n"}) == {"new": "n"}


@pytest.mark.parametrize("text", ["/v1/data/a/b", "a/b", "data.a.b", "data/a/b", "a.b", "/a/b", "/a/b/"])
def test_every_form_of_a_documents_path_is_read(text: str) -> None:
    assert decision_path(text) == ("a", "b")


def test_a_document_may_have_one_segment_and_the_name_data() -> None:
    assert decision_path("a") == ("a",)
    assert decision_path("data") == ("data",)
    assert decision_path("a/data") == ("a", "data")


@pytest.mark.parametrize("text", ["", "/", "/v1/data", "data..a", "a//b", "a b", 'a"b', "a?x", "a#x"])
def test_a_text_that_is_not_a_documents_path_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not a decision: write the path of a document"):
        decision_path(text)
