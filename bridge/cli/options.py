"""Options that several commands share, and label selectors in kubectl's syntax (`app=web,tier!=db,env in (a,b)`)."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from bridge.cli.completion import KINDS, NAMESPACES
from bridge.files import read_text
from bridge.queries.names import CommandError

if TYPE_CHECKING:
    from bridge.queries.asking import Selects

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])

OPA_VARIABLE = "BRIDGE_OPA_URL"
OPA_TOKEN_VARIABLE = "BRIDGE_OPA_TOKEN_FILE"  # noqa: S105 - the name of a variable
OPA_TLS_VARIABLES = ("BRIDGE_OPA_CA_FILE", "BRIDGE_OPA_CERT_FILE", "BRIDGE_OPA_KEY_FILE")
FORMATS = ("table", "wide", "json", "yaml", "name")
TEMPLATES = ("jsonpath", "custom-columns")  # formats that a template follows, `jsonpath={.items[*].target}`
_DEEPEST = 15  # the largest depth of the query `tree`


@dataclass(frozen=True, slots=True)
class Input:
    """The source of a read command: the OPA at `opa_url`, `manifests` (paths, `-`), or else a cluster.

    `tls` are files for an https OPA: the authorities, the client certificate, its key. `kubeconfig` and `kube_context`
    select the cluster; None means kubectl's choice.
    """

    opa_url: str | None = None
    token: str | None = None
    manifests: tuple[str, ...] = ()
    kubeconfig: str | None = None
    kube_context: str | None = None
    tls: tuple[str | None, ...] = (None, None, None)


def input_options(command: _Decorated) -> _Decorated:
    """Add the options of the source: `--opa`, `--manifests`, `--kubeconfig` and related ones.

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
        if others.get("base") is None:
            source = read_input(opa_url, opa_token_file, manifests, kubeconfig, kube_context)
        elif given := opa_url or manifests or kubeconfig or kube_context:
            raise CommandError(f"--base COMMIT is the source: it excludes another one ({given!r})")
        else:  # `analyze` reads the commit
            source = Input()
        return command(*args, source=source, **others)

    with_options: Any = with_source
    for option in (
        click.option("--context", "kube_context", metavar="NAME", help="The context in the kubeconfig."),
        click.option(
            "--kubeconfig",
            metavar="FILE",
            type=click.Path(),
            help="Read this cluster once, with a temporary OPA. Default: kubectl's cluster, "
            "if neither --opa nor --manifests is given.",
        ),
        click.option(
            "--manifests",
            metavar="PATH",
            type=click.Path(),
            multiple=True,
            help="Read manifests instead of a running OPA: a file, a folder with all its files, or - for "
            "standard input. Repeatable.",
        ),
        click.option(
            "--opa-token-file",
            metavar="FILE",
            type=click.Path(),
            help=f"Bearer token for OPA (or {OPA_TOKEN_VARIABLE}).",
        ),
        click.option("--opa", "opa_url", metavar="URL", help=f"The OPA of a bridge (or {OPA_VARIABLE})."),
    ):
        with_options = option(with_options)
    return cast(_Decorated, with_options)


class _Format(click.Choice[str]):
    """An output format. With `templates` also kubectl's templates, whose syntax is checked first."""

    def __init__(self, formats: tuple[str, ...], *, templates: bool) -> None:
        super().__init__(formats)
        self._templates = TEMPLATES if templates else ()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the format as typed."""
        name, equals, template = str(value).partition("=")
        if name in self._templates:
            if not equals or not template:
                example = "'{.items[*].target}'" if name == "jsonpath" else "TARGET:.target"
                self.fail(f"{name} needs a template: -o {name}={example}", param, ctx)
            return value
        return super().convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:  # noqa: ARG002 - the library's
        """Return the formats for the help; a template's with its argument."""
        return "|".join((*map(str, self.choices), *(f"{name}=…" for name in self._templates)))


