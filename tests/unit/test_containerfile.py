"""What can be known of the Containerfile without a container runtime."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from bridge import __version__

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Containerfile").read_text()


class Step(NamedTuple):
    """One instruction: `COPY`, and what follows it."""

    name: str
    rest: str


def _steps(text: str) -> list[Step]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [Step(*line.split(" ", 1)) for line in joined.splitlines()]


STEPS = _steps(TEXT)
SECOND = [index for index, step in enumerate(STEPS) if step.name == "FROM"][1]
BUILD, RUN = STEPS[:SECOND], STEPS[SECOND:]
COPIED = [
    source
    for step in STEPS
    if step.name == "COPY" and not step.rest.startswith("--from")
    for source in step.rest.split()[:-1]
]


def test_copied_files_exist_and_are_not_ignored() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    kept = {line[1:] for line in lines if line[0] == "!"}
    assert lines[0] == "*"
    assert kept == set(COPIED)
    assert [source for source in COPIED if not (ROOT / source).exists()] == []


def test_bases_are_pinned() -> None:
    bases = [step.rest.split()[0] for step in STEPS if step.name == "FROM"]
    assert set(bases) == {"${PYTHON}"}  # one Python builds the environment and runs it
    (python,) = (step.rest for step in STEPS if step.name == "ARG" and step.rest.startswith("PYTHON="))
    assert re.fullmatch(r"PYTHON=docker\.io/library/python:\d+\.\d+\.\d+-slim-\w+", python)


def test_it_runs_as_an_unprivileged_user_without_a_shell() -> None:
    last = {step.name: step.rest for step in RUN}
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last["USER"])
    assert "RUN" not in last
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    (command,) = json.loads(last["ENTRYPOINT"])  # the form without a shell is JSON
    assert command.removeprefix("/opt/bridge/bin/") in scripts
    assert json.loads(last["CMD"]) == ["run"]
    assert "BRIDGE_OPA=/opt/bridge/bin/opa" in last["ENV"]


def test_its_label_has_the_version() -> None:
    assert [step.rest for step in RUN if step.name == "ARG"] == [f"VERSION={__version__}"]
    assert 'org.opencontainers.image.version="${VERSION}"' in TEXT


@pytest.mark.parametrize("name", ["chart", "edge"])
def test_the_chart_installs_this_version(name: str) -> None:
    chart = ROOT / "deploy" / name / "Chart.yaml"
    if chart.exists():
        assert yaml.safe_load(chart.read_text())["appVersion"] == __version__


def test_the_copied_files_are_enough_to_build_the_wheel(tmp_path: Path) -> None:
    source = _context(tmp_path)
    (build,) = (step.rest for step in BUILD if "hatchling build" in step.rest)
    command = shlex.split(build.replace("/opt/build/bin/python", sys.executable).replace("/opt/wheel", str(tmp_path)))
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    assert list(tmp_path.glob("policy_bridge-*.whl"))


@pytest.mark.long
def test_commands_of_the_build_make_a_root_that_runs_read_only_as_the_charts_user(tmp_path: Path) -> None:
    """The root file system is this machine's with the image's /opt, as a registry of images is not at hand."""
    if not HAS_NAMESPACES:
        pytest.skip("a root file system needs root, unshare and setpriv; CI builds and runs the image itself")
    python = _python_of_everyone() or _mounted_python()
    source, opt, root = _context(tmp_path), tmp_path / "opt", tmp_path / "root"
    for folder in (opt, root):
        folder.mkdir()
    for step in BUILD:
        if step.name == "RUN":
            # OPA is taken from where this machine has it: a registry of packages is all that is requested for.
            command = step.rest.replace("BRIDGE_CACHE=/opt/tools ", "")
            if command.startswith("python "):
                command = f"{python.path} {command.removeprefix('python ')}"
            _in_namespace(f"{python.mount('')}\nmount --bind {opt} /opt\ncd {source}\n{python.exported}{command}")
    shutil.copytree(ROOT / "examples" / "shop", opt / "shop")

    def run(command: str) -> str:
        mounted = f"{_MOUNTED.format(opt=opt, root=root)}\n{python.mount(root)}"
        return _in_namespace(f"{mounted}\nchroot {root} {_AS_USER} {python.libraries} {command}")

    (entrypoint,) = json.loads(next(step.rest for step in RUN if step.name == "ENTRYPOINT"))
    reported = run(f"{entrypoint} --version")
    assert reported.startswith(f"pbctl {__version__}\n")
    assert "(/opt/bridge/bin/opa; " in reported
    assert "HTTPRoute" in run(f"{entrypoint} effective --manifests /opt/shop -o name")
    for path in ("/opt/bridge/x", "/etc/x", "/x"):
        refused = run(f"/bin/sh -c 'touch {path} 2>&1 || true'")
        assert "Read-only file system" in refused


HAS_NAMESPACES = (
    os.geteuid() == 0
    and shutil.which("setpriv") is not None
    and shutil.which("unshare") is not None
    and subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0
)
_USER = next(step.rest for step in RUN if step.name == "USER").split(":")
_UNPRIVILEGED = (
    f"setpriv --reuid {_USER[0]} --regid {_USER[1]} --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs"
)
_AS_USER = f"{_UNPRIVILEGED} env --ignore-environment --chdir=/tmp " + " ".join(
    step.rest for step in RUN if step.name == "ENV"
)
# As the chart has it: everything is read-only but an emptyDir at /tmp.
_MOUNTED = """
mount --bind / {root}
mount --bind {opt} {root}/opt
mount --rbind /dev {root}/dev
mount -t proc proc {root}/proc
mount -t tmpfs -o mode=1777 tmpfs {root}/tmp
mount -o remount,bind,ro {root}
mount -o remount,bind,ro {root}/opt"""


def _in_namespace(script: str) -> str:
    """Run a script of mounts and a command in a mount namespace of its own; returns the output."""
    command = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Python(NamedTuple):
    """A Python that the image's user can run here too. `folder`: what is mounted for that, or nothing."""

    path: Path
    folder: Path | None = None

    def mount(self, root: Path | str) -> str:
        """The command that makes the Python available below a root."""
        return f"mount --bind {self.folder} {root}{_FREE}" if self.folder else ""

    @property
    def libraries(self) -> str:
        """The variable with which a Python in another place than it was built for finds its library."""
        return f"LD_LIBRARY_PATH={_FREE}/lib" if self.folder else ""

    @property
    def exported(self) -> str:
        """The same for a shell."""
        return f"export {self.libraries}\n" if self.folder else ""


