"""`pbctl effective` and `pbctl status` on folders of manifests."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.conftest import ROOT, SHOP, Run
from tests.e2e.serving import Serving

BROKEN = """\
kind: [
---
kind: Namespace
metadata: {name: no-version}
---
apiVersion: v1
kind: Namespace
metadata: {name: fine}
---
apiVersion: v1
kind: Namespace
metadata: {labels: {a: b}}
"""


def _lines(text: str) -> list[str]:
    return text.strip().splitlines()


def test_the_example_has_the_outcomes_that_its_comments_tell(bridge: Run) -> None:
    """Defaults, overrides, patches, what is overridden in part and whole, missing and foreign targets, a conflict."""
    answer = bridge("status", "--manifests", SHOP, "-o", "json")
    assert (answer.returncode, answer.stderr) == (0, "")
    reasons: dict[str, tuple[str, str]] = {}
    for obj in json.loads(answer.stdout):
        if obj["kind"].endswith("Policy"):
            status = obj["status"]
            groups = [entry["conditions"] for entry in status.get("ancestors", [])] or [status["conditions"]]
            by_type = {condition["type"]: condition["reason"] for condition in groups[0]}
            name = f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
            reasons[f"{obj['kind']}/{name}"] = (by_type["Accepted"], by_type.get("Programmed", ""))
    assert reasons == {
        "ColorPolicy/infra/brand": ("Accepted", "PartiallyProgrammed"),
        "ColorPolicy/infra/accessibility": ("Accepted", "Programmed"),
        "ColorPolicy/infra/internal-tools": ("Accepted", "Programmed"),
        "ColorPolicy/infra/blog-moderation": ("Accepted", "Programmed"),
        "ColorPolicy/shop/storefront": ("Accepted", "PartiallyProgrammed"),
        "ColorPolicy/shop/cart": ("Accepted", "PartiallyProgrammed"),
        "ColorPolicy/shop/checkout": ("Accepted", "PartiallyProgrammed"),
        "ColorPolicy/shop/admin": ("Accepted", "Overridden"),
        "ColorPolicy/shop/summer-sale": ("TargetNotFound", ""),
        "ColorPolicy/blog/posts-contrast": ("Accepted", "Overridden"),
        "ColorPolicy/blog/shop-banner": ("TargetNotFound", ""),
        "ColorPolicy/blog/feeds": ("Accepted", "Programmed"),
        "TimeoutPolicy/shop/catalog": ("Accepted", "PartiallyProgrammed"),
        "TimeoutPolicy/shop/catalog-again": ("Conflicted", ""),
        "TimeoutPolicy/shop/catalog-metrics": ("Accepted", "Programmed"),
        "TimeoutPolicy/payments/ledger": ("Accepted", "Programmed"),
    }


def test_affected_targets_are_in_the_array_of_statuses(shop: Run) -> None:
    answer = json.loads(shop("status", "-o", "json").stdout)
    (catalog,) = (obj for obj in answer if obj["kind"] == "Service" and obj["metadata"]["name"] == "catalog")
    (condition,) = catalog["status"]["conditions"]
    assert condition["type"] == "example.com/TimeoutPolicyAffected"
    assert catalog["spec"]["selector"] == {"app": "catalog"}


def test_effective_as_json_is_exactly_the_querys_result(bridge: Run) -> None:
    answer = bridge("effective", "--manifests", SHOP, "-o", "json")
    assert (answer.returncode, answer.stderr) == (0, "")
    entries = json.loads(answer.stdout)
    assert [(entry["target"], entry["policyKind"]) for entry in entries] == sorted(
        (entry["target"], entry["policyKind"]) for entry in entries
    )
    for entry in entries:
        assert entry.keys() == {"target", "policyKind", "paths"}
        for path in entry["paths"]:
            assert path.keys() == {"path", "spec", "origins", "policies"}
            for policy in path["policies"]:
                assert policy.keys() == {"policy", "target", "strategy", "outcome", "overriddenBy"}


def test_broken_manifests_are_reported_by_file_and_line_and_the_others_count(bridge: Run, tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(BROKEN)
    answer = bridge("effective", "--manifests", SHOP, "--manifests", file, "-o", "json")
    assert answer.returncode == 2
    assert len(json.loads(answer.stdout)) == 20
    lines = _lines(answer.stderr)
    assert len(lines) == 3
    for line, number, what in zip(lines, (2, 3, 12), ("YAML", "apiVersion", "name"), strict=True):
        assert line.startswith(f"error: {file}:{number}: ")
        assert what in line


def test_a_policy_kind_that_is_invalid_is_reported_where_it_stands(bridge: Run, tmp_path: Path) -> None:
    file = tmp_path / "kind.yaml"
    kind: dict[str, Any] = {
        "apiVersion": "policybridge.io/v1alpha1",
        "kind": "PolicyKind",
        "metadata": {"name": "wrong"},
        "spec": {"group": "example.com", "kind": "WrongPolicy", "class": "Inherited"},
    }
    file.write_text(yaml.safe_dump(kind))
    answer = bridge("status", "--manifests", file)
    assert answer.returncode == 2
    why = "effectiveTarget is missing: an Inherited kind needs the level at which it acts"
    assert _lines(answer.stderr) == [
        f"error: {file}:1: PolicyKind/wrong is not active: {why}",
        "No policies found, as far as the source could be read.",
    ]
    asked_for = bridge("effective", "--kind", "WrongPolicy", "--manifests", SHOP, file)
    assert asked_for.returncode == 2
    refusal, missing = _lines(asked_for.stderr)
    assert refusal == f"error: {file}:1: PolicyKind/wrong is not active: {why}"
    assert "unknown policy kind 'WrongPolicy'" in missing


def test_the_environment_can_name_the_opa(bridge: Run) -> None:
    answer = bridge("effective", more={"BRIDGE_OPA_URL": "http://127.0.0.1:1"})
    assert "OPA at http://127.0.0.1:1 cannot be reached" in answer.stderr


def test_debug_shows_where_an_error_comes_from(bridge: Run) -> None:
    assert "Traceback" in bridge("effective", "--manifests", "/nowhere", "--debug").stderr


def test_an_empty_result_is_reported_on_standard_error(bridge: Run) -> None:
    answer = bridge("effective", "--manifests", "-", text="# no object\n")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "No effective policies found.\n")


def test_empty_standard_input_is_an_error(bridge: Run) -> None:
    answer = bridge("effective", "--manifests", "-", text="")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == "error: standard input is empty: check the command whose output it should be\n"


def test_a_reader_that_has_enough_is_no_error(bridge_path: Path, environment: dict[str, str]) -> None:
    line = f"'{bridge_path}' effective --manifests '{SHOP}' -o json | head -n 1"
    answer = subprocess.run(["sh", "-c", line], env=environment, capture_output=True, text=True, check=False)
    assert (answer.stdout, answer.stderr) == ("[\n", "")


@pytest.mark.parametrize("command", [["effective"], ["status"], ["status", "-o", "json"]])
def test_reading_manifests_imports_neither_kubernetes_nor_aiohttp(
    environment: dict[str, str], command: list[str]
) -> None:
    """They would cost half a second and 56 MB, and 0.05 s."""
    program = (
        "import sys; from bridge.cli.main import run_command;"
        "assert run_command(sys.argv[1:]) == 0; sys.exit(bool({'kubernetes', 'aiohttp'} & set(sys.modules)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program, *command, "--manifests", str(SHOP)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr


def test_the_tree_of_a_listener_shows_the_backends_of_its_routes(shop: Run) -> None:
    answer = shop("tree", "gtw/internal#http", "--kind", "timeoutpolicies")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert _lines(answer.stdout)[1:4] == [
        "Gateway/infra/internal#http",
        "├─ HTTPRoute/payments/callbacks",
        "│  ├─ #bank",
    ]
    document = json.loads(shop("tree", "gtw/internal#http", "-o", "json").stdout)
    assert document["roots"] == ["gateway.networking.k8s.io/Gateway/infra/internal#http"]


def test_the_tree_of_a_namespace_starts_at_its_objects(shop: Run) -> None:
    answer = shop("tree", "-n", "blog")
    starts = [line.split()[0] for line in _lines(answer.stdout)[1:] if not line.startswith((" ", "│", "├", "└"))]
    assert starts == ["HTTPRoute/blog/feeds", "HTTPRoute/blog/posts"]


def test_an_executable_that_is_passed_over_is_reported_once(bridge: Run) -> None:
    answer = bridge("status", "--manifests", SHOP, more={"BRIDGE_OPA": "/nowhere"})
    assert answer.stderr.count("opa: skipped: /nowhere (BRIDGE_OPA)") == 1


@pytest.mark.usefixtures("interruptible")
def test_watch_prints_the_rows_that_change_until_it_is_interrupted(
    bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    folder = shutil.copytree(SHOP, tmp_path / "shop")
    command = [str(bridge_path), "effective", "httproute/shop/cart#checkout", "--watch", "--manifests", str(folder)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            first = [process.stdout.readline().split()[0] for _ in range(3)]
            assert first == ["TARGET", *["HTTPRoute/shop/cart#checkout"] * 2]
            route = (folder / "64-cart.yaml").read_text()
            (folder / "64-cart.yaml").write_text(route.replace("accent: red", "accent: purple"))
            assert "colors.accent=purple" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(180) == 130
            assert process.stderr.read() == ""
        finally:
            process.kill()


def test_folder_without_objects_is_an_error(bridge: Run, tmp_path: Path) -> None:
    answer = bridge("effective", "--manifests", tmp_path)
    assert (answer.returncode, answer.stdout, answer.stderr) == (2, "", f"error: no objects in {tmp_path}\n")
    change = bridge("analyze", "-f", tmp_path, "--manifests", SHOP)
    assert (change.returncode, change.stderr) == (2, f"error: no objects in {tmp_path}\n")


def test_address_of_the_bridge_is_not_taken_for_an_opa(bridge: Run, served_shop: Serving) -> None:
    answer = bridge("effective", "--opa", served_shop.url)
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"error: {served_shop.url} is not an OPA (HTTP 405): if this is a bridge's own")


def test_labels_and_namespaces_select_the_shown_objects(shop: Run) -> None:
    status = shop("status", "-n", "payments", "-o", "name")
    assert status.stdout.splitlines() == ["timeoutpolicy.example.com/ledger"]
    for command in (("effective",), ("status",), ("problems",), ("violations",)):
        answer = shop(*command, "-l", "team=none")
        assert (answer.returncode, answer.stdout) == (2, ""), command
        assert "-l selects no object" in answer.stderr
