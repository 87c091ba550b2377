"""kubectl with the kubeconfig of a control plane."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.controlplane.plane import ControlPlane

PATIENCE = 180.0  # seconds


@dataclass(frozen=True)
class Kubectl:
    """The executable, and the control plane that it talks to."""

    path: Path
    plane: ControlPlane

    def run(self, *arguments: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command and return its result; `text` is its standard input."""
        # kubectl caches discovery in the home folder: a new CRD would be missing from it.
        cache = self.plane.kubeconfig.parent / "kubectl-cache"
        return subprocess.run(
            [self.path, f"--kubeconfig={self.plane.kubeconfig}", f"--cache-dir={cache}", *arguments],
            input=text,
            env={name: value for name, value in os.environ.items() if name != "KUBECONFIG"},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def __call__(self, *arguments: str | Path, text: str = "") -> str:
        """Run a command and return its output.

        Raises:
            AssertionError: it did not succeed; the message is what it said.
        """
        done = self.run(*arguments, text=text)
        assert done.returncode == 0, f"kubectl {arguments[0]}: {done.stderr}"
        return done.stdout
