"""Rego that was written for an OPA behind a webhook of the API server, in the bridge's own OPA."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.serving import bridge_runs, fetch
from tests.eventually import eventually_blocking
from tests.ports import free_ports

MAIN = """package system

import data.kubernetes.admission

main = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}

default uid = ""

uid = input.request.uid

response = {"allowed": false, "uid": uid, "status": {"message": reason}} {
    reason = concat(", ", admission.deny)
    reason != ""
}

else = {"allowed": true, "uid": uid}
"""
DENY = """package kubernetes.admission

deny[msg] {
    input.request.operation == "DELETE"
    input.request.oldObject.metadata.labels.protected == "true"
    print("protected", input.request.name)
    msg = sprintf("%s is protected from %s", [input.request.name, input.request.userInfo.username])
}
"""
MASK = """package system.log

mask["/input/request/userInfo"] { input.input.request }
"""


def config_map(name: str, **data: str) -> str:
    labels = {"openpolicyagent.org/policy": "rego", "policybridge.io/rego-version": "v0"}
    metadata = {"name": name, "namespace": "opa-policies", "labels": labels}
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def review(**request: object) -> bytes:
    about = {"uid": "7", "kind": {"group": "", "version": "v1", "kind": "Namespace"}, "name": "shop"}
    body = {**about, "userInfo": {"username": "eve"}, **request}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": body}).encode()


@pytest.mark.parametrize("protected", ["true", "false"])
def test_package_system_answers_requests_of_the_api_server(
    bridge_path: Path, environment: dict[str, str], tmp_path: Path, protected: str
) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "main.json").write_text(config_map("main", main=MAIN, log=MASK))
    (folder / "deny.json").write_text(config_map("deny", deny=DENY))
    (tmp_path / "opa.yaml").write_text("decision_logs: {console: true}\n")
    log = tmp_path / "log"
    settings = tmp_path / "bridge.yaml"
    settings.write_text(f"opa_config_file: {tmp_path}/opa.yaml\nopa_log_level: info\n")
    options = ("--config", settings, "--manifests", folder, "--listen", "127.0.0.1:0")
    with bridge_runs(bridge_path, environment, log, *options) as running:
        old = {"metadata": {"name": "shop", "labels": {"protected": protected}}}
        body = review(operation="DELETE", object=None, oldObject=old)
        status, text = eventually_blocking(lambda: fetch(f"{running.opa_url}/", body), lambda found: found[0] == 200)
        response = json.loads(text)["response"]
        assert (status, response["uid"], response["allowed"]) == (200, "7", protected != "true")
        if protected == "true":
            assert response["status"]["message"] == "shop is protected from eve"
            printed = eventually_blocking(log.read_text, lambda found: "protected shop" in found)
            assert "core/ConfigMap/opa-policies/deny/deny.rego:6" in printed
        decided = eventually_blocking(log.read_text, lambda found: "OPA decision" in found)
        assert "eve" not in decided.partition("OPA decision")[2].partition("result=")[0]


def test_opa_of_a_user_masks_by_a_file_and_by_a_config_map(
    bridge_path: Path, environment: dict[str, str], opa_path: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "main.json").write_text(config_map("main", main=MAIN, log=MASK))
    (tmp_path / "log.rego").write_text('package system.log\n\nmask contains "/input/request/name"\n')
    given = tmp_path / "given.yaml"
    given.write_text("decision_logs: {console: true}\ndefault_decision: /system/main\n")
    listen, address = (f"127.0.0.1:{port}" for port in free_ports(2))
    config: list[str | Path] = ["--system-main", "--add-to", given, "--bridge-url", f"http://{listen}"]
    credentials: list[str | Path] = ["--bundle-credentials", tmp_path / "credentials"]
    printed = subprocess.run(
        [bridge_path, "admin", "opa-config", *config, *credentials], env=environment, check=True, capture_output=True
    )
    (tmp_path / "opa.yaml").write_bytes(printed.stdout)
    opa: list[str | Path] = [opa_path, "run", "--server", "--addr", address, "--config-file", tmp_path / "opa.yaml"]
    options = ("--opa", f"http://{address}", "--manifests", folder, "--listen", listen, *credentials)
    with (tmp_path / "opa.log").open("w") as log, subprocess.Popen([*opa, tmp_path / "log.rego"], stderr=log) as users:
        try:
            with bridge_runs(bridge_path, environment, tmp_path / "log", *options):
                body = review(operation="CREATE", name="secret-name")
                answered = lambda: fetch(f"http://{address}/", body)  # noqa: E731 (two words)
                eventually_blocking(answered, lambda found: found[0] == 200 and "allowed" in found[1])
                decided = eventually_blocking((tmp_path / "opa.log").read_text, lambda found: '"allowed":true' in found)
        finally:
            users.kill()
    [line] = [line for line in decided.splitlines() if '"allowed":true' in line][-1:]
    assert sorted(json.loads(line)["erased"]) == ["/input/request/name", "/input/request/userInfo"]
