"""The presets of vendors against the CRDs of their releases."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from bridge.files import rego_root
from bridge.opa.client import Opa
from hack.tools.fields import KNOWN_FIELDS, SCHEMAS, render_known_fields, render_schemas
from hack.tools.vendor_crds import VENDORS, Vendor, crds_of
from tests.warm_opa import WarmOpa

pytestmark = pytest.mark.long

Crd = dict[str, Any]
PRESETS = {
    f"{spec['group']}/{spec['kind']}": spec
    for file in (rego_root() / "bridge/kinds/presets").glob("*.yaml")
    for spec in [yaml.safe_load(file.read_text())["spec"]]
}
OF_REFS = {"targetRef", "targetRefs", "targetSelectors"}
NAMES = [vendor.name for vendor in VENDORS]


@pytest.fixture(scope="module", params=VENDORS, ids=NAMES)
def vendor(request: pytest.FixtureRequest) -> Vendor:
    found: Vendor = request.param
    return found


@pytest.fixture(scope="module")
def crds(vendor: Vendor) -> dict[str, Crd]:
    return crds_of(vendor)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opa(opa_path: Path) -> AsyncIterator[Opa]:
    async with WarmOpa(opa_path) as managed, Opa(managed.url) as found:
        await found.put("kinds", await found.query("kinds_in_force", {}))
        yield found


def _schemas(crd: Crd) -> list[dict[str, Any]]:
    return [
        version["schema"]["openAPIV3Schema"]
        for version in crd["spec"]["versions"]
        if version.get("served") is not False
    ]


def _spec(schema: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schema["properties"].get("spec", {}).get("properties", {})
    return found


def _has(schema: dict[str, Any], pointer: str) -> bool:
    """Whether a schema has the field of a JSON pointer; what allows any field has all."""
    for segment in pointer.strip("/").split("/"):
        schema = schema.get("items", schema)
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            return True
        if segment == "*" and isinstance(schema.get("additionalProperties"), dict):
            schema = schema["additionalProperties"]
            continue
        if segment not in schema.get("properties", {}):
            return False
        schema = schema["properties"][segment]
    return True


def _paths(preset: dict[str, Any]) -> set[str]:
    """Every path into a policy that a preset names."""
    places = preset.get("specPaths", [{"path": "/spec"}])
    paths = {place[field] for place in places for field in ("path", "strategyPath") if field in place}
    paths |= {place["path"] for place in preset.get("order", ())}
    paths |= {
        entry[field] for entry in preset.get("selectors", ()) for field in ("path", "namespaces") if field in entry
    }
    merges = [preset.get("merge", {})]
    merges += [one.get("merge", {}) for one in preset.get("strategies", {}).values() if isinstance(one, dict)]
    for merge in merges:
        pointers = [*merge.get("units", ())]
        pointers += [f"{pointer}/{key}" for pointer, key in merge.get("listKeys", {}).items()]
        paths |= {f"{place['path']}{pointer}" for place in places for pointer in pointers}
    return paths


def test_every_kind_with_target_refs_has_a_preset(crds: dict[str, Crd]) -> None:
    targeting = {kind for kind, crd in crds.items() if any(OF_REFS & _spec(schema).keys() for schema in _schemas(crd))}
    assert targeting <= PRESETS.keys()


def test_presets_that_select_workloads_have_a_field_of_the_schema_for_that(crds: dict[str, Crd]) -> None:
    for kind in PRESETS.keys() & crds.keys():
        for schema in _schemas(crds[kind]):
            fields = {"selector", "workloadSelector", "subject"} & _spec(schema).keys()
            assert bool(fields) == ("selectors" in PRESETS[kind]), kind


def test_every_path_that_a_preset_names_is_in_the_schema(crds: dict[str, Crd]) -> None:
    checked = PRESETS.keys() & crds.keys()
    assert checked
    for kind in checked:
        for path in _paths(PRESETS[kind]):
            assert any(_has(schema, path) for schema in _schemas(crds[kind])), f"{kind}: {path}"


def test_presets_have_sections_and_statuses_as_the_schema_has_them(crds: dict[str, Crd]) -> None:
    for kind in PRESETS.keys() & crds.keys():
        for schema in _schemas(crds[kind]):
            ref = _spec(schema).get("targetRefs", {}).get("items") or _spec(schema).get("targetRef")
            if ref is not None:
                assert any(target.get("sections", False) for target in PRESETS[kind]["targets"]) <= (
                    "sectionName" in ref["properties"]
                ), kind
            status = schema["properties"].get("status", {}).get("properties", {})
            if PRESETS[kind].get("statusShape") == "Ancestors":
                assert "ancestors" in status, kind


@pytest.mark.asyncio(loop_scope="module")
async def test_the_crds_change_nothing_that_the_presets_say(opa: Opa, crds: dict[str, Crd]) -> None:
    changes = {"upsert": list(crds.values())}
    alone = await opa.query("kinds_in_force", {})
    with_crds = await opa.query("kinds_in_force", {"changes": changes})
    for kind in PRESETS.keys() & crds.keys():
        assert with_crds[kind]["layers"] == ["Preset", "CustomResourceDefinition"]
        for field in PRESETS[kind]:
            assert with_crds[kind][field] == alone[kind][field], f"{kind}: {field}"
    assert await opa.query("undescribed", {"changes": changes}) == {}


def test_known_fields_and_schemas_are_those_of_the_releases() -> None:
    assert KNOWN_FIELDS.read_text() == render_known_fields(), "run python -m hack.tools.fields"
    assert SCHEMAS.read_text() == render_schemas(), "run python -m hack.tools.fields"
