"""`python -m hack.web.javascript`: ESLint and TypeScript's check of the page's modules, a part of `make lint`.

npm installs both into .make/javascript, at the versions of hack/web/lint/package-lock.json. Without Node.js or npm's
registry this prints one line and checks nothing; with BRIDGE_NODE=required, as the workflow of continuous integration
sets it, that is an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "bridge" / "web" / "static"
PACKAGE = Path(__file__).resolve().parent / "lint"
WORK = ROOT / ".make" / "javascript"
OLDEST = (20, 19)  # of Node.js, for ESLint
_FILES = ("package.json", "package-lock.json", "eslint.config.js", "tsconfig.json")
_PATIENCE = 600  # seconds


class MissingError(Exception):
    """Node.js or its packages are not available; the text is the reason."""


def check(static: Path = STATIC, work: Path = WORK) -> list[str]:
    """Return the findings of both tools in the modules of a folder, one line each. Raises MissingError."""
    _install(work)
    source = work / "src"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(static, source, ignore=shutil.ignore_patterns("vendor"))
    (source / "vendor").mkdir()
    for module in (static / "vendor").glob("*.js"):
        # Minified code of others is not checked: its exports have any type.
        shutil.copy(PACKAGE / "vendor.d.ts", source / "vendor" / f"{module.stem}.d.ts")
    types = re.sub(r"\n\s+", " ", _run(work, "tsc").strip())  # details of an error are indented lines
    return [*_eslint(work), *(line.removeprefix("src/") for line in types.splitlines())]


def _eslint(work: Path) -> list[str]:
    output = _run(work, "eslint", "--format", "json", "--max-warnings", "0", "src")
    try:
        results = json.loads(output)
    except ValueError:
        return output.splitlines()  # ESLint itself failed
    return [
        f"{Path(file['filePath']).name}({one['line']},{one['column']}): {one['message']} [{one['ruleId']}]"
        for file in results
        for one in file["messages"]
    ]


def _install(work: Path) -> None:
    _require_node()
    work.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        shutil.copy(PACKAGE / name, work)
    lock = hashlib.sha256((PACKAGE / "package-lock.json").read_bytes()).hexdigest()
    stamp = work / ".installed"
    if stamp.exists() and stamp.read_text() == lock:
        return
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    if done.returncode:
        raise MissingError(f"npm ci ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
    stamp.write_text(lock)


def _require_node() -> None:
    for name in ("node", "npm"):
        if shutil.which(name) is None:
            raise MissingError(f"{name} is not on PATH")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    numbers = re.match(r"v(\d+)\.(\d+)", version)
    if not numbers or (int(numbers[1]), int(numbers[2])) < OLDEST:
        raise MissingError(f"Node.js {version} is older than {'.'.join(map(str, OLDEST))}")


def _run(work: Path, tool: str, *arguments: str) -> str:
    command = [str(work / "node_modules" / ".bin" / tool), *arguments]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    return done.stdout + done.stderr


def main() -> int:
    """Print the findings; return 1 for a finding, or if a required check was impossible."""
    try:
        found = check()
    except MissingError as error:
        sys.stderr.write(f"lint: JavaScript is not checked: {error}\n")
        return 1 if os.environ.get("BRIDGE_NODE") == "required" else 0
    for line in found:
        sys.stderr.write(f"bridge/web/static/{line}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
