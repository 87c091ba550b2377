"""Options that several commands share."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from bridge.answers.errors import CommandError
from bridge.cli.completing import KINDS, NAMESPACES

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])

OPA_VARIABLE = "BRIDGE_OPA_URL"
OPA_TOKEN_VARIABLE = "BRIDGE_OPA_TOKEN_FILE"  # noqa: S105 - the name of a variable
OPA_TLS_VARIABLES = ("BRIDGE_OPA_CA_FILE", "BRIDGE_OPA_CERT_FILE", "BRIDGE_OPA_KEY_FILE")
FORMATS = ("table", "wide", "json", "yaml", "name")
TEMPLATES = ("jsonpath", "custom-columns")  # formats that a template follows, `jsonpath={.items[*].target}`
_DEEPEST = 15  # links that the query `tree` follows at most


@dataclass(frozen=True, slots=True)
class Input:
    """Where a read command gets its answer: the OPA at `opa_url`, `manifests` (paths, `-`), or else a cluster.

    `tls` are files for an https OPA: the authorities, our certificate, its key.
    `kubeconfig` and `kube_context` say which cluster; None as kubectl would choose.
    """

    opa_url: str | None = None
    token: str | None = None
    manifests: tuple[str, ...] = ()
    kubeconfig: str | None = None
    kube_context: str | None = None
    tls: tuple[str | None, ...] = (None, None, None)


def input_options(command: _Decorated) -> _Decorated:
    """Where to read from: `--opa`, `--manifests`, `--kubeconfig` and what belongs to them.

    The command gets them as one argument, `source` (an Input).
    """

    @functools.wraps(command)
    def with_source(
        *args: Any,
        opa_url: str | None,
        opa_token_file: str | None,
        manifests: tuple[str, ...],
        kubeconfig: str | None,
        kube_context: str | None,
        **others: Any,
    ) -> Any:
        source = read_input(opa_url, opa_token_file, manifests, kubeconfig, kube_context)
        return command(*args, source=source, **others)

    with_options: Any = with_source
    for option in (
        click.option("--context", "kube_context", metavar="NAME", help="The context in the kubeconfig."),
        click.option(
            "--kubeconfig",
            metavar="FILE",
            type=click.Path(),
            help="Read this cluster once, with an OPA for as long as it takes. Default: the one that kubectl talks to, "
            "where neither --opa nor --manifests is given.",
        ),
        click.option(
            "--manifests",
            metavar="PATH",
            type=click.Path(),
            multiple=True,
            help="Read manifests instead of asking a running OPA: a file, a folder with all below it, or - for "
            "standard input. Several may follow.",
        ),
        click.option(
            "--opa-token-file",
            metavar="FILE",
            type=click.Path(),
            help=f"Bearer token for OPA (or {OPA_TOKEN_VARIABLE}).",
        ),
        click.option("--opa", "opa_url", metavar="URL", help=f"The OPA that a bridge fills (or {OPA_VARIABLE})."),
    ):
        with_options = option(with_options)
    return cast(_Decorated, with_options)


class _Format(click.Choice[str]):
    """An output format; with `templates` also kubectl's templates, whose syntax is checked before anything is read."""

    def __init__(self, formats: tuple[str, ...], *, templates: bool) -> None:
        super().__init__(formats)
        self._templates = TEMPLATES if templates else ()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the format as it was typed."""
        name, equals, template = str(value).partition("=")
        if name in self._templates:
            if not equals or not template:
                example = "'{.items[*].target}'" if name == "jsonpath" else "TARGET:.target"
                self.fail(f"{name} needs a template: -o {name}={example}", param, ctx)
            return value
        return super().convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:  # noqa: ARG002 - the library's
        """Return the formats for the help, a template's with what follows."""
        return "|".join((*map(str, self.choices), *(f"{name}=…" for name in self._templates)))


def output_option(*formats: str) -> Callable[[_Decorated], _Decorated]:
    """`-o`; the first format is the default. Commands that print names take kubectl's templates as well."""
    form = _Format(formats, templates="name" in formats)
    return click.option("-o", "--output", "output", type=form, default=formats[0], show_default=True, help="Format.")


def wants_document(output: str) -> bool:
    """Whether a format shows an answer as JSON has it, whole or by a template, rather than as a table or names."""
    return output.partition("=")[0] in {"json", "yaml", *TEMPLATES}


def namespace_options(*, only: str) -> Callable[[_Decorated], _Decorated]:
    """`-n` and `-A`; the command gets `namespace`, None for all of them. `only` says in the help what is left out."""

    def decorate(command: _Decorated) -> _Decorated:
        @functools.wraps(command)
        def with_namespace(*args: Any, namespace: str | None, all_namespaces: bool, **others: Any) -> Any:
            if namespace and all_namespaces:
                raise CommandError("-n and -A exclude each other: -n is one namespace, -A is all of them")
            return command(*args, namespace=namespace, **others)

        with_options: Any = with_namespace
        for option in (
            click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces, which is the default."),
            click.option("-n", "--namespace", metavar="NS", shell_complete=NAMESPACES, help=only),
        ):
            with_options = option(with_options)
        return cast(_Decorated, with_options)

    return decorate


