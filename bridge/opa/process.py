"""The bridge's own OPA: a child process on loopback or a Unix socket that ends with the bridge, however that ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import tempfile
import uuid
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from bridge.model.nesting import decode
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaStartError, PortTaken

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from bridge.opa.bundle import Bundle

GOGC = "400"  # percent of the live heap that may be garbage, as long as there is memory
SHARE = 0.4  # of the container's memory: of 1 GiB the bridge needs up to 190 MiB, and `opa check` up to 384 MiB
_UNLIMITED = 1 << 50  # bytes; cgroup v1 writes a huge number where there is no limit
_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def environment_of_opa(
    environ: Mapping[str, str] = os.environ,
    limits: tuple[Path, ...] = _CGROUP_LIMITS,
    *,
    machine: int | None = None,
) -> dict[str, str]:
    """The environment of a managed OPA: that of the bridge, with bounds for Go's garbage where the cgroup has a limit.

    `machine` (bytes) counts as the limit where the cgroup has none. GOGC and GOMEMLIMIT stay as they are if the bridge
    has one of them. Without any limit Go's defaults count.
    """
    inherited = dict(environ)
    limit = memory_limit(limits) or machine
    if limit is None or "GOGC" in inherited or "GOMEMLIMIT" in inherited:
        return inherited
    return {**inherited, "GOGC": GOGC, "GOMEMLIMIT": str(int(limit * SHARE))}


def memory_limit(limits: tuple[Path, ...] = _CGROUP_LIMITS) -> int | None:
    """The memory limit of this process's cgroup in bytes; None where there is none, or it cannot be read."""
    for path in limits:
        try:
            text = path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
        if text.isdecimal() and 0 < int(text) < _UNLIMITED:
            return int(text)
    return None


