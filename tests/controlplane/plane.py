"""A real control plane for tests: etcd and kube-apiserver on loopback, and nothing else.

There are no controllers: a deleted Namespace stays Terminating and nothing is garbage-collected, so each test uses
names of its own.
"""

import json
import os
import ssl
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from tests.controlplane.api import ApiError, ApiServer
from tests.controlplane.credentials import new_signing_key, write_kubeconfig
from tests.controlplane.process import ServerProcess
from tests.ports import free_ports

ADMIN_TOKEN = "token-of-the-admin"
LIMITED_TOKEN = "token-of-someone-without-rights"

_ENVIRONMENT = {**os.environ, "GOGC": "400"}  # less of two cores for collecting garbage, for some more memory

_PATIENCE = 300.0  # seconds until it must be ready; it takes about 3, or more beside a build
_ATTEMPTS = 3  # a free port may be taken by another process before it is used


class ControlPlane:
    """etcd and kube-apiserver, with their data in one folder.

    `url`, `kubeconfig` and `token` (of an admin) stay the same when either of them is stopped and started again.
    The user `limited`, whose token is LIMITED_TOKEN, may do nothing but what a test's RBAC allows.
    Each of `users` may do anything by the token `token-of-<user>`: the audit log distinguishes them.
    All methods block: a coroutine calls them by `asyncio.to_thread`.
    """

    def __init__(
        self, folder: Path, *, etcd: Path, kube_apiserver: Path, flags: Sequence[str] = (), users: Sequence[str] = ()
    ) -> None:
        self.token = ADMIN_TOKEN
        self.users = tuple(users)
        self.flags = tuple(flags)  # more for the API server, from its next start on
        self.kubeconfig = folder / "kubeconfig"
        self._folder = folder
        self._etcd_path = etcd
        self._api_path = kube_apiserver
        self._etcd: ServerProcess | None = None
        self._api: ServerProcess | None = None
        self._etcd_port = 0
        self._peer_port = 0
        self._api_port = 0
        self._prepare()

    @property
    def url(self) -> str:
        """The API server's address."""
        return f"https://127.0.0.1:{self._api_port}"

    @property
    def etcd_url(self) -> str:
        """The address of etcd, for tests that compact it."""
        return f"http://127.0.0.1:{self._etcd_port}"

    @property
    def certificate_authority(self) -> Path:
        """The CA file for the API server's certificate."""
        return self._folder / "certificates" / "apiserver.crt"

    @property
    def api(self) -> ApiServer:
        """Requests to the API server as the admin."""
        context = ssl.create_default_context(cafile=str(self.certificate_authority))
        return ApiServer(self.url, self.token, context)

    def start(self) -> None:
        """Start both on free ports, wait until they are ready, and write the kubeconfig."""
        for attempt in range(1, _ATTEMPTS + 1):
            self._etcd_port, self._peer_port, self._api_port = free_ports(3)
            try:
                self.start_etcd()
                self.start_api_server()
            except PortTakenError:
                self.stop()
                if attempt == _ATTEMPTS:
                    raise
            else:
                self.write_kubeconfig(self.kubeconfig, self.token)
                return

    def stop(self) -> None:
        """Kill both. The data stays for the next start."""
        self.stop_api_server()
        self.stop_etcd()

    def start_etcd(self) -> None:
        """Start etcd on its port, with its data."""
        peer = f"http://127.0.0.1:{self._peer_port}"
        self._etcd = ServerProcess(
            [
                str(self._etcd_path),
                "--name=test",
                f"--data-dir={self._folder / 'etcd'}",
                "--unsafe-no-fsync",
                f"--listen-client-urls={self.etcd_url}",
                f"--advertise-client-urls={self.etcd_url}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=test={peer}",
                "--log-level=error",
            ],
            self._folder / "etcd.log",
            _ENVIRONMENT,
        )

    def stop_etcd(self) -> None:
        """Kill etcd: the API server then answers writes with errors."""
        if self._etcd:
            self._etcd.kill()
            self._etcd = None

    def start_api_server(self) -> None:
        """Start the API server on its port and wait until it is ready."""
        signing_key = self._folder / "signing.pem"
        self._api = ServerProcess(
            [
                str(self._api_path),
                f"--etcd-servers={self.etcd_url}",
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                f"--secure-port={self._api_port}",
                f"--cert-dir={self._folder / 'certificates'}",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={signing_key}",
                f"--service-account-signing-key-file={signing_key}",
                f"--token-auth-file={self._folder / 'tokens.csv'}",
                "--authorization-mode=RBAC",
                "--disable-admission-plugins=ServiceAccount",
                "--endpoint-reconciler-type=none",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--enable-priority-and-fairness=false",
                "--profiling=false",
                *self.flags,
            ],
            self._folder / "kube-apiserver.log",
            _ENVIRONMENT,
        )
        self._wait_until_ready(self._api)

    def stop_api_server(self) -> None:
        """Kill the API server; etcd keeps running."""
        if self._api:
            self._api.kill()
            self._api = None

    def restart_api_server(self) -> None:
        """Kill the API server and start it again at the same address: its watches end, its watch cache is empty."""
        self.stop_api_server()
        self.start_api_server()

    def forget_history(self) -> None:
        """Make every resourceVersion so far too old to watch from: the API server answers 410 to them."""
        revision = int(self.api.get("/api/v1/namespaces?limit=1")["metadata"]["resourceVersion"])
        body = json.dumps({"revision": str(revision), "physical": True}).encode()
        with urllib.request.urlopen(f"{self.etcd_url}/v3/kv/compaction", data=body, timeout=180):  # noqa: S310 (loopback)
            pass
        self.restart_api_server()  # its watch cache remembers longer than etcd

    def replace_token(self, token: str) -> None:
        """Give the admin another token; the API server rejects the old one."""
        self.token = token
        self._write_tokens()
        self.restart_api_server()

    def write_kubeconfig(self, path: Path, token: str, url: str = "") -> Path:
        """A kubeconfig for a token (ADMIN_TOKEN, LIMITED_TOKEN, or a wrong one), by way of `url` where given."""
        authority = self.certificate_authority.read_bytes()
        return write_kubeconfig(path, url=url or self.url, token=token, certificate_authority=authority)

    def _prepare(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "signing.pem").write_text(new_signing_key())
        self._write_tokens()

    def _write_tokens(self) -> None:
        tokens = f'{self.token},admin,admin,"system:masters"\n{LIMITED_TOKEN},limited,limited\n'
        tokens += "".join(f'token-of-{user},{user},{user},"system:masters"\n' for user in self.users)
        (self._folder / "tokens.csv").write_text(tokens)

    def _wait_until_ready(self, process: ServerProcess) -> None:
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if not process.running or (self._etcd and not self._etcd.running):
                self._report_exit(process)
            try:
                self.api.get("/readyz")
            except (OSError, ApiError):
                time.sleep(0.05)
            else:
                return
        raise ControlPlaneError(f"not ready after {_PATIENCE:.0f} s:\n{process.last_lines()}")

    def _report_exit(self, process: ServerProcess) -> None:
        said = process.last_lines() + (self._etcd.last_lines() if self._etcd else "")
        if "address already in use" in said:
            raise PortTakenError(said)
        raise ControlPlaneError(f"the control plane ended:\n{said}")


class ControlPlaneError(Exception):
    """The control plane did not start; the message has the end of its log."""


class PortTakenError(ControlPlaneError):
    """Another process took the port first."""
