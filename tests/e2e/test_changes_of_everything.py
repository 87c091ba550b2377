"""What a change does that is not made, whatever it changes: from a folder, beside a running OPA, and on the page."""

import json
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import GATEWAY_API, config_map, gateway, http_route, policy, policy_kind, resource, target_ref
from tests.e2e.conftest import Run
from tests.e2e.serving import Serving, bridge_runs
from tests.in_process import run_with_opa

GROUP = "tint.example.com"
KIND = f"{GROUP}/TintPolicy"
CART = f"{GATEWAY_API}/HTTPRoute/shop/cart"
LABELS = {"openpolicyagent.org/policy": "rego"}
Object = dict[str, Any]
Ask = Callable[..., dict[str, Any]]


def rego(name: str, text: str) -> Object:
    obj = config_map(name, {f"{name}.rego": text}, "opa-policies")
    return {**obj, "metadata": {**obj["metadata"], "labels": LABELS}}


def strategy(body: str = "library.chosen(values)") -> Object:
    text = f"""package bridge.strategies.choose

import data.acme.library

result := {{"spec": {{field: {body} |
	some field, _ in object.union(input.established.spec, input.challenger.spec)
	values := [side.spec[field] | some side in [input.established, input.challenger]]
}}}}
"""
    return {
        "apiVersion": "policybridge.io/v1alpha1",
        "kind": "RegoPolicy",
        "metadata": {"name": "choose"},
        "spec": {"modules": {"choose.rego": text}},
    }


def library(chosen: str = "max") -> Object:
    return rego("library", f"package acme.library\n\nchosen(values) := {chosen}(values)\n")


def guardrail(most: int = 9) -> Object:
    text = f"""package bridge.guardrails.pale

violations contains {{"message": sprintf("tint %d", [tint])}} if {{
	tint := input.policies["{KIND}"].spec.a
	tint > {most}
}}
"""
    return rego("pale", text)


def kind(**spec: Any) -> Object:
    targets = [{"group": GATEWAY_API, "kind": name} for name in ("Gateway", "HTTPRoute")]
    merged = {"custom": "choose", "defaultStrategy": "Custom"} | spec
    fields = {"targets": targets, "effectiveTarget": "Route", "mode": "Manage", "controllerName": "example.com/tint"}
    return policy_kind("TintPolicy", GROUP, **fields, **merged)


def crd(**of_c: Any) -> Object:
    fields = {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer", **of_c}}
    spec = {"type": "object", "properties": {**fields, "targetRefs": {"type": "array"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return resource(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        f"tintpolicies.{GROUP}",
        spec={
            "group": GROUP,
            "names": {"kind": "TintPolicy", "plural": "tintpolicies"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    )


def constraint(name: str, rule: str, kinds: list[str], parameters: Object | None = None, **match: Any) -> Object:
    of_kinds = [{"apiGroups": ["*"], "kinds": kinds}]
    spec = {"policy": rule, "match": {"kinds": of_kinds, **match}, "parameters": parameters or {}}
    return resource("policybridge.io/v1alpha1", "Constraint", name, spec=spec)


def namespace(name: str, **labels: str) -> Object:
    return resource("v1", "Namespace", name, metadata={"labels": labels})


def route(**labels: str) -> Object:
    found = http_route("cart", "shop", parents=("edge",))
    return {**found, "metadata": {**found["metadata"], "labels": labels}}


def tint(name: str, ref: Object | None = None, **spec: Any) -> Object:
    return policy("TintPolicy", name, [ref] if ref else [], "shop", group=GROUP, **spec)


SELECTED = [{"group": GATEWAY_API, "kind": "HTTPRoute", "matchLabels": {"team": "web"}}]
OF_GATEWAY = tint("gateway", target_ref("Gateway", "edge"), a=1, b=5)
OF_ROUTE = tint("route", target_ref("HTTPRoute", "cart"), a=3, b=2)
BY_LABEL = tint("by-label", a=7)
BY_LABEL["spec"] = {"targetSelectors": SELECTED, "a": 7}
FROZEN = rego(
    "frozen",
    """package acme.frozen

violation contains {"msg": "frozen"} if data.objects.core.ConfigMap.shop.settings.data.frozen == "yes"
""",
)
OPEN = rego("open", 'package acme.open\n\nviolation contains {"msg": "no"} if input.review.object.data.open == "yes"\n')
BASE = [
    namespace("shop"),
    namespace("opa-policies"),
    namespace("blog", tier="free"),
    resource(f"{GATEWAY_API}/v1", "GatewayClass", "main", spec={"controllerName": "example.com/gateway"}),
    gateway("edge", namespace="shop"),
    route(team="web"),
    strategy(),
    library(),
    guardrail(),
    FROZEN,
    OPEN,
    kind(),
    crd(),
    OF_GATEWAY,
    OF_ROUTE,
    BY_LABEL,
    config_map("settings", {"frozen": "no"}, "shop"),
    config_map("notes", {"open": "yes"}, "blog"),
    constraint("pale", "bridge.guardrails.pale", ["HTTPRoute"]),
    constraint("frozen", "acme.frozen", ["Gateway"]),
    constraint("open", "acme.open", ["ConfigMap"], namespaceSelector={"matchLabels": {"tier": "paid"}}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("base") / "objects.yaml"
    path.write_text(yaml.safe_dump_all(BASE))
    return path


@pytest.fixture(scope="module")
def served(folder: Path, bridge_path: Path, environment: dict[str, str]) -> Iterator[Serving]:
    log = folder.parent / "log"
    with bridge_runs(bridge_path, environment, log, "--manifests", folder, "--listen", "127.0.0.1:0") as found:
        yield found


@pytest.fixture(params=["folder", "OPA", "page"])
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


def test_edited_library_of_another_author_changes_what_a_strategy_merges(analyzed: Ask) -> None:
    assert specs(analyzed(library("min")))[1] == {"a": 1, "b": 2}


def test_deleted_library_leaves_a_strategy_that_does_not_compile(analyzed: Ask) -> None:
    found = analyzed(delete=("configmap/opa-policies/library",))
    assert specs(found)[1] == "error"
    assert ("RegoPolicy/-/choose", "RegoRejected") in {(subject, reason) for subject, reason, _ in introduced(found)}
    assert found["objects"]["deleted"] == ["core/ConfigMap/opa-policies/library"]


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


def test_guardrail_about_changes_that_comes_with_a_change_judges_it(analyzed: Ask) -> None:
    rule = constraint("keep", "bridge.guardrails.no_weakening", ["HTTPRoute"], {"kinds": [KIND]})
    assert introduced(analyzed(rule)) == set()
    found = analyzed(rule, delete=("tintpolicy/shop/gateway", "tintpolicy/shop/route", "tintpolicy/shop/by-label"))
    assert ("HTTPRoute/shop/cart", "Violation") in {(subject, reason) for subject, reason, _ in introduced(found)}


def test_object_that_only_rego_reads_changes_the_judgement_of_others(analyzed: Ask) -> None:
    found = analyzed(config_map("settings", {"frozen": "yes"}, "shop"))
    assert introduced(found) == {("Gateway/shop/edge", "Violation", "frozen")}


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
