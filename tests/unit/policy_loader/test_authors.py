"""From a change stream to what the loader is handed, and back to what is known of each author."""

import asyncio
from typing import Any

import pytest

from bridge.model.changes import Deleted, Listed, Listing, Trouble, Upserted
from bridge.model.keys import Key, key_of
from bridge.policy_loader.authors import Authors
from bridge.policy_loader.reporter import annotation
from bridge.policy_loader.submissions import (
    CONFIG_MAP,
    LOST,
    LOST_RULES,
    REGO_POLICY,
    STATUS_ANNOTATION,
    ModuleProblem,
    Verdict,
    find_flaws,
)
from tests.eventually import eventually
from tests.unit.policy_loader.hand import HandJudge

ONE = Key("core", "ConfigMap", "opa-policies", "one")
TWO = Key("core", "ConfigMap", "opa-policies", "two")
PROBLEM = ModuleProblem("a.rego", 3, 1, "rego_parse_error", "unexpected token")
LATE = ModuleProblem("", 0, 0, "timeout", "checking this version took more than 4 s")


@pytest.fixture
def judge() -> HandJudge:
    return HandJudge()


@pytest.fixture
def authors(judge: HandJudge) -> Authors:
    return Authors(judge, ("opa-policies",))


def config_map(key: Key, text: str = "package a", *, label: str = "policy=rego", **fields: Any) -> Upserted:
    name, _, value = label.partition("=")
    metadata = {"name": key.name, "namespace": key.namespace, "labels": {f"openpolicyagent.org/{name}": value}}
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a.rego": text}, **fields}
    return Upserted(CONFIG_MAP, (obj,))


def rego_policy(name: str) -> Upserted:
    spec = {"modules": {"a.rego": "package a"}}
    metadata = {"name": name, "generation": 1}
    obj = {"apiVersion": "policybridge.io/v1alpha1", "kind": "RegoPolicy", "metadata": metadata, "spec": spec}
    return Upserted(REGO_POLICY, (obj,))


def list_all(authors: Authors, *reported: Upserted) -> None:
    for type_id in (CONFIG_MAP, REGO_POLICY):
        authors.take_in(Listing(type_id))
        for one in reported:
            if one.type_id == type_id:
                authors.take_in(one)
        authors.take_in(Listed(type_id))


def test_the_loader_is_notified_once_that_everything_was_listed(authors: Authors, judge: HandJudge) -> None:
    list_all(authors, config_map(ONE), rego_policy("all"))
    assert {str(key) for key in judge.handed} == {str(ONE), "policybridge.io/RegoPolicy/-/all"}
    list_all(authors, config_map(ONE), rego_policy("all"))
    assert (judge.complete, judge.puts) == (1, 2)


def test_loss_in_an_objects_status_is_submitted_with_it(authors: Authors, judge: HandJudge) -> None:
    lost = Verdict(ONE, "v", "", (ModuleProblem("a.rego", 1, 1, LOST, f"{LOST_RULES} another was deleted (why)"),))
    [obj] = config_map(ONE).objects
    obj["metadata"]["annotations"] = {STATUS_ANNOTATION: annotation(lost)}
    list_all(authors, Upserted(CONFIG_MAP, (obj,)), rego_policy("all"))
    assert [one.lost for one in judge.handed.values()] == [f"{LOST_RULES} another was deleted", ""]


def test_a_type_that_is_not_served_is_listed_with_nothing_in_it(authors: Authors, judge: HandJudge) -> None:
    authors.take_in(Trouble(REGO_POLICY, "install the CRD", absent=True))
    assert judge.complete == 0
    authors.take_in(Listing(CONFIG_MAP))
    authors.take_in(Listed(CONFIG_MAP))
    assert judge.complete == 1


def test_policies_exist_until_the_lists_say_otherwise(authors: Authors) -> None:
    assert authors.policies_exist
    authors.take_in(Trouble(REGO_POLICY, "install the CRD", absent=True))
    authors.take_in(Trouble(CONFIG_MAP, "reading configmaps is forbidden"))
    assert authors.policies_exist
    assert authors.unready == "core/ConfigMap: reading configmaps is forbidden"
    list_all(authors)
    assert not authors.policies_exist


