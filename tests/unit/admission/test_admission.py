import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from bridge.admission.admission import Admission, Policies, Question, Steps, read_rules
from bridge.admission.review import ReviewError, Terms
from bridge.model.keys import Key
from bridge.model.placement_decision import Decision, DecisionError, read_decision, read_review_decision
from bridge.opa.client import Answer
from bridge.opa.errors import OpaRejected, OpaTimeout, OpaUnavailable

SILENT: dict[str, Any] = {"denied": [], "warnings": []}


@dataclass
class _Stated(Policies):
    """Policies of which a test states what admission must know."""

    exists: bool = True
    distrusted: str = ""
    recent: bool = False

    def exist(self, decision: str) -> bool:
        return self.exists

    def distrust(self, answer: Answer) -> str:
        return self.distrusted

    def is_recent(self, answer: Answer) -> bool:
        return self.recent

    def kinds(self) -> set[str]:
        return {"security.istio.io/RequestAuthentication"}


def question(
    name: str,
    result: Any,
    *,
    read: Any = read_decision,
    undefined: Callable[[], str | None] = lambda: None,
    exist: bool = True,
) -> Question:
    async def ask(_: msgspec.Raw) -> Answer:
        if isinstance(result, Exception):
            raise result
        return Answer(result, "r1", f"id of {name}")

    return Question(name, ask, _Stated(exist), undefined, read)


def admission(
    placement: Any,
    rules: Any = SILENT,
    *,
    exist: bool = True,
    of_rules: bool | None = None,
    events: list[Any] | None = None,
) -> Admission:
    """An admission with policies of both decisions if they `exist`, or not, and of the rules as `of_rules` states."""
    reported: list[Any] = [] if events is None else events
    undefined = "undefined though policies exist" if exist else None
    return Admission(
        question("placement", placement, undefined=lambda: undefined, exist=exist),
        question("rules", rules, read=read_rules, exist=exist if of_rules is None else of_rules),
        lambda *event: reported.append(event),
        _Stated(exist),
    )


async def requested(
    one: Admission, *, group: str = "", budget: float = 1.0, verified: bool = True, patches: bool = True, **request: Any
) -> dict[str, Any]:
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    body = {"uid": "7", "kind": {"group": group, "version": "v1", "kind": "Pod"}, "operation": "CREATE", "object": obj}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": body | request}
    answer = await one.review(json.dumps(review).encode(), Terms(budget, verified, patches))
    response: dict[str, Any] = json.loads(answer)["response"]
    return response


def whole(result: Any, inputs: list[Any] | None = None) -> Admission:
    """An admission whose decision gets whole AdmissionReviews, which are added to `inputs`."""

    async def ask(document: msgspec.Raw) -> Answer:
        if inputs is not None:
            inputs.append(json.loads(bytes(document)))
        return Answer(result, "r1", "")

    placed = Question("placement", ask, read=read_review_decision, asks_with_review=True)
    return Admission(placed, question("rules", SILENT, read=read_rules))


@pytest.mark.parametrize(
    ("result", "denied"),
    [
        ([], None),
        (["no", {"code": 7}], 'no; {"code":7}'),
        ({"deny": ["no"], "errors": ["never"]}, "never; no"),
        ({"response": {"allowed": True}}, None),
        ({"apiVersion": "admission.k8s.io/v1", "response": {"allowed": False, "status": {"reason": "no"}}}, "no"),
        ({"response": {"allowed": False}}, "denied without a message"),
    ],
)
async def test_decision_about_a_review_may_have_the_forms_of_rego_for_the_api_server(
    result: Any, denied: str | None
) -> None:
    response = await requested(whole(result))
    assert response["allowed"] is (denied is None)
    assert response.get("status", {}).get("message") == denied


@pytest.mark.parametrize(
    "result", [7, {"response": {}}, {"patches": {}}, {"response": {"allowed": True, "patch": "%"}}]
)
async def test_other_form_of_a_decision_about_a_review_is_none(result: Any) -> None:
    response = await requested(whole(result))
    assert response["status"]["code"] == 503


