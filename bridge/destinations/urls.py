"""URLs of destinations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import SplitResult, parse_qs, urlsplit

from bridge.destinations.buckets import AzureContainer, GoogleBucket, S3Bucket
from bridge.destinations.place import Place
from bridge.destinations.registries import Repository
from bridge.model.views import View

FORMS = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX?account=ACCOUNT, or oci://REGISTRY/REPOSITORY"

# By scheme: each returns None for another form, and raises ValueError for a wrong part of its own.
_READERS: Mapping[str, Callable[[str, SplitResult, Mapping[str, str]], Place | None]] = {
    "s3": S3Bucket.from_url,
    "gs": GoogleBucket.from_url,
    "az": AzureContainer.from_url,
    "abfss": AzureContainer.from_url,
    "oci": Repository.from_url,
}


def place_of(url: str) -> Place:
    """Return the destination of a URL (FORMS). Raises ValueError for another text."""
    parts = urlsplit(url)
    options = parse_qs(parts.query, keep_blank_values=True)
    read = _READERS.get(parts.scheme)
    if read and not parts.fragment and all(len(values) == 1 for values in options.values()):
        try:
            place = read(url, parts, {name: values[0] for name, values in options.items()})
        except ValueError as error:
            raise ValueError(f"publish_to: {url!r}: {error}") from error
        if place is not None:
            return place
    raise ValueError(f"publish_to: {url!r} is not a destination: write {FORMS}")


def check_destinations(places: Sequence[Place], views: Sequence[View]) -> bool:
    """Raise ValueError for two destinations at one place, and for a view whose name a destination does not take."""
    seen: set[tuple[str, str]] = set()
    for place in places:
        where = place.base_url, place.prefix
        if where in seen:
            raise ValueError(f"publish_to: {place.url} is listed twice")
        seen.add(where)
        for view in views:
            try:
                place.check_view(view.name)
            except ValueError as error:
                raise ValueError(f"publish_to: {place.url}: {error}") from error
    return True