_FREE = "/mnt"  # where a Python is mounted that only root can reach
_OLDEST = (3, 11, 5)  # what requirements.lock is for


def _python_of_everyone() -> Python | None:
    """A Python that every user can run: one in root's home folder is none."""
    wanted = f"import ensurepip, sys, venv; sys.exit(sys.version_info < {_OLDEST})"
    for path in (Path(sys.executable).resolve(), Path("/usr/local/bin/python3"), Path("/usr/bin/python3")):
        command = [*shlex.split(_UNPRIVILEGED), "env", str(path), "-c", wanted]  # setpriv itself may keep rights
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return Python(path)
    return None


def _mounted_python() -> Python:
    """The Python of these tests, mounted where every user can run it."""
    if not Path(_FREE).is_dir():
        pytest.skip(f"no Python that every user can run, and no {_FREE} to mount one")
    base = Path(sys.base_prefix)
    return Python(Path(_FREE) / Path(sys.executable).resolve().relative_to(base), base)


def _context(folder: Path) -> Path:
    """A folder with what the build gets, and nothing else."""
    source = folder / "src"
    for name in COPIED:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, source / name, ignore=lambda _, names: [n for n in names if fnmatch(n, "__*__")]
            )
        else:
            shutil.copy(ROOT / name, source / name)
    return source