def output_option(*formats: str) -> Callable[[_Decorated], _Decorated]:
    """`-o`; the first format is the default. Commands that print names take kubectl's templates as well."""
    form = _Format(formats, templates="name" in formats)
    return click.option("-o", "--output", "output", type=form, default=formats[0], show_default=True, help="Format.")


def wants_document(output: str) -> bool:
    """Return whether a format prints JSON data, as a whole or by a template, and not a table or names."""
    return output.partition("=")[0] in {"json", "yaml", *TEMPLATES}


def namespace_options(*, only: str) -> Callable[[_Decorated], _Decorated]:
    """Add `-n` and `-A`; the command gets `namespace`, None for all. `only` is the help text of `-n`."""

    def decorate(command: _Decorated) -> _Decorated:
        @functools.wraps(command)
        def with_namespace(*args: Any, namespace: str | None, all_namespaces: bool, **others: Any) -> Any:
            if namespace and all_namespaces:
                raise CommandError("-n and -A exclude each other: -n selects one namespace, -A all of them")
            return command(*args, namespace=namespace, **others)

        with_options: Any = with_namespace
        for option in (
            click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces (default)."),
            click.option("-n", "--namespace", metavar="NS", shell_complete=NAMESPACES, help=only),
        ):
            with_options = option(with_options)
        return cast(_Decorated, with_options)

    return decorate


def kind_option(about: str) -> Callable[[_Decorated], _Decorated]:
    """Add `--kind`, a policy kind in any spelling; `about` is its help."""
    return click.option("--kind", metavar="KIND", shell_complete=KINDS, help=about)


def selector_option(command: _Decorated) -> _Decorated:
    """Add `-l`, `--selector`; the command gets `selects`, a predicate for an object's labels, or None."""

    def parse(_: click.Context, __: click.Parameter, text: str | None) -> Any:

        return None if text is None else parse_selector(text)

    return click.option(
        "-l",
        "--selector",
        "selects",
        metavar="SELECTOR",
        callback=parse,
        help="Only objects with these labels: a=b, a!=b, a in (b,c), a, !a.",
    )(command)


def schemas_option(command: _Decorated) -> _Decorated:
    """Add `--schemas`; the command gets `schemas`, places of CRDs."""
    return click.option(
        "--schemas",
        metavar="PATH|URL",
        multiple=True,
        help="Check fields by the CRDs in a file or folder, or at a URL. Repeatable. Without it, by the CRDs among the "
        "manifests and the releases of Gateway API, Envoy Gateway, Istio and Kuadrant that the bridge knows.",
    )(command)


def depth_option(command: _Decorated) -> _Decorated:
    """Add `--depth`, up to the limit of the query `tree`."""
    return click.option(
        "--depth", type=click.IntRange(0, _DEEPEST), help="The number of steps to go down.  [default: all]"
    )(command)


def source_namespace_option(otherwise: str) -> Callable[[_Decorated], _Decorated]:
    """Add `--source-namespace`, for requests of one namespace in a mesh; `otherwise` describes the default."""
    return click.option(
        "--source-namespace",
        metavar="NS",
        shell_complete=NAMESPACES,
        help=f"In a mesh: show the effective policies for requests from this namespace. Default: {otherwise}.",
    )


SAME_FOR_ALL = "the same for all sources"
EVERY_SOURCE = "also each namespace with a difference"


def watch_option(command: _Decorated) -> _Decorated:
    """Add `-w`, `--watch`."""
    return click.option("-w", "--watch", is_flag=True, help="After the table, print changed rows until Ctrl-C.")(
        command
    )


@dataclass(frozen=True, slots=True)
class View:
    """The source of a read command, its output format, and whether it continues with changes."""

    source: Input
    output: str
    watch: bool


def view_options(command: _Decorated) -> _Decorated:
    """Add the options of all read commands; the command gets them as one argument, `view` (a View)."""

    @functools.wraps(command)
    def with_view(*args: Any, source: Input, output: str, watch: bool, **others: Any) -> Any:
        return command(*args, view=View(source, output, watch), **others)

    return cast(_Decorated, input_options(output_option(*FORMATS)(watch_option(with_view))))


