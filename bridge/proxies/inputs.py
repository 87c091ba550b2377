"""Dumps at places that users name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import urlsplit

from bridge.files import STDIN, opened_input
from bridge.proxies.dumps import DumpError
from bridge.sources.downloads import UrlError, is_url, opened_url


@dataclass(frozen=True, slots=True)
class ConfigDump:
    """A dump at a path, a URL, or standard input (`-`)."""

    path: str

    @property
    def name(self) -> str:
        """Return its name in messages and answers."""
        return "standard input" if self.path == STDIN else self.path

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open it. Raises DumpError if that fails."""
        try:
            if is_url(self.path):
                has_path = urlsplit(self.path).path.strip("/")
                with opened_url(self.path if has_path else f"{self.path.rstrip('/')}/config_dump") as answer:
                    yield answer
            else:
                with opened_input(self.path) as file:
                    yield file
        except UrlError as error:
            raise DumpError(f"cannot read {self.name}: {error}") from error
        except OSError as error:
            raise DumpError(f"cannot read {self.name}: {error.strerror or error}") from error
