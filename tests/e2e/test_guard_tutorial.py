"""The steps of the tutorial about guardrails that need a cluster, on a real API server."""

import os
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from tests.controlplane.plane import ControlPlane
from tests.documented import ROOT, commands, files, fits, plain
from tests.e2e.admitting import PATIENCE, asked, speaking, until
from tests.integration.test_violation_reports_on_a_cluster import OPEN_REPORTS

pytestmark = pytest.mark.long

PAGE = ROOT / "docs" / "tutorials" / "guard-public-routes.md"
SECURITY_POLICIES = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "securitypolicies.gateway.envoyproxy.io"},
    "spec": {
        "group": "gateway.envoyproxy.io",
        "scope": "Namespaced",
        "names": {"kind": "SecurityPolicy", "plural": "securitypolicies", "singular": "securitypolicy"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
# Before a step is repeated, because the request was admitted without a decision.
UNDONE = {
    "kubectl delete securitypolicy -n infra base": "kubectl apply -f gateway.yaml",
    "kubectl apply -f cors.yaml": "kubectl delete --ignore-not-found -f cors.yaml",
}
DENIED = 'admission webhook "deletions.validation.policybridge.io" denied the request: [public-routes-have-auth'


def test_the_steps_on_a_cluster(
    own_control_plane: ControlPlane,
    kubectl_path: Path,
    bridge_path: Path,
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    plane, folder = own_control_plane, tmp_path / "files"
    kubectl = speaking(kubectl_path, plane)
    folder.mkdir()
    for name, text in files(PAGE).items():
        (folder / name).write_text(text)
    crds = [SECURITY_POLICIES, *OPEN_REPORTS]
    assert kubectl("apply", f"--filename={ROOT / 'deploy' / 'crds'}")[0] == 0
    assert kubectl("apply", "-f", "-", text=yaml.safe_dump_all(crds))[0] == 0
    plane.api.wait_for_crds({"constraints.policybridge.io", *(crd["metadata"]["name"] for crd in crds)})
    for namespace in ("infra", "shop"):
        assert kubectl("create", "namespace", namespace)[0] == 0
    with asked(plane, kubectl, bridge_path, environment, tmp_path):
        for step in [one for one in commands(PAGE) if one.section in {"6. On a cluster", "7. A report"}]:
            if step.line.startswith("kubectl delete securitypolicy -n infra"):
                # The webhook must be asked before anything is deleted.
                until(kubectl, ["delete", "securitypolicy", "-n", "infra", "base", "--dry-run=server"], "", DENIED)
            _run(
                step.line.removesuffix(" # cut"),
                step.output,
                cut=step.cut,
                at=folder,
                kubectl_path=kubectl_path,
                plane=plane,
            )


def _run(line: str, shown: str, *, cut: bool, at: Path, kubectl_path: Path, plane: ControlPlane) -> None:
    """Run a command until it prints what the page shows; a report follows its violation."""
    path = f"{kubectl_path.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "KUBECONFIG": str(plane.kubeconfig)}
    deadline = time.monotonic() + PATIENCE
    while True:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=at,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        printed = done.stdout + done.stderr
        if not shown:
            assert done.returncode == 0, printed
            return
        if " ".join(shown.split()) in " ".join(printed.split()) or fits(plain(shown), plain(printed), cut=cut):
            return
        assert time.monotonic() < deadline, f"{line}\n{printed}"
        if undo := UNDONE.get(line):
            # The Constraint was not active yet, or the API server did not send deletions to the webhook yet.
            subprocess.run(["bash", "-c", undo], cwd=at, env=environment, check=True)
        time.sleep(0.5)