def check_watch(source: Input, output: str) -> None:
    """Raise CommandError for options that do not work with --watch."""
    if output not in {"table", "wide"}:
        raise CommandError("--watch prints tables: use -o table or wide; for programs use /v1/effective?watch=true")
    if "-" in source.manifests:
        raise CommandError("standard input cannot be watched: give --manifests a file or folder")


def read_input(
    opa_url: str | None,
    opa_token_file: str | None,
    manifests: tuple[str, ...],
    kubeconfig: str | None = None,
    kube_context: str | None = None,
) -> Input:
    """Return the source from the options and the environment; options take precedence.

    Raises CommandError for two sources, or for none if kubectl has no cluster either.
    """
    cluster = "--kubeconfig" if kubeconfig else "--context" if kube_context else ""
    given = [name for name, value in (("--opa", opa_url), ("--manifests", manifests), (cluster, cluster)) if value]
    if len(given) > 1:
        raise CommandError(f"{given[0]} and {given[1]} exclude each other: give one source")
    if not given:
        opa_url = os.environ.get(OPA_VARIABLE)
    if not given and not opa_url and not kubectl_has_a_cluster():
        raise CommandError(
            f"no source: there is no kubeconfig; give --manifests PATH, --opa URL (or set {OPA_VARIABLE}), "
            "or --kubeconfig FILE"
        )
    token_file = (opa_token_file or os.environ.get(OPA_TOKEN_VARIABLE)) if opa_url else None
    token = _token(token_file) if token_file else None
    tls = tuple(os.environ.get(name) or None for name in OPA_TLS_VARIABLES)
    return Input(opa_url or None, token, manifests, kubeconfig, kube_context, tls)


def kubectl_has_a_cluster() -> bool:
    """Return whether kubectl would find a configuration: a kubeconfig, or a pod's service account."""
    named = os.environ.get("KUBECONFIG")
    in_a_pod = "KUBERNETES_SERVICE_HOST" in os.environ
    return bool(named) or in_a_pod or (Path.home() / ".kube" / "config").exists()


def _token(file: str) -> str:
    try:
        return read_text(Path(file)).strip()
    except OSError as error:
        raise CommandError(f"--opa-token-file {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"--opa-token-file {file}: not a text file") from error


_KEY = r"[A-Za-z0-9][A-Za-z0-9_./-]*"
_VALUE = r"[A-Za-z0-9_.-]*"
_EQUALS = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_IN = re.compile(rf"({_KEY})\s+(in|notin)\s+\(([^()]*)\)")
_EXISTS = re.compile(rf"(!?)\s*({_KEY})")
_COMMA = re.compile(r",(?![^(]*\))")  # a comma outside parentheses


def parse_selector(text: str) -> Selects:
    """Return a predicate for labels, which requires all conditions. Raises CommandError for another form."""
    requirements = [_requirement(part.strip(), text) for part in _COMMA.split(text)] if text.strip() else []
    return lambda labels: all(holds(labels) for holds in requirements)


def _requirement(part: str, text: str) -> Selects:
    if found := _EQUALS.fullmatch(part):
        key, mark, value = found.groups()
        if mark == "!=":
            return lambda labels: labels.get(key) != value  # true also without the label, as in kubectl
        return lambda labels: labels.get(key) == value
    if found := _IN.fullmatch(part):
        key, mark, listed = found.groups()
        values = {value.strip() for value in listed.split(",")}
        if mark == "notin":
            return lambda labels: labels.get(key) not in values
        return lambda labels: labels.get(key) in values
    if found := _EXISTS.fullmatch(part):
        absent, key = found.groups()
        return lambda labels: (key in labels) != bool(absent)
    raise CommandError(
        f"-l {text}: {part!r} is not a valid requirement: write key=value, key!=value, key in (a,b), key or !key"
    )
