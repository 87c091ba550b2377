import base64
import itertools
import json
import time
from typing import Any

import pytest

from bridge.admission.review import (
    ALL_WARNINGS,
    LONGEST_WARNING,
    ReviewError,
    annotation_patch,
    answer,
    fitted,
    read_review,
)
from bridge.model.nesting import exceeds
from tests.builders import resource
from tests.unit.replicator.json_patch import applied

OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}}


def review(**request: Any) -> bytes:
    review_ = {
        "uid": "7",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "operation": "CREATE",
        **request,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": review_}).encode()


def test_the_subject_is_the_object_or_else_the_one_that_there_was() -> None:
    review_ = read_review(review(object=OBJECT, oldObject=None))
    assert json.loads(bytes(review_.subject)) == OBJECT
    assert (review_.key, review_.patched, review_.dry_run) == ("core/ConfigMap/shop/a", True, False)
    gone = read_review(review(object=None, oldObject=OBJECT, operation="DELETE", dryRun=True))
    assert json.loads(bytes(gone.subject)) == OBJECT
    assert (gone.patched, gone.dry_run) == (False, True)
    assert not read_review(review(object=OBJECT, subResource="status")).patched


def test_an_object_without_a_name_or_metadata_is_known_by_its_other_fields() -> None:
    unnamed = {**OBJECT, "metadata": {"generateName": "a-"}}
    assert read_review(review(object=unnamed, namespace="shop")).reference == resource("v1", "ConfigMap", "a-", "shop")
    bare = read_review(review(object={"apiVersion": "v1", "kind": "ConfigMap"}))
    assert bare.key == "core/ConfigMap/-/-"
    assert not read_review(review()).subject_given


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "this is not a complete AdmissionReview"),
        (b"[]", "this is not a complete AdmissionReview"),
        (review(object=OBJECT)[:-20], "this is not a complete AdmissionReview"),
        (b'{"kind": "Pod", "apiVersion": "v1"}', "this is not an AdmissionReview: apiVersion 'v1', kind 'Pod'"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}', "has no request"),
        (
            b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1", "request": {}}',
            r"admission.k8s.io/v1beta1 is not supported: set admissionReviewVersions: \[v1\]",
        ),
        (review(uid=None), "uid"),
        (review(object={"metadata": "x"}), "not a Kubernetes object"),
        (review(object=[1]), "not a Kubernetes object"),
    ],
)
def test_a_body_that_is_no_review_is_refused_with_the_reason(body: bytes, said: str) -> None:
    with pytest.raises(ReviewError, match=said) as caught:
        read_review(body)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"name": "a"},
        {"name": "a", "annotations": None},
        {"annotations": {}},
        {"annotations": {"a/b~c": "1", "z": "9"}},
    ],
)
def test_annotations_are_merged_over_the_objects_own_by_a_json_patch(metadata: Any) -> None:
    obj = {"kind": "X", "apiVersion": "v1"} | ({} if metadata is None else {"metadata": metadata})
    patch = annotation_patch(read_review(review(object=obj)), {"a/b~c": "2", "new": "3"})
    before = (metadata or {}).get("annotations") or {}
    assert applied(obj, patch)["metadata"]["annotations"] == before | {"a/b~c": "2", "new": "3"}


@pytest.mark.parametrize(
    "body",
    [
        review(uid="u" * 1_000_000),
        review().replace(b"AdmissionReview", b"R" * 1_000_000),
        review().replace(b"admission.k8s.io/v1", b"v" * 1_000_000),
        review().replace(b'"kind": "AdmissionReview"', b'"kind": "' + b"\\u0001" * 200_000 + b'"'),
    ],
)
def test_refusal_repeats_little_of_the_body(body: bytes) -> None:
    with pytest.raises(ReviewError) as refused:
        read_review(body)
    assert len(str(refused.value)) < 10_000


