"""A client of registries of OCI artifacts: each name is a tag, whose manifest has one layer.

Registries have no conditional writes: a tag is compared just before it is moved.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode, urljoin, urlsplit

import aiohttp
import msgspec
from yarl import URL

from bridge.destinations.place import TIMEOUT, Changed, StorageError, Stored
from bridge.destinations.registry_login import DockerLogin
from bridge.model.addresses import is_safe

LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"  # the only type in which OPA looks for a bundle
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_REVISION = "org.opencontainers.image.revision"
T = TypeVar("T")
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


class _Blob(msgspec.Struct, rename="camel"):
    media_type: str
    digest: str
    size: int


class _Manifest(msgspec.Struct, rename="camel"):
    config: _Blob
    layers: list[_Blob]
    annotations: dict[str, str] = {}
    media_type: str = _MANIFEST
    schema_version: int = 2


class _Answer(NamedTuple):
    """A response; `own` if it is from the asked server, and not from one to which that redirected."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    own: bool


class RegistryStorage:
    """A repository, with the credentials of docker."""

    def __init__(self, base_url: str, host: str, repository: str) -> None:
        self._url = f"{base_url}/v2/{repository}"
        self._scope = f"repository:{repository}:pull,push"
        self._login = DockerLogin(host)
        self._authorization = ""
        self._session: aiohttp.ClientSession | None = None

    async def find(self, name: str) -> Stored | None:
        """Return what is stored, without its content."""
        found = await self._get_manifest(name)
        return found and found[1]

    async def read(self, name: str) -> tuple[bytes, Stored] | None:
        """Return a content."""
        found = await self._get_manifest(name)
        if found is None:
            return None
        manifest, stored = found
        if not manifest.layers:
            raise StorageError(f"the tag {name} has no layer")
        digest = manifest.layers[0].digest
        content = (await self._send("GET", f"blobs/{digest}", 200)).body
        if _digest(content) != digest:  # a registry may redirect to storage of others
            raise StorageError(f"the content of the tag {name} has another digest than its manifest states")
        return content, stored

    async def write(self, name: str, content: bytes, revision: str, replaced: Stored | None) -> Stored:
        """Store a content in place of another one, if that is still there."""
        blobs = await self._push(_CONFIG, b"{}"), await self._push(LAYER, content)
        body = msgspec.json.encode(_Manifest(blobs[0], [blobs[1]], {_REVISION: revision}))
        if await self.find(name) != replaced:
            raise Changed("another client writes there")
        await self._send("PUT", f"manifests/{name}", 201, body=body, headers={"Content-Type": _MANIFEST})
        return Stored(_digest(body), revision)

    async def find_any(self) -> str:
        """Return a tag, "" for none."""
        answer = await self._send("GET", "tags/list?n=1", 200, 404)
        tags = _decode(answer.body, dict[str, Any]).get("tags") if answer.status == 200 else None
        return str(tags[0]) if tags else ""

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    async def _get_manifest(self, tag: str) -> tuple[_Manifest, Stored] | None:
        answer = await self._send("GET", f"manifests/{tag}", 200, 404, headers={"Accept": _MANIFEST})
        if answer.status == 404:
            return None
        manifest = _decode(answer.body, _Manifest)
        return manifest, Stored(_digest(answer.body), manifest.annotations.get(_REVISION, ""))

    async def _push(self, media_type: str, content: bytes) -> _Blob:
        """Store a blob, unless it is there already."""
        digest = _digest(content)
        if (await self._send("HEAD", f"blobs/{digest}", 200, 404)).status == 404:
            began = await self._send("POST", "blobs/uploads/", 202)
            place = urljoin(f"{self._url}/blobs/uploads/", began.headers.get("Location", ""))
            kind = {"Content-Type": "application/octet-stream"}
            end = f"{place}{'&' if urlsplit(place).query else '?'}digest={digest}"
            await self._send("PUT", end, 201, body=content, headers=kind)
        return _Blob(media_type, digest, len(content))

    async def _send(
        self, method: str, path: str, *wanted: int, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> _Answer:
        """Send a request to a path below the repository. Raises StorageError for a status that is not wanted."""
        url = path if "://" in path else f"{self._url}/{path}"
        answer = await self._request(method, url, body, headers or {})
        # 401 also for a token that expired, or a password that was replaced; some registries send 403 for that.
        # Storage of others may not name a server of tokens, which would get the password.
        refused = answer.status == 401 or (answer.status == 403 and self._authorization.startswith("Basic "))
        if refused and answer.own and self._is_registry(url):
            self._authorization = await self._log_in(answer.headers.get("WWW-Authenticate", ""))
            answer = await self._request(method, url, body, headers or {})
        if answer.status not in wanted:
            raise StorageError(f"{method} {url.partition('?')[0]}: HTTP {answer.status}")
        return answer

    def _is_registry(self, url: str) -> bool:
        return urlsplit(url)[:2] == urlsplit(self._url)[:2]

    async def _request(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], *, redirects: bool = True
    ) -> _Answer:
        # A registry may let storage of others take the upload: that gets no password.
        if self._authorization and self._is_registry(url):
            headers = {**headers, "Authorization": self._authorization}
        try:
            asked = URL(url, encoded=True)
            async with self._connected().request(
                method, asked, data=body or None, headers=headers, allow_redirects=redirects
            ) as response:
                own = response.url.origin() == asked.origin()
                return _Answer(response.status, await response.read(), response.headers, own)
        except TimeoutError as error:
            raise StorageError(f"{method} {url.partition('?')[0]}: no response within {TIMEOUT:g} s") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise StorageError(f"{method} {url.partition('?')[0]}: {error}") from error

    def _connected(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(TIMEOUT))
        return self._session

    async def _log_in(self, challenge: str) -> str:
        """Return the header for a registry, which may name a server of tokens.

        Formats: https://distribution.github.io/distribution/spec/auth/token/ and …/oauth/ for identity tokens.
        """
        login = await self._login.find()
        options = dict(_CHALLENGE.findall(challenge))
        realm = options.get("realm", "")
        if not challenge.startswith("Bearer "):
            return login.basic if login else ""
        if not is_safe(realm):
            raise StorageError(f"the registry's server of tokens is not https: {realm!r}")
        asked = {"service": options.get("service", ""), "scope": self._scope}
        self._authorization = ""
        if login and login.identity_token:
            grant = {"grant_type": "refresh_token", "refresh_token": login.identity_token, "client_id": "policy-bridge"}
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            answer = await self._request("POST", realm, urlencode(asked | grant).encode(), form, redirects=False)
        else:
            headers = {"Authorization": login.basic} if login else {}
            answer = await self._request("GET", str(URL(realm).update_query(asked)), b"", headers, redirects=False)
        if answer.status != 200:
            raise StorageError(f"{realm}: HTTP {answer.status}")
        found = _decode(answer.body, dict[str, Any])
        return f"Bearer {found.get('token') or found.get('access_token')}"


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _decode(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise StorageError(f"the registry's response is not as expected: {error}") from error
