"""What a shell completes: the scripts that shells take, and the command's own answers."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import SHOP, Run


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_takes_its_script(bridge_process: Run, shell: str) -> None:
    script = bridge_process("completion", shell)
    assert script.returncode == 0
    assert "_PBCTL_COMPLETE=" in script.stdout
    assert shell == "fish" or "nospace" in script.stdout or "-S ''" in script.stdout
    if path := shutil.which(shell):
        subprocess.run([path, "-n"], input=script.stdout, text=True, check=True)


def test_commands_options_and_choices_are_completed(bridge_process: Run) -> None:
    def completed(*words: str) -> list[str]:
        more = {"_PBCTL_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        return [line.partition(",")[2] for line in bridge_process(more=more).stdout.splitlines()]

    assert completed("pbctl", "ex") == ["explain"]
    assert completed("pbctl", "get", "policyk") == ["policykind", "policykinds"]
    assert completed("pbctl", "explain", "--source") == ["--source-namespace"]


def test_bash_completes_with_the_script(bridge_process: Run, environment: dict[str, str], bridge_path: Path) -> None:
    ask = (
        'compopt() { printf "%s " compopt "$@"; echo; }; COMP_WORDS=(pbctl explain --manifests "$1" Gate); '
        'COMP_CWORD=4; _pbctl_completion pbctl; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    for _ in range(20):  # on a loaded machine it may take longer than its time limit, and then offers nothing
        answer = subprocess.run(
            ["bash", "-c", f"{bridge_process('completion', 'bash').stdout}\n{ask}", "bash", SHOP],
            env={**environment, "PATH": f"{bridge_path.parent}:{environment['PATH']}"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert answer.stderr == ""
        if "Gateway/" in answer.stdout:
            break
    assert answer.stdout.split("\n")[-3:-1] == ["Gateway/", "GatewayClass/"]
    assert "compopt -o nospace" in answer.stdout


def test_kubectl_asks_with_the_words_and_gets_a_directive() -> None:
    code = "from bridge.cli.main import complete_for_kubectl; complete_for_kubectl()"
    answer = subprocess.run([sys.executable, "-c", code, "get", "target"], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == ["target", "targets", ":4"]