@pytest.mark.parametrize(
    "request_", [{"operation": "DELETE", "object": None}, {"operation": "CONNECT", "subResource": "exec"}]
)
async def test_decision_about_a_review_gets_every_request_as_it_came(request_: dict[str, Any]) -> None:
    inputs: list[Any] = []
    found = whole([], inputs)
    old = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"protected": "true"}}}
    more: dict[str, Any] = {"oldObject": old, "userInfo": {"username": "eve", "groups": ["dev"]}}
    assert (await requested(found, **request_, **more))["allowed"]
    [document] = inputs
    assert (document["apiVersion"], document["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert {**request_, **more}.items() <= document["request"].items()


@pytest.mark.parametrize(("needed", "allowed"), [(["core/ConfigMap/a/b m.rego:3: undefined"], False), ([], True)])
async def test_deletion_of_modules_that_others_need_is_denied_and_nothing_else_decides(
    needed: list[str], allowed: bool
) -> None:
    class Needed(Policies):
        async def dependents(self, author: Key) -> list[str] | None:
            return needed if author == Key("core", "ConfigMap", "opa-policies", "lib") else None

    denying = question("placement", {"errors": ["never"]})
    found = Admission(denying, question("rules", SILENT, read=read_rules), policies=Needed())
    old: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap"}
    old["metadata"] = {"name": "lib", "namespace": "opa-policies"}
    deletion: dict[str, Any] = {
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "operation": "DELETE",
        "object": None,
    }
    response = await requested(found, **deletion, oldObject=old)
    assert response["allowed"] is allowed
    if not allowed:
        assert "other policies need these modules: core/ConfigMap/a/b m.rego:3" in response["status"]["message"]
    old["metadata"] = {"name": "other", "namespace": "opa-policies"}
    assert (await requested(found, **deletion, oldObject=old))["status"]["message"] == "never"


async def test_deletion_of_modules_is_denied_while_it_is_checked_whether_others_need_them() -> None:
    class Checked(Policies):
        async def dependents(self, author: Key) -> list[str]:
            await asyncio.Event().wait()
            return []

    found = Admission(None, question("rules", SILENT, read=read_rules), policies=Checked())
    old = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "lib", "namespace": "opa-policies"}}
    kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
    response = await requested(found, kind=kind, operation="DELETE", object=None, oldObject=old, budget=0.05)
    assert not response["allowed"]
    assert "whether other policies need these modules is still being checked: try again" in str(response["status"])


OF_AUTHOR = {"openpolicyagent.org/policy": "rego"}


@pytest.mark.parametrize(
    ("namespace", "labels", "former", "judged"),
    [
        ("opa-policies", OF_AUTHOR, {}, True),
        ("opa-policies", {"openpolicyagent.org/data": "opa"}, {}, True),
        ("opa-policies", {}, OF_AUTHOR, True),
        ("opa-policies", {}, {}, False),
        ("opa-policies", "none", {}, False),
        ("shop", OF_AUTHOR, {}, False),
    ],
)
async def test_change_of_modules_is_judged_by_guardrails_and_nothing_else_decides(
    namespace: str, labels: Any, former: Any, *, judged: bool
) -> None:
    async def judge(_: msgspec.Raw, seconds: float) -> Decision:
        assert 0 < seconds <= 1
        return Decision(errors=("[few] no",), warnings=("[some] hm",))

    denying = question("placement", {"errors": ["never"]})
    rules = question("rules", SILENT, read=read_rules)
    found = Admission(denying, rules, judge_modules=judge, policy_namespaces={"opa-policies"})
    obj, old = (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace, "labels": one}}
        for one in (labels, former)
    )
    kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
    response = await requested(found, kind=kind, operation="UPDATE", object=obj, oldObject=old)
    assert response["status"]["message"] == ("[few] no" if judged else "never")
    assert response.get("warnings", []) == (["[some] hm"] if judged else [])


@pytest.mark.parametrize(
    ("kind", "changed", "judged"),
    [
        ("ConfigMap", {"metadata": {"annotations": {"policybridge.io/status": "{}"}}}, False),
        ("ConfigMap", {"data": {"a.rego": "package b"}}, True),
        ("ConfigMap", {"data": None}, True),
        ("ConfigMap", {"binaryData": {"a.rego": "eA=="}}, True),
        ("ConfigMap", {"metadata": {"labels": {**OF_AUTHOR, "policybridge.io/rego-version": "v0"}}}, True),
        ("RegoPolicy", {"metadata": {"annotations": {"a": "b"}}}, False),
        ("RegoPolicy", {"spec": {"modules": {"a": "package b"}}}, True),
    ],
)
async def test_update_of_annotations_alone_is_no_change_of_modules(
    kind: str, changed: dict[str, Any], judged: bool
) -> None:
    async def judge(_: msgspec.Raw, __: float) -> Decision:
        return Decision(errors=("[few] is not judged",))

    denying = question("placement", {"errors": ["never"]})
    rules = question("rules", SILENT, read=read_rules)
    found = Admission(denying, rules, judge_modules=judge, policy_namespaces={"opa-policies"})
    group = "" if kind == "ConfigMap" else "policybridge.io"
    old: dict[str, Any] = {"apiVersion": "v1", "kind": kind, "data": {"a.rego": "package a"}, "spec": {"modules": {}}}
    old["metadata"] = {"name": "a", "namespace": "opa-policies", "labels": OF_AUTHOR}
    new = {**old, **changed, "metadata": old["metadata"] | changed.get("metadata", {})}
    about = {"group": group, "version": "v1", "kind": kind}
    response = await requested(found, kind=about, operation="UPDATE", object=new, oldObject=old)
    assert response["allowed"] is not judged


