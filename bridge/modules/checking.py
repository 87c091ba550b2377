"""`opa check` and `opa test` over modules that are not served yet."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bridge.modules.places import SUFFIX

# What a module could reach out with, or see of the machine.
UNSAFE = frozenset({"http.send", "net.lookup_ip_addr", "opa.runtime"})
_MOST_ERRORS = "1000"
_ENVIRONMENT = {"GOGC": "400"}  # nothing of ours, which opa.runtime() would show; Go may use memory to be quicker
_TEST_FAILED = 2
# Codes of what says nothing of the modules for certain: a machine that was busy, an `opa` that was killed.
_LATE, _FAILED = "timeout", "opa_failed"
PASSING = frozenset({_LATE, _FAILED})


class Finding(NamedTuple):
    """What OPA says of a file: `path` as it was given in, empty where it is about none."""

    path: str
    line: int
    column: int
    code: str
    message: str


class Checker:
    """Runs an `opa` executable in an empty environment, each time for `patience` seconds at most.

    `shipped` are the bridge's own modules, by path. Built-in functions of UNSAFE are not known to modules, unless they
    are in `allowed`.
    """

    def __init__(
        self,
        executable: Path,
        shipped: Mapping[str, str],
        *,
        allowed: Iterable[str] = (),
        patience: float = 20.0,
    ) -> None:
        self.runs = 0
        self._executable = executable
        self._shipped = shipped
        self._refused = UNSAFE - set(allowed)
        self._patience = patience
        self._capabilities: bytes | None = None

    async def check(self, modules: Mapping[str, str], generated: Mapping[str, str]) -> list[Finding]:
        """What keeps these modules from compiling with one another, with the shipped and with generated ones."""
        # Whoever mentions nothing of the bridge's compiles without its modules, which is most of the work.
        ours = any("bridge" in text for text in modules.values())
        return await self._check({**(self._shipped if ours else {}), **generated, **modules})

    async def test(self, modules: Mapping[str, str], tests: Mapping[str, str], data: Any) -> list[Finding]:
        """What keeps these tests from passing, with those modules, the shipped ones, and data."""
        texts = {**self._shipped, **modules, **tests}
        found = await self._check(texts)
        if found:
            return found
        async with _folder(texts) as (folder, names):
            (folder / "data.json").write_bytes(msgspec.json.encode(data))
            arguments = ("test", ".", "--format", "json", "--timeout", f"{self._patience / 2:g}s")
            status, output, errors = await self._run(folder, *arguments)
            if status == 0:
                return []
            if status != _TEST_FAILED:
                return _findings(output, errors, names)
            results = [result for result in _decoded(output) or () if result.get("fail") or result.get("error")]
            of_tests = [_failed(result, names) for result in results]
            # Whoever has put tests among modules has them run by himself: they say nothing of these.
            return [finding for finding in of_tests if finding.path in tests]

    async def _check(self, texts: Mapping[str, str]) -> list[Finding]:
        async with _folder(texts) as (folder, names):
            limits = ("--capabilities", "capabilities.json") if self._refused else ()
            if limits:
                (folder / "capabilities.json").write_bytes(await self._allowed(folder))
            arguments = ("check", ".", "--format", "json", "--max-errors", _MOST_ERRORS, *limits)
            status, output, errors = await self._run(folder, *arguments)
            return [] if status == 0 else [self._explained(finding) for finding in _findings(output, errors, names)]

    def _explained(self, finding: Finding) -> Finding:
        """A function that we take away is not `undefined` to a person who knows it from OPA."""
        name = finding.message.removeprefix("undefined function ")
        if name == finding.message or name not in self._refused:
            return finding
        return finding._replace(message=f"{finding.message}: not without the bridge's setting allowed_builtins")

    async def _allowed(self, folder: Path) -> bytes:
        """The capabilities of the executable without what is refused."""
        if self._capabilities is None:
            _, output, errors = await self._run(folder, "capabilities", "--current")
            found = _decoded(output)
            if not isinstance(found, dict):
                raise CheckError(f"{self._executable} does not tell what it can: {errors.decode(errors='replace')}")
            kept = [builtin for builtin in found["builtins"] if builtin["name"] not in self._refused]
            self._capabilities = msgspec.json.encode({**found, "builtins": kept})
        return self._capabilities

    async def _run(self, folder: Path, *arguments: str) -> tuple[int, bytes, bytes]:
        self.runs += 1
        try:
            process = await asyncio.create_subprocess_exec(
                str(self._executable),
                *arguments,
                cwd=folder,
                env=_ENVIRONMENT,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise CheckError(f"{self._executable} cannot be started: {error.strerror}") from error
        try:
            async with asyncio.timeout(self._patience):
                output, errors = await process.communicate()
        except TimeoutError:
            late = {"code": _LATE, "message": f"opa {arguments[0]} took longer than {self._patience:g} s"}
            return 1, b"", msgspec.json.encode({"errors": [late]})
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        return process.returncode or 0, output, errors


class CheckError(Exception):
    """The `opa` executable cannot be used to check modules."""


@contextlib.asynccontextmanager
async def _folder(texts: Mapping[str, str]) -> AsyncIterator[tuple[Path, dict[str, str]]]:
    """A folder with all that is to be looked at, and the paths that its files stand for."""
    with tempfile.TemporaryDirectory(prefix="policy-bridge-check-") as name:
        folder = Path(name)
        # Numbers, because a name of an author may be longer than a file system allows.
        files = {f"{number:05}{SUFFIX}": path for number, path in enumerate(texts)}
        await asyncio.to_thread(_write, folder, files, texts)
        yield folder, files


def _write(folder: Path, files: Mapping[str, str], texts: Mapping[str, str]) -> None:
    for file, path in files.items():
        (folder / file).write_text(texts[path], encoding="utf-8", newline="")


def _findings(output: bytes, errors: bytes, names: Mapping[str, str]) -> list[Finding]:
    told = _decoded(errors) or _decoded(output)
    if isinstance(told, dict) and told.get("errors"):
        return [_finding(error, names) for error in told["errors"]]
    text = (errors or output).decode(errors="replace").strip()
    return [Finding("", 0, 0, _FAILED, text or "opa failed without a word")]


def _finding(error: dict[str, Any], names: Mapping[str, str]) -> Finding:
    where = error.get("location") or {}
    text = str(error.get("message", ""))
    for file, path in names.items():
        text = text.replace(file, path) if file in text else text
    path = names.get(str(where.get("file", "")).removeprefix("./"), "")
    return Finding(path, int(where.get("row", 0)), int(where.get("col", 0)), str(error.get("code", "")), text)


def _failed(result: dict[str, Any], names: Mapping[str, str]) -> Finding:
    name = f"{str(result.get('package', '')).removeprefix('data.')}.{result.get('name')}"
    error = result.get("error")
    if not isinstance(error, dict):
        return _finding({**result, "code": "test_failed", "message": f"the test {name} failed"}, names)
    return _finding({**result, "code": "test_failed", "message": f"the test {name} failed: {error['message']}"}, names)


def _decoded(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
