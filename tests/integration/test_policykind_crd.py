"""The CRD of PolicyKind and the Rego that reads PolicyKinds know the same fields."""

from __future__ import annotations

from pathlib import Path

import yaml

from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa
from bridge.policy_loader.shipped import shipped_bundle
from bridge.resources import rego_root

CRD = Path(__file__).parents[2] / "deploy" / "crds" / "policykinds.yaml"


async def test_the_fields_of_a_policykind_are_those_of_its_crd(opa_path: Path) -> None:
    version = yaml.safe_load(CRD.read_text())["spec"]["versions"][0]
    fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    async with ManagedOpa(opa_path, {}, bundle=shipped_bundle(rego_root())) as managed, Opa(managed.url) as opa:
        assert sorted(await opa.get("bridge/kinds/fields") or ()) == sorted(fields)
        for name, known in (await opa.get("bridge/kinds/entry_fields") or {}).items():
            assert sorted(known) == sorted(fields[name]["items"]["properties"])