async def test_change_of_modules_is_admitted_where_guardrails_cannot_be_queried() -> None:
    async def judge(_: msgspec.Raw, __: float) -> Decision:
        raise OpaUnavailable("gone")

    rules = question("rules", SILENT, read=read_rules)
    found = Admission(None, rules, judge_modules=judge)
    obj = {"apiVersion": "policybridge.io/v1alpha1", "kind": "RegoPolicy", "metadata": {"name": "a"}}
    kind = {"group": "policybridge.io", "version": "v1alpha1", "kind": "RegoPolicy"}
    response = await requested(found, kind=kind, object=obj)
    assert response["allowed"]
    assert response["warnings"] == ["it is unknown whether guardrails allow this change: gone"]


PATCH = [{"op": "add", "path": "/metadata/labels", "value": {"team": "a"}}]


@pytest.mark.parametrize(
    "result",
    [
        {"patches": PATCH},
        {"response": {"allowed": True, "patchType": "JSONPatch", "patch": PATCH}},
        {"response": {"allowed": True, "patch": base64.b64encode(json.dumps(PATCH).encode()).decode()}},
    ],
)
async def test_decision_about_a_review_may_patch_the_object(result: Any) -> None:
    response = await requested(whole(result))
    assert json.loads(base64.b64decode(response["patch"])) == PATCH
    assert "patch" not in await requested(whole(result), patches=False)


@pytest.mark.parametrize(
    ("request_of", "what"),
    [
        ({"operation": "DELETE", "object": None}, "DELETE"),
        ({"operation": "CONNECT", "subResource": "exec"}, "CONNECT of exec"),
        ({"operation": "UPDATE", "subResource": "status"}, "UPDATE of status"),
    ],
)
@pytest.mark.parametrize("patches", [True, False])
async def test_patches_for_a_request_that_changes_no_object_are_left_out_with_a_warning(
    request_of: dict[str, Any], what: str, patches: bool
) -> None:
    old = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    response = await requested(whole({"patches": PATCH}), patches=patches, oldObject=old, **request_of)
    assert response["allowed"]
    assert "patch" not in response
    why = f"they are for the whole object, not for {what}"
    assert response["warnings"] == [f"policy-bridge: the decision's patches are left out: {why}"]


DEEP = base64.b64encode(b"[" * 100_000).decode()
SURROGATE = base64.b64encode(b'[{"op": "add", "path": "/a", "value": "\\ud800"}]').decode()


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ("%", "the patch of the decision is not JSON in base64"),
        (base64.b64encode(b"[{").decode(), "the patch of the decision is not JSON in base64"),
        (DEEP, "the patch of the decision is not JSON in base64: it is nested more than"),
        (SURROGATE, "the patch of the decision is not JSON in base64"),
        ({"op": "add"}, "the patch of the decision is an object, not a list of operations"),
        ([*PATCH, 7], "operation 2 of the decision's patch is a number, not an object with op and path"),
        ([{"op": "put", "path": "/a"}], 'operation 1 of the decision\'s patch has the op "put": write one of add,'),
        ([{"op": ["add"], "path": "/a"}], 'has the op ["add"]'),
        ([{"path": "/a"}], "has the op null"),
        ([{"op": "add", "path": "/a"}], "has no value, which add needs"),
        ([{"op": "remove", "path": "a"}], 'has the path "a": write a JSON pointer, such as /metadata/labels'),
        ([{"op": "remove"}], "has the path null"),
        ([{"op": "move", "path": "/a"}], "has the from null"),
    ],
)
async def test_patch_that_is_not_valid_is_reported_and_changes_nothing(patch: Any, reason: str) -> None:
    results = [
        {"response": {"allowed": True, "patch": patch}},
        *([] if isinstance(patch, str) else [{"patches": patch}]),
    ]
    for result in results:
        response = await requested(whole(result))
        assert (response["status"]["code"], "patch" in response) == (503, False)
        assert reason in response["status"]["message"]


