"""The bridge's own OPA: a child process on loopback or a Unix socket that always ends with the bridge."""

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
import structlog

from bridge import processes
from bridge.model.nesting import decode
from bridge.opa.bundle import BUNDLE_NAME
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaStartError, PortTaken

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from bridge.opa.bundle import Bundle

log = structlog.get_logger(__name__)

GOGC = "400"  # percent of the live heap that may be garbage, while there is memory
SHARE = 0.4  # of the container's memory: of 1.5 GiB the bridge needs up to 190 MiB, and `opa check` up to 640 MiB
SMALL = 256 << 20  # bytes of the heap of an OPA for few objects, which starts without collecting any garbage below that
_UNLIMITED = 1 << 50  # bytes; cgroup v1 has a huge number if there is no limit
_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def environment_of_opa(
    environ: Mapping[str, str] = os.environ,
    limits: tuple[Path, ...] = _CGROUP_LIMITS,
    *,
    machine: int | None = None,
    few: bool = False,
) -> dict[str, str]:
    """Return the environment of a managed OPA: the bridge's, with bounds for Go's garbage if the cgroup has a limit.

    `machine` (bytes) is the limit if the cgroup has none. An OPA with `few` objects collects garbage only at SMALL.
    GOGC and GOMEMLIMIT stay unchanged if the bridge has one of them. Without any limit Go's defaults apply.
    """
    inherited = dict(environ)
    limit = memory_limit(limits) or machine
    if limit is None or "GOGC" in inherited or "GOMEMLIMIT" in inherited:
        return inherited
    share = int(limit * SHARE)
    if few:
        return {**inherited, "GOGC": "off", "GOMEMLIMIT": str(min(share, SMALL))}
    return {**inherited, "GOGC": GOGC, "GOMEMLIMIT": str(share)}


def memory_limit(limits: tuple[Path, ...] = _CGROUP_LIMITS) -> int | None:
    """Return the memory limit of this process's cgroup in bytes; None if there is none, or it cannot be read."""
    for path in limits:
        try:
            text = path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
        if text.isdecimal() and 0 < int(text) < _UNLIMITED:
            return int(text)
    return None


# The shell starts OPA and reads its own standard input, a pipe from the bridge. Its end of file means that the bridge
# has ended (SIGKILL leaves no other sign), and OPA is stopped, gracefully first. The shell returns OPA's exit status.
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

_ATTEMPTS = 5  # attempts if another process takes the free port first
_LABEL = "managed-by-policy-bridge"


@dataclass(frozen=True, slots=True)
class TokenGuard:
    """The settings of an OPA that requires tokens: the `policy` (Rego), the bridge's `token`, and further addresses."""

    policy: str
    token: Callable[[], str]
    listen: tuple[str, ...] = ()


