"""The bundle of a set, and the names of what shipped rules depend on."""

import io
import json
import tarfile

from bridge.model.keys import Key
from bridge.opa.bundle import Bundle
from bridge.opa.shipped import Shipped
from bridge.policy_loader.assembly import assemble, digest, generated, reads_objects
from bridge.policy_loader.submissions import HIERARCHY, STRATEGIES, Places, Submission

SHIPPED = Shipped({"bridge/v1/a.rego": "package bridge.v1\n"}, {"bridge_settings": {}}, frozenset({"bridge/v1"}))
LINKS = "package bridge.extensions.hierarchy.x\n\nimport data.bridge.lib.keys\n"


def submission(name: str, text: str) -> Submission:
    return Submission(Key("core", "ConfigMap", "policies", name), "1", {"main.rego": text})


def files_of(bundle: Bundle) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(bundle.content)) as archive:
        return {member.name: file.read() for member in archive if (file := archive.extractfile(member))}


def test_roots_are_the_packages_and_documents_in_it() -> None:
    data = Submission(Key("core", "ConfigMap", "team", "limits"), "1", data={("team", "limits", "most.json"): {"x": 1}})
    submissions = [submission("a", "package a.b\n"), submission("b", "package a\n"), data]
    bundle = assemble(SHIPPED, submissions, {"generated.rego": "package bridge.made\n"})
    assert bundle.roots == ("a", "bridge/made", "bridge/v1", "team/limits/most.json")
    found = files_of(bundle)
    assert json.loads(found["data.json"])["team"] == {"limits": {"most.json": {"x": 1}}}
    assert "core/ConfigMap/policies/a/main.rego" in found


def test_the_policies_of_constraints_get_their_dispatcher() -> None:
    made = generated([submission("a", "package k8s.limits\n\nviolation contains 1\n")])
    assert [*made] == ["bridge/constraints/dispatch.rego"]
    assert "data.k8s.limits.violation" in made["bridge/constraints/dispatch.rego"]


def test_names_are_paths_of_their_own() -> None:
    author = Key("x", "RegoPolicy", "-", "p")
    texts = {"a/../b": "1", "a": "2", "a.rego": "3", "ä" * 200: "4"}
    places = Places([Submission(author, "1", texts)])
    assert sorted(places.modules.values()) == ["1", "2", "3", "4"]
    assert {path.rpartition("/")[0] for path in places.modules} == {"x/RegoPolicy/-/p"}
    assemble(SHIPPED, [Submission(author, "1", {name: f"package a{text}\n" for name, text in texts.items()})], {})


def test_links_depend_on_all_that_their_modules_can_see() -> None:
    assert digest([submission("b", "package b\n")], HIERARCHY) == ""
    first = digest([submission("a", LINKS), submission("b", "package b\n")], HIERARCHY)
    assert first == digest([submission("a", LINKS), submission("b", "package c\n")], HIERARCHY)
    assert first != digest([submission("a", LINKS + "levels := {}\n")], HIERARCHY)
    assert digest([submission("a", LINKS)], STRATEGIES) == ""
    seeing = LINKS + "import data.b\n"
    seen = digest([submission("a", seeing), submission("b", "package b\n")], HIERARCHY)
    assert seen != digest([submission("a", seeing), submission("b", "package b\n\nx := 1\n")], HIERARCHY)


def test_a_shipped_guardrail_is_in_the_set_while_a_constraint_names_it() -> None:
    made = generated([], guardrails=["bridge.guardrails.same_value", "bridge.guardrails.unknown", ""])
    functions, dispatch = "bridge/constraints/by_target_functions.rego", "bridge/constraints/dispatch.rego"
    assert sorted(made) == [functions, dispatch, "guardrails/same_value.rego"]
    assert "data.bridge.guardrails.same_value.violations_at(" in made[functions]
    assert 'policies := {"bridge.guardrails.same_value"}' in made[dispatch]
    assert [*generated([])] == ["bridge/constraints/dispatch.rego"]


def test_a_guardrail_of_an_admin_replaces_the_shipped_one() -> None:
    own = submission("a", "package bridge.guardrails.same_value\n\nviolations contains 1\n")
    made = generated([own], guardrails=["bridge.guardrails.same_value"])
    functions = "bridge/constraints/by_target_functions.rego"
    assert sorted(made) == [functions, "bridge/constraints/dispatch.rego"]
    beginning = 'package bridge.constraints.by_target\n\nown contains "bridge.guardrails.same_value"\n\n'
    assert made[functions].startswith(beginning)
    assert "violations_at" not in made[functions]


def test_parameters_of_a_guardrail_of_an_admin_are_those_that_it_declares_or_reads() -> None:
    functions, package = "bridge/constraints/by_target_functions.rego", "package bridge.guardrails.mine"
    rules = 'violations contains input.parameters.minimum if object.get(input.parameters, "most-ever", 1)\n'
    below = submission("b", f"{package}.helpers\n\nread := input.parameters.deeper\n")
    other = submission("c", "package other\n\nelsewhere := input.parameters.elsewhere\n")
    [made] = [generated([submission("a", f"{package}\n\n{rules}"), below, other])[functions]]
    [line] = [line for line in made.splitlines() if line.startswith("mentions")]
    names = json.loads(line.partition(" := ")[2].replace("{", "[").replace("}", "]"))
    assert {"minimum", "most-ever", "deeper"} == {*names}
    assert "elsewhere" not in names
    declared = submission("a", f'{package}\n\n{rules}\nparameters_schema := {{"type": "object"}}\n')
    made = generated([declared])[functions]
    assert 'parameter_schemas["bridge.guardrails.mine"] := {"type": "object"}' in made
    assert "mentions" not in made
    computed = submission("a", f"{package}\n\n{rules}\nparameters_schema := {{}} if data.other.elsewhere\n")
    assert 'parameter_schemas["bridge.guardrails.mine"] := null' in generated([computed])[functions]
    everything = generated([submission("a", f"{package}\n\nviolations := data.other.read(input.parameters)\n")])
    assert "mentions" not in everything[functions]
    none = generated([submission("a", f"{package}\n\nviolations := set()\n")])[functions]
    assert 'mentions["bridge.guardrails.mine"] := set()' in none


def test_reading_modules_for_objects_takes_no_longer_than_they_are() -> None:
    """Lines without text are no comment: at a million of them this took an hour."""
    lines = "\n" * 1_000_000
    assert not reads_objects([submission("a", f"package a\n{lines}# data.objects\n\nx := data.a.y\n")])
    assert reads_objects([submission("a", f"package a\n{lines}x := data.objects\n")])
