import pytest

from bridge.policy_loader.assembly import dispatcher

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
