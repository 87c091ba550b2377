"""Options and arguments that several commands have; names from the user's source are completed."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bridge.cli.command import option

Complete = Callable[[click.Context, click.Parameter, str], list[str]]

FORMATS = ("table", "wide", "json", "yaml", "name")
TEMPLATES = ("jsonpath", "custom-columns")  # formats that a template follows, `jsonpath={.items[*].target}`
_DEEPEST = 15  # the largest depth of the query `tree`


def words(name: str, completion: str = "", **attributes: Any) -> click.Argument:
    """Return an argument of any number of words, as `words`; `name` is its name in the help."""
    completed = completing(completion) if completion else None
    return click.Argument(["words"], metavar=name, nargs=-1, shell_complete=completed, **attributes)


def completing(names: str) -> Complete:
    """Return the completion of names in the source of the command line; the keys of `bridge.cli.completion.OFFERS`."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        from bridge.cli.completion import offered

        return offered(names, ctx, incomplete)

    return complete


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


def output_option(*formats: str) -> click.Option:
    """`-o`; the first format is the default. Commands that print names take kubectl's templates as well."""
    form = _Format(formats, templates="name" in formats)
    return option("-o", "--output", "output", type=form, default=formats[0], show_default=True, help="Format.")


def file_option(name: str, about: str) -> click.Option:
    """Return an option for a file; `about` is its help."""
    return option(name, metavar="FILE", type=click.Path(path_type=Path), help=about)


_LABEL = re.compile("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")  # a DNS label (RFC 1123)


class _Namespace(click.ParamType[str]):
    """The name of a namespace."""

    name = "namespace"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name. Fails if no namespace can have it."""
        if not _LABEL.fullmatch(value):
            self.fail(f"{value!r} is not the name of a namespace: a-z, 0-9 and -, at most 63 characters", param, ctx)
        return value


def namespace_option(*names: str, about: str) -> click.Option:
    """Return an option for a namespace; `about` is its help."""
    return option(*names, metavar="NS", type=_Namespace(), shell_complete=completing("namespaces"), help=about)


def namespace_options(
    only: str, otherwise: str = "default, except for a cluster: the context's namespace"
) -> tuple[click.Option, click.Option]:
    """`-n` and `-A`; `only` is the help of `-n`, and `otherwise` describes the default."""
    return (
        namespace_option("-n", "--namespace", about=only),
        option("-A", "--all-namespaces", is_flag=True, help=f"All namespaces ({otherwise})."),
    )


def kind_option(about: str) -> click.Option:
    """`--kind`, a policy kind in any spelling; `about` is its help."""
    return option("--kind", metavar="KIND", shell_complete=completing("kinds"), help=about)


def source_namespace_option(otherwise: str) -> click.Option:
    """`--source-namespace`, for requests of one namespace in a mesh; `otherwise` describes the default."""
    about = f"In a mesh: show the effective policies for requests from this namespace. Default: {otherwise}."
    return namespace_option("--source-namespace", about=about)


SAME_FOR_ALL = "the same for all sources"
EVERY_SOURCE = "also each namespace with a difference"
ONLY_KIND = "Only this policy kind: ColorPolicy, colorpolicies.example.com, …"
DEPTH = option("--depth", type=click.IntRange(0, _DEEPEST), help="The number of steps to go down.  [default: all]")


SCHEMAS = option(
    "--schemas",
    metavar="PATH|URL",
    multiple=True,
    help="Check fields by the CRDs in a file or folder, or at a URL. Repeatable. Default: the CRDs among the manifests "
    "and known releases of Gateway API, Envoy Gateway, Istio, Kuadrant and the Network Policy API.",
)


def _selects(_: click.Context, __: click.Parameter, text: str | None) -> Any:
    if text is None:
        return None
    from bridge.cli.selector import parse_selector

    return parse_selector(text)


SELECTOR = option(
    "-l",
    "--selector",
    "selects",
    metavar="SELECTOR",
    callback=_selects,
    help="Only objects with these labels: a=b, a!=b, a in (b,c), a, !a. If no object has them, the exit code is 2.",
)
