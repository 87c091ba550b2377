"""`pbctl analyze`: the effects of a change before it is applied."""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml

from tests.builders import GATEWAY_API, policy, resource
from tests.e2e.conftest import ROOT, SHOP, Run
from tests.e2e.serving import bridge_runs
from tests.in_process import run_with_opa

COLORS = "example.com/ColorPolicy"


def color(name: str, namespace: str, target: dict[str, str], **spec: Any) -> dict[str, Any]:
    return policy("ColorPolicy", name, [{"group": GATEWAY_API, **target}], namespace, group="example.com", **spec)


STRICTER = color(
    "accessibility",
    "infra",
    {"kind": "Gateway", "name": "public", "sectionName": "https"},
    overrides={"strategy": "patch", "contrast": 9, "theme": "plain"},
)
TYPO = color("typo", "shop", {"kind": "HTTPRoute", "name": "carts"}, theme="dark")
SALE = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "HTTPRoute",
    "metadata": {"name": "summer-sale", "namespace": "shop"},
    "spec": {
        "parentRefs": [{"name": "public", "namespace": "infra", "sectionName": "https"}],
        "rules": [{"name": "all", "backendRefs": [{"name": "catalog", "port": 80}]}],
    },
}


def written(path: Path, *objects: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump_all(objects))
    return path


def analyzed(shop: Run, *arguments: str | Path) -> dict[str, Any]:
    answer = shop("analyze", *arguments, "-o", "json")
    assert answer.stderr == ""
    document: dict[str, Any] = json.loads(answer.stdout)
    return document


def reported(problems: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(problem["subject"].partition("/")[2], problem["reason"]) for problem in problems]


def test_analyze_lists_new_and_fixed_problems(shop: Run, tmp_path: Path) -> None:
    found = analyzed(shop, "-f", written(tmp_path / "new.yaml", STRICTER, TYPO, SALE))
    assert reported(found["problems"]["introduced"]) == [
        ("ColorPolicy/blog/feeds", "Overridden"),
        ("ColorPolicy/shop/typo", "TargetNotFound"),
    ]
    assert reported(found["problems"]["fixed"]) == [("ColorPolicy/shop/summer-sale", "TargetNotFound")]
    assert found["objects"]["changed"] == [f"{COLORS}/infra/accessibility"]
    [rss] = [one for one in found["effective"] if one["target"].endswith("blog/feeds#rss")]
    assert (rss["before"]["spec"]["theme"], rss["after"]["spec"]["theme"]) == ("dark", "plain")
    assert rss["after"]["origins"]["/theme"] == f"{COLORS}/infra/accessibility"


def test_problems_outside_of_the_change_are_not_reported(shop: Run, tmp_path: Path) -> None:
    found = analyzed(shop, "-f", written(tmp_path / "new.yaml", TYPO))
    assert found["problems"] == {"introduced": found["problems"]["introduced"], "fixed": [], "unchanged": []}


def test_values_that_the_cluster_sets_stay(bridge: Run, tmp_path: Path) -> None:
    """An older policy stays the older one when it is applied again without a time."""
    base = written(
        tmp_path / "base.yaml",
        *({**obj, "metadata": {**obj["metadata"], "creationTimestamp": when}} for obj, when in _two_of_one_age()),
    )
    again = written(tmp_path / "again.yaml", {**_two_of_one_age()[0][0]})
    answer = bridge("analyze", "-f", again, "--manifests", SHOP, base, "-o", "json")
    assert json.loads(answer.stdout)["objects"]["unchanged"] == [f"{COLORS}/shop/younger-by-name"]


def _two_of_one_age() -> list[tuple[dict[str, Any], str]]:
    target = {"kind": "HTTPRoute", "name": "admin"}
    return [
        (color("younger-by-name", "shop", target, theme="dark"), "2026-01-01T00:00:00Z"),
        (color("after", "shop", target, theme="light"), "2026-01-02T00:00:00Z"),
    ]


def test_a_folder_compared_with_itself_differs_in_nothing(bridge: Run) -> None:
    found = json.loads(bridge("analyze", "-f", SHOP, "--prune", "--manifests", SHOP, "-o", "json").stdout)
    objects = found["objects"]
    assert (objects["created"], objects["changed"], objects["deleted"], found["effective"]) == ([], [], [], [])


