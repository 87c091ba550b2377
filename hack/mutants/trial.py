"""Run the quick tests on a mutant, in a copy of the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
_NOT_COPIED = (".*", "__pycache__", "dist", "build")
_PATIENCE = 900.0  # seconds for each command: one that takes longer shows nothing about the tests

Verdict = Literal["killed", "survived", "invalid"]


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the repository with at most one mutant at a time."""

    folder: Path
    opa: Path

    def verdict(self, mutant: Mutant) -> Verdict:
        """Return the verdict of the quick tests on a mutant: `invalid` if it does not compile, or they do not end."""
        file = self.folder / mutant.path
        source = file.read_text()
        file.write_text(mutant.applied(source))
        try:
            return self._rego(mutant.path) if mutant.path.suffix == ".rego" else self._python(mutant.path)
        except subprocess.TimeoutExpired:
            return "invalid"
        finally:
            file.write_text(source)

    def _rego(self, path: Path) -> Verdict:
        if not self._succeeds(self.opa, "check", "--ignore", "*.yaml", "rego"):
            return "invalid"
        package = ".".join(path.parent.relative_to("rego").parts)
        unit: list[str | Path] = [self.opa, "test", "--timeout", "600s", "--ignore", "*.yaml"]
        passed = (
            self._succeeds(*unit, "--run", rf"^data\.{package}\.", "rego")
            and self._succeeds(*unit, "rego")
            and self._succeeds(*self._pytest("tests/scenarios/test_rego.py"))
        )
        return "survived" if passed else "killed"

    def _python(self, path: Path) -> Verdict:
        try:
            compile((self.folder / path).read_text(), str(path), "exec")
        except SyntaxError:
            return "invalid"
        tests = unit_tests(path), *self.folder.glob("tests/unit/test_*.py")
        return "survived" if self._succeeds(*self._pytest(*tests)) else "killed"

    def _pytest(self, *tests: str | Path) -> Sequence[str | Path]:
        return sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not long", *tests

    def _succeeds(self, *command: str | Path) -> bool:
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_STORAGE_DIRECTORY": str(self.folder)}
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, timeout=_PATIENCE, check=False
        )
        return done.returncode == 0


def unit_tests(path: Path) -> Path:
    """Return the folder of the unit tests of a module of `bridge`."""
    return Path("tests/unit") / path.parts[1]


@contextmanager
def copy_of_repository(opa: Path) -> Iterator[Copy]:
    """Make a copy for trials, and remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="policy-bridge-mutants-") as name:
        folder = Path(name)
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*_NOT_COPIED), dirs_exist_ok=True)
        (folder / ".venv").symlink_to(ROOT / ".venv")
        yield Copy(folder, opa)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file of the repository in which the characters from `start` to `end` become `text`."""

    path: Path  # from the root of the repository
    start: int
    end: int
    text: str
    line: int

    def applied(self, source: str) -> str:
        """Return the file's text with the fault, without a line that has become empty."""
        changed = source[: self.start] + self.text + source[self.end :]
        if self.text:
            return changed
        begin = changed.rfind("\n", 0, self.start) + 1
        end = changed.find("\n", self.start)
        return changed[:begin] + changed[end + 1 :] if not changed[begin:end].strip() else changed

    def described(self, source: str) -> str:
        """Return `FILE:LINE: <before> → <after>`, in one line."""
        before, after = (" ".join(text.split()) for text in (source[self.start : self.end], self.text))
        return f"{self.path}:{self.line}: {before} → {after or '(removed)'}"