class ManagedOpa:
    """An OPA process that this process owns.

    `executable` is the `opa` binary, `config` OPA's configuration (`bridge.opa.bundle.opa_config`, or `{}`). `port` is
    a loopback port; None picks a free one. With `socket`, the path of a Unix socket, there is no port. `bundle` is
    loaded at the start, for one-shot use without a bridge that serves it; `few` means that it gets few objects. With
    `guard` it requires tokens, which its `config` must fetch. `start_timeout` is in seconds. From the `log_level` info
    on, the log has what `print` writes. A restart after `exited` is the caller's decision; it keeps the port. `starts`
    counts. As a context manager it is started and stopped.
    """

    def __init__(  # noqa: PLR0913 - independent options of one process
        self,
        executable: str | Path,
        config: Mapping[str, Any],
        *,
        port: int | None = None,
        socket: str = "",
        bundle: Bundle | None = None,
        few: bool = False,
        guard: TokenGuard | None = None,
        start_timeout: float = 30.0,
        log_level: str = "error",
    ) -> None:
        self._executable = str(executable)
        self._config = config
        self._fixed_port = port
        self._socket = socket
        self._bundle = bundle
        self._few = few
        self._guard = guard
        self._start_timeout = start_timeout
        self._log_level = log_level
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._last_lines: deque[str] = deque(maxlen=50)
        self.url = ""
        self.starts = 0

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> str:
        """Start OPA and return its URL once it responds.

        Raises PortTaken if the given port is in use, and OpaStartError, with OPA's last output, if it does not start.
        """
        if self._process is not None and self._process.returncode is None:
            raise OpaStartError("this OPA is already running")
        if self._socket:
            await self._start_at(f"unix://{self._socket}")
            self.starts += 1
            return self.url
        for attempt in range(_ATTEMPTS):
            port = free_port() if self._fixed_port is None else self._fixed_port
            if self._fixed_port is not None and not _is_free(port):
                raise PortTaken(port)
            try:
                await self._start_at(f"http://127.0.0.1:{port}")
            except PortTaken:
                if self._fixed_port is not None or attempt == _ATTEMPTS - 1:
                    raise
            else:
                self._fixed_port = port
                self.starts += 1
                break
        return self.url

    async def stop(self, grace: float = 8.0) -> None:
        """Stop OPA: gracefully, then, after 5 s, by force. `grace` is the maximum duration in seconds."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()  # the same end of file as at the bridge's death
        try:
            await asyncio.wait_for(asyncio.shield(self.exited()), grace)
        except TimeoutError:
            await processes.end(process)
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        self._process = None

    async def exited(self) -> int:
        """Wait until OPA has ended, for any reason, and return its exit status."""
        if self._process is None:
            raise OpaStartError("this OPA was not started")
        status = await self._process.wait()
        if self._reader is not None:
            # OPA's last output is often the reason; no other process holds the pipe for long.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._reader), 1.0)
        return status

    @property
    def pid(self) -> int | None:
        """Return the id of the process of OPA (a shell whose only child is OPA), None if there is none."""
        return self._process.pid if self._process is not None else None

    @property
    def last_lines(self) -> list[str]:
        """Return OPA's last lines, messages only, oldest first."""
        return list(self._last_lines)

    async def _start_at(self, url: str) -> None:
        try:
            await self._start_in_folder(url)
        except OSError as error:  # no space, no memory, no file descriptor
            raise OpaStartError(f"{self._executable} cannot be started: {error.strerror or error}") from error

    async def _start_in_folder(self, url: str) -> None:
        self._refuse_a_socket_in_use()
        folder = Path(tempfile.mkdtemp(prefix="policy-bridge-opa-"))
        try:
            mark = uuid.uuid4().hex
            command = self._make_command(folder, url, mark)
            whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
            self._last_lines.clear()
            try:
                # A separate session: Ctrl-C reaches only the bridge, which still needs OPA while it stops.
                process = await asyncio.create_subprocess_exec(
                    *("/bin/sh", "-c", _WRAPPER, "sh", *command),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.STDOUT,  # OPA prints errors of a broken bundle on its standard output
                    start_new_session=True,
                    # An OPA for a single command may use more of the machine than a permanent one.
                    env=environment_of_opa(machine=whole if self._bundle else None, few=self._few),
                )
            except OSError as error:
                raise OpaStartError(f"{self._executable} cannot be started: {error}") from error
            self._process = process
            if process.stdout is not None:
                self._reader = asyncio.create_task(self._keep_last_lines(process.stdout))
            self.url = url
            try:
                await self._wait_until_ready(mark)
            except BaseException:
                await self.stop()
                raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # OPA reads its files once, at the start

    def _make_command(self, folder: Path, url: str, mark: str) -> list[str]:
        labels = {**self._config.get("labels", {}), _LABEL: mark}
        config_file = folder / "config.json"
        with os.fdopen(os.open(config_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(msgspec.json.encode({**self._config, "labels": labels}))  # it may contain a token
        command = [self._executable, "run", "--server", "--unix-socket-perm", "600"]
        command += ["--addr", url.removeprefix("http://")]
        command += ["--config-file", str(config_file)]
        command += ["--log-level", self._log_level, "--log-format", "json", "--skip-version-check"]
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

    async def _wait_until_ready(self, mark: str) -> None:
        exited = asyncio.create_task(self.exited())
        answers = asyncio.create_task(self._wait_for_answers(mark))
        try:
            # Both at once: another server on the port may never respond, while OPA has ended already.
            await asyncio.wait({exited, answers}, timeout=self._start_timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            exited.cancel()
            answers.cancel()
            await asyncio.gather(exited, answers, return_exceptions=True)
        if not answers.cancelled():
            answers.result()
        elif exited.cancelled():
            raise OpaStartError(
                f"OPA did not respond within {self._start_timeout:g} s after its start{self._describe_output()}"
            )
        elif not self._socket and any("address already in use" in line for line in self._last_lines):
            raise PortTaken(int(self.url.rpartition(":")[2]))
        else:
            raise OpaStartError(f"OPA exited during startup with status {exited.result()}{self._describe_output()}")

    async def _wait_for_answers(self, mark: str) -> None:
        token = self._guard.token if self._guard else None
        async with Opa(self.url, token=token, timeout=5.0, brief=not self._socket) as opa:
            while True:
                # The label proves that this OPA responds, not another one on the same port.
                with contextlib.suppress(OpaError):
                    if (await opa.config()).get("labels", {}).get(_LABEL) == mark and await opa.is_ready():
                        return
                await asyncio.sleep(0.02)

    def _refuse_a_socket_in_use(self) -> None:
        """Raise if a socket is in use: OPA removes an existing socket, even another process's."""
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(self._socket or "/")
            except OSError:
                return
        raise OpaStartError(f"{self._socket} is in use: stop its process, or choose another socket for OPA")

    def _describe_output(self) -> str:
        # OPA's last line is the reason of its end, except for a broken bundle, whose errors are in several lines.
        return ": " + "; ".join(list(self._last_lines)[-10:]) if self._last_lines else ""

    async def _keep_last_lines(self, stream: asyncio.StreamReader) -> None:
        async for line in _read_lines(stream):
            if line and not _log_request(line):
                self._last_lines.append(_read_message(line))


async def _read_lines(stream: asyncio.StreamReader) -> AsyncIterator[str]:
    rest = b""
    while chunk := await stream.read(1 << 16):  # not readline: it fails for a line longer than its buffer
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace").strip()
    yield rest.decode(errors="replace").strip()


def _read_entry(line: str) -> dict[str, Any]:
    """Return a line of OPA's log; empty if it is not one."""
    try:
        entry: Any = decode(line)
    except msgspec.DecodeError:
        return {}
    return entry if isinstance(entry, dict) and "msg" in entry else {}


def _log_request(line: str) -> bool:
    """Log what `print` wrote, and decisions that OPA logs to its console; return whether a line is about a request."""
    entry = _read_entry(line)
    if entry.get("type") == _DECISION_LOG:
        log.info("OPA decision", **{name: entry[name] for name in _SHOWN if name in entry})
    elif "line" in entry and entry.get("level") == "info":
        log.info("print", at=str(entry["line"]).removeprefix(f"{BUNDLE_NAME}/"), text=str(entry["msg"]))
    return "req_id" in entry or entry.get("type") == _DECISION_LOG


_DECISION_LOG = "openpolicyagent.org/decision_logs"  # the type of decisions on OPA's console
_SHOWN = ("decision_id", "path", "query", "input", "result", "error", "erased", "masked")


def _read_message(line: str) -> str:
    entry = _read_entry(line)
    if not entry:
        return line
    reason = entry.get("err") or entry.get("error")
    return f"{entry['msg']}: {reason}" if reason else str(entry["msg"])


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free at present."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # like OPA: a port in TIME_WAIT counts as free
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
