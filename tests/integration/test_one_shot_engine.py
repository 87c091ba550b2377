"""The engine behind one command on a folder."""

import shutil
from pathlib import Path

import pytest

from bridge.offline.engine import open_engine
from bridge.opa.process import ManagedOpa

ROOT = Path(__file__).parents[2]

GATEWAY_CLASS = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: example}
spec: {controllerName: example.com/gateway}
"""
CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: rules, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  rules.rego: |
    package rules
    answer := 42
"""


@pytest.mark.parametrize(("manifest", "answer"), [(GATEWAY_CLASS, None), (CONFIG_MAP, 42)])
async def test_opa_starts_once_whether_a_folder_has_rego_or_not(
    tmp_path: Path, starts: list[ManagedOpa], manifest: str, answer: int | None
) -> None:
    (tmp_path / "objects.yaml").write_text(manifest)
    async with open_engine(manifests=[str(tmp_path)]) as engine:
        assert await engine.opa.get("rules/answer") == answer
    assert len(starts) == 1


async def test_rego_that_is_written_with_escapes_is_loaded_too(tmp_path: Path, starts: list[ManagedOpa]) -> None:
    (tmp_path / "objects.yaml").write_text(
        CONFIG_MAP.replace("openpolicyagent.org/policy", r'"openpolicy\x61gent.org/policy"')
    )
    async with open_engine(manifests=[str(tmp_path)]) as engine:
        assert await engine.opa.get("rules/answer") == 42
    assert len(starts) == 2


async def test_the_crds_of_the_bridge_in_a_folder_are_no_rego(tmp_path: Path, starts: list[ManagedOpa]) -> None:
    async def modules() -> set[str]:
        async with open_engine(manifests=[str(tmp_path)], queries=["kinds_in_force"]) as engine:
            return {module.name for module in await engine.opa.modules()}

    (tmp_path / "objects.yaml").write_text(GATEWAY_CLASS)
    without = await modules()
    for crd in (ROOT / "deploy/crds").glob("*.yaml"):
        shutil.copy(crd, tmp_path)
    assert await modules() == without
    assert len(starts) == 2
