"""A Pod of the rendered chart on this machine: its containers' commands with their paths and ports put elsewhere."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hack.manifests.parts import Objects, one
from hack.tools import find
from tests.ports import free_port

_ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("BRIDGE_OPA_") and k != "KUBECONFIG"}
_MOUNTED = (  # the longest first
    "/run/policy-bridge-credentials",
    "/etc/policy-bridge/settings",
    "/etc/policy-bridge",
    "/run/policy-bridge",
)


@dataclass
class Pod:
    """The containers of a Deployment among `objects`; `folder` has a short path, for OPA's socket is in it.

    `secrets` are the files of mounted Secrets by their path below /etc/policy-bridge.
    `service` is the address by which the API server reaches the webhook, `account` its kubeconfig.
    """

    objects: Objects
    folder: Path
    service: str
    account: Path
    secrets: dict[str, str] = field(default_factory=dict)
    webhook: int = field(default_factory=free_port)
    probes: int = field(default_factory=free_port)
    opa: int = field(default_factory=free_port)  # for OPA's readers, where the chart has any
    diagnostic: int = field(default_factory=free_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, *only: str) -> None:
        """Run the init containers to their end, then start the containers, or some of them by name."""
        listens = free_port()
        for path, text in self.secrets.items():
            (self.folder / path).parent.mkdir(exist_ok=True)
            (self.folder / path).write_text(text)
        data = one(self.objects, "ConfigMap")["data"]
        settings = yaml.safe_load(data["bridge.yaml"])
        settings |= {
            "listen": f"127.0.0.1:{listens}",
            "probe_listen": f"127.0.0.1:{self.probes}",
            "webhook_listen": f"127.0.0.1:{self.webhook}",
            "webhook_url": f"{self.service}/admission",
            "kubeconfig": str(self.account),
        }
        (self.folder / "bridge.yaml").write_text(self._here(yaml.safe_dump(settings)))
        (self.folder / "opa.yaml").write_text(
            self._here(data["opa.yaml"].replace("127.0.0.1:8282", f"127.0.0.1:{listens}"))
        )
        (self.folder / "authz.rego").write_text(data.get("authz.rego", ""))
        bridge = Path(sys.executable).parent / "pbctl"
        opa = find("opa")
        assert opa is not None
        executables = {"bridge": bridge, "opa": opa.path}
        for container in self._spec["initContainers"]:
            self._run(container, bridge)
            assert self.processes.pop(container["name"]).wait(180) == 0, self.log()
        for container in self._containers:
            if container["name"] in (only or executables):
                self._run(container, executables[container["name"]])

    def stop(self) -> None:
        """Tell every container to end, all at once, as a kubelet does."""
        for process in self.processes.values():
            process.terminate()

    def ended(self, patience: float) -> dict[str, int]:
        """How each container has ended, once all have."""
        return {name: process.wait(patience) for name, process in self.processes.items()}

    def kill(self) -> None:
        """End what is left."""
        for process in self.processes.values():
            process.kill()
            process.wait()

    @property
    def ready(self) -> bool:
        """Whether the readiness probes of all containers that run succeed."""
        return all(self.probe(name, "readinessProbe") for name in self.processes)

    def probe(self, container: str, name: str) -> bool:
        """Whether a probe succeeds, sent as a kubelet sends it: by HTTP unless it sets another scheme."""
        (probe,) = [one[name] for one in self._containers if one["name"] == container]
        get = probe["httpGet"]
        port = {"probes": self.probes, "opa-diagnostic": self.diagnostic}[get["port"]]
        url = f"{get.get('scheme', 'HTTP').lower()}://127.0.0.1:{port}{get['path']}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 (loopback)
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    @property
    def _containers(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._spec["containers"]
        return found

    @property
    def _spec(self) -> dict[str, Any]:
        found: dict[str, Any] = one(self.objects, "Deployment")["spec"]["template"]["spec"]
        return found

    def log(self) -> str:
        """What its containers said."""
        return "\n".join(file.read_text() for file in sorted(self.folder.glob("*.log")))

    def _run(self, container: dict[str, Any], executable: Path) -> None:
        name = container["name"]
        arguments = [self._here(argument) for argument in container["args"]]
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [executable, *arguments], stdout=log, stderr=log, env=_ENVIRONMENT, cwd=self.folder
            )

    def _here(self, text: str) -> str:
        for path in _MOUNTED:
            text = text.replace(path, str(self.folder))
        for option, port in (("--diagnostic-addr=http://", self.diagnostic), ("--addr=", self.opa)):
            if text.startswith(f"{option}:"):
                return f"{option}127.0.0.1:{port}"
        return text


def wait_until_ready(pod: Pod, patience: float) -> None:
    """Wait for its readiness. Raises AssertionError with what it said."""
    deadline = time.monotonic() + patience
    while not pod.ready:
        running = {name: process.poll() for name, process in pod.processes.items()}
        assert time.monotonic() < deadline, pod.log()
        assert not any(code is not None for code in running.values()), f"{running}\n{pod.log()}"
        time.sleep(0.1)
