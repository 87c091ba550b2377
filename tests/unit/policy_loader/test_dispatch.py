import pytest

from bridge.policy_loader.assembly import dispatcher, functions_by_target

RULE = 'violation contains {"msg": "no"} if input.review'


def test_each_package_is_a_key_that_leads_to_its_violations() -> None:
    text = dispatcher([(("k8s", "limits"), RULE), (("acme", "memory-limits"), RULE), (("k8s", "limits"), RULE)])
    assert text.startswith("package bridge.constraints.dispatch\n")
    assert 'policies := {"acme[\\"memory-limits\\"]", "k8s.limits"}' in text
    assert 'violations["acme[\\"memory-limits\\"]"] := data.acme["memory-limits"].violation' in text
    assert text.count('violations["k8s.limits"]') == 1


@pytest.mark.parametrize(
    "rule", [RULE, "violation := set()", "  default violation := set()", 'violation[{"msg": msg}] if msg := "no"']
)
def test_a_rule_in_any_form_makes_a_policy(rule: str) -> None:
    assert 'policies := {"a"}' in dispatcher([(("a",), f"package a\n\nimport rego.v1\n\n{rule}\n")])


@pytest.mark.parametrize("text", ["deny if true", "violation(x) := x", "# violation", "violations := 1"])
def test_a_package_without_such_a_rule_is_none(text: str) -> None:
    assert "policies := set()" in dispatcher([(("a",), f"package a\n\n{text}\n")])


def test_the_same_packages_make_the_same_text_whatever_their_order() -> None:
    first, second = (("a",), RULE), (("b",), RULE)
    assert dispatcher([first, second]) == dispatcher([second, first])


@pytest.mark.parametrize(
    "rule", ["violations contains 1", "  default violations := set()", "violations_at(target, _, _) := set()"]
)
def test_a_guardrail_has_a_rule_or_a_function_for_targets(rule: str) -> None:
    package = ("bridge", "guardrails", "own")
    assert 'policies := {"bridge.guardrails.own"}' in dispatcher(
        [(package, f"package bridge.guardrails.own\n\n{rule}\n")]
    )


@pytest.mark.parametrize("rule", [RULE, "violatoins contains 1 if true", "violations(x) := x", "helper := 1"])
def test_a_guardrail_without_it_is_none(rule: str) -> None:
    package = ("bridge", "guardrails", "own")
    assert "policies := set()" in dispatcher([(package, f"package bridge.guardrails.own\n\n{rule}\n")])


def test_answers_of_shipped_functions_are_sets() -> None:
    own, shipped = ("bridge", "guardrails", "own"), ("bridge", "guardrails", "shipped")
    text = functions_by_target(
        [(own, "violations_at(_, _, _) := []"), (shipped, "violations_at(_, _, _) := set()")], [own]
    )
    assert "listed(data.bridge.guardrails.own.violations_at(target, parameters, targets))" in text
    assert "some one in data.bridge.guardrails.shipped.violations_at(target, parameters, targets)" in text
