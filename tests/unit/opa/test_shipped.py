import io
import json
import tarfile
from pathlib import Path

from bridge.files import rego_root
from bridge.opa.shipped import shipped, shipped_bundle
from bridge.policy_loader.submissions import package_of


def files(root: Path) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(shipped_bundle(root).content)) as archive:
        return {member.name.lstrip("/"): found.read() for member in archive if (found := archive.extractfile(member))}


def test_modules_are_in_it_and_tests_are_not(tmp_path: Path) -> None:
    folder = tmp_path / "bridge"
    folder.mkdir()
    (folder / "a.rego").write_text('package bridge.a\nx := "…"\n', encoding="utf-8")
    (folder / "a_test.rego").write_text("package bridge.a_test\n")
    assert {name for name in files(tmp_path) if name.endswith(".rego")} == {"bridge/a.rego"}


def test_it_owns_its_packages_and_not_those_of_admins() -> None:
    roots = json.loads(files(rego_root())[".manifest"])["roots"]
    assert {"bridge/v1", "bridge/hierarchy", "bridge_settings"} <= set(roots)
    assert not {"bridge", "bridge/strategies", "bridge/extensions"} & set(roots)


def test_no_document_has_a_package_at_or_below_it() -> None:
    # OPA would copy such a document at each activation, once for each rule.
    found = shipped(rego_root())
    packages = {package_of(text) for text in found.modules.values()}
    assert {package[0] for package in packages if package} & set(found.data) == set()


def test_presets_are_data_below_a_root(tmp_path: Path) -> None:
    presets = tmp_path / "bridge" / "kinds" / "presets"
    presets.mkdir(parents=True)
    (presets / "color.yaml").write_text("kind: PolicyKind\nspec: {group: example.com, kind: ColorPolicy}\n")
    found = files(tmp_path)
    assert json.loads(found[".manifest"])["roots"] == ["bridge_settings"]
    assert json.loads(found["data.json"])["bridge_settings"]["presets"] == {
        "color": {"group": "example.com", "kind": "ColorPolicy"}
    }


def test_released_fields_are_those_of_presets() -> None:
    found = shipped(rego_root()).data["bridge_settings"]["fields"]
    assert "requestTimeout" in found["gateway.envoyproxy.io/BackendTrafficPolicy"]["fields"]["spec"]["timeout"]["http"]
    assert "gateway.networking.k8s.io/HTTPRoute" not in found


def test_the_shipped_one_is_the_same_each_time() -> None:
    assert shipped_bundle(rego_root()).revision == shipped_bundle(rego_root()).revision