def test_data_is_not_a_policy(authors: Authors) -> None:
    list_all(authors, config_map(TWO, "{", label="data=opa"))
    assert not authors.policies_exist


def test_a_broken_policy_exists(authors: Authors) -> None:
    list_all(authors, config_map(ONE, data=None))
    assert authors.policies_exist


@pytest.mark.parametrize(
    ("text", "decides"),
    [
        ("package io.k8s.federation.admission\n\nx := 1\n", True),
        ("package io.k8s.federation\n\nadmission.errors contains 1\n", True),
        ("package io.k8s.federation.admission.helpers\n", True),
        ("package bridge.strategies.mine\n", False),
        ("package bridge.guardrails.mine\n\nbroken := {\n", False),
        ("package bridge.extensions.hierarchy.mine\n", False),
        ("package envoy.authz\n\nallow := true\n", False),
        ("package kubernetes.admission\n", False),
        ("# Notes about our policies\n", False),
        ("pakage io.k8s.federation.admission\n", True),
    ],
)
def test_policy_counts_for_a_decision_that_it_may_define(authors: Authors, text: str, decides: bool) -> None:
    list_all(authors, config_map(ONE, text))
    assert authors.deciding([("io", "k8s", "federation", "admission")]) == [ONE] * decides


@pytest.mark.parametrize(("label", "setting", "old"), [("v0", "v1", True), ("v1", "v0", False), ("", "v0", True)])
def test_version_of_rego_is_that_of_the_label_or_else_the_setting(
    judge: HandJudge, label: str, setting: str, old: bool
) -> None:
    authors = Authors(judge, ("opa-policies",), setting)
    found = config_map(ONE)
    found.objects[0]["metadata"]["labels"] |= {"policybridge.io/rego-version": label} if label else {}
    list_all(authors, found)
    assert judge.handed[ONE].old is old


def test_package_system_moves_to_a_package_that_a_bundle_may_own(authors: Authors, judge: HandJudge) -> None:
    text = "# Answers the API server.\npackage system # here\n\nmain := data.kubernetes.admission\n"
    masks = 'package system.log\n\nmask contains "/input/request"\n'
    list_all(authors, config_map(ONE, data={"main": text, "log": masks, "no": "package system.authz\n"}))
    modules = judge.handed[ONE].modules
    assert modules["main"] == text.replace("package system", "package bridge.system")
    assert modules["log"] == masks.replace("system.log", "bridge.system.log")
    assert modules["no"] == "package system.authz\n"
    assert [problem.file for problem in find_flaws(judge.handed[ONE])] == ["no"]
    assert authors.deciding([("bridge", "system", "main")]) == [ONE]
    assert authors.deciding([("io", "k8s")]) == []


def test_unknown_version_of_rego_is_a_problem(authors: Authors, judge: HandJudge) -> None:
    found = config_map(ONE)
    found.objects[0]["metadata"]["labels"]["policybridge.io/rego-version"] = "0"
    list_all(authors, found)
    (problem,) = judge.handed[ONE].problems
    assert problem.message.endswith('has the value "0": it must be "v0" or "v1"')


def test_module_of_a_regopolicy_counts_for_a_constraint_that_names_its_package(authors: Authors) -> None:
    list_all(authors, rego_policy("all"))
    assert [key.name for key in authors.deciding([("a",)])] == ["all"]
    assert authors.deciding([("b",)]) == []


def test_forbidden_type_delays_no_other(authors: Authors, judge: HandJudge) -> None:
    authors.take_in(Listing(CONFIG_MAP))
    authors.take_in(config_map(ONE))
    authors.take_in(Listed(CONFIG_MAP))
    assert judge.complete == 0
    authors.take_in(Trouble(REGO_POLICY, "grant list on regopolicies", forbidden=True))
    assert judge.complete == 1
    assert authors.unready == f"{REGO_POLICY}: grant list on regopolicies"
    authors.take_in(Listing(REGO_POLICY))
    authors.take_in(rego_policy("all"))
    authors.take_in(Listed(REGO_POLICY))
    assert (judge.complete, authors.unready) == (1, f"{ONE} and 1 more: neither active nor rejected yet")