@pytest.mark.parametrize("part", [b"[", b'{"a":[],"b":{},', b'["ab'])
def test_body_of_brackets_that_is_no_review_is_refused_at_once(part: bytes) -> None:
    began = time.process_time()
    with pytest.raises(ReviewError):
        read_review(part * ((8 << 20) // len(part)))
    assert time.process_time() - began < 0.2


def test_nothing_to_set_is_no_patch() -> None:
    assert annotation_patch(read_review(review(object=OBJECT)), {}) == []


def test_an_answer_says_the_outcome_of_the_request() -> None:
    patch = [{"op": "add", "path": "/x", "value": "y"}]
    given = json.loads(answer("7", patch=patch, warnings=("careful",), audit={"outcome": "allowed"}))["response"]
    assert json.loads(base64.b64decode(given.pop("patch"))) == patch
    assert given == {
        "uid": "7",
        "allowed": True,
        "patchType": "JSONPatch",
        "warnings": ["careful"],
        "auditAnnotations": {"outcome": "allowed"},
    }
    denied = json.loads(answer("7", patch=patch, denied=(403, "Forbidden", "no")))["response"]
    assert denied == {"uid": "7", "allowed": False, "status": {"code": 403, "reason": "Forbidden", "message": "no"}}


def with_field(name: str, depth: int, **request: Any) -> bytes:
    """A review with an object in this field whose levels are so many."""
    head = json.dumps({**OBJECT, "spec": 0}).encode()
    deep = head[: head.rindex(b"0")] + b'{"a":' * (depth - 1) + b"1" + b"}" * depth
    return review(**request)[:-2] + b', "%s": %s}}' % (name.encode(), deep)


@pytest.mark.parametrize(
    ("name", "depth"),
    [("object", 201), ("object", 217), *itertools.product(("object", "options", "unknown"), (300, 970, 9_000, 20_000))],
)
def test_request_that_is_too_deep_has_a_flaw(name: str, depth: int) -> None:
    review_ = read_review(with_field(name, depth))
    assert review_.flaw == f"request.{name} is too deep: it is nested more than 200 levels deep"
    assert (review_.uid, review_.operation) == ("7", "CREATE")


def test_object_at_the_bound_has_no_flaw() -> None:
    review_ = read_review(with_field("object", 200))
    assert review_.flaw == ""
    assert exceeds(bytes(review_.subject), 199)


def test_metadata_of_an_object_may_be_deeper_than_the_bound_as_in_replication() -> None:
    fields = json.loads('{"f:a":' * 205 + "{}" + "}" * 205)
    metadata = {"name": "web", "managedFields": [{"fieldsV1": fields}]}
    assert read_review(review(object={**OBJECT, "metadata": metadata})).flaw == ""


@pytest.mark.parametrize("depth", [300, 970, 9_000])
def test_old_object_that_is_too_deep_is_cut_so_that_it_can_be_fixed_or_deleted(depth: int) -> None:
    fixed = read_review(with_field("oldObject", depth, operation="UPDATE", object=OBJECT))
    assert (fixed.flaw, json.loads(bytes(fixed.subject))) == ("", OBJECT)
    deleted = read_review(with_field("oldObject", depth, operation="DELETE", object=None))
    assert (deleted.flaw, deleted.key) == ("", "core/ConfigMap/shop/a")
    assert not exceeds(bytes(deleted.request), 230)


def test_warnings_are_one_line_each_and_as_long_as_the_api_server_takes() -> None:
    assert fitted(["two\nlines\t \x07bell"]) == ("two lines bell",)
    (long,) = fitted(["x" * 1000])
    assert len(long) == LONGEST_WARNING
    assert long.endswith("…")


def test_of_too_many_warnings_the_first_are_shown_with_the_number_of_the_others() -> None:
    shown = fitted([f"{number}: {'x' * 200}" for number in range(40)])
    assert sum(map(len, shown)) <= ALL_WARNINGS
    assert shown[-1] == f"and {40 - len(shown) + 1} more warnings"
