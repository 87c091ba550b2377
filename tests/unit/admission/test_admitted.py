"""Requests are also judged after those that were admitted before, until OPA has their changes."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import msgspec

from bridge.admission.admission import Admission, Question, read_rules
from bridge.admission.admitted import LONGEST, MOST, Admitted
from bridge.admission.review import Terms
from bridge.model.changes import Notice
from bridge.model.keys import Key
from bridge.model.placement_decision import Decision
from bridge.opa.client import Answer
from tests.eventually import eventually

ONE, TWO = (Key("example.com", "LimitPolicy", "shop", name) for name in ("one", "two"))


class _Rules:
    """Rules that deny a deletion after the admitted deletion of another policy. They decide once `open` is set."""

    def __init__(self) -> None:
        self.inputs: list[dict[str, Any]] = []
        self.open = asyncio.Event()
        self.open.set()

    async def ask(self, document: msgspec.Raw) -> Answer:
        request = json.loads(bytes(document))
        self.inputs.append(request)
        await self.open.wait()
        key = f"example.com/LimitPolicy/shop/{request['name']}"
        denied = ["the last policy"] if request.get("admitted", {}).get("delete") else []
        return Answer({"denied": denied, "warnings": [], "change": {"delete": [key]}}, "r1", "")


async def deleted(admission: Admission, key: Key, *, patches: bool = False, **more: Any) -> bool:
    """Whether the deletion of a policy is admitted."""
    allowed: bool = (await reviewed(admission, key, patches=patches, **more))["allowed"]
    return allowed


async def reviewed(admission: Admission, key: Key, *, patches: bool = False, **more: Any) -> dict[str, Any]:
    """The response to the deletion of a policy."""
    request = {
        "uid": "7",
        "kind": {"group": key.group, "version": "v1", "kind": key.kind},
        "operation": "DELETE",
        "namespace": key.namespace,
        "name": key.name,
        "oldObject": {"metadata": {"name": key.name, "namespace": key.namespace}},
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request | more}
    answer = await admission.review(json.dumps(review).encode(), Terms(5.0, patches=patches))
    response: dict[str, Any] = json.loads(answer)["response"]
    return response


def judging(rules: _Rules) -> tuple[Admission, Admitted]:
    admitted = Admitted()
    question = Question("rules", rules.ask, read=read_rules)
    return Admission(None, question, admitted=admitted), admitted


async def test_second_deletion_is_judged_after_the_first_until_opa_has_it() -> None:
    rules = _Rules()
    admission, admitted = judging(rules)
    assert await deleted(admission, ONE)
    assert not await deleted(admission, TWO)
    assert rules.inputs[-1]["admitted"] == {"delete": [str(ONE)]}
    admitted.take_in(Notice((ONE,)))
    await asyncio.sleep(0.01)  # a request that began before the notice may have been judged without it
    assert await deleted(admission, TWO)


async def test_a_decision_after_admitted_rego_has_a_warning_until_opa_has_had_time() -> None:
    admission, admitted = judging(_Rules())
    admitted.add_modules(Key("", "ConfigMap", "opa-policies", "rules"), {})
    assert [*admitted.modules()] == ["/ConfigMap/opa-policies/rules"]
    assert await deleted(admission, ONE)
    assert "judged without Rego that was admitted less than 10 s ago" in (await reviewed(admission, ONE))["warnings"][0]


class _Guards:
    """Guardrails that deny a change of Rego after another one, or after the deletion of a policy."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.inputs: list[dict[str, Any]] = []

    async def judge(self, document: msgspec.Raw, _: float) -> Decision:
        request = json.loads(bytes(document))
        self.inputs.append(request)
        await self.open.wait()
        return Decision(errors=("both",) if request.get("admitted") else ())