def test_a_deleted_policy_does_not_exist(authors: Authors) -> None:
    list_all(authors, config_map(ONE, data=None))
    authors.take_in(Deleted(CONFIG_MAP, ONE))
    assert not authors.policies_exist


def test_authors_are_ready_when_the_modules_of_the_start_are_judged(authors: Authors, judge: HandJudge) -> None:
    list_all(authors, config_map(ONE), config_map(TWO))
    assert authors.unready == f"{ONE} and 1 more: neither active nor rejected yet"
    judge.refuse(TWO, PROBLEM)
    judge.take(ONE)
    assert authors.unready == f"{ONE}: neither active nor rejected yet"
    judge.accept(ONE)
    assert not authors.unready
    authors.take_in(config_map(ONE, "package b"))
    assert not authors.unready  # later objects do not delay readiness


def test_start_waits_for_modules_with_a_long_check(
    authors: Authors, judge: HandJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("bridge.policy_loader.authors.time.monotonic", lambda: now)
    list_all(authors, config_map(ONE), config_map(TWO))
    judge.refuse(ONE, PROBLEM)
    judge.refuse(TWO, LATE)
    assert authors.unready == f"{TWO}: the check takes long, and no version is active"
    now += 179
    assert authors.unready
    now += 2
    assert not authors.unready  # an author whose check never ends does not keep the bridge from being ready


def test_start_waits_a_bounded_time_for_objects_that_change_meanwhile_and_not_for_new_ones(
    authors: Authors, judge: HandJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("bridge.policy_loader.authors.time.monotonic", lambda: now)
    list_all(authors, config_map(ONE))
    authors.take_in(config_map(TWO))
    assert authors.unready == f"{ONE}: neither active nor rejected yet"
    for number in range(9):
        authors.take_in(config_map(ONE, f"package p{number}"))
        assert authors.unready == f"{ONE}: changed since the start, and not checked yet"
        now += 19
    now += 10
    assert not authors.unready


def test_start_does_not_wait_for_an_object_that_changes_after_a_version_is_active(
    authors: Authors, judge: HandJudge
) -> None:
    list_all(authors, config_map(ONE))
    judge.accept(ONE)
    authors.take_in(config_map(ONE, "package b"))
    assert not authors.unready


def test_start_does_not_wait_for_a_late_check_beside_an_active_version(authors: Authors, judge: HandJudge) -> None:
    list_all(authors, config_map(ONE))
    judge.refuse(ONE, LATE, active="v1")
    assert not authors.unready


def test_a_change_of_metadata_alone_is_not_submitted_again(authors: Authors, judge: HandJudge) -> None:
    list_all(authors, config_map(ONE))
    (obj,) = config_map(ONE).objects
    obj["metadata"]["annotations"] = {"policybridge.io/status": "ok"}
    authors.take_in(Upserted(CONFIG_MAP, (obj,)))
    assert judge.puts == 1
    assert authors.known[ONE].identity["metadata"]["annotations"]


def test_a_verdict_on_a_former_version_does_not_apply_to_the_current_one(authors: Authors, judge: HandJudge) -> None:
    list_all(authors, config_map(ONE))
    judge.accept(ONE)
    authors.take_in(config_map(ONE, "package b"))
    assert authors.known[ONE].judgement is None


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param([Deleted(CONFIG_MAP, ONE)], id="deleted"),
        pytest.param([config_map(ONE, label="policy=none")], id="its label taken off"),
        pytest.param([Listing(CONFIG_MAP), Listed(CONFIG_MAP)], id="listed no more"),
        pytest.param([Listing(CONFIG_MAP, "opa-policies"), Listed(CONFIG_MAP, "opa-policies")], id="in its namespace"),
    ],
)
def test_a_deleted_submission_is_withdrawn(authors: Authors, judge: HandJudge, gone: list[Any]) -> None:
    list_all(authors, config_map(ONE))
    for change in gone:
        authors.take_in(change)
    assert not judge.handed
    assert not authors.known