def kind_option(about: str) -> Callable[[_Decorated], _Decorated]:
    """`--kind`, a policy kind in whichever spelling; `about` is its help."""
    return click.option("--kind", metavar="KIND", shell_complete=KINDS, help=about)


def selector_option(command: _Decorated) -> _Decorated:
    """`-l`, `--selector`; the command gets `selects`, which tells whether an object's labels are selected, or None."""

    def parse(_: click.Context, __: click.Parameter, text: str | None) -> Any:
        from bridge.cli.label_selectors import parse_selector

        return None if text is None else parse_selector(text)

    return click.option(
        "-l",
        "--selector",
        "selects",
        metavar="SELECTOR",
        callback=parse,
        help="Only objects with these labels: a=b, a!=b, a in (b,c), a, !a.",
    )(command)


def depth_option(command: _Decorated) -> _Decorated:
    """`--depth`, within what the query `tree` follows."""
    return click.option("--depth", type=click.IntRange(0, _DEEPEST), help="How many steps to go down.  [default: all]")(
        command
    )


def source_namespace_option(otherwise: str) -> Callable[[_Decorated], _Decorated]:
    """`--source-namespace`, for requests of one namespace in a mesh; `otherwise` says what is shown without it."""
    return click.option(
        "--source-namespace",
        metavar="NS",
        shell_complete=NAMESPACES,
        help=f"In a mesh: what applies to requests from there. Without it: {otherwise}.",
    )


SAME_FOR_ALL = "what is the same for requests from anywhere"
EVERY_SOURCE = "also each namespace for which something differs"


def watch_option(command: _Decorated) -> _Decorated:
    """`-w`, `--watch`."""
    return click.option("-w", "--watch", is_flag=True, help="After the table: the rows that change, until Ctrl-C.")(
        command
    )


@dataclass(frozen=True, slots=True)
class View:
    """What a read command reads, in which format it prints, and whether it goes on as that changes."""

    source: Input
    output: str
    watch: bool


def view_options(command: _Decorated) -> _Decorated:
    """The options of all read commands; the command gets them as one argument, `view` (a View)."""

    @functools.wraps(command)
    def with_view(*args: Any, source: Input, output: str, watch: bool, **others: Any) -> Any:
        return command(*args, view=View(source, output, watch), **others)

    return cast(_Decorated, input_options(output_option(*FORMATS)(watch_option(with_view))))


def check_watch(source: Input, output: str) -> None:
    """Raise CommandError for what cannot be watched."""
    if output not in {"table", "wide"}:
        raise CommandError("--watch shows tables: -o table or wide; for programs there is /v1/effective?watch=true")
    if "-" in source.manifests:
        raise CommandError("standard input cannot be watched: give --manifests a file or folder")


def read_input(
    opa_url: str | None,
    opa_token_file: str | None,
    manifests: tuple[str, ...],
    kubeconfig: str | None = None,
    kube_context: str | None = None,
) -> Input:
    """What the options and the environment say; options go before the environment.

    Raises CommandError when they name two sources, or when there is none, no cluster of kubectl's either.
    """
    cluster = "--kubeconfig" if kubeconfig else "--context" if kube_context else ""
    given = [name for name, value in (("--opa", opa_url), ("--manifests", manifests), (cluster, cluster)) if value]
    if len(given) > 1:
        raise CommandError(f"{given[0]} and {given[1]} exclude each other: give the one that is to be read")
    if not given:
        opa_url = os.environ.get(OPA_VARIABLE)
    if not given and not opa_url and not kubectl_has_a_cluster():
        raise CommandError(
            f"nothing to read: there is no kubeconfig; give --manifests PATH, --opa URL (or set {OPA_VARIABLE}), "
            "or --kubeconfig FILE"
        )
    token_file = (opa_token_file or os.environ.get(OPA_TOKEN_VARIABLE)) if opa_url else None
    token = _token(token_file) if token_file else None
    tls = tuple(os.environ.get(name) or None for name in OPA_TLS_VARIABLES)
    return Input(opa_url or None, token, manifests, kubeconfig, kube_context, tls)


def kubectl_has_a_cluster() -> bool:
    """Whether kubectl would find a configuration: a kubeconfig, or a pod's service account."""
    named = os.environ.get("KUBECONFIG")
    in_a_pod = "KUBERNETES_SERVICE_HOST" in os.environ
    return bool(named) or in_a_pod or (Path.home() / ".kube" / "config").exists()


def _token(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise CommandError(f"--opa-token-file {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"--opa-token-file {file}: no text") from error
