"""Options that several commands share."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from bridge.cli.errors import CommandError

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])

OPA_VARIABLE = "BRIDGE_OPA_URL"
OPA_TOKEN_VARIABLE = "BRIDGE_OPA_TOKEN_FILE"  # noqa: S105 - the name of a variable
FORMATS = ("table", "wide", "json", "yaml")


@dataclass(frozen=True, slots=True)
class Input:
    """Where a read command gets its answer: from the OPA at `opa_url`, or from `manifests` (paths, `-`)."""

    opa_url: str | None
    token: str | None
    manifests: tuple[str, ...]


def input_options(command: _Decorated) -> _Decorated:
    """`--opa`, `--opa-token-file`, `--manifests`, which the command gets as one argument, `source` (an Input)."""

    @functools.wraps(command)
    def with_source(
        *args: Any, opa_url: str | None, opa_token_file: str | None, manifests: tuple[str, ...], **others: Any
    ) -> Any:
        return command(*args, source=read_input(opa_url, opa_token_file, manifests), **others)

    with_options: Any = with_source
    for option in (
        click.option(
            "--manifests",
            metavar="PATH",
            multiple=True,
            help="Read manifests instead of asking a running OPA: a file, a folder with all below it, or - for "
            "standard input. Several may follow.",
        ),
        click.option("--opa-token-file", metavar="FILE", help=f"Bearer token for OPA (or {OPA_TOKEN_VARIABLE})."),
        click.option("--opa", "opa_url", metavar="URL", help=f"The OPA that a bridge fills (or {OPA_VARIABLE})."),
    ):
        with_options = option(with_options)
    return cast(_Decorated, with_options)


def output_option(*formats: str) -> Callable[[_Decorated], _Decorated]:
    """`-o`; the first format is the default."""
    return click.option(
        "-o", "--output", "output", type=click.Choice(formats), default=formats[0], show_default=True, help="Format."
    )


def read_input(opa_url: str | None, opa_token_file: str | None, manifests: tuple[str, ...]) -> Input:
    """What the options and the environment say. Raises CommandError when that is nothing, or both."""
    if opa_url and manifests:
        raise CommandError("--opa and --manifests exclude each other: give the one that is to be read")
    if not manifests:
        opa_url = opa_url or os.environ.get(OPA_VARIABLE)
    if not opa_url and not manifests:
        raise CommandError(f"nothing to read: give --manifests PATH, or --opa URL (or set {OPA_VARIABLE})")
    token_file = (opa_token_file or os.environ.get(OPA_TOKEN_VARIABLE)) if opa_url else None
    return Input(opa_url, _token(token_file) if token_file else None, manifests)


def _token(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise CommandError(f"--opa-token-file {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"--opa-token-file {file}: no text") from error
