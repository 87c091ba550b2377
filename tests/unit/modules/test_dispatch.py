from __future__ import annotations

from bridge.modules.dispatch import dispatcher


def test_each_package_is_a_key_that_leads_to_its_violations() -> None:
    text = dispatcher(["k8s.limits", 'acme["memory-limits"]', "k8s.limits"])
    assert text.startswith("package bridge.constraints.dispatch\n")
    assert 'policies := {"acme[\\"memory-limits\\"]", "k8s.limits"}' in text
    assert 'violations["acme[\\"memory-limits\\"]"] := data.acme["memory-limits"].violation' in text
    assert text.count('violations["k8s.limits"]') == 1


def test_the_same_packages_make_the_same_text_whatever_their_order() -> None:
    assert dispatcher(["a", "b"]) == dispatcher(["b", "a"])


def test_without_packages_there_is_no_policy() -> None:
    assert dispatcher([]) == "package bridge.constraints.dispatch\n\npolicies := set()\n"