def test_objects_that_a_folder_lacks_are_deleted_with_prune(bridge: Run, tmp_path: Path) -> None:
    kept = [path for path in sorted(SHOP.glob("*.yaml")) if path.name != "61-accessibility.yaml"]
    found = json.loads(
        bridge(
            "analyze", *(part for path in kept for part in ("-f", path)), "--prune", "--manifests", SHOP, "-o", "json"
        ).stdout
    )
    assert found["objects"]["deleted"] == [f"{COLORS}/infra/accessibility"]
    assert reported(found["problems"]["fixed"]) == [("ColorPolicy/blog/posts-contrast", "Overridden")]


def test_a_deleted_gatewayclass_is_a_problem_of_its_gateways(shop: Run) -> None:
    of_gateways = [("Gateway/infra/internal", "ParentNotFound"), ("Gateway/infra/public", "ParentNotFound")]
    found = analyzed(shop, "--delete", "gatewayclass/example")["problems"]["introduced"]
    assert [one for one in reported(found) if one[1] == "ParentNotFound"] == of_gateways
    assert {one.get("enforcementAction") for one in found if one["reason"] == "ParentNotFound"} == {None}
    assert shop("analyze", "--delete", "gatewayclass/example").returncode == 1


def test_a_second_object_after_delete_has_a_hint_to_repeat_the_option(shop: Run) -> None:
    done = shop("analyze", "--delete", "colorpolicy/infra/brand", "colorpolicy/shop/cart")
    assert done.returncode == 2
    why = "error: colorpolicy/shop/cart: no such file or folder; to delete several objects, repeat --delete\n"
    assert done.stderr == why


def test_exit_code_tells_whether_problems_are_introduced(shop: Run, tmp_path: Path) -> None:
    assert shop("analyze", "-f", written(tmp_path / "new.yaml", SALE, TYPO), "-o", "github").returncode == 1
    assert shop("analyze", "-f", written(tmp_path / "fine.yaml", SALE)).returncode == 0


def test_every_mistake_in_the_files_is_reported(shop: Run, tmp_path: Path) -> None:
    mistakes = "\n---\n".join(["kind: Namespace\nmetadata: {name: no-version}"] * 50)
    file = tmp_path / "new.yaml"
    file.write_text(f"{mistakes}\n---\n{yaml.safe_dump(TYPO)}")
    answer = shop("analyze", "-f", file)
    assert answer.returncode == 2
    assert answer.stderr.count(f"error: {file}:") == 50
    assert "ColorPolicy/shop/typo" in answer.stdout


def test_impact_of_a_policy_that_reaches_nothing(shop: Run) -> None:
    answer = shop("analyze", "--delete", "colorpolicy/shop/summer-sale")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "Effective policies differ at no target." in answer.stdout


def test_impact_is_the_former_name_of_analyze_delete(shop: Run) -> None:
    deleted = shop("analyze", "--delete", "colorpolicy/infra/brand", "-o", "json")
    for words in (["brand"], ["infra/brand"], ["colorpolicy", "brand", "-n", "infra"], ["colorpolicy/infra/brand"]):
        answer = shop("impact", *words, "-o", "json")
        assert (answer.returncode, answer.stdout, answer.stderr) == (0, deleted.stdout, "")
    assert shop("analyze", "--delete", "infra/brand", "-o", "json").stdout == deleted.stdout
    assert shop("analyze", "--delete", "brand", "-n", "infra", "-o", "json").stdout == deleted.stdout


def test_impact_counts_no_target_below_a_rejected_link(shop: Run) -> None:
    counts = json.loads(shop("describe", "colorpolicy/infra/brand", "-o", "json").stdout)["impact"]["counts"]
    assert (counts["scopes"], sum(counts["outcomes"].values())) == (10, 10)


def test_violations_of_constraints_are_problems_that_come_and_go(bridge: Run, tmp_path: Path) -> None:
    pod = next(
        obj
        for obj in yaml.safe_load_all((ROOT / "examples/constraints/30-workloads.yaml").read_text())
        if obj["kind"] == "Pod" and obj["metadata"]["name"] == "draft"
    )
    bad = {**pod, "metadata": {**pod["metadata"], "name": "another"}}
    file = written(tmp_path / "new.yaml", bad)
    base = ROOT / "examples" / "constraints"
    answer = bridge("analyze", "-f", file, "--delete", "pod/blog/draft", "--manifests", base, "-o", "json")
    assert answer.returncode == 1, answer.stderr
    problems = json.loads(answer.stdout)["problems"]
    assert reported(problems["introduced"]) == [("Pod/blog/another", "Violation")]
    assert reported(problems["fixed"]) == [("Pod/blog/draft", "Violation")]
    assert problems["introduced"][0]["about"] == "policybridge.io/Constraint/-/memory-limits"


