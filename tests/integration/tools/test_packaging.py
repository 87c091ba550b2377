"""The wheel carries everything that the program needs when it runs without a working copy."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from bridge import __version__
from bridge.files import crds_root, rego_root

REPOSITORY = Path(__file__).resolve().parents[3]
SHOP = REPOSITORY / "examples" / "shop"


def _build(target: str, source: Path, folder: Path) -> Path:
    command: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", folder]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


def _clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("BRIDGE_", "PYTHON", "PIP_"))}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the working copy."""
    return _build("wheel", REPOSITORY, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of a virtual environment with the wheel, and with our dependencies but not our bridge."""
    root = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(root, with_pip=False, symlinks=True)
    python = root / "bin" / "python"
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        wheel,
    ]
    subprocess.run(command, check=True, env=_clean())
    site = next(root.glob("lib/python3*/site-packages"))
    # A folder that is named in a .pth file is searched, while its own .pth files, of editable installs, are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent


def test_an_installed_wheel_answers_as_the_working_copy(installed: Path, opa_path: Path, tmp_path: Path) -> None:
    requested: list[str | Path] = ["effective", "--manifests", SHOP, "-o", "json"]
    environment = {**_clean(), "BRIDGE_OPA": str(opa_path)}
    answers = [
        subprocess.run(
            [folder / "pbctl", *requested], env=environment, cwd=tmp_path, capture_output=True, check=True
        ).stdout
        for folder in (installed, Path(sys.executable).parent)
    ]
    assert json.loads(answers[0])
    assert answers[0] == answers[1]


def test_an_installed_wheel_finds_its_own_files(installed: Path, tmp_path: Path) -> None:
    package = next(installed.parent.glob("lib/python3*/site-packages/bridge"))
    reported = subprocess.run(
        [installed / "kubectl-bridge", "--version"],
        env=_clean(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert reported.startswith(f"pbctl {__version__}\nrego ")
    assert f"({package}/rego)" in reported
    for folder, original in (("rego", rego_root()), ("crds", crds_root())):
        shipped = {file.relative_to(original) for file in original.rglob("*") if file.suffix in {".rego", ".yaml"}}
        assert {
            file.relative_to(package / folder) for file in (package / folder).rglob("*") if file.is_file()
        } >= shipped
    crds = subprocess.run(
        [installed / "pbctl", "crds"], env=_clean(), capture_output=True, text=True, check=True
    ).stdout
    assert crds.count("kind: CustomResourceDefinition\n") == len(list(crds_root().glob("*.yaml")))


def test_everything_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    package = REPOSITORY / "bridge"
    files = {
        str(file.relative_to(REPOSITORY))
        for file in package.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    with zipfile.ZipFile(wheel) as packed:
        assert files - set(packed.namelist()) == set()


def test_wheel_has_no_tools_of_developers(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        folders = {name.split("/")[0] for name in packed.namelist()}
        sources = [packed.read(name).decode() for name in packed.namelist() if name.endswith(".py")]
    assert folders == {"bridge", f"policy_bridge-{__version__}.dist-info"}
    assert not [source for source in sources if re.search(r"^\s*(from|import) (hack|tests)\b", source, re.MULTILINE)]


def test_a_source_distribution_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    sdist = _build("sdist", REPOSITORY, tmp_path / "sdist")
    with tarfile.open(sdist) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    again = _build("wheel", source, tmp_path / "wheel")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())
    for name in (
        "Makefile",
        "mkdocs.yml",
        "Containerfile",
        ".ci/python",
        "tests/conftest.py",
        "hack/tools",
        "examples/shop",
    ):
        assert (source / name).exists(), name


@pytest.mark.long
def test_a_wheel_is_all_that_an_offline_machine_needs(wheel: Path, opa_path: Path, tmp_path: Path) -> None:
    """Its dependencies are declared: a virtual environment without ours runs it, from a folder of wheels."""
    house, root = tmp_path / "house", tmp_path / "venv"
    download: list[str | Path] = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", house, wheel]
    # The lock's versions without its hashes: those would be requested of the new wheel too.
    pins = re.findall(r"^[\w.-]+==[^\s;]+", (REPOSITORY / "requirements.lock").read_text(), re.MULTILINE)
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("\n".join(pins))
    subprocess.run([*download, "--constraint", constraints], check=True)
    venv.create(root, with_pip=True)
    pip: list[str | Path] = [
        root / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--find-links",
        house,
    ]
    subprocess.run([*pip, "policy-bridge"], check=True, env=_clean())
    requested: list[str | Path] = [root / "bin" / "pbctl", "effective", "--manifests", SHOP, "-o", "json"]
    environment = {**_clean(), "BRIDGE_OPA": str(opa_path)}
    assert json.loads(subprocess.run(requested, env=environment, cwd=tmp_path, capture_output=True, check=True).stdout)
