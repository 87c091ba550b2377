"""What a change does that is not made, whatever it changes: from a folder, beside a running OPA, and on the page."""

import json
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import GATEWAY_API, config_map
from tests.e2e.conftest import Run
from tests.e2e.serving import Serving, bridge_runs
from tests.e2e.tints import (
    BASE,
    CART,
    GROUP,
    KIND,
    LABELS,
    Object,
    constraint,
    crd,
    guardrail,
    kind,
    library,
    namespace,
    route,
    strategy,
)
from tests.eventually import eventually_blocking
from tests.in_process import run_with_opa

Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("base") / "objects.yaml"
    path.write_text(yaml.safe_dump_all(BASE))
    return path


@pytest.fixture(scope="module")
def served(folder: Path, bridge_path: Path, environment: dict[str, str]) -> Iterator[Serving]:
    log = folder.parent / "log"
    with bridge_runs(bridge_path, environment, log, "--manifests", folder, "--listen", "127.0.0.1:0") as found:
        # A busy machine may need a second attempt to check Rego, after the bridge is ready.
        authors = sum(one["kind"] == "RegoPolicy" or one["metadata"].get("labels") == LABELS for one in BASE)
        eventually_blocking(log.read_text, lambda said: f"submissions={authors}\n" in said)
        yield found


@pytest.fixture(params=["folder", *(pytest.param(way, marks=pytest.mark.long) for way in ("OPA", "page"))])
def analyzed(request: pytest.FixtureRequest, bridge: Run, folder: Path, tmp_path: Path) -> Ask:
    """A function from what is applied and deleted to the analysis."""
    served: Serving | None = request.getfixturevalue("served") if request.param != "folder" else None

    def ask(*applied: Object, delete: tuple[str, ...] = ()) -> dict[str, Any]:
        text = yaml.safe_dump_all(applied) if applied else ""
        if request.param == "page":
            assert served is not None
            query = urllib.parse.urlencode([("delete", name) for name in delete])
            url = f"{served.url.rstrip('/')}/api/changes?{query}"
            with urllib.request.urlopen(url, data=text.encode()) as answer:  # noqa: S310 - the bridge's own address
                pasted: dict[str, Any] = json.load(answer)
            assert pasted["mistakes"] == []
            return pasted
        file = tmp_path / "change.yaml"
        file.write_text(text)
        words = ["analyze", *(("-f", file) if applied else ()), *(word for one in delete for word in ("--delete", one))]
        if served is None:
            done = bridge(*words, "--manifests", folder, "-o", "json")
        else:
            done = run_with_opa(served.opa_url, *words, "-o", "json")
        assert done.stdout, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return ask


def specs(found: dict[str, Any], target: str = CART) -> list[Any]:
    """The specs before and after at a target, each None without a policy, and "error" for an error."""
    [one] = [one for one in found["effective"] if one["target"] == target]
    return [side and side.get("spec", "error") for side in (one["before"], one["after"])]


