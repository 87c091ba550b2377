import gzip
import io
import json
import tarfile

import pytest

from bridge.files import rego_root
from bridge.opa.bundle import build_bundle, build_view_bundle
from bridge.opa.shipped import add_edge_policy

MODULES = {"b/two.rego": "package b.two\n", "a/one.rego": "package a.one\n"}


def files_of(content: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(content))) as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive}  # type: ignore[union-attr]


def test_the_archive_holds_manifest_modules_and_data() -> None:
    bundle = build_bundle(MODULES, {"presets": {"x": 1}}, ["b/two", "a/one/", "presets"])
    files = files_of(bundle.content)
    assert list(files) == [".manifest", "a/one.rego", "b/two.rego", "data.json"]
    roots = ["a/one", "b/two", "presets"]
    assert json.loads(files[".manifest"]) == {"revision": bundle.revision, "roots": roots, "rego_version": 1}
    assert json.loads(files["data.json"]) == {"presets": {"x": 1}}


def test_manifest_names_rego_v0_also_in_a_view() -> None:
    bundle = build_bundle(MODULES, {}, ["a", "b"], ["a/one.rego"])
    view = build_view_bundle(bundle, {}, "shop", "")
    for one in (bundle, view):
        about = json.loads(one.files[".manifest"])
        assert about["rego_version"] == 1
        assert about["file_rego_versions"] == {"a/one.rego": 0, "/a/one.rego": 0}
    assert bundle.revision != build_bundle(MODULES, {}, ["a", "b"]).revision
    assert view.revision != build_view_bundle(build_bundle(MODULES, {}, ["a", "b"]), {}, "shop", "").revision


def test_equal_content_gives_equal_bytes_whatever_its_order() -> None:
    turned = dict(reversed(MODULES.items()))
    one = build_bundle(MODULES, {"p": {"x": 1, "y": 2}}, ["a", "b"])
    assert one == build_bundle(turned, {"p": {"y": 2, "x": 1}}, ["b", "a"])


def test_any_change_of_modules_data_or_roots_changes_the_revision() -> None:
    bundles = [
        build_bundle(MODULES, {}, ["a"]),
        build_bundle(MODULES, {}, ["b"]),
        build_bundle(MODULES, {"x": 1}, ["a"]),
        build_bundle({**MODULES, "a/one.rego": "package a.one\n\n"}, {}, ["a"]),
        build_bundle({"b/two.rego": "package b.two\n", "a/uno.rego": "package a.one\n"}, {}, ["a"]),
    ]
    assert len({bundle.revision for bundle in bundles}) == len(bundles)


@pytest.mark.parametrize("path", ["/a.rego", "../a.rego", "a/../../b.rego", "a.txt"])
def test_a_module_path_that_opa_would_not_load_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="is not a path of a module"):
        build_bundle({path: "package a\n"}, {}, ["a"])


def test_bundle_of_a_view_has_the_files_of_the_rules_and_states_its_revision() -> None:
    rules = build_bundle(MODULES, {"presets": {"x": 1}}, ["a", "b", "presets"])
    view = build_view_bundle(rules, {"objects": {"core": {}}, "index": {}}, "shop", "2026-01-01T00:00:00Z")
    files = files_of(view.content)
    assert list(files) == [
        ".manifest",
        *("a/one.rego", "b/two.rego", "data.json"),
        *("bridge_state/data.json", "index/data.json", "objects/data.json", "bridge_view/data.json"),
    ]
    assert json.loads(files[".manifest"]) == {
        "revision": view.revision,
        "roots": ["a", "b", "bridge_state", "bridge_view", "index", "objects", "presets"],
        "rego_version": 1,
    }
    about = {"name": "shop", "revision": view.revision, "since": "2026-01-01T00:00:00Z"}
    assert json.loads(files["bridge_view/data.json"]) == about
    assert json.loads(files["bridge_state/data.json"]) == {"complete": True}


def test_number_of_a_view_is_signed_with_it_and_no_part_of_its_revision() -> None:
    rules = build_bundle(MODULES, {}, ["a", "b"])
    one, two = (build_view_bundle(rules, {}, "shop", "2026-01-01T00:00:00Z", number) for number in (1, 2))
    assert one.revision == two.revision
    assert [json.loads(view.files["bridge_view/data.json"])["number"] for view in (one, two)] == [1, 2]


def test_view_has_the_policy_of_edges_beside_rego_of_both_versions() -> None:
    rules = build_bundle(MODULES, {}, ["a", "b"], ["a/one.rego"])
    view = build_view_bundle(add_edge_policy(rules, rego_root()), {}, "shop", "2026-01-01T00:00:00Z")
    files = files_of(view.content)
    manifest = json.loads(files[".manifest"])
    assert "system/edge" in manifest["roots"]
    assert manifest["file_rego_versions"] == {"a/one.rego": 0, "/a/one.rego": 0}
    assert b"package system.edge" in files["system/edge.rego"]


def test_revision_of_a_view_follows_from_its_name_rules_and_documents_alone() -> None:
    rules = build_bundle(MODULES, {}, ["a", "b"])
    one = build_view_bundle(rules, {"objects": {"a": 1, "b": 2}}, "shop", "2026-01-01T00:00:00Z")
    assert build_view_bundle(rules, {"objects": {"b": 2, "a": 1}}, "shop", "now").revision == one.revision
    others = [
        build_view_bundle(rules, {"objects": {"a": 1, "b": 2}}, "other", ""),
        build_view_bundle(rules, {"objects": {"a": 1, "b": 3}}, "shop", ""),
        build_view_bundle(build_bundle({}, {}, []), {"objects": {"a": 1, "b": 2}}, "shop", ""),
    ]
    assert len({one.revision, *(other.revision for other in others)}) == 4
