"""Destinations of views besides the bridge's own address: object storage, and registries of OCI artifacts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from bridge.model.addresses import is_loopback, is_safe
from bridge.model.views import View

FORMS = "s3://BUCKET/PREFIX, or oci://REGISTRY/REPOSITORY"
_LONGEST_TAG = 128
_BUCKET = re.compile(r"[a-z0-9][-.a-z0-9]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?(/[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)*")
_REPOSITORY = re.compile(
    r"[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
)  # as the OCI specification has it


@dataclass(frozen=True, slots=True)
class Bucket:
    """A folder in S3-compatible storage. `endpoint` is the server's URL, empty for that of AWS in `region`."""

    url: str
    name: str
    prefix: str
    endpoint: str
    region: str

    def name_of(self, view: str) -> str:
        """Return the name of the object of a view."""
        return f"{view}.tar.gz"

    def resource_of(self, view: str) -> str:
        """Return the path of a view in OPA's configuration."""
        return f"{self.prefix}/{self.name_of(view)}"

    @property
    def base_url(self) -> str:
        """Return where the bucket's objects are."""
        if self.endpoint:
            return f"{self.endpoint}/{self.name}"
        return f"https://{self.name}.s3.{self.region}.amazonaws.com"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository of a registry: `host` is that of the registry, with its port."""

    url: str
    host: str
    name: str

    def name_of(self, view: str) -> str:
        """Return the tag of a view."""
        return view

    def resource_of(self, view: str) -> str:
        """Return the artifact of a view in OPA's configuration."""
        return f"{self.host}/{self.name}:{view}"

    @property
    def base_url(self) -> str:
        """Return the registry's URL: without TLS on this machine only."""
        return f"{'http' if is_loopback(urlsplit(f'//{self.host}').hostname or '') else 'https'}://{self.host}"


Place = Bucket | Repository


def place_of(url: str) -> Place:
    """Return the destination of a URL (FORMS). Raises ValueError for another text."""
    parts = urlsplit(url)
    path = parts.path.strip("/")
    options = parse_qs(parts.query, keep_blank_values=True)
    usual = not parts.fragment and "@" not in parts.netloc and all(len(values) == 1 for values in options.values())
    if parts.scheme == "s3" and usual and options.keys() <= {"endpoint", "region"}:
        endpoint = options.get("endpoint", [""])[0].rstrip("/")
        if endpoint and not is_safe(endpoint):
            raise ValueError(f"publish_to: {url!r}: the endpoint must be https://HOST:PORT, or http on this machine")
        if not _BUCKET.fullmatch(parts.netloc):
            raise ValueError(
                f"publish_to: {url!r}: the name of a bucket has 3 to 63 lowercase letters, digits, - and ., "
                "and begins and ends with a letter or digit"
            )
        if _PREFIX.fullmatch(path):
            return Bucket(url, parts.netloc, path, endpoint, options.get("region", ["us-east-1"])[0])
    if parts.scheme == "oci" and usual and not options and parts.hostname and _REPOSITORY.fullmatch(path):
        return Repository(url, parts.netloc, path)
    raise ValueError(f"publish_to: {url!r} is not a destination: write {FORMS}")


def check_destinations(places: Sequence[Place], views: Sequence[View]) -> bool:
    """Raise ValueError for two destinations at one place, and for a view whose name a registry does not take."""
    seen: set[tuple[str, str]] = set()
    for place in places:
        where = place.base_url, place.prefix if isinstance(place, Bucket) else place.name
        if where in seen:
            raise ValueError(f"publish_to: {place.url} is listed twice")
        seen.add(where)
        for view in views:
            if isinstance(place, Repository) and len(view.name) > _LONGEST_TAG:
                raise ValueError(f"publish_to: {place.url}: a tag has at most {_LONGEST_TAG} characters: {view.name}")
    return True
