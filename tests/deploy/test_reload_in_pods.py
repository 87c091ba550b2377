"""The documented command that makes bridges in Pods reload their settings."""

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hack.manifests.parts import CHART, ROOT, one, template

pytestmark = pytest.mark.long

PAGE = ROOT / "docs" / "reference" / "settings.md"


def test_it_reaches_each_pod_and_its_bridge(tmp_path: Path) -> None:
    deployment = one(template(CHART, tmp_path / "helm"), "Deployment")
    pod = deployment["spec"]["template"]
    found = re.search(r"kubectl get pods -n (\S+) -l (\S+)=(\S+) -o name", PAGE.read_text())
    assert found
    namespace, label, value = found.groups()
    assert (namespace, pod["metadata"]["labels"][label]) == (deployment["metadata"]["namespace"], value)
    assert pod["spec"]["containers"][0]["name"] == _arguments()[_arguments().index("-c") + 1]


def test_it_sends_the_signal() -> None:
    program = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); " + _arguments()[-1]
    to_itself = program.replace("kill(1,", "kill(os.getpid(),")
    assert subprocess.run([sys.executable, "-c", to_itself], check=False).returncode == -signal.SIGHUP


def _arguments() -> list[str]:
    (line,) = re.findall(r"^ +(kubectl exec .*)$", PAGE.read_text(), re.MULTILINE)
    return shlex.split(line)