async def test_both_decisions_count_and_are_named_in_the_audit() -> None:
    response = await requested(
        admission({"annotations": {"a": 1}, "warnings": ["one"]}, {"denied": [], "warnings": ["two"]})
    )
    assert response["allowed"]
    assert json.loads(base64.b64decode(response["patch"])) == [
        {"op": "add", "path": "/metadata/annotations", "value": {"a": "1"}}
    ]
    assert response["warnings"] == ["one", "two"]
    assert response["auditAnnotations"] == {
        "outcome": "allowed",
        "placement-decision-id": "id of placement",
        "rules-decision-id": "id of rules",
        "revision": "r1",
    }


@pytest.mark.parametrize("recent", [True, False])
async def test_decision_of_just_replaced_modules_counts_but_an_undefined_one_does_not(
    recent: bool,
) -> None:
    results = [msgspec.UNSET, {"annotations": {"a": 1}}]

    async def ask(_: msgspec.Raw) -> Answer:
        return Answer(results.pop(0) if len(results) > 1 else results[0], "r0", "id")

    placed = Question("placement", ask, _Stated(distrusted="r1 is served", recent=recent), lambda: "undefined")
    one = Admission(placed, question("rules", SILENT, read=read_rules))
    assert (await requested(one))["allowed"] is recent


async def test_validating_webhook_decides_alike_and_patches_nothing() -> None:
    one = admission({"annotations": {"a": 1}, "warnings": ["one"]}, {"denied": [], "warnings": ["two"]})
    response = await requested(one, patches=False)
    assert (response["allowed"], response["warnings"]) == (True, ["one", "two"])
    assert "patch" not in response
    assert not (await requested(admission({"errors": ["no"]}), patches=False))["allowed"]


async def test_scale_is_judged_by_the_rules_alone() -> None:
    scale: dict[str, Any] = {"kind": {"group": "autoscaling", "version": "v1", "kind": "Scale"}, "subResource": "scale"}
    response = await requested(
        admission({"errors": ["placement is requested"]}, {"denied": ["requested"], "warnings": []}), **scale
    )
    assert (response["allowed"], response["status"]["message"]) == (False, "requested")


async def test_requests_that_rules_deny_are_denied() -> None:
    response = await requested(admission({"annotations": {"a": 1}}, {"denied": ["never"], "warnings": ["two"]}))
    assert (response["allowed"], response["status"]["message"]) == (False, "never")
    assert response["warnings"] == ["two"]
    assert "patch" not in response


async def test_a_failure_denies_while_policies_exist_and_names_the_object() -> None:
    events: list[Any] = []
    response = await requested(admission(OpaRejected(500, "internal_error", "conflict"), events=events))
    assert response["status"]["code"] == 503
    assert response["auditAnnotations"]["outcome"] == "failed-closed"
    assert "conflict" in response["auditAnnotations"]["failure"]
    assert [event[1:3] for event in events] == [("Warning", "AdmissionUndecided")]
    response = await requested(admission(OpaRejected(500, "internal_error", "x"), events=events), dryRun=True)
    assert not response["allowed"]
    assert len(events) == 1


@pytest.mark.parametrize("client", [{"verified": False}, {"budget": 0.9}], ids=["no certificate", "a tiny budget"])
async def test_no_event_is_written_for_an_unverified_client_or_a_budget_under_a_second(client: dict[str, Any]) -> None:
    events: list[Any] = []
    response = await requested(admission(OpaRejected(500, "internal_error", "conflict"), events=events), **client)
    assert response["auditAnnotations"]["outcome"] == "failed-closed"
    assert events == []


async def test_an_undefined_decision_is_none_only_where_policies_exist() -> None:
    assert not (await requested(admission(msgspec.UNSET)))["allowed"]
    response = await requested(admission(msgspec.UNSET, exist=False))
    assert (response["allowed"], response["auditAnnotations"]["outcome"]) == (True, "allowed")


@pytest.mark.parametrize("of_rules", [True, False])
async def test_failure_of_a_decision_denies_only_where_policies_of_that_decision_exist(of_rules: bool) -> None:
    away = OpaRejected(500, "internal_error", "x")
    placement_fails = await requested(admission(away, exist=not of_rules, of_rules=of_rules))
    assert placement_fails["allowed"] is of_rules
    rules_fail = await requested(admission({}, away, exist=not of_rules, of_rules=of_rules))
    assert rules_fail["allowed"] is not of_rules
    assert not (await requested(admission(away, away, exist=not of_rules, of_rules=of_rules)))["allowed"]


