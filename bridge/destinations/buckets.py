"""Object storage as destinations: buckets of S3 and of Google, containers of Azure."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import SplitResult

from bridge.destinations.place import TIMEOUT, Changed, StorageError, Stored
from bridge.model.addresses import is_safe
from bridge.opa.bundle import Source

_REVISION = "revision"  # the name of an object's metadata
_LONGEST_REASON = 300
_REQUEST = re.compile(r"Error performing (\w+ [^\s?]+)\S* in \S+ - (?:Server returned non-2xx status code: )?(.*)")
_BUCKET = re.compile(r"[a-z0-9][-.a-z0-9]{1,61}[a-z0-9]")
_GOOGLE_BUCKET = re.compile(r"[a-z0-9][-._a-z0-9]{1,220}[a-z0-9]")
_CONTAINER = re.compile(r"(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*")
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
_PREFIX = re.compile(r"[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?(/[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)*")
_AZURE_FILES = ".dfs.core.windows.net"  # of an account in URLs abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX
_AZURE_VERSION = "2023-11-03"  # of the API, without which Azure refuses OPA's tokens


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder `prefix` of the bucket or container `name`. `endpoint` is the server's URL, empty for the usual one."""

    url: str
    name: str
    prefix: str
    endpoint: str

    def check_view(self, view: str) -> None:
        """Accept each view."""

    def name_of(self, view: str) -> str:
        """Return the name of the object of a view."""
        return f"{view}.tar.gz"

    def _source(self, base_url: str, view: str, **service: Any) -> Source:
        return Source({"url": base_url, **service}, f"{self.prefix}/{self.name_of(view)}")


@dataclass(frozen=True, slots=True)
class S3Bucket(_Folder):
    """A folder in S3-compatible storage. Credentials are those of AWS's variables, or of the machine or Pod."""

    region: str

    @classmethod
    def from_url(cls, url: str, parts: SplitResult, options: Mapping[str, str]) -> S3Bucket | None:
        """Return the folder of `s3://BUCKET/PREFIX?region=REGION&endpoint=URL`."""
        prefix = parts.path.strip("/")
        if "@" in parts.netloc or not options.keys() <= {"endpoint", "region"} or not _PREFIX.fullmatch(prefix):
            return None
        endpoint = _endpoint(options)
        if not _BUCKET.fullmatch(parts.netloc):
            raise ValueError(
                "the name of a bucket has 3 to 63 lowercase letters, digits, - and ., "
                "and begins and ends with a letter or digit"
            )
        return cls(url, parts.netloc, prefix, endpoint, options.get("region", "us-east-1"))

    @property
    def base_url(self) -> str:
        """Return where the bucket's objects are."""
        if self.endpoint:
            return f"{self.endpoint}/{self.name}"
        return f"https://{self.name}.s3.{self.region}.amazonaws.com"

    def source_of(self, view: str) -> Source:
        """Return where an OPA gets a view. It reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION."""
        return self._source(self.base_url, view, credentials={"s3_signing": {"environment_credentials": {}}})

    def open(self) -> BucketStorage:
        """Return its storage."""
        more = {"endpoint": self.endpoint} if self.endpoint else {}
        return BucketStorage(self, "S3Store", "e_tag", region=self.region, **more)


@dataclass(frozen=True, slots=True)
class GoogleBucket(_Folder):
    """A folder in Google Cloud Storage. Credentials are those of Google's variables, or of the machine or Pod."""

    @classmethod
    def from_url(cls, url: str, parts: SplitResult, options: Mapping[str, str]) -> GoogleBucket | None:
        """Return the folder of `gs://BUCKET/PREFIX?endpoint=URL`."""
        prefix = parts.path.strip("/")
        if "@" in parts.netloc or not options.keys() <= {"endpoint"} or not _PREFIX.fullmatch(prefix):
            return None
        if not _GOOGLE_BUCKET.fullmatch(parts.netloc):
            raise ValueError(
                "the name of a bucket has 3 to 222 lowercase letters, digits, -, _ and ., "
                "and begins and ends with a letter or digit"
            )
        return cls(url, parts.netloc, prefix, _endpoint(options))

    @property
    def base_url(self) -> str:
        """Return where the bucket's objects are."""
        return f"{self.endpoint or 'https://storage.googleapis.com'}/{self.name}"

    def source_of(self, view: str) -> Source:
        """Return where an OPA gets a view, with a token of its machine's or Pod's account."""
        scopes = ["https://www.googleapis.com/auth/devstorage.read_only"]
        return self._source(self.base_url, view, credentials={"gcp_metadata": {"scopes": scopes}})

    def open(self) -> BucketStorage:
        """Return its storage."""
        more = {"base_url": self.endpoint} if self.endpoint else {}
        return BucketStorage(self, "GCSStore", "version", **more)