def test_a_constraint_that_warns_fails_no_build(bridge: Run, tmp_path: Path) -> None:
    base = ROOT / "examples" / "constraints"
    constraint = yaml.safe_load((base / "20-constraint.yaml").read_text())
    trial = {**constraint, "metadata": {"name": "trial"}, "spec": {**constraint["spec"], "enforcementAction": "warn"}}
    answer = bridge("analyze", "-f", written(tmp_path / "new.yaml", trial), "--manifests", base, "-o", "github")
    assert answer.returncode == 0
    assert answer.stdout.count("::warning ") == 3


PLACE = "consumer-route-takes-the-producers-place"
CONSUMER = f"{PLACE}-team"
MESH = ROOT / "tests" / "scenarios" / "consumer_route_takes_the_producers_place" / "objects.yaml"
ROUTES = "gateway.networking.k8s.io/HTTPRoute"


@pytest.fixture(scope="module")
def mesh(bridge_path: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A function that runs a read command on `MESH`."""
    log = tmp_path_factory.mktemp("mesh") / "log"
    with bridge_runs(bridge_path, environment, log, "--manifests", MESH, "--listen", "127.0.0.1:0") as found:
        yield partial(run_with_opa, found.opa_url)


def mesh_answer(mesh: Run, *arguments: str) -> Any:
    answer = mesh(*arguments, "-o", "json")
    assert answer.stderr == ""
    return json.loads(answer.stdout)


@pytest.mark.parametrize("source", [None, CONSUMER])
def test_analysis_of_a_consumer_route_shows_the_new_values_of_its_namespace(mesh: Run, source: str | None) -> None:
    more = ("--source-namespace", source) if source else ()
    found = mesh_answer(mesh, "analyze", "--delete", f"httproute/{CONSUMER}/mine", *more)["effective"]
    assert [(one["target"], bool(one["before"]), bool(one["after"]), one.get("sourceNamespace")) for one in found] == [
        (f"{ROUTES}/{CONSUMER}/mine", True, False, None if source else CONSUMER),
        (f"{ROUTES}/{PLACE}/shop", False, True, None if source else CONSUMER),
    ]
    assert (
        mesh_answer(mesh, "analyze", "--delete", f"httproute/{CONSUMER}/mine", "--source-namespace", PLACE)["effective"]
        == []
    )


def test_impact_of_a_policy_counts_the_consumers_of_a_frontend(mesh: Run) -> None:
    found = mesh_answer(mesh, "describe", f"colorpolicy/{PLACE}/p")["impact"]
    assert found["counts"]["outcomes"] == {"Programmed": 2, "PartiallyProgrammed": 0, "Overridden": 0}
    assert [(one["target"], one.get("sourceNamespace")) for one in found["ifDeleted"]] == [
        (f"{ROUTES}/{CONSUMER}/mine", CONSUMER),
        (f"{ROUTES}/{PLACE}/shop", None),
    ]
    alone = mesh_answer(mesh, "analyze", "--delete", f"colorpolicy/{PLACE}/p", "--source-namespace", CONSUMER)
    assert [one["target"] for one in alone["effective"]] == [f"{ROUTES}/{CONSUMER}/mine"]
    table = mesh("analyze", "--delete", f"colorpolicy/{PLACE}/p").stdout
    assert "REQUESTS FROM" in table
    assert CONSUMER in table


def test_explanation_of_a_consumer_route_names_the_namespace_that_it_counts_for(mesh: Run) -> None:
    [found] = mesh_answer(mesh, "explain", f"httproute/{CONSUMER}/mine")
    assert [(path["spec"], path["sourceNamespace"]) for path in found["paths"]] == [({"color": "red"}, CONSUMER)]
    text = mesh("explain", f"httproute/{CONSUMER}/mine").stdout
    assert f"for requests from {CONSUMER}" in text


def test_analyze_introduces_an_unknown_field_and_fixes_one(bridge: Run, tmp_path: Path) -> None:
    typo: dict[str, Any] = yaml.safe_load(yaml.safe_dump(SALE))
    typo["spec"]["parentRef"] = []
    before, after = written(tmp_path / "before.yaml", SALE), written(tmp_path / "after.yaml", typo)
    answer = bridge("analyze", after, "--manifests", before, "-o", "json")
    assert answer.returncode == 1, answer.stderr
    (problem,) = json.loads(answer.stdout)["problems"]["introduced"]
    assert (problem["reason"], problem["message"]) == (
        "UnknownField",
        'unknown field "spec.parentRef"; did you mean "parentRefs"?',
    )
    answer = bridge("analyze", before, "--manifests", after, "-o", "json")
    assert (answer.returncode, json.loads(answer.stdout)["problems"]["fixed"]) == (0, [problem])


MISSPELLED = """# Two objects, one of them in a list.
kind: List
apiVersion: v1
items:
- apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata: {name: a, namespace: shop}
  spec:
    rules:
    - matches: []
    - backendRef:
      - {name: cart, port: 80}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: b, namespace: shop}
