"""A command about one route of many has a slice of the folder, and reports what it reports with all of it."""

import json
from pathlib import Path

from bridge.model.changes import Object
from bridge.offline.slicing import FEW
from tests.builders import http_route, policy, target_ref
from tests.e2e.conftest import Run
from tests.integration.test_slices import folder_of


def written(folder: Path, objects: list[Object]) -> Path:
    """A file with objects."""
    file = folder / "objects.yaml"
    file.write_text("".join(f"---\n{json.dumps(obj)}\n" for obj in objects))
    return file


def test_route_that_does_not_exist_is_reported_with_similar_names_of_the_whole_folder(
    bridge: Run, tmp_path: Path
) -> None:
    file = written(tmp_path, [*folder_of(FEW), http_route("checkout", "far")])
    misspelt = bridge("effective", "httproute/chekout", "--manifests", file)
    assert misspelt.returncode == 2
    assert "checkout" in misspelt.stderr
    elsewhere = bridge("effective", "httproute/shop/checkout", "--manifests", file)
    assert elsewhere.returncode == 2
    assert "far/checkout" in elsewhere.stderr
    section = bridge("explain", "httproute/route-7#no", "-n", "shop", "--manifests", file)
    assert "route-7#" in section.stderr


def test_policy_in_a_version_that_is_not_read_is_reported_with_each_route(bridge: Run, tmp_path: Path) -> None:
    objects = folder_of(FEW)
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "colorpolicies.test.example.com"},
        "spec": {
            "group": "test.example.com",
            "scope": "Namespaced",
            "names": {"kind": "ColorPolicy", "plural": "colorpolicies"},
            "versions": [version],
        },
    }
    objects[-1]["apiVersion"] = "test.example.com/v7"
    found = bridge("effective", "httproute/route-7", "-n", "shop", "--manifests", written(tmp_path, [crd, *objects]))
    assert found.returncode == 2
    assert f"route-{FEW - 1}" in found.stderr
    assert "route-7" in found.stdout


def changed(folder: Path, route: str) -> Path:
    """A file in which the policy of route-7 targets another route."""
    return written(folder, [policy("ColorPolicy", "route-7", [target_ref("HTTPRoute", route)], a=2)])


def test_analysis_of_a_change_finds_conflicts_at_a_route_that_its_policy_did_not_target(
    bridge: Run, tmp_path: Path
) -> None:
    (tmp_path / "change").mkdir()
    file, change = written(tmp_path, folder_of(FEW)), changed(tmp_path / "change", "route-8")
    found = json.loads(bridge("analyze", "-f", change, "--manifests", file, "-o", "json").stdout)
    assert {one["target"].rpartition("/")[2] for one in found["effective"]} == {"route-7#[0]", "route-8#[0]"}


def test_analysis_reads_standard_input_again_where_the_answer_needs_the_whole_folder(
    bridge: Run, tmp_path: Path
) -> None:
    (tmp_path / "change").mkdir()
    file, change = written(tmp_path, folder_of(FEW)), changed(tmp_path / "change", "rout-8")
    arguments = ("--manifests", file, "--source-namespace", "far")
    found = bridge("analyze", "-f", "-", *arguments, text=change.read_text())
    assert "namespace far has no objects" in found.stderr
    (tmp_path / "far").mkdir()
    written(tmp_path / "far", [http_route("elsewhere", "far"), http_route("first", "far")])
    found = bridge("analyze", "-f", "-", "--manifests", tmp_path / "far", *arguments, text=change.read_text())
    assert "did you mean HTTPRoute/shop/route-8," in found.stdout
    assert found.returncode == 1


def test_analysis_of_the_deletion_of_a_policy_by_its_name(bridge: Run, tmp_path: Path) -> None:
    file = written(tmp_path, folder_of(FEW))
    found = json.loads(bridge("analyze", "--delete", "route-7", "--manifests", file, "-o", "json").stdout)
    assert found["objects"]["deleted"] == ["test.example.com/ColorPolicy/shop/route-7"]
    assert [one["target"].rpartition("/")[2] for one in found["effective"]] == ["route-7#[0]"]
