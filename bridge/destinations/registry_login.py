"""Credentials for a registry as docker has them, by docker's own library: `credHelpers`, `credsStore` and `auths`.

oras-py was considered, for the whole client. Its version 0.2.43 sends an expired token again, keeps what a helper
returned once, sets no limit on the time of a request, and sends credentials to each server that the registry names.
"""

from __future__ import annotations

import asyncio
import base64
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

import msgspec

from bridge.destinations.place import TIMEOUT, StorageError
from bridge.files import read_file

_DOCKER_HUB = "registry-1.docker.io"  # the host of the registry that docker calls docker.io


class Login(NamedTuple):
    """A user with a password, or with an identity token that a server of tokens takes instead."""

    user: str
    password: str
    identity_token: str = ""

    @property
    def basic(self) -> str:
        """Return the header of HTTP's basic authentication."""
        return f"Basic {base64.b64encode(f'{self.user}:{self.password}'.encode()).decode()}"


class DockerLogin:
    """The credentials for one registry. They are read again each time, because those of helpers expire."""

    def __init__(self, host: str) -> None:
        self._host = "docker.io" if host == _DOCKER_HUB else host
        self._reading: Future[Login | StorageError | None] | None = None

    async def find(self) -> Login | None:
        """Return the credentials, or None without any. Raises StorageError."""
        if self._reading is None or self._reading.done():
            self._reading = Future()
            # The library has no limit on a helper's time: one thread waits, and does not keep the bridge from stopping.
            threading.Thread(target=self._read, args=(self._reading,), daemon=True).start()
        done, _ = await asyncio.wait({asyncio.wrap_future(self._reading)}, timeout=TIMEOUT)
        if not done:
            raise StorageError(f"docker's credential helper for {self._host} has not answered within {TIMEOUT:g} s")
        found = done.pop().result()
        if isinstance(found, StorageError):
            raise found
        return found

    def _read(self, result: Future[Login | StorageError | None]) -> None:
        try:
            result.set_result(_read_login(self._host))
        except StorageError as error:
            result.set_result(error)
        except Exception as error:  # noqa: BLE001 - the file and the helper may contain anything
            result.set_result(StorageError(f"the credentials of docker for {self._host} cannot be used: {error!r}"))


def _read_login(host: str) -> Login | None:
    try:
        import docker.auth
        import docker.errors
        from docker.utils.config import find_config_file
    except ImportError as error:
        raise StorageError("a registry needs a package: pip install 'policy-bridge[storage]'") from error
    file = find_config_file()
    if file is None:
        return None
    try:
        config = msgspec.json.decode(read_file(Path(file)), type=dict)
        found = docker.auth.load_config(config_dict=config).resolve_authconfig(host) if config else None
    except (OSError, ValueError, TypeError, AttributeError, docker.errors.DockerException) as error:
        raise StorageError(f"{file}: the credentials for {host} cannot be used: {error}") from error
    given = {name.lower(): value for name, value in (found or {}).items()}  # of a file or of a helper
    if token := given.get("identitytoken"):
        return Login("", "", token)
    return Login(given["username"], given["password"]) if given.get("username") else None
