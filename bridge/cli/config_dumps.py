"""Dumps of proxies' configurations that commands take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import urlsplit

import click

from bridge.cli.command import option
from bridge.cli.reading import STDIN, opened_input
from bridge.queries.names import CommandError
from bridge.sources.downloads import UrlError, is_url, opened_url


def config_dump(*, required: bool = False) -> click.Parameter:
    """Return the option `--config-dump`."""
    return option(
        "--config-dump",
        "dumps",
        metavar="FILE|URL|-",
        multiple=True,
        required=required,
        help="The configuration of a proxy: Envoy's /config_dump, or what egctl and istioctl print. Repeatable.",
    )


@dataclass(frozen=True, slots=True)
class ConfigDump:
    """A dump at a path, a URL, or standard input."""

    path: str

    @property
    def name(self) -> str:
        """Return its name in messages and answers."""
        return "standard input" if self.path == STDIN else self.path

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open it. Raises CommandError if that fails."""
        try:
            if is_url(self.name):
                has_path = urlsplit(self.name).path.strip("/")
                with opened_url(self.name if has_path else f"{self.name.rstrip('/')}/config_dump") as answer:
                    yield answer
            else:
                with opened_input(self.path) as file:
                    yield file
        except UrlError as error:
            raise CommandError(f"cannot read {self.name}: {error}") from error
        except OSError as error:
            raise CommandError(f"cannot read {self.name}: {error.strerror or error}") from error