def test_a_listing_that_breaks_off_takes_nothing_back(authors: Authors, judge: HandJudge) -> None:
    list_all(authors, config_map(ONE), config_map(TWO))
    authors.take_in(Listing(CONFIG_MAP, "other"))
    authors.take_in(Listed(CONFIG_MAP, "other"))
    authors.take_in(Listing(CONFIG_MAP))
    authors.take_in(config_map(ONE))
    authors.take_in(Trouble(CONFIG_MAP, "the API server is unavailable"))
    authors.take_in(Listing(CONFIG_MAP))
    authors.take_in(config_map(TWO))
    authors.take_in(config_map(ONE))
    authors.take_in(Listed(CONFIG_MAP))
    assert set(judge.handed) == {ONE, TWO}


def test_listeners_are_notified_of_changes_and_verdicts(authors: Authors, judge: HandJudge) -> None:
    received: list[tuple[Key, bool]] = []
    authors.listen(lambda key, obj: received.append((key, obj is not None)))
    list_all(authors, config_map(ONE))
    judge.accept(ONE)
    authors.take_in(Deleted(CONFIG_MAP, ONE))
    assert received == [(ONE, True), (ONE, True), (ONE, False)]
    (obj,) = config_map(ONE).objects
    assert key_of(obj) == ONE


def test_an_object_that_cannot_be_read_is_a_problem_of_that_object_alone(authors: Authors, judge: HandJudge) -> None:
    metadata = {"name": ONE.name, "namespace": ONE.namespace, "labels": ["no mapping"]}
    odd = Upserted(CONFIG_MAP, ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata},))
    list_all(authors, odd, config_map(TWO))
    assert [one.code for one in judge.handed[ONE].problems] == ["unreadable"]
    assert not judge.handed[TWO].problems


LONG = "# long\n" * 1000


async def test_start_waits_for_documents_that_are_read_later(authors: Authors, judge: HandJudge) -> None:
    list_all(authors, config_map(ONE, f"{LONG}a: 1", label="data=opa"))
    assert (judge.complete, judge.puts) == (0, 0)
    assert authors.known[ONE].state == "pending"
    await authors.read_waiting()
    assert (judge.complete, judge.puts) == (1, 1)
    assert judge.handed[ONE].data == {("opa-policies", "one"): {"a.rego": {"a": 1}}}


async def test_start_does_not_wait_for_ever(
    authors: Authors, judge: HandJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bridge.policy_loader.authors._PATIENCE", 0.01)
    list_all(authors, config_map(ONE, f"{LONG}a: 1", label="data=opa"))
    await eventually(lambda: judge.complete == 1)
    assert judge.puts == 0


async def test_document_that_cannot_be_read_is_a_problem_of_its_object(authors: Authors, judge: HandJudge) -> None:
    list_all(authors, config_map(ONE, f"{LONG}a: [", label="data=opa"), config_map(TWO))
    await authors.read_waiting()
    assert [problem.code for problem in judge.handed[ONE].problems] == ["data_parse_error"]
    assert not judge.handed[TWO].problems


async def test_newest_version_is_read_and_an_unchanged_one_is_not_read_again(
    authors: Authors, judge: HandJudge
) -> None:
    authors.take_in(config_map(ONE, f"{LONG}a: 1", label="data=opa"))
    reading = asyncio.create_task(authors.read_waiting())
    await asyncio.sleep(0)  # the first version is being read
    authors.take_in(config_map(ONE, f"{LONG}a: 2", label="data=opa"))
    await reading
    authors.take_in(config_map(ONE, f"{LONG}a: 2", label="data=opa"))
    await authors.read_waiting()
    assert judge.puts == 1
    assert judge.handed[ONE].data == {("opa-policies", "one"): {"a.rego": {"a": 2}}}


async def test_deleted_object_is_not_read(authors: Authors, judge: HandJudge) -> None:
    list_all(authors, config_map(ONE, f"{LONG}a: 1", label="data=opa"))
    authors.take_in(Deleted(CONFIG_MAP, ONE))
    assert judge.complete == 1
    await authors.read_waiting()
    assert judge.puts == 0