async def submitted(admission: Admission, name: str) -> bool:
    """Whether the creation of a RegoPolicy is admitted."""
    request = {
        "uid": "8",
        "kind": {"group": "policybridge.io", "version": "v1alpha1", "kind": "RegoPolicy"},
        "operation": "CREATE",
        "name": name,
        "object": {"apiVersion": "policybridge.io/v1alpha1", "kind": "RegoPolicy", "metadata": {"name": name}},
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    answer = await admission.review(json.dumps(review).encode(), Terms(5.0, patches=False))
    allowed: bool = json.loads(answer)["response"]["allowed"]
    return allowed


def guarded() -> tuple[Admission, _Guards]:
    """An admission that judges Rego, with what it judges."""
    guards = _Guards()
    plain, _ = judging(_Rules())
    return replace(plain, judge_modules=guards.judge), guards


async def test_changes_of_rego_are_judged_after_those_that_are_admitted_meanwhile() -> None:
    admission, guards = guarded()
    first, second = (asyncio.create_task(submitted(admission, name)) for name in ("a", "b"))
    await eventually(lambda: len(guards.inputs) == 2)
    guards.open.set()
    assert sorted(await asyncio.gather(first, second)) == [False, True]
    assert [one["metadata"]["name"] for one in guards.inputs[-1]["admitted"]["upsert"]] in (["a"], ["b"])


async def test_a_change_of_rego_is_judged_after_a_deletion_that_is_admitted_meanwhile() -> None:
    admission, guards = guarded()
    change = asyncio.create_task(submitted(admission, "a"))
    await eventually(lambda: len(guards.inputs) == 1)
    assert await deleted(admission, ONE)
    guards.open.set()
    assert not await change
    assert guards.inputs[-1]["admitted"] == {"delete": [str(ONE)]}


async def test_other_requests_need_not_wait_for_a_judgement_of_rego() -> None:
    admission, guards = guarded()
    first = asyncio.create_task(submitted(admission, "a"))
    await eventually(lambda: len(guards.inputs) == 1)
    assert await deleted(admission, ONE)
    guards.open.set()
    guards.open = asyncio.Event()  # the second judgement, after the deletion, takes long
    await eventually(lambda: len(guards.inputs) == 2)
    assert await deleted(admission, ONE)
    guards.open.set()
    assert not await first


async def test_one_of_two_deletions_at_the_same_moment_is_denied() -> None:
    rules = _Rules()
    admission, _ = judging(rules)
    rules.open.clear()
    both = [asyncio.create_task(deleted(admission, key)) for key in (ONE, TWO)]
    await eventually(lambda: len(rules.inputs) == 2)
    rules.open.set()
    assert sorted(await asyncio.gather(*both)) == [False, True]


async def test_deletion_that_opa_gets_while_another_is_judged_counts_for_that() -> None:
    rules = _Rules()
    admission, admitted = judging(rules)
    assert await deleted(admission, ONE)
    rules.open.clear()
    second = asyncio.create_task(deleted(admission, TWO))
    await eventually(lambda: len(rules.inputs) == 2)
    admitted.take_in(Notice((ONE,)))
    rules.open.set()
    assert not await second


async def test_the_same_object_and_an_empty_change_are_not_judged_twice() -> None:
    rules = _Rules()
    admission, _ = judging(rules)
    assert await deleted(admission, ONE, dryRun=True)
    assert await deleted(admission, ONE, patches=True)  # the validating webhook gets it too
    assert await deleted(admission, TWO)
    assert await deleted(admission, TWO)
    assert not [asked for asked in rules.inputs if "admitted" in asked]


async def test_each_write_of_an_object_is_awaited() -> None:
    admitted = Admitted()
    clock = asyncio.get_running_loop().time
    admitted.add(ONE, {"upsert": [{"spec": 1}]})
    admitted.add(ONE, {"upsert": [{"spec": 2}]})
    admitted.take_in(Notice((ONE,)))
    assert admitted.missing(clock(), TWO) == {"upsert": [{"spec": 2}]}
    admitted.take_in(Notice((ONE,)))
    await asyncio.sleep(0.01)
    assert admitted.missing(clock(), TWO) == {}


async def test_a_change_that_opa_never_gets_is_forgotten(monkeypatch: Any) -> None:
    admitted = Admitted()
    loop = asyncio.get_running_loop()
    now = loop.time()
    admitted.add(ONE, {"delete": [str(ONE)]})
    monkeypatch.setattr(loop, "time", lambda: now + LONGEST + 1)
    assert admitted.missing(loop.time(), TWO) == {}


async def test_of_many_changes_those_that_opa_has_are_dropped_first_then_the_earliest() -> None:
    admitted = Admitted()
    loop = asyncio.get_running_loop()
    names = [Key("example.com", "LimitPolicy", "shop", f"p{number}") for number in range(MOST + 2)]
    for key in names[:MOST]:
        admitted.add(key, {"delete": [str(key)]})
    admitted.take_in(Notice((names[5],)))
    for key in names[MOST:]:
        admitted.add(key, {"delete": [str(key)]})
    missing = admitted.missing(loop.time() - LONGEST, TWO)["delete"]
    assert missing == [str(key) for key in names if key not in (names[0], names[5])]
