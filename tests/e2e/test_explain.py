"""`pbctl explain` on the example."""

import json

from tests.e2e.conftest import Run


def test_json_is_exactly_the_querys_result(shop: Run) -> None:
    answer = shop("explain", "httproute/cart#checkout", "-o", "json")
    assert (answer.returncode, answer.stderr) == (0, "")
    (entry,) = json.loads(answer.stdout)
    assert entry.keys() == {"target", "policyKind", "paths", "attachments", "links"}
    assert [step.keys() for path in entry["paths"] for step in path["steps"]] == [
        {"established", "challenger", "strategy", "winner", "result"}
    ] * 5


def test_nothing_to_report_is_reported(shop: Run) -> None:
    answer = shop("explain", "svc/assets")
    assert (answer.returncode, answer.stdout) == (0, "")
    assert answer.stderr == "No policy applies at svc/assets, and none is rejected there.\n"


def test_kind_that_acts_below_the_target_alone_is_named_with_its_targets(shop: Run) -> None:
    answer = shop("explain", "httproute/storefront", "-n", "shop", "--kind", "TimeoutPolicy")
    assert (answer.returncode, answer.stdout) == (0, "")
    assert answer.stderr == (
        "No TimeoutPolicy applies at httproute/storefront, and none is rejected there. "
        "Below it, TimeoutPolicy acts at Service/shop/catalog\n"
    )


def test_policies_that_act_at_the_backends_are_named_in_one_line(shop: Run) -> None:
    answer = shop("explain", "httproute/storefront#pages", "-n", "shop")
    assert answer.returncode == 0
    assert "\nBelow httproute/storefront#pages, TimeoutPolicy acts at Service/shop/catalog\n" in answer.stdout
    assert "Below" not in shop("explain", "httproute/storefront#assets", "-n", "shop").stdout
