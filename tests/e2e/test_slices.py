"""A command about one route of many has a slice of the folder, and reports what it reports with all of it."""

import json
from pathlib import Path

from bridge.model.changes import Object
from tests.builders import http_route
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
    file = written(tmp_path, [*folder_of(12), http_route("checkout", "far")])
    misspelt = bridge("effective", "httproute/chekout", "--manifests", file)
    assert misspelt.returncode == 2
    assert "checkout" in misspelt.stderr
    elsewhere = bridge("effective", "httproute/shop/checkout", "--manifests", file)
    assert elsewhere.returncode == 2
    assert "far/checkout" in elsewhere.stderr
    section = bridge("explain", "httproute/route-7#no", "-n", "shop", "--manifests", file)
    assert "route-7#" in section.stderr


def test_policy_in_a_version_that_is_not_read_is_reported_with_each_route(bridge: Run, tmp_path: Path) -> None:
    objects = folder_of(12)
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
    assert "route-11" in found.stderr
    assert "route-7" in found.stdout
