"""The wheel carries everything that the program needs when it runs without a working copy."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from bridge.resources import rego_root

REPOSITORY = Path(__file__).resolve().parents[3]


def test_a_wheel_carries_the_shipped_rego(tmp_path: Path) -> None:
    """An installed wheel finds its Rego inside itself."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=REPOSITORY, check=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(installed)  # a wheel of pure Python is its own installation
    program = "from bridge.resources import rego_root; print(rego_root())"
    answer = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=installed, capture_output=True, text=True, check=True
    )
    found = Path(answer.stdout.strip())
    assert found == installed / "bridge" / "rego"
    shipped = {file.relative_to(rego_root()) for file in rego_root().rglob("*") if file.suffix in {".rego", ".yaml"}}
    assert {file.relative_to(found) for file in found.rglob("*") if file.is_file()} >= shipped
