"""What a shell completes: the scripts that shells take, and the command's own answers."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from tests.e2e.conftest import Run


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_takes_its_script(bridge: Run, shell: str) -> None:
    script = bridge("completion", shell)
    assert script.returncode == 0
    assert "_BRIDGE_COMPLETE=" in script.stdout
    if path := shutil.which(shell):
        subprocess.run([path, "-n"], input=script.stdout, text=True, check=True)


def test_commands_options_and_choices_are_completed(bridge: Run) -> None:
    def completed(*words: str) -> list[str]:
        more = {"_BRIDGE_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        return [line.partition(",")[2] for line in bridge(more=more).stdout.splitlines()]

    assert completed("bridge", "ex") == ["explain"]
    assert completed("bridge", "get", "policyk") == ["policykind", "policykinds"]
    assert completed("bridge", "explain", "--source") == ["--source-namespace"]


def test_kubectl_asks_with_the_words_and_gets_a_directive() -> None:
    code = "from bridge.cli.completion import complete_for_kubectl; complete_for_kubectl()"
    answer = subprocess.run([sys.executable, "-c", code, "get", "target"], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == ["target", "targets", ":4"]