def memory_of_machine() -> int:
    """The memory of this machine in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


# The shell starts OPA and reads its own standard input, a pipe that only the bridge can write to. Its end of file
# means that the bridge is gone (SIGKILL leaves no other sign), and OPA is stopped, gently first. The shell passes on
# OPA's exit status.
_WRAPPER = """
exec 3<&0
"$@" 3<&- </dev/null &
opa=$!
{ read -r _ <&3; kill "$opa"; sleep 5; kill -9 "$opa"; } >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait "$opa"
status=$?
kill "$watcher" 2>/dev/null
exit "$status"
"""

_ATTEMPTS = 5  # free ports tried, when the one that was free a moment ago is taken
_LABEL = "managed-by-policy-bridge"


@dataclass(frozen=True, slots=True)
class TokenGuard:
    """What makes an OPA answer to tokens alone: the `policy` (Rego), our own `token`, and where else it listens."""

    policy: str
    token: Callable[[], str]
    listen: tuple[str, ...] = ()


class ManagedOpa:
    """An OPA process that this process owns.

    `executable` is the `opa` binary, `config` OPA's configuration (`bridge.opa.config.opa_config`, or `{}`). `port`
    is a loopback port; None picks a free one. With `socket`, the path of a Unix socket, there is no port. `bundle` is
    loaded at the start, for one-shot use without a bridge that serves it. With `guard` it answers to tokens alone,
    which its `config` has to get for it. `start_timeout` is in seconds. Starting again after `exited` is the caller's
    decision. As a context manager it is started and stopped.
    """

    def __init__(
        self,
        executable: str | Path,
        config: Mapping[str, Any],
        *,
        port: int | None = None,
        socket: str = "",
        bundle: Bundle | None = None,
        guard: TokenGuard | None = None,
        start_timeout: float = 30.0,
    ) -> None:
        self._executable = str(executable)
        self._config = config
        self._fixed_port = port
        self._socket = socket
        self._bundle = bundle
        self._guard = guard
        self._start_timeout = start_timeout
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._last_words: deque[str] = deque(maxlen=50)
        self.url = ""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> str:
        """Start OPA and give its URL once it answers.

        Raises PortTaken when the given port is somebody else's, and OpaStartError, with OPA's last words, when it does
        not come up.
        """
        if self._process is not None and self._process.returncode is None:
            raise OpaStartError("this OPA runs already")
        if self._socket:
            await self._start_at(f"unix://{self._socket}")
            return self.url
        for attempt in range(_ATTEMPTS):
            port = _free_port() if self._fixed_port is None else self._fixed_port
            if self._fixed_port is not None and not _is_free(port):
                raise PortTaken(port)
            try:
                await self._start_at(f"http://127.0.0.1:{port}")
            except PortTaken:
                if self._fixed_port is not None or attempt == _ATTEMPTS - 1:
                    raise
            else:
                break
        return self.url

    async def stop(self, grace: float = 8.0) -> None:
        """Stop OPA: gently, then, after 5 s, by force. `grace` is the longest that this takes, in seconds."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()  # the same end of file that the bridge's death would give
        try:
            await asyncio.wait_for(asyncio.shield(self.exited()), grace)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        self._process = None

    async def exited(self) -> int:
        """Wait until OPA has ended, for whatever reason, and give its exit status."""
        if self._process is None:
            raise OpaStartError("this OPA was not started")
        status = await self._process.wait()
        if self._reader is not None:
            # What OPA said last is often the reason; nothing else holds the pipe for long.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._reader), 1.0)
        return status

    @property
    def pid(self) -> int | None:
        """The id of the process that holds OPA (a shell whose only child is OPA), None when there is none."""
        return self._process.pid if self._process is not None else None

    @property
    def last_words(self) -> list[str]:
        """The last lines that OPA wrote, messages only, oldest first."""
        return list(self._last_words)

    async def _start_at(self, url: str) -> None:
        self._refuse_a_socket_in_use()
        folder = Path(tempfile.mkdtemp(prefix="policy-bridge-opa-"))
        try:
            mark = uuid.uuid4().hex
            command = self._command(folder, url, mark)
            self._last_words.clear()
            try:
                # A session of its own: Ctrl-C reaches the bridge, which still needs OPA while it stops.
                process = await asyncio.create_subprocess_exec(
                    *("/bin/sh", "-c", _WRAPPER, "sh", *command),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.STDOUT,  # OPA tells of a broken bundle on its standard output
                    start_new_session=True,
                    # One that answers a single command and ends may use more of the machine than one that stays.
                    env=environment_of_opa(machine=memory_of_machine() if self._bundle else None),
                )
            except OSError as error:
                raise OpaStartError(f"{self._executable} cannot be started: {error}") from error
            self._process = process
            if process.stdout is not None:
                self._reader = asyncio.create_task(self._keep_last_words(process.stdout))
            self.url = url
            try:
                await self._until_ready(mark)
            except BaseException:
                await self.stop()
                raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # OPA reads its files once, at the start

    def _command(self, folder: Path, url: str, mark: str) -> list[str]:
        labels = {**self._config.get("labels", {}), _LABEL: mark}
        config_file = folder / "config.json"
        with os.fdopen(os.open(config_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(msgspec.json.encode({**self._config, "labels": labels}))  # it may hold a token
        command = [self._executable, "run", "--server", "--unix-socket-perm", "600"]
        command += ["--addr", url.removeprefix("http://")]
        command += ["--config-file", str(config_file)]
        command += ["--log-level", "error", "--log-format", "json", "--skip-version-check"]
        command += ["--shutdown-grace-period", "2"]
        if self._bundle is not None:
            bundle_file = folder / "bundle.tar.gz"
            bundle_file.write_bytes(self._bundle.content)
            command += ["--bundle", str(bundle_file)]
        if self._guard is not None:
            policy = folder / "authz.rego"
            policy.write_text(self._guard.policy)
            command += ["--authentication", "token", "--authorization", "basic", str(policy)]
            command += [f"--addr={address}" for address in self._guard.listen]
        return command

    async def _until_ready(self, mark: str) -> None:
        exited = asyncio.create_task(self.exited())
        answers = asyncio.create_task(self._until_answers(mark))
        try:
            # Both at once: somebody else's server on our port may never answer, while OPA has given up already.
            await asyncio.wait({exited, answers}, timeout=self._start_timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            exited.cancel()
            answers.cancel()
            await asyncio.gather(exited, answers, return_exceptions=True)
        if not answers.cancelled():
            answers.result()
        elif exited.cancelled():
            raise OpaStartError(f"OPA did not answer within {self._start_timeout:g} s of its start{self._said()}")
        elif not self._socket and any("address already in use" in line for line in self._last_words):
            raise PortTaken(int(self.url.rpartition(":")[2]))
        else:
            raise OpaStartError(f"OPA ended at its start with exit status {exited.result()}{self._said()}")

    async def _until_answers(self, mark: str) -> None:
        async with Opa(self.url, token=self._guard.token if self._guard else None, timeout=5.0) as opa:
            while True:
                # The label proves that it is our OPA that answers, not another one that already had the port.
                with contextlib.suppress(OpaError):
                    if (await opa.config()).get("labels", {}).get(_LABEL) == mark and await opa.ready():
                        return
                await asyncio.sleep(0.02)

    def _refuse_a_socket_in_use(self) -> None:
        """OPA removes a socket that it finds, also another's."""
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(self._socket or "/")
            except OSError:
                return
        raise OpaStartError(f"{self._socket} is in use: stop what listens there, or name another socket for OPA")

    def _said(self) -> str:
        # OPA's last line tells why it ends, except for a broken bundle, whose errors stand in several lines.
        return ": " + "; ".join(list(self._last_words)[-10:]) if self._last_words else ""

    async def _keep_last_words(self, stream: asyncio.StreamReader) -> None:
        async for line in _lines(stream):
            if line:
                self._last_words.append(_message(line))


async def _lines(stream: asyncio.StreamReader) -> AsyncIterator[str]:
    rest = b""
    while chunk := await stream.read(1 << 16):  # not readline: it fails on a line that is longer than its buffer
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace").strip()
    yield rest.decode(errors="replace").strip()


def _message(line: str) -> str:
    try:
        entry: Any = decode(line)
    except msgspec.DecodeError:
        return line
    if not isinstance(entry, dict) or "msg" not in entry:
        return line
    reason = entry.get("err") or entry.get("error")
    return f"{entry['msg']}: {reason}" if reason else str(entry["msg"])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as OPA does: a port in TIME_WAIT counts as free
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