@dataclass(frozen=True, slots=True)
class AzureContainer(_Folder):
    """A folder in Azure's blob storage. Credentials are those of Azure's variables, or of the machine or Pod."""

    account: str

    @classmethod
    def from_url(cls, url: str, parts: SplitResult, options: Mapping[str, str]) -> AzureContainer | None:
        """Return the folder of `az://CONTAINER/PREFIX?account=ACCOUNT&endpoint=URL`, or the same as `abfss:`."""
        prefix = parts.path.strip("/")
        if parts.scheme == "abfss":
            container, _, host = parts.netloc.partition("@")
            account = host.removesuffix(_AZURE_FILES) if host.endswith(_AZURE_FILES) else ""
            is_complete = not options and account
        else:
            container, account = parts.netloc, options.get("account", "")
            is_complete = "@" not in container and options.keys() <= {"account", "endpoint"} and account
        if not is_complete or not _PREFIX.fullmatch(prefix):
            return None
        if not _CONTAINER.fullmatch(container):
            raise ValueError("the name of a container has 3 to 63 lowercase letters, digits and single -")
        if not _ACCOUNT.fullmatch(account):
            raise ValueError("the name of a storage account has 3 to 24 lowercase letters and digits")
        return cls(url, container, prefix, _endpoint(options), account)

    @property
    def base_url(self) -> str:
        """Return where the container's objects are."""
        return f"{self.endpoint or f'https://{self.account}.blob.core.windows.net'}/{self.name}"

    def source_of(self, view: str) -> Source:
        """Return where an OPA gets a view, with a token of its machine's or Pod's managed identity."""
        headers = {"x-ms-version": _AZURE_VERSION}
        return self._source(self.base_url, view, headers=headers, credentials={"azure_managed_identity": {}})

    def open(self) -> BucketStorage:
        """Return its storage."""
        more = {"endpoint": self.endpoint} if self.endpoint else {}
        return BucketStorage(self, "AzureStore", "e_tag", account_name=self.account, **more)


def _endpoint(options: Mapping[str, str]) -> str:
    endpoint = options.get("endpoint", "").rstrip("/")
    if endpoint and not is_safe(endpoint):
        raise ValueError("the endpoint must be https://HOST:PORT, or http on this machine")
    return endpoint


class BucketStorage:
    """A folder in a store of the library's class `kind`. Its writes name the `condition` of the object they replace."""

    def __init__(self, folder: _Folder, kind: str, condition: str, **more: str) -> None:
        try:
            import obstore
            import obstore.store
        except ImportError as error:
            raise StorageError(f"{folder.url} needs a package: pip install 'policy-bridge[storage]'") from error
        self._library = obstore
        self._condition = condition
        options: dict[str, Any] = {"timeout": timedelta(seconds=TIMEOUT)}
        if folder.endpoint:
            options["allow_http"] = folder.endpoint.startswith("http:")
        try:
            self._store = getattr(obstore.store, kind)(
                folder.name,
                prefix=folder.prefix,
                client_options=options,
                retry_config={"max_retries": 0},  # the destination's own queue tries again
                **more,
            )
        except (obstore.exceptions.BaseError, OSError, ValueError) as error:
            raise StorageError(f"{folder.url}: {_describe(error)}") from error

    async def find(self, name: str) -> Stored | None:
        """Return what is stored, without its content."""
        with self._errors():
            found = await self._get(name, head=True)
            return None if found is None else self._stored(found.meta, found.attributes)

    async def read(self, name: str) -> tuple[bytes, Stored] | None:
        """Return a content."""
        with self._errors():
            found = await self._get(name, head=False)
            if found is None:
                return None
            return bytes(await found.bytes_async()), self._stored(found.meta, found.attributes)

    async def write(self, name: str, content: bytes, revision: str, replaced: Stored | None) -> Stored:
        """Store a content in place of another one, if that is still there."""
        mode: Any = "create" if replaced is None else {self._condition: replaced.version}
        with self._errors():
            written: Mapping[str, Any] = await self._library.put_async(
                self._store,
                name,
                content,
                attributes={_REVISION: revision},
                mode=mode,
                use_multipart=False,
            )
            return Stored(written[self._condition] or "", revision)

    async def find_any(self) -> str:
        """Return the name of anything that is stored."""
        with self._errors():
            async for page in self._library.list(self._store, chunk_size=1):
                for one in page:
                    return str(one["path"])
            return ""

    async def close(self) -> None:
        """Connections are the library's."""

    async def _get(self, name: str, *, head: bool) -> Any:
        try:
            return await self._library.get_async(self._store, name, options={"head": head})
        except (FileNotFoundError, self._library.exceptions.NotFoundError):
            return None

    def _stored(self, meta: Mapping[str, Any], attributes: Mapping[Any, Any]) -> Stored:
        return Stored(meta[self._condition] or "", str(attributes.get(_REVISION, "")))

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        errors = self._library.exceptions
        try:
            yield
        except (errors.AlreadyExistsError, errors.PreconditionError) as error:
            raise Changed("another client writes there") from error
        except (errors.BaseError, OSError, ValueError) as error:
            raise StorageError(_describe(error)) from error


def _describe(error: Exception) -> str:
    """Return request and cause of an error of the library, without the time it took and what the server sent."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if found := _REQUEST.search(lines[0]):
        return f"{found[1]}: {found[2].partition(': <')[0].strip(' :')}"
    return lines[0][:_LONGEST_REASON]
