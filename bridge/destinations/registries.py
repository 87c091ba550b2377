"""Registries of OCI artifacts as destinations: each view is a tag of a repository."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from bridge.destinations.place import Storage
from bridge.model.addresses import is_loopback
from bridge.opa.bundle import Source

_LONGEST_TAG = 128
_REPOSITORY = re.compile(
    r"[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
)  # as the OCI specification has it


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository of a registry: `host` is that of the registry, with its port."""

    url: str
    host: str
    prefix: str

    @classmethod
    def from_url(cls, url: str, parts: SplitResult, options: Mapping[str, str]) -> Repository | None:
        """Return the repository of `oci://REGISTRY/REPOSITORY`."""
        path = parts.path.strip("/")
        if "@" in parts.netloc or options or not parts.hostname or not _REPOSITORY.fullmatch(path):
            return None
        return cls(url, parts.netloc, path)

    @property
    def base_url(self) -> str:
        """Return the registry's URL: without TLS on this machine only."""
        return f"{'http' if is_loopback(urlsplit(f'//{self.host}').hostname or '') else 'https'}://{self.host}"

    def check_view(self, view: str) -> None:
        """Raise ValueError for a view whose name is too long for a tag."""
        if len(view) > _LONGEST_TAG:
            raise ValueError(f"a tag has at most {_LONGEST_TAG} characters: {view}")

    def name_of(self, view: str) -> str:
        """Return the tag of a view."""
        return view

    def source_of(self, view: str) -> Source:
        """Return where an OPA gets the artifact of a view. A user adds the credentials."""
        return Source({"url": self.base_url, "type": "oci"}, f"{self.host}/{self.prefix}:{view}")

    def open(self) -> Storage:
        """Return its storage."""
        from bridge.destinations.registry_client import RegistryStorage

        return RegistryStorage(self.base_url, self.host, self.prefix)
