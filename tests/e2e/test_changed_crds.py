"""A change of a CRD makes fields, values and versions of unchanged policies wrong: `analyze` reports it."""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Run

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hullpolicies.harbor.example.org, labels: {gateway.networking.k8s.io/policy: Direct}}
spec:
  group: harbor.example.org
  names: {kind: HullPolicy, plural: hullpolicies}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              targetRefs: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
              paint: {type: string, enum: [red, blue]}
"""
POLICY = """
apiVersion: harbor.example.org/v1
kind: HullPolicy
metadata: {name: hull, namespace: shop}
spec: {targetRefs: [{group: "", kind: Service, name: boats}], paint: red}
---
apiVersion: v1
kind: Service
metadata: {name: boats, namespace: shop}
spec: {ports: [{port: 80}]}
"""
SECOND = CRD.replace("name: v1", "name: v2")


@pytest.mark.parametrize(
    ("crd", "reason"),
    [
        (CRD.replace("              paint: {type: string, enum: [red, blue]}\n", ""), "UnknownField"),
        (CRD.replace("[red, blue]", "[blue]"), "InvalidValue"),
        (SECOND, "VersionNotServed"),
    ],
)
def test_a_changed_crd_that_an_unchanged_policy_does_not_fit_is_a_problem(
    bridge: Run, tmp_path: Path, crd: str, reason: str
) -> None:
    folder = tmp_path / "deploy"
    folder.mkdir()
    (folder / "crd.yaml").write_text(CRD)
    (folder / "policy.yaml").write_text(POLICY)
    changed = tmp_path / "crd.yaml"
    changed.write_text(crd)
    answer = bridge("analyze", "-f", changed, "--manifests", folder, "-o", "json")
    introduced = json.loads(answer.stdout)["problems"]["introduced"]
    found = {(one["subject"].rpartition("/")[2], one["reason"]) for one in introduced}
    assert (answer.returncode, ("hull", reason) in found) == (1, True)
    back = bridge("analyze", "-f", folder / "crd.yaml", "--manifests", changed, folder / "policy.yaml", "-o", "json")
    fixed = json.loads(back.stdout)["problems"]["fixed"]
    assert reason in {one["reason"] for one in fixed}
