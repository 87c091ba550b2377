"""`pbctl run` on a folder of manifests, as the server of the page."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "examples" / "shop"
# A policy on a route of the shop, which a test adds to it.
LATE = """
apiVersion: example.com/v1
kind: ColorPolicy
metadata: {name: late, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: admin}]
  defaults: {theme: dusk}
"""
THREE_GATEWAYS = ROOT / "examples" / "three-gateways"
_KEPT = ("BRIDGE_OPA", "BRIDGE_CACHE")  # what tells the bridge where its OPA is


class NotStartedError(Exception):
    """The bridge did not start; the message is its output."""


class Bridge:
    """A bridge on a folder, or on the cluster of a kubeconfig; after `stop`, `start` uses the same address.

    `patience`: seconds for the initial sync.
    """

    def __init__(self, folder: Path, log: Path, *arguments: str, patience: float = 300.0) -> None:
        self.folder = folder
        self._source = "--manifests" if folder.is_dir() else "--kubeconfig"
        self.log = log
        self.address = "127.0.0.1:0"
        self._arguments = arguments
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{self.address}/"

    def start(self, says: str = "OPA synced") -> None:
        """Start it and wait for a log event, by default the end of the initial sync. Raises NotStartedError."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BRIDGE_")}
        environment |= {name: os.environ[name] for name in _KEPT if name in os.environ}
        began = self.log.stat().st_size if self.log.exists() else 0
        command = [Path(sys.executable).parent / "pbctl", "run", self._source, self.folder, "--listen", self.address]
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [*map(str, command), *self._arguments], stdout=output, stderr=output, env=environment
            )
        until = time.monotonic() + self._patience
        while says not in (said := self.log.read_text()[began:]):
            if self._process.poll() is not None or time.monotonic() > until:
                raise NotStartedError(said)
            time.sleep(0.1)
        found = re.search(r"bridge=http://(\S+)", said)
        if found is None:
            raise NotStartedError(said)
        self.address = found[1]

    def stop(self) -> None:
        """Stop it with SIGTERM."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(timeout=self._patience)