def introduced(found: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {
        (one["subject"].partition("/")[2], one["reason"], one["message"]) for one in found["problems"]["introduced"]
    }


def test_edited_strategy_merges_otherwise(analyzed: Ask) -> None:
    assert specs(analyzed(strategy("min(values)"))) == [{"a": 7, "b": 5}, {"a": 1, "b": 2}]


@pytest.mark.long
def test_edited_library_of_another_author_changes_the_merge_of_a_strategy(analyzed: Ask) -> None:
    assert specs(analyzed(library("min")))[1] == {"a": 1, "b": 2}


@pytest.mark.long
def test_deleted_library_leaves_a_strategy_that_does_not_compile(analyzed: Ask) -> None:
    found = analyzed(delete=("configmap/opa-policies/library",))
    assert specs(found)[1] == "error"
    assert ("RegoPolicy/-/choose", "RegoRejected") in {(subject, reason) for subject, reason, _ in introduced(found)}
    assert found["objects"]["deleted"] == ["core/ConfigMap/opa-policies/library"]


@pytest.mark.long
def test_edited_policy_kind_merges_otherwise(analyzed: Ask) -> None:
    found = analyzed(kind(custom="choose", defaultStrategy="PatchOverrides"))
    assert specs(found)[1] == {"a": 1, "b": 5}


def test_tightened_guardrail_is_judged_by_its_old_rule_before_and_by_its_new_rule_after(analyzed: Ask) -> None:
    found = analyzed(guardrail(most=5))
    assert {(subject, reason) for subject, reason, _ in introduced(found)} == {("HTTPRoute/shop/cart", "Violation")}
    assert found["effective"] == []
    assert all(one["causes"] == ["core/ConfigMap/opa-policies/pale"] for one in found["problems"]["introduced"])


def test_label_that_a_file_leaves_out_is_removed(analyzed: Ask) -> None:
    assert specs(analyzed(route()))[1] == {"a": 3, "b": 5}


def test_new_default_of_a_crd_is_in_effect(analyzed: Ask) -> None:
    found = analyzed(crd(default=9))
    assert specs(found) == [{"a": 7, "b": 5}, {"a": 7, "b": 5, "c": 9}]


def test_default_that_a_crd_loses_is_no_longer_in_effect_in_a_folder(bridge: Run, tmp_path: Path) -> None:
    """An API server keeps the values that it has stored; a folder has none."""
    before, after = tmp_path / "before.yaml", tmp_path / "crd.yaml"
    before.write_text(yaml.safe_dump_all([crd(default=9), *(obj for obj in BASE if obj != crd())]))
    after.write_text(yaml.safe_dump(crd()))
    done = bridge("analyze", after, "--manifests", before, "-o", "json")
    assert specs(json.loads(done.stdout)) == [{"a": 7, "b": 5, "c": 9}, {"a": 7, "b": 5}]


def test_deleted_namespace_takes_its_objects_along(analyzed: Ask) -> None:
    found = analyzed(delete=("namespace/shop",))
    assert {CART, f"{KIND}/shop/route", f"{GATEWAY_API}/Gateway/shop/edge"} <= {*found["objects"]["deleted"]}
    assert specs(found)[1] is None


def test_deleted_crd_takes_the_policies_of_its_kind_along(analyzed: Ask) -> None:
    found = analyzed(delete=(f"customresourcedefinition/tintpolicies.{GROUP}",))
    assert f"{KIND}/shop/by-label" in found["objects"]["deleted"]
    assert specs(found)[1] is None


def test_first_constraint_with_a_shipped_guardrail_is_judged_by_it(analyzed: Ask) -> None:
    bound = {"kind": KIND, "field": "/b", "maximum": 4}
    found = analyzed(constraint("bound", "bridge.guardrails.bounded_field", ["HTTPRoute"], bound))
    assert {(subject, reason) for subject, reason, _ in introduced(found)} == {("HTTPRoute/shop/cart", "Violation")}
    assert "must be at most 4, not 5" in next(iter(introduced(found)))[2]


@pytest.mark.long
def test_guardrail_about_changes_that_comes_with_a_change_judges_it(analyzed: Ask) -> None:
    rule = constraint("keep", "bridge.guardrails.no_weakening", ["HTTPRoute"], {"kinds": [KIND]})
    assert introduced(analyzed(rule)) == set()
    found = analyzed(rule, delete=("tintpolicy/shop/gateway", "tintpolicy/shop/route", "tintpolicy/shop/by-label"))
    assert ("HTTPRoute/shop/cart", "Violation") in {(subject, reason) for subject, reason, _ in introduced(found)}


@pytest.mark.long
def test_object_that_only_rego_reads_changes_the_judgement_of_others(analyzed: Ask) -> None:
    found = analyzed(config_map("settings", {"frozen": "yes"}, "shop"))
    assert introduced(found) == {("Gateway/shop/edge", "Violation", "frozen")}


@pytest.mark.long
def test_labels_of_a_namespace_decide_for_objects_outside_the_hierarchy(analyzed: Ask) -> None:
    found = analyzed(namespace("blog", tier="paid"))
    assert introduced(found) == {("ConfigMap/blog/notes", "Violation", "no")}


def test_change_without_a_difference_has_none(analyzed: Ask) -> None:
    found = analyzed(*BASE)
    assert (found["effective"], introduced(found)) == ([], set())
    assert (found["objects"]["created"], found["objects"]["changed"], found["objects"]["deleted"]) == ([], [], [])


def test_suite_tests_the_state_after_a_change_of_rego(bridge: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "edited.yaml").write_text(yaml.safe_dump(strategy("min(values)")))
    at = {"target": "HTTPRoute/shop/cart", "policyKind": "TintPolicy"}
    tests = [
        {"name": "now", "effective": [{**at, "spec": {"a": 7}}]},
        {"name": "edited", "changes": {"apply": ["edited.yaml"]}, "effective": [{**at, "spec": {"a": 1}}]},
    ]
    suite = {"apiVersion": "test.policybridge.io/v1alpha1", "kind": "Suite", "manifests": [str(folder)], "tests": tests}
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(suite))
    done = bridge("test", tmp_path / "suite.yaml")
    assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_page_of_a_folder_compares_with_the_files_as_they_are_written(
    bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """Its objects have the present defaults in OPA, and their mistakes are in the files alone."""
    written, edited = route(team="web"), route(team="web", tier="paid")
    for obj in (written, edited):
        obj["spec"]["hostname"] = ["shop.example.com"]
    others = [obj for obj in BASE if obj not in (crd(), route(team="web"))]
    file = tmp_path / "objects.yaml"
    file.write_text(yaml.safe_dump_all([crd(default=9), written, *others]))
    options = ("--manifests", file, "--listen", "127.0.0.1:0")
    with bridge_runs(bridge_path, environment, tmp_path / "log", *options) as served:

        def ask(*pasted: Object) -> dict[str, Any]:
            text = yaml.safe_dump_all(pasted).encode()
            with urllib.request.urlopen(f"{served.url.rstrip('/')}/api/changes", data=text) as answer:  # noqa: S310 - the bridge's own address
                found: dict[str, Any] = json.load(answer)
            return found

        assert [introduced(ask(obj)) for obj in (written, edited)] == [set(), set()]
        fixed = ask(route(team="web"))["problems"]["fixed"]
        assert [one["reason"] for one in fixed] == ["UnknownField"]
        assert specs(ask(crd())) == [{"a": 7, "b": 5, "c": 9}, {"a": 7, "b": 5}]
        unknown = {(subject, reason) for subject, reason, _ in introduced(ask(crd(without="b")))}
        assert unknown >= {("TintPolicy/shop/gateway", "UnknownField"), ("TintPolicy/shop/route", "UnknownField")}
