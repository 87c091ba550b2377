"""A destination can do this, whatever server it is on."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from bridge.opa.bundle import Source

TIMEOUT = 30.0  # seconds for one request


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


class Place(Protocol):
    """A destination in settings: a URL with a place for each view."""

    @property
    def url(self) -> str:
        """Return the URL in the settings."""

    @property
    def base_url(self) -> str:
        """Return the server's URL for OPA."""

    @property
    def prefix(self) -> str:
        """Return the part of the server that is the destination."""

    def check_view(self, view: str) -> None:
        """Raise ValueError for a view whose name it cannot store."""

    def name_of(self, view: str) -> str:
        """Return the name of a view in the storage."""

    def source_of(self, view: str) -> Source:
        """Return where an OPA gets a view."""

    def open(self) -> Storage:
        """Return its storage. Raises StorageError if a package for it is missing."""
