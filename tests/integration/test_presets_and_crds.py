"""The shipped presets against the CRDs of the Gateway API release that the bridge is built for."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.files import rego_root
from bridge.opa.client import Opa
from tests.warm_opa import WarmOpa

LABEL = "gateway.networking.k8s.io/policy"
PRESETS = [
    spec
    for file in sorted((rego_root() / "bridge/kinds/presets").glob("*.yaml"))
    for spec in [yaml.safe_load(file.read_text())["spec"]]
    if spec["group"] in {"gateway.networking.k8s.io", "gateway.networking.x-k8s.io"}  # others: test_vendor_presets.py
]


@pytest.fixture(scope="module")
def crds(gateway_api_crds: Path) -> dict[str, Any]:
    """The CRDs with the policy label, by type."""
    texts = [file.read_text() for file in (gateway_api_crds / "experimental").glob("*.yaml")]
    documents = [doc for text in texts if LABEL in text for doc in yaml.safe_load_all(text) if doc]
    return {
        f"{doc['spec']['group']}/{doc['spec']['names']['kind']}": doc
        for doc in documents
        if LABEL in doc["metadata"].get("labels", {})
    }


@pytest.fixture
async def opa(opa_path: Path) -> AsyncIterator[Opa]:
    async with WarmOpa(opa_path) as managed, Opa(managed.url) as found:
        yield found


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset["kind"])
def test_a_preset_has_sections_where_its_crd_has_a_section_name(preset: dict[str, Any], crds: dict[str, Any]) -> None:
    crd = crds[f"{preset['group']}/{preset['kind']}"]
    schemas = [version["schema"]["openAPIV3Schema"] for version in crd["spec"]["versions"] if version["served"]]
    for schema in schemas:
        ref = schema["properties"]["spec"]["properties"]["targetRefs"]["items"]["properties"]
        # Not those of vendors: their backends may have no ports with names.
        shipped = [target for target in preset["targets"] if target["group"] in {"", "gateway.networking.k8s.io"}]
        assert {target["sections"] for target in shipped} == {"sectionName" in ref}


async def test_the_crds_agree_with_the_presets(opa: Opa, crds: dict[str, Any]) -> None:
    kinds = {f"{preset['group']}/{preset['kind']}" for preset in PRESETS}
    alone = {kind: about for kind, about in (await opa.query("kinds_in_force", {})).items() if kind in kinds}
    with_crds = await opa.query("kinds_in_force", {"changes": {"upsert": list(crds.values())}})
    assert alone.keys() == kinds
    for kind, described in alone.items():
        assert with_crds[kind]["layers"] == ["Preset", "CustomResourceDefinition"]
        compared = described.keys() - {"layers", "by"}  # `by` is a hash of more than is shown
        assert {field: with_crds[kind][field] for field in compared} == {field: described[field] for field in compared}


async def test_every_policy_of_the_release_is_a_policy_kind(opa: Opa, crds: dict[str, Any]) -> None:
    changes = {"upsert": list(crds.values())}
    assert (await opa.query("kinds_in_force", {"changes": changes})).keys() >= crds.keys()
    assert await opa.query("undescribed", {"changes": changes}) == {}
