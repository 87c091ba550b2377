"""Every text names the command as it is installed: `pbctl`, or `kubectl bridge`."""

import re
import subprocess
import tomllib
from pathlib import Path

from bridge.cli.main import pbctl

ROOT = Path(__file__).resolve().parents[2]
GENERATED = (".lock", ".png", ".svg")


def test_wheel_installs_no_command_of_iproute2() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert set(scripts) == {"pbctl", "kubectl-bridge", "kubectl_complete-bridge"}


def test_no_text_names_the_command_of_iproute2() -> None:
    names = "|".join(map(re.escape, pbctl.commands))
    called = re.compile(
        rf"(?:^|[`'$|&(=>]) *bridge\s+(?:{names}|--help|--version|…)(?![\w-])"  # typed, or quoted in a text
        rf"|(?<!path, )\"bridge(?: |\", \")(?:{names})\b"  # in a list of arguments
        r"|bin/\)?/?bridge(?![\w./-])|\"bin\" / \"bridge\"|_BRIDGE_COMPLETE",  # by its path
        re.MULTILINE,
    )
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    leftovers = [
        f"{name}: {match[0]!r}"
        for name in filter(None, listed.split("\0"))
        if not name.endswith(GENERATED) and name != "tests/unit/test_command_name.py"
        for match in called.finditer((ROOT / name).read_text(encoding="utf-8", errors="replace"))
    ]
    assert leftovers == []
