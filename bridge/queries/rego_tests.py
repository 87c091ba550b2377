"""`_test.rego` files of folders, which `opa test` runs together with the folder's other Rego and the shipped one."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bridge.files import rego_root
from bridge.opa.executable import ensure_opa
from bridge.opa.shipped import shipped, shipped_guardrails
from bridge.queries.names import CommandError
from bridge.queries.suites import Result

_PATIENCE = 60  # seconds for a test


def rego_files(paths: Sequence[str]) -> list[Path]:
    """Return the Rego files in files and folders; none without a test among them."""
    found = [file for path in map(Path, paths) for file in ([path] if path.is_file() else sorted(path.rglob("*.rego")))]
    rego = [file for file in found if file.suffix == ".rego" and not any(part.startswith(".") for part in file.parts)]
    return rego if any(file.name.endswith("_test.rego") for file in rego) else []


def run_rego_tests(files: Sequence[Path], words: str) -> list[Result]:
    """Run the tests in these files with `words` in their names. Raises CommandError if they do not compile."""
    own = "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
    names = [file.stem for file in (rego_root() / "guardrails").glob("*.rego") if not file.stem.endswith("_test")]
    guardrails = [f"bridge.guardrails.{name}" for name in names if f"package bridge.guardrails.{name}\n" not in own]
    # Files that do not mention the bridge compile without its modules, which are most of the work.
    modules = {}
    if "data.bridge" in own:
        modules = {**shipped(rego_root()).modules, **shipped_guardrails(guardrails)}
    with tempfile.TemporaryDirectory() as folder:
        for place, text in modules.items():
            file = Path(folder, "shipped", place)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        command = [str(ensure_opa().path), "test", "--format", "json", "--timeout", f"{_PATIENCE}s", str(folder)]
        command += [str(file) for file in files]
        # The environment is readable for Rego (`opa.runtime`), so it is empty.
        environment = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = None
    if not isinstance(found, list):
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines()]
        said = [line for line in lines if line and not line.endswith("occurred:")]
        raise CommandError(f"opa test: {said[0] if said else 'no output'}")
    return [result for result in _results(found) if words in result.name]


def _results(found: Sequence[dict[str, Any]]) -> Iterator[Result]:
    for one in found:
        place, name = one["location"], f"{one['package'].removeprefix('data.')}.{one['name']}"
        if one.get("skip"):
            continue
        error = one.get("error")
        differences = ["the test is not true"] if one.get("fail") and not error else []
        text = str(error.get("message", error)) if isinstance(error, dict) else str(error or "")
        yield Result(place["file"], place["row"], name, differences, error=text)
