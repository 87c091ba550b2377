"""Content at URLs: opened, bounded and reported in one place."""

import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from bridge.files import MOST_OF_INPUT, read_stream

SECONDS = 30.0  # without any byte
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class UrlError(Exception):
    """A URL cannot be read; the text has the reason. `status` is the server's HTTP status, 0 if it did not answer."""

    def __init__(self, reason: str, status: int = 0) -> None:
        super().__init__(reason)
        self.status = status


def is_url(place: str) -> bool:
    """Return whether a place is a URL, not a path."""
    return place.startswith(("http://", "https://"))


@contextmanager
def opened_url(
    url: str, headers: Mapping[str, str] = _NO_HEADERS, ca_file: Path | None = None
) -> Iterator[http.client.HTTPResponse]:
    """Open the content at a URL (`is_url`). `ca_file` has the authorities of its server.

    Raises UrlError, also for an OSError of the block: the server may end while it is read.
    """
    try:
        context = ssl.create_default_context(cafile=ca_file) if url.startswith("https") else None
        request = urllib.request.Request(url, headers=dict(headers))  # noqa: S310 - http or https
        with urllib.request.urlopen(request, timeout=SECONDS, context=context) as response:  # noqa: S310 - as above
            yield response
    except urllib.error.HTTPError as error:
        error.close()
        raise UrlError(f"the server answered {error.code} {error.reason}", error.code) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise UrlError(str(reason) or type(error).__name__) from error


def read_url(url: str, headers: Mapping[str, str] = _NO_HEADERS, ca_file: Path | None = None) -> bytes:
    """Return the content at a URL, of at most MOST_OF_INPUT. Raises UrlError."""
    with opened_url(url, headers, ca_file) as response:
        content = read_stream(response, MOST_OF_INPUT, url)
        if response.length:  # what is missing of the length that the server has announced
            raise UrlError("the content ends early")
        return content