async def test_objects_that_repair_policies_are_never_locked() -> None:
    away = OpaRejected(500, "internal_error", "x")
    response = await requested(admission({"errors": ["nothing may be here"]}, away), group="policybridge.io")
    assert (response["allowed"], response["auditAnnotations"]["outcome"]) == (True, "failed-open")
    assert "because the request can repair policies" in response["warnings"][0]
    response = await requested(admission({}, {"denied": ["nonsense"], "warnings": []}), group="policybridge.io")
    assert not response["allowed"]


async def test_a_deletion_is_decided_by_the_former_object_and_changes_nothing() -> None:
    gone: dict[str, Any] = {"operation": "DELETE", "object": None, "oldObject": {"metadata": {"name": "a"}}}
    response = await requested(admission({"annotations": {"a": 1}}), **gone)
    assert (response["allowed"], "patch" in response) == (True, False)
    assert not (await requested(admission({"errors": ["it stays"]}), **gone))["allowed"]
    kinds = {
        "gateway.networking.k8s.io": "Gateway",
        "example.com": "ColorPolicy",
        "security.istio.io": "RequestAuthentication",
    }
    for group, kind in kinds.items():
        of_the_hierarchy = {**gone, "kind": {"group": group, "version": "v1", "kind": kind}}
        assert (await requested(admission({"errors": ["it stays"]}), **of_the_hierarchy))["allowed"]


@pytest.mark.parametrize(
    "result", [None, [], {}, {"denied": []}, {"denied": 1, "warnings": []}, {"error": {"message": "x"}}]
)
def test_rules_that_answer_otherwise_have_not_decided(result: Any) -> None:
    with pytest.raises(DecisionError):
        read_rules(result)


async def test_requests_are_counted_by_outcome_and_others_as_malformed() -> None:
    one = admission({"errors": ["no"]})
    await requested(one)
    with pytest.raises(ReviewError):
        await one.review(b"{}", Terms(0.3))
    assert one.counted.outcomes == {"denied": 1, "malformed": 1}
    assert one.counted.seconds.count == 1


@pytest.mark.parametrize("exist", [True, False])
async def test_object_that_is_too_deep_is_denied_while_policies_exist(exist: bool) -> None:
    deep: Any = 1
    for _ in range(300):
        deep = {"a": deep}
    response = await requested(admission({}, exist=exist), object={"apiVersion": "v1", "kind": "Pod", "spec": deep})
    assert response["allowed"] is not exist
    assert "request.object is too deep: it is nested more than 200 levels deep" in json.dumps(response)


async def test_log_line_of_a_review_is_short_whatever_names_a_client_sends() -> None:
    with capture_logs() as logs:
        await requested(admission({}), object={"metadata": {"name": "n" * 1_000_000}}, operation="O" * 1_000_000)
    assert len(str(logs)) < 5_000


async def test_a_decision_that_takes_too_long_is_judged_once_in_the_time_that_is_left() -> None:
    given: list[float] = []
    inputs: list[Any] = []

    async def never(_: msgspec.Raw) -> Answer:
        await asyncio.sleep(3600)
        raise AssertionError

    async def judge(_: msgspec.Raw, seconds: float) -> dict[str, Any]:
        given.append(seconds)
        return {"introduced": []}

    async def ask(judged: Any) -> Answer:
        inputs.append(judged)
        if len(inputs) == 1:
            raise OpaUnavailable("gone")
        return Answer({"denied": ["no"], "warnings": []}, "r1", "")

    rules = Question("rules", never, read=read_rules, steps=Steps(judge, ask))
    response = await requested(Admission(None, rules), budget=4.0)
    assert response["status"]["message"] == "no"
    [seconds] = given  # all that the first query has left
    assert 1.5 < seconds <= 2
    assert inputs == [{"introduced": []}] * 2


@pytest.mark.parametrize("rejected", [True, False])
async def test_judging_is_repeated_while_opa_is_unavailable(*, rejected: bool) -> None:
    outcomes: list[Exception] = [OpaUnavailable("gone"), OpaUnavailable("gone")]

    async def fails(_: msgspec.Raw) -> Answer:
        conflict = OpaRejected(500, "internal_error", "", [{"code": "eval_conflict_error"}])
        raise conflict if rejected else OpaTimeout("slow")

    async def judge(_: msgspec.Raw, seconds: float) -> dict[str, Any]:
        assert seconds > 0
        if outcomes:
            raise outcomes.pop()
        return {}

    async def ask(_: Any) -> Answer:
        return Answer(SILENT, "r1", "")

    rules = Question("rules", fails, read=read_rules, steps=Steps(judge, ask))
    assert (await requested(Admission(None, rules), budget=9.0))["allowed"]
    assert not outcomes
