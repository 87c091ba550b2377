"""Several targets or requests with one start, and policies by their names."""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Run


def test_two_requests_are_answered_below_their_urls(shop: Run) -> None:
    urls = ("https://shop.example.com/cart", "https://nope.example.com/")
    answer = shop("request", *urls)
    assert answer.returncode == 1
    assert [line for line in answer.stdout.splitlines() if line in urls] == list(urls)
    documents = json.loads(shop("request", *urls, "-o", "json").stdout)
    assert [bool(one["rule"]) for one in documents] == [True, False]
    assert shop("request", urls[0], "-o", "json").stdout.startswith("{")


def test_two_objects_are_described(shop: Run) -> None:
    answer = shop("describe", "httproute", "cart", "admin", "-n", "shop")
    assert answer.returncode == 0, answer.stderr
    assert [line.split()[1] for line in answer.stdout.splitlines() if line.startswith("Name:")] == ["cart", "admin"]


WORKLOADS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: cart, namespace: shop}
spec: {selector: {matchLabels: {app: cart}}, template: {metadata: {labels: {app: cart}}}}
---
apiVersion: v1
kind: Pod
metadata: {name: lone, namespace: shop, labels: {app: lone}}
---
apiVersion: v1
kind: Service
metadata: {name: basket, namespace: shop}
spec: {selector: {app: cart}, ports: [{port: 80}]}
"""


@pytest.mark.parametrize("words", [["deploy/cart"], ["deployment", "cart", "-n", "shop"], ["Deployment/shop/cart"]])
def test_workload_means_the_services_that_select_it(bridge: Run, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "objects.yaml").write_text(WORKLOADS)
    answer = bridge("describe", *words, "--manifests", tmp_path, "-o", "name")
    assert (answer.stdout, answer.stderr) == ("service/basket\n", "")


def test_workload_without_a_service_is_an_error(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "objects.yaml").write_text(WORKLOADS)
    answer = bridge("describe", "pod/lone", "--manifests", tmp_path)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "no Service selects Pod/shop/lone" in answer.stderr


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["shop/cart"], ["service/cart", "colorpolicy.example.com/cart", "httproute.gateway.networking.k8s.io/cart"]),
        (["shop/cart#checkout"], ["httproute.gateway.networking.k8s.io/cart"]),
        (["infra/public#https"], ["gateway.gateway.networking.k8s.io/public"]),
        (["HTTPRoute", "shop/cart"], ["httproute.gateway.networking.k8s.io/cart"]),
        (["gateway.networking.k8s.io/HTTPRoute/shop/cart"], ["httproute.gateway.networking.k8s.io/cart"]),
        (["blog/feeds"], ["httproute.gateway.networking.k8s.io/feeds", "colorpolicy.example.com/feeds"]),
    ],
)
def test_names_in_tables_are_accepted(shop: Run, words: list[str], named: list[str]) -> None:
    answer = shop("describe", *words, "-o", "name")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert sorted(answer.stdout.split()) == sorted(named)


def test_name_without_a_kind_means_a_policy_only_if_no_target_has_it(shop: Run) -> None:
    assert "HTTPRoute/blog/feeds#atom" in shop("effective", "blog/feeds").stdout
    assert shop("explain", "infra/brand").stdout.startswith("Name:        brand\n")


def test_the_kind_policy_means_every_policy_kind(shop: Run) -> None:
    answer = shop("describe", "pol/brand", "policy/ledger")
    assert [line.split()[1] for line in answer.stdout.splitlines() if line.startswith("Kind:")] == [
        "ColorPolicy",
        "TimeoutPolicy",
    ]


@pytest.mark.parametrize(
    "words", [("brand",), ("infra/brand",), ("colorpolicy/infra/brand",), ("colorpolicy", "brand", "-n", "infra")]
)
def test_status_of_one_policy(shop: Run, words: tuple[str, ...]) -> None:
    answer = shop("status", *words, "-o", "name")
    assert (answer.returncode, answer.stdout) == (0, "colorpolicy.example.com/brand\n"), answer.stderr


@pytest.mark.parametrize("command", ["describe", "tree"])
def test_a_policy_on_a_section_that_does_not_exist_is_shown_at_the_object(shop: Run, command: str) -> None:
    answer = shop(command, "httproute/feeds", "-n", "blog")
    (line,) = [
        line for line in answer.stdout.splitlines() if "TargetNotFound" in line and "HTTPRoute/blog/feeds" in line
    ]
    assert "blog/feeds" in line
