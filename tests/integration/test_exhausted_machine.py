"""A machine without space, memory or file descriptors: work waits until it has them again."""

import asyncio
import errno
import os
import resource
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bridge.model.keys import key_of
from bridge.opa.errors import OpaStartError
from bridge.opa.process import ManagedOpa
from bridge.policy_loader.compile_check import Checker, CheckError
from bridge.policy_loader.judgement import Judge
from bridge.policy_loader.submissions import Submission, finish, read_config_map
from bridge.sidecar.threads import start_threads
from bridge.sources.bounded_reading import read_manifests
from tests.builders import config_map
from tests.integration.loading import FEW, author
from tests.warm_opa import sync_bundle


@contextmanager
def without_descriptors() -> Iterator[None]:
    """Let this process open no further file, socket or pipe."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = {int(file.name) for file in Path("/proc/self/fd" if Path("/proc").exists() else "/dev/fd").iterdir()}
    resource.setrlimit(resource.RLIMIT_NOFILE, (next(n for n in range(hard) if n not in used), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def without_memory_for_threads() -> Iterator[None]:
    """Let this process start no further thread: there is no address space for a stack."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (2 << 20), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder for temporary files: it can have none until a test creates it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    return tmp_path / "missing"


async def test_check_without_space_is_an_error_that_passes(opa_path: Path, full: Path) -> None:
    checker = Checker(opa_path, {})
    with pytest.raises(CheckError, match="temporary folder"):
        await checker.check({"a.rego": "package a\n\nr := 1\n"}, {})
    full.mkdir()
    assert await checker.check({"a.rego": "package a\n\nr := 1\n"}, {}) == []


async def test_check_without_file_descriptors_is_an_error_that_passes(opa_path: Path) -> None:
    checker = Checker(opa_path, {})
    with without_descriptors(), pytest.raises(CheckError):
        await checker.check({"a.rego": "package a\n\nr := 1\n"}, {})
    assert await checker.check({"a.rego": "package a\n\nr := 1\n"}, {}) == []


@pytest.mark.parametrize("number", [errno.ENOMEM, errno.EAGAIN])
async def test_process_that_the_machine_cannot_start_is_an_error_that_passes(
    opa_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Neither too little memory for a process nor a bound on processes ends a check or the start of OPA for good."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    checker, opa = Checker(opa_path, {}), ManagedOpa(opa_path, {}, bundle=sync_bundle())
    with monkeypatch.context() as exhausted:
        exhausted.setattr(subprocess, "Popen", fail)  # asyncio starts processes by it
        with pytest.raises(CheckError, match=os.strerror(number)):
            await checker.check({"a.rego": "package a\n\nr := 1\n"}, {})
        with pytest.raises(OpaStartError, match=os.strerror(number)):
            await opa.start()
    assert await checker.check({"a.rego": "package a\n\nr := 1\n"}, {}) == []
    await opa.start()
    await opa.stop()


async def test_set_that_the_machine_had_no_memory_to_check_is_checked_again(opa_path: Path, tmp_path: Path) -> None:
    starved = tmp_path / "opa"
    starved.write_text(
        f'#!/bin/sh\ntest "$1" = check || exec {opa_path} "$@"\necho "fatal error: out of memory" >&2\nexit 2\n'
    )
    starved.chmod(0o755)
    judge = Judge(Checker(starved, {}), FEW)
    submissions = [Submission(author("a"), "1", {"a.rego": "package a\n"})]
    assert [fault.problem.code for fault in await judge.find_faults(submissions)] == ["memory"]
    starved.write_text(f'#!/bin/sh\nexec {opa_path} "$@"\n')
    assert not await judge.find_faults(submissions)


async def test_opa_that_cannot_start_without_space_starts_later(opa_path: Path, full: Path) -> None:
    opa = ManagedOpa(opa_path, {}, bundle=sync_bundle())
    with pytest.raises(OpaStartError, match="cannot be started"):
        await opa.start()
    full.mkdir()
    await opa.start()
    await opa.stop()


async def test_data_is_read_as_soon_as_the_machine_has_file_descriptors() -> None:
    data = config_map("numbers", {"list": "- " + "x" * 5_000})
    data["metadata"]["labels"] = {"openpolicyagent.org/data": "opa"}
    reading = read_config_map(key_of(data), data, ("*",))
    assert reading
    assert reading.unread
    finishing = asyncio.create_task(finish(reading))
    with without_descriptors():
        await asyncio.sleep(0.3)
        assert not finishing.done()
    finished = await asyncio.wait_for(finishing, 300)
    assert finished.submission.problems == ()
    assert finished.submission.data["test", "numbers"] == {"list": ["x" * 5_000]}
    assert not finished.unread


async def test_paste_fails_without_file_descriptors_and_not_the_process() -> None:
    with without_descriptors(), pytest.raises(OSError, match="Too many open files"):
        await read_manifests(b"kind: x", [])


async def test_no_thread_is_started_after_the_start_of_the_bridge() -> None:
    start_threads()
    try:
        with without_memory_for_threads():
            with pytest.raises(RuntimeError, match="can't start new thread"):
                threading.Thread(target=str).start()
            assert await asyncio.gather(*(asyncio.to_thread(int, text) for text in "123")) == [1, 2, 3]
            assert await asyncio.get_running_loop().getaddrinfo("localhost", 80)
            process = await asyncio.create_subprocess_exec("/bin/sh", "-c", "exit 7")
            assert await process.wait() == 7
    finally:
        if sys.version_info < (3, 12):
            asyncio.set_child_watcher(asyncio.ThreadedChildWatcher())
