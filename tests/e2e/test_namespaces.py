"""Namespaces on the command line: as kubectl takes them, and named where they have nothing."""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, SHOP, Run

MESH = ROOT / "examples" / "mesh"


@pytest.mark.parametrize("written", [["-n", "shop"], ["-n=shop"], ["-nshop"], ["--namespace=shop"]])
def test_a_namespace_and_a_format_are_written_as_in_kubectl(bridge: Run, written: list[str]) -> None:
    answer = bridge("get", "routes", *written, "-o=jsonpath={.items[*].metadata.name}", "--manifests", SHOP)
    assert (answer.returncode, answer.stdout.split()) == (0, ["admin", "cart", "storefront"]), answer.stderr


def test_a_namespace_before_the_command_may_have_an_equals_sign(bridge: Run) -> None:
    assert bridge("-n=shop", "problems", "--manifests", SHOP).returncode == 1


@pytest.mark.parametrize("command", ["problems", "status", "effective", "violations", "get", "tree", "graph", "init"])
def test_a_namespace_without_objects_is_an_error_with_similar_names(bridge: Run, command: str) -> None:
    words = {"get": ["policies"], "init": ["tests", str(SHOP)]}.get(command, [])
    manifests = [] if command == "init" else ["--manifests", str(SHOP)]
    answer = bridge(command, *words, "-n", "shpo", *manifests)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == "error: namespace shpo has no objects; did you mean shop?\n"


@pytest.mark.parametrize("name", ["", "=shop", "Shop", "shop_eu", "a/b", "-shop", "x" * 64])
def test_a_text_that_is_no_dns_label_is_not_a_namespace(bridge: Run, name: str) -> None:
    for option in ("--namespace", "--source-namespace"):
        answer = bridge("effective", f"{option}={name}", "--manifests", SHOP)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert f"{name!r} is not the name of a namespace" in answer.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["effective"],
        ["effective", "httproute/cart", "-n=shop"],
        ["explain", "httproute/cart", "-n=shop"],
        ["request", "--gateway=svc/cart", "-n=shop", "--path=/"],
        ["analyze", "--delete=RetryPolicy/web/patient"],
    ],
    ids=lambda words: words[0],
)
def test_a_source_namespace_that_does_not_exist_is_an_error(bridge: Run, words: list[str]) -> None:
    answer = bridge(*words, "--source-namespace=wbe", "--manifests", MESH)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == "error: namespace wbe has no objects; did you mean web?\n"
    served = bridge(*words, "--source-namespace=web", "--manifests", MESH)
    assert served.returncode == (words[0] == "request")  # the rule has no backends


def test_an_answer_without_results_names_the_namespace(bridge: Run) -> None:
    answer = bridge("effective", "-n=blog", "--kind=TimeoutPolicy", "--manifests", SHOP)
    assert (answer.returncode, answer.stderr) == (0, "No effective policies found in namespace blog.\n")


def test_two_sources_are_not_equal_in_a_namespace_that_neither_has(bridge: Run) -> None:
    answer = bridge("compare", "--manifests", SHOP, "--manifests", SHOP, "-n=shpo")
    assert (answer.returncode, answer.stderr) == (2, "error: namespace shpo has no objects in either source\n")


@pytest.mark.parametrize(
    "words",
    [
        ("problems",),
        ("problems", "--violations"),
        ("get", "targets", "--without=TimeoutPolicy"),
        ("get", "policies"),
        ("status",),
        ("effective",),
    ],
    ids=" ".join,
)
def test_labels_that_no_object_has_are_an_error(bridge: Run, words: tuple[str, ...]) -> None:
    answer = bridge(*words, "-n=blog", "-l=team=none", "--manifests", SHOP)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == "error: -l selects no object in namespace blog: check its labels\n"
    other = bridge(*words, "-n=blog", "-l=!team", "--manifests", SHOP)
    assert other.returncode != 2
    assert "selects no object" not in other.stderr


@pytest.mark.parametrize(
    "words", [("problems",), ("get", "gateways"), ("get", "policies"), ("status",), ("effective",)]
)
def test_labels_without_policies_are_no_error_unless_no_object_has_them(
    bridge: Run, bridge_process: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    gateway = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "front", "namespace": "blog", "labels": {"team": "web"}},
        "spec": {"gatewayClassName": "open", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
    }
    (tmp_path / "gateway.json").write_text(json.dumps(gateway))
    run = bridge_process if words == ("effective",) else bridge  # its own OPA has few rules
    found = run(*words, "-l=team=web", "--manifests", tmp_path)
    assert found.returncode != 2, found.stderr
    none = run(*words, "-l=team=none", "--manifests", tmp_path)
    assert none.returncode == 2
    assert "error: -l selects no object: check its labels\n" in none.stderr


def test_labels_that_no_object_has_leave_the_baseline_as_it_is(bridge: Run, tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_text("as before")
    write = ("problems", "--manifests", SHOP, "--baseline", baseline, "--write-baseline")
    assert bridge(*write, "-l=team=none").returncode == 2
    assert baseline.read_text() == "as before"
    assert bridge(*write).returncode == 0
    assert "problems" in json.loads(baseline.read_text())


def test_problems_of_a_kind_without_objects_are_an_error(bridge: Run) -> None:
    answer = bridge("problems", "grpcroute", "--manifests", SHOP)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == "error: no grpcroute found\n"