spec:
  hostnames: [a.example.com]
  parentRef: {name: public}
"""


def test_an_unknown_field_is_reported_at_its_own_line(bridge: Run, tmp_path: Path) -> None:
    file = tmp_path / "routes.yaml"
    file.write_text(MISSPELLED)
    answer = bridge("problems", "--manifests", file, "-o", "json")
    lines = {one["message"]: one["line"] for one in json.loads(answer.stdout) if one["reason"] == "UnknownField"}
    assert lines == {
        'unknown field "spec.rules[1].backendRef"; did you mean "backendRefs"?': 11,
        'unknown field "spec.parentRef"; did you mean "parentRefs"?': 19,
    }
    assert f"{file}:19" in "".join(bridge("problems", "--manifests", file).stdout.split())
    (tmp_path / "empty").mkdir()
    answer = bridge("analyze", file, "--manifests", tmp_path / "empty", "-o", "sarif")
    regions = {
        (result["ruleId"], location["physicalLocation"]["region"]["startLine"])
        for result in json.loads(answer.stdout)["runs"][0]["results"]
        for location in result["locations"]
    }
    assert {("UnknownField", 11), ("UnknownField", 19)} <= regions


def test_problems_check_fields_by_the_crds_of_schemas(bridge: Run, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Widget", "plural": "widgets"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"sizes": 1}}
    crds, folder = written(tmp_path / "crds.yaml", crd), written(tmp_path / "widget.yaml", widget)
    assert bridge("problems", "--manifests", folder).returncode == 0
    answer = bridge("problems", "--manifests", folder, "--schemas", crds, "-o", "json")
    assert [problem["message"] for problem in json.loads(answer.stdout)] == [
        'unknown field "spec.sizes"; did you mean "size"?'
    ]
    wrong = bridge("problems", "--manifests", folder, "--schemas", folder)
    assert (wrong.returncode, wrong.stderr) == (2, f"error: {folder}: no CustomResourceDefinition\n")


def test_problem_of_an_unchanged_object_has_the_changes_that_cause_it(shop: Run, tmp_path: Path) -> None:
    change = written(tmp_path / "change.yaml", STRICTER, TYPO)
    introduced = {one["subject"]: one for one in analyzed(shop, "-f", change)["problems"]["introduced"]}
    assert introduced["example.com/ColorPolicy/blog/feeds"]["causes"] == ["example.com/ColorPolicy/infra/accessibility"]
    assert "causes" not in introduced["example.com/ColorPolicy/shop/typo"]
    annotations = shop("analyze", "-f", change, "-o", "github").stdout
    assert f"::error file={change},line=1,title=ColorPolicy/blog/feeds%3A Overridden::" in annotations
    (result, _) = json.loads(shop("analyze", "-f", change, "-o", "sarif").stdout)["runs"][0]["results"][:2]
    (cause,), (victim,) = result["locations"], result["relatedLocations"]
    assert cause["logicalLocations"][0]["fullyQualifiedName"] == "example.com/ColorPolicy/infra/accessibility"
    assert victim["logicalLocations"][0]["fullyQualifiedName"] == "example.com/ColorPolicy/blog/feeds"


def test_removed_fields_without_a_constraint_have_a_hint_at_guardrails(bridge: Run, tmp_path: Path) -> None:
    delete = ("analyze", "--delete", "colorpolicy/infra/brand", "--manifests", SHOP)
    hint = re.compile(r"^Some fields are no longer in effect.*guard-public-routes\.md", re.MULTILINE)
    assert hint.search(bridge(*delete).stdout)
    assert hint.search(bridge(*delete, "-o", "markdown").stdout)
    guardrail = {
        "apiVersion": "policybridge.io/v1alpha1",
        "kind": "Constraint",
        "metadata": {"name": "colors"},
        "spec": {
            "policy": "bridge.guardrails.required_policy",
            "match": {"kinds": [{"apiGroups": [GATEWAY_API], "kinds": ["HTTPRoute"]}]},
            "parameters": {"kinds": [COLORS]},
        },
    }
    guarded = bridge(*delete, "--manifests", written(tmp_path / "guardrail.yaml", guardrail))
    assert guarded.returncode == 1
    assert not hint.search(guarded.stdout)


def test_compare_shows_the_differences_of_two_folders(bridge: Run, tmp_path: Path) -> None:
    folder = copytree(SHOP, tmp_path / "production")
    (folder / "61-accessibility.yaml").unlink()
    (folder / "67-no-such-target.yaml").unlink()
    answer = bridge("compare", "--manifests", SHOP, "--manifests", folder, "--kind", "cp", "-n", "blog", "-o", "json")
    document = json.loads(answer.stdout)
    assert (answer.returncode, document["before"], document["after"]) == (1, str(SHOP), str(folder))
    assert {
        one["target"].rpartition("/")[2]: (one["before"]["spec"]["contrast"], one["after"]["spec"]["contrast"])
        for one in document["effective"]
    } == {"feeds#atom": (7, 4), "feeds#rss": (7, 4), "posts#read": (7, 2), "posts#write": (7, 2)}

    answer = bridge("compare", "--manifests", SHOP, "--manifests", folder)
    assert re.search(r"ONLY IN .*shop +PROBLEM +MESSAGE\nColorPolicy/blog/feeds .*TargetNotFound", answer.stdout)
    same = bridge("compare", "--manifests", SHOP, "--manifests", SHOP)
    assert (same.returncode, same.stdout) == (0, "Effective policies do not differ; 23 paths are equal.\n")


def test_a_violation_that_only_warns_in_one_folder_is_only_in_the_other_one(bridge: Run, tmp_path: Path) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "cart", "namespace": "shop"}, "spec": {}}
    lost = {"apiVersion": "policybridge.io/v1alpha1", "kind": "Constraint", "metadata": {"name": "lost"}}
    match = {"kinds": [{"apiGroups": [""], "kinds": ["Service"]}]}
    sides = [
        written(
            tmp_path / f"{action}.yaml",
            service,
            lost | {"spec": {"policy": "testing.nowhere", "match": match, "enforcementAction": action}},
        )
        for action in ("warn", "deny")
    ]
    answer = bridge("compare", "--manifests", sides[0], "--manifests", sides[1])
    assert answer.returncode == 1
    assert re.findall(r"^ONLY IN (\S+) .*\n.* Violation ", answer.stdout, re.MULTILINE) == [str(sides[1])]


def test_first_policy_of_a_kind_makes_the_kind_of_a_grant_known(bridge: Run, tmp_path: Path) -> None:
    grant = {
        "from": [{"group": "example.com", "kind": "TimeoutPolicy", "namespace": "shop"}],
        "to": [{"group": "", "kind": "Service"}],
    }
    crds = [
        resource(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "gateways.gateway.networking.k8s.io",
            spec={
                "group": GATEWAY_API,
                "names": {"kind": "Gateway", "plural": "gateways"},
                "scope": "Namespaced",
            },
        )
    ]
    before, change = tmp_path / "before.yaml", tmp_path / "change.yaml"
    before.write_text(
        yaml.safe_dump_all([*crds, resource(f"{GATEWAY_API}/v1beta1", "ReferenceGrant", "in", "shop", spec=grant)])
    )
    change.write_text(yaml.safe_dump(policy("TimeoutPolicy", "first", [], "shop", group="example.com")))
    found = json.loads(bridge("analyze", change, "--manifests", before, "-o", "json").stdout)
    assert [(one["subject"], one["reason"]) for one in found["problems"]["fixed"]] == [
        (f"{GATEWAY_API}/ReferenceGrant/shop/in", "UnknownKind")
    ]


def test_deletion_of_a_name_without_a_kind_is_that_of_a_policy(shop: Run) -> None:
    for name in ("shop/catalog", "TimeoutPolicy/shop/catalog"):  # there is a Service shop/catalog, too
        assert analyzed(shop, "--delete", name)["objects"]["deleted"] == ["example.com/TimeoutPolicy/shop/catalog"]
    done = shop("analyze", "--delete", "shop/assets")
    assert done.returncode == 2
    assert "policy/shop/assets is not found" in done.stderr
