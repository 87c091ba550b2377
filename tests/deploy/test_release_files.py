"""What `make release` builds, installed as users install it."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bridge import __version__
from hack.manifests.parts import ROOT, helm
from hack.supply.materials import base_image, locked_needs, write_document
from hack.supply.release import CHECKSUMS, LAUNCHER, MANIFEST, STEM, release
from hack.tools import TOOLS, find

KREW = shutil.which("krew") and shutil.which("validate-krew-manifest")
FORK = "someone/fork"
SHOP = ROOT / "examples" / "shop"

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a release of a fork."""
    folder = tmp_path_factory.mktemp("release") / "dist"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BRIDGE_DOWNLOADS", "never")  # otherwise it writes the checksums of OPA into the clone
        assert release(["--repository", FORK], folder) == 0
    return folder


def test_every_file_has_its_checksum(dist: Path) -> None:
    lines = [line.split("  ") for line in (dist / CHECKSUMS).read_text().splitlines()]
    told = {name: digest for digest, name in lines}
    there = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in dist.iterdir()}
    del there[CHECKSUMS]
    assert told == there


def test_the_bills_of_materials_name_all_executables(dist: Path) -> None:
    of_wheel: dict[str, Any] = {
        canonicalize_name(one["name"]): one for one in _json(dist / f"{STEM}.wheel.cdx.json")["components"]
    }
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {canonicalize_name(Requirement(line).name) for line in declared} <= of_wheel.keys()
    assert {"cytoscape", "aiosignal"} <= of_wheel.keys()  # vendored, and needed by a dependency
    assert not {"pytest", "mypy", "ruff", "pip", "opentelemetry-sdk"} & of_wheel.keys()
    assert of_wheel["aiosignal"]["licenses"]
    of_image = {one["name"]: one["version"] for one in _json(dist / f"{STEM}.image.cdx.json")["components"]}
    assert of_image["opa"] == TOOLS["opa"].version
    assert of_image["docker.io/library/python"] == base_image().rpartition(":")[2]
    assert "opentelemetry-sdk" in of_image


def test_a_bill_of_materials_that_is_not_cyclonedx_is_refused(dist: Path, tmp_path: Path) -> None:
    document = _json(dist / f"{STEM}.image.cdx.json")
    del document["specVersion"]
    with pytest.raises(ValueError, match="specVersion"):
        write_document(tmp_path / "document", document)


def test_the_wheel_runs_in_an_empty_environment_with_the_locked_packages(dist: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--require-hashes", "-r", dist / f"{STEM}-requirements.txt"], check=True)
    (wheel,) = dist.glob("*.whl")
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)
    subprocess.run([python, "-m", "pip", "check"], check=True)
    told = _run([tmp_path / "venv" / "bin" / "pbctl", "effective", "--manifests", SHOP, "-o", "name"])
    assert "HTTPRoute" in told or "httproute" in told


def test_the_manifest_of_the_plugin_keeps_krews_rules(dist: Path) -> None:
    """https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/, as krew's own validation has them."""
    manifest = yaml.safe_load((dist / MANIFEST).read_text())
    archive = dist / f"{LAUNCHER}-{__version__}.tar.gz"
    spec = manifest["spec"]
    (platform,) = spec["platforms"]
    assert (manifest["apiVersion"], manifest["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    assert manifest["metadata"]["name"] == MANIFEST.removesuffix(".yaml")
    assert re.fullmatch(r"v\d+\.\d+\.\d+(-[\w.]+)?", spec["version"])
    assert 0 < len(spec["shortDescription"]) <= 50
    assert platform["uri"] == f"https://github.com/{FORK}/releases/download/{spec['version']}/{archive.name}"
    assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert {one["key"] for one in platform["selector"]["matchExpressions"]} <= {"os", "arch"}
    with tarfile.open(archive) as found:
        assert platform["bin"] in found.getnames()


def test_kubectl_runs_the_plugin_where_krew_puts_it(dist: Path, tmp_path: Path) -> None:
    """Krew unpacks the archive into its store and links the executable into a folder on PATH."""
    store, executables = tmp_path / "store" / "bridge" / f"v{__version__}", tmp_path / "bin"
    executables.mkdir()
    with tarfile.open(dist / f"{LAUNCHER}-{__version__}.tar.gz") as archive:
        archive.extractall(store, filter="data")
    (executables / LAUNCHER).symlink_to(store / LAUNCHER)
    _run_plugin(executables, tmp_path)


@pytest.mark.skipif(not KREW, reason="krew and validate-krew-manifest are not on PATH")
def test_krew_installs_the_plugin(dist: Path, tmp_path: Path) -> None:
    manifest, archive = dist / MANIFEST, dist / f"{LAUNCHER}-{__version__}.tar.gz"
    subprocess.run(["validate-krew-manifest", "-manifest", manifest, "-skip-install"], check=True)
    environment = os.environ | {"KREW_ROOT": str(tmp_path / "krew")}
    command = ["krew", "install", f"--manifest={manifest}", f"--archive={archive}"]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    _run_plugin(tmp_path / "krew" / "bin", tmp_path)


def _run_plugin(executables: Path, tmp_path: Path) -> None:
    kubectl, opa = find("kubectl"), find("opa")
    assert kubectl is not None
    assert opa is not None
    environment = os.environ | {
        "PATH": f"{executables}:{os.environ['PATH']}",
        "BRIDGE_OPA": str(opa.path),
        "BRIDGE_PLUGIN_HOME": str(tmp_path / "plugin"),
        "PYTHON": sys.executable,
    }
    asked: list[str | Path] = [kubectl.path, "bridge", "effective", "httproute", "cart", "-n", "shop"]
    for _ in range(2):  # the second time nothing is installed
        command = [*asked, "--manifests", SHOP]
        answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=True)
        assert "HTTPRoute/shop/cart#checkout" in answer.stdout
    assert answer.stderr == ""


def test_the_packaged_chart_names_the_published_image(dist: Path, tmp_path: Path) -> None:
    rendered = helm("template", "policy-bridge", dist / f"{STEM}.tgz", home=tmp_path)
    images = {container["image"] for container in _containers(rendered)}
    assert f"ghcr.io/{FORK}:{__version__}" in images
    plain = {container["image"] for container in _containers((dist / f"{STEM}.yaml").read_text())}
    assert plain == images


def test_completions_are_those_of_the_command(dist: Path) -> None:
    with tarfile.open(dist / f"{STEM}-completions.tar.gz") as archive:
        assert sorted(archive.getnames()) == ["pbctl.bash", "pbctl.fish", "pbctl.zsh"]
        script = archive.extractfile("pbctl.bash")
        assert script is not None
        assert b"_PBCTL_COMPLETE" in script.read()


def test_locked_needs_are_those_of_the_wheel_alone() -> None:
    names = {line.split("==")[0] for line in locked_needs().splitlines() if "==" in line}
    assert {"aiohttp", "click", "msgspec", "opa-python-client", "yarl"} <= names
    assert not {"pytest", "mypy", "mkdocs", "playwright", "opentelemetry-sdk"} & names


def _containers(text: str) -> list[dict[str, Any]]:
    pods = [obj["spec"]["template"]["spec"] for obj in yaml.safe_load_all(text) if obj and obj["kind"] == "Deployment"]
    return [container for pod in pods for container in pod["containers"] + pod.get("initContainers", [])]


def _run(command: list[Any]) -> str:
    opa = find("opa")
    assert opa is not None
    environment = os.environ | {"BRIDGE_OPA": str(opa.path)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True).stdout


def _json(file: Path) -> Any:
    return json.loads(file.read_text())
