"""What a destination can do, and S3-compatible storage as one."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple, Protocol

from bridge.model.destinations import Bucket

TIMEOUT = 30.0  # seconds for one request
_REVISION = "revision"  # the name of an object's metadata
_LONGEST_REASON = 300
_REQUEST = re.compile(r"Error performing (\w+ [^\s?]+)\S* in \S+ - (?:Server returned non-2xx status code: )?(.*)")


class StorageError(Exception):
    """A destination failed or refuses: one line with the cause."""


class Changed(StorageError):
    """Something else has written meanwhile."""


class Stored(NamedTuple):
    """What a destination has under a name: `version` changes with each write, `revision` is that of the bundle."""

    version: str
    revision: str


class Storage(Protocol):
    """Contents by name, each of which is replaced as a whole. All methods raise StorageError."""

    async def find(self, name: str) -> Stored | None:
        """Return what is stored, without its content."""

    async def read(self, name: str) -> tuple[bytes, Stored] | None:
        """Return a content."""

    async def write(self, name: str, content: bytes, revision: str, replaced: Stored | None) -> Stored:
        """Store a content in place of another one. Raises Changed if that is not there any more."""

    async def find_any(self) -> str:
        """Return the name of anything that is stored, "" for nothing."""

    async def close(self) -> None:
        """Close all connections."""


class BucketStorage:
    """A folder of a bucket. Credentials are those of AWS's variables, or of the machine's or Pod's role."""

    def __init__(self, bucket: Bucket) -> None:
        try:
            import obstore
            from obstore.store import S3Store
        except ImportError as error:
            raise StorageError(f"{bucket.url} needs a package: pip install 'policy-bridge[s3]'") from error
        self._library = obstore
        more: dict[str, Any] = {"endpoint": bucket.endpoint} if bucket.endpoint else {}
        self._store = S3Store(
            bucket.name,
            prefix=bucket.prefix,
            region=bucket.region,
            client_options={"timeout": timedelta(seconds=TIMEOUT), "allow_http": bucket.endpoint.startswith("http:")},
            retry_config={"max_retries": 0},  # the destination's own queue tries again
            **more,
        )

    async def find(self, name: str) -> Stored | None:
        """Return what is stored, without its content."""
        with self._errors():
            found = await self._get(name, head=True)
            return None if found is None else _stored(found.meta, found.attributes)

    async def read(self, name: str) -> tuple[bytes, Stored] | None:
        """Return a content."""
        with self._errors():
            found = await self._get(name, head=False)
            if found is None:
                return None
            return bytes(await found.bytes_async()), _stored(found.meta, found.attributes)

    async def write(self, name: str, content: bytes, revision: str, replaced: Stored | None) -> Stored:
        """Store a content in place of another one, if that is still there."""
        with self._errors():
            written = await self._library.put_async(
                self._store,
                name,
                content,
                attributes={_REVISION: revision},
                mode="create" if replaced is None else {"e_tag": replaced.version},
                use_multipart=False,
            )
            return Stored(written["e_tag"] or "", revision)

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

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        errors = self._library.exceptions
        try:
            yield
        except (errors.AlreadyExistsError, errors.PreconditionError) as error:
            raise Changed("another client writes there") from error
        except (errors.BaseError, OSError, ValueError) as error:
            raise StorageError(_describe(error)) from error


def _stored(meta: Mapping[str, Any], attributes: Mapping[Any, Any]) -> Stored:
    return Stored(meta["e_tag"] or "", str(attributes.get(_REVISION, "")))


def _describe(error: Exception) -> str:
    """Return request and cause of an error of the library, without the time it took and what the server sent."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if found := _REQUEST.search(lines[0]):
        return f"{found[1]}: {found[2].partition(': <')[0].strip(' :')}"
    return lines[0][:_LONGEST_REASON]
