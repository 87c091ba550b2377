"""Real servers of destinations: storage by the APIs of S3, Google and Azure, and a registry of OCI artifacts."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import email.utils
import hashlib
import hmac
import json
import os
import resource
import signal
import socket
import subprocess
import urllib.request
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from multidict import CIMultiDict
from yarl import URL

from hack.tools import find
from tests.eventually import eventually_blocking
from tests.freezing import freeze
from tests.ports import free_address

USER, PASSWORD = "fleet", "a-secret-of-tests"
_BCRYPT = "$2y$05$abcdefghijklmnopqrstuub9.KCp31jSxywop8HJDIBYRcNWKNoL."  # of PASSWORD
BUCKET = "fleet"
ACCOUNT = "s01"  # of Azure
_AZURE_VERSION = "2021-08-06"
_ROOM = 2_000  # bytes of a file of a full server


@dataclass
class StorageServer:
    """A server that keeps its data and its address when it is stopped and started. `kind` is a URL's scheme."""

    kind: str
    folder: Path
    address: str = field(default_factory=free_address)
    auth: str | None = ""  # of a registry, instead of one user; None without any
    process: subprocess.Popen[bytes] | None = None

    def url(self, name: str) -> str:
        """A destination, empty at first."""
        if self.kind == "s3":
            return f"s3://{BUCKET}/{name}?endpoint=http://{self.address}"
        if self.kind == "gs":
            return f"gs://{BUCKET}/{name}?endpoint=http://{self.address}"
        if self.kind == "az":
            return f"az://{BUCKET}/{name}?account={ACCOUNT}&endpoint=http://{self.address}/{ACCOUNT}"
        return f"oci://{self.address}/{name}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a client with the right secret."""
        return self.environment_with(PASSWORD)

    def environment_with(self, password: str) -> dict[str, str]:
        """The variables of a client with this secret."""
        if self.kind == "s3":
            return {"AWS_ACCESS_KEY_ID": USER, "AWS_SECRET_ACCESS_KEY": password, "AWS_REGION": "us-east-1"}
        if self.kind == "gs":
            key = {"client_email": "", "private_key": "", "private_key_id": "", "disable_oauth": True}
            return {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(key)}
        if self.kind == "az":
            return {"AZURE_STORAGE_ACCOUNT_KEY": azure_key(password)}
        logins = {"auths": {self.address: {"auth": self.basic(password)}}}
        (self.folder / "config.json").write_text(json.dumps(logins))
        return {"DOCKER_CONFIG": str(self.folder)}

    def allow(self, other: StorageServer) -> None:
        """Let the variables of this server's clients be those of another one's, too."""
        file = self.folder / "config.json"
        if self.kind == "oci":
            logins = json.loads(file.read_text())["auths"] | {other.address: {"auth": self.basic()}}
            file.write_text(json.dumps({"auths": logins}))

    @staticmethod
    def basic(password: str = PASSWORD) -> str:
        """The token of HTTP's basic authentication."""
        return base64.b64encode(f"{USER}:{password}".encode()).decode()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        data = self.folder / "data"
        (data / BUCKET).mkdir(parents=True, exist_ok=True)
        if self.kind == "s3":
            tool = find("versitygw")
            marks = self.folder / "marks"
            marks.mkdir(exist_ok=True)
            words = ["--port", self.address, "--quiet", "posix", "--sidecar", str(marks), str(data)]
            more = {"ROOT_ACCESS_KEY": USER, "ROOT_SECRET_KEY": PASSWORD}
        elif self.kind == "gs":
            tool = find("fake-gcs-server")
            words, more = [self.address, str(data)], {}
        elif self.kind == "az":
            tool = find("azurite-blob")
            host, _, port = self.address.rpartition(":")
            words = ["--blobHost", host, "--blobPort", port, "--location", str(data), "--silent", "--disableTelemetry"]
            words += ["--skipApiVersionCheck"]
            more = {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{azure_key(PASSWORD)}", "PATH": os.environ["PATH"]}
        else:
            tool = find("registry")
            users, config = self.folder / "htpasswd", self.folder / "registry.yml"
            users.write_text(f"{USER}:{_BCRYPT}\n")
            auth = self.auth or f"{{htpasswd: {{realm: tests, path: {users}}}}}"
            config.write_text(
                f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {data}}}}}\n"
                f"http: {{addr: '{self.address}'}}\n" + f"auth: {auth}\n" * (self.auth is not None)
            )
            words, more = ["serve", str(config)], {"OTEL_TRACES_EXPORTER": "none"}
        assert tool is not None
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([tool.path, *words], env=more, stdout=log, stderr=log)
        eventually_blocking(lambda: is_listening(self.address), about=(self.folder / "log").read_text)
        if self.kind == "az" and not (self.folder / "container").exists():
            create_container(self.address)
            (self.folder / "container").touch()

    @contextlib.contextmanager
    def in_trouble(self, trouble: str) -> Iterator[None]:
        """Let it be away, hanging or full meanwhile."""
        assert self.process is not None
        if trouble == "away":
            self.stop()
            yield
            self.start()
        elif trouble == "hanging":
            freeze(self.process.pid)
            yield
            self.process.send_signal(signal.SIGCONT)
        else:
            prlimit = getattr(resource, "prlimit", None)  # of Linux
            if prlimit is None:
                pytest.skip("only Linux limits the files of another process")
            prlimit(self.process.pid, resource.RLIMIT_FSIZE, (_ROOM, resource.RLIM_INFINITY))
            yield
            prlimit(self.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    @contextlib.contextmanager
    def running(self) -> Iterator[StorageServer]:
        """Start it, and kill it at the end."""
        self.start()
        try:
            yield self
        finally:
            self.stop()

    def stop(self) -> None:
        """Kill it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@dataclass
class Front:
    """A proxy before a server: slow, or with reads that return an earlier state, as eventually consistent storage."""

    server: StorageServer
    delay: float = 0.0
    is_stale: bool = False
    stale_reads: int = 0
    earlier: dict[tuple[str, str], tuple[int, CIMultiDict[str], bytes]] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)  # paths

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[StorageServer]:
        """Return the same server at the address of the proxy."""
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{path:.*}", self._handle)
        async with (
            aiohttp.ClientSession(auto_decompress=False) as self._session,
            TestServer(app, host="127.0.0.1", skip_url_asserts=True) as proxy,
        ):
            front = StorageServer(self.server.kind, self.server.folder, f"127.0.0.1:{proxy.port}")
            self.server.allow(front)
            yield front

    async def _handle(self, request: web.Request) -> web.Response:
        key = request.method, request.raw_path
        is_read = request.method in {"GET", "HEAD"}
        if not is_read:
            self.writes.append(request.path)
        await asyncio.sleep(self.delay)
        if not (self.is_stale and key in self.earlier):
            url = URL(f"http://{self.server.address}{request.raw_path}", encoded=True)
            body = await request.read()
            async with self._session.request(
                request.method, url, headers=request.headers, data=body, allow_redirects=False
            ) as found:
                headers = CIMultiDict(found.headers)
                headers.pop("Transfer-Encoding", None)
                answer = found.status, headers, await found.read()
            if not is_read:
                return _answer(request, *answer)
            # What is stored when it gets stale is what was read before that.
            self.earlier[key] = answer
        self.stale_reads += self.is_stale
        return _answer(request, *self.earlier[key])


def _answer(request: web.Request, status: int, headers: CIMultiDict[str], body: bytes) -> web.Response:
    return web.Response(status=status, headers=headers, body=None if request.method == "HEAD" else body)


def azure_key(password: str) -> str:
    """Return a key of an account of Azure."""
    return base64.b64encode(hashlib.sha512(password.encode()).digest()).decode()


def create_container(address: str) -> None:
    """Create the container BUCKET, by a request with the account's key."""
    headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": _AZURE_VERSION}
    signed = "\n".join(["PUT", *[""] * 11, *(f"{name}:{value}" for name, value in headers.items())])
    signed += f"\n/{ACCOUNT}/{ACCOUNT}/{BUCKET}\nrestype:container"
    digest = hmac.digest(base64.b64decode(azure_key(PASSWORD)), signed.encode(), "sha256")
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    url = f"http://{address}/{ACCOUNT}/{BUCKET}?restype=container"
    urllib.request.urlopen(urllib.request.Request(url, method="PUT", headers=headers)).close()


def is_listening(address: str) -> bool:
    """Return whether a server accepts connections."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=1):
        return True
