"""The source of a read command: a running OPA, manifests, or a cluster, from the options and the environment."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from bridge.cli.command import SharedOption, command, option
from bridge.files import read_text
from bridge.queries.names import CommandError

OPA_VARIABLE = "BRIDGE_OPA_URL"
OPA_TOKEN_VARIABLE = "BRIDGE_OPA_TOKEN_FILE"  # noqa: S105 - the name of a variable
OPA_TLS_VARIABLES = ("BRIDGE_OPA_CA_FILE", "BRIDGE_OPA_CERT_FILE", "BRIDGE_OPA_KEY_FILE")


@dataclass(frozen=True, slots=True)
class Input:
    """The source of a read command: the OPA at `opa_url`, `manifests` (paths, `-`), or else a cluster.

    `tls` are files for an https OPA: the authorities, the client certificate, its key; `cluster` is one of several that
    the OPA has. `kubeconfig` and `kube_context` select the cluster to read; None means kubectl's choice. `namespaces`
    are read by users without permissions in all. `applied` are paths of manifests that the command applies to the
    source, whose guardrails it needs.
    """

    opa_url: str | None = None
    token: str | None = None
    manifests: tuple[str, ...] = ()
    kubeconfig: str | None = None
    kube_context: str | None = None
    tls: tuple[str | None, ...] = (None, None, None)
    namespaces: tuple[str, ...] = ()
    cluster: str = ""
    applied: tuple[str, ...] = ()


CONTEXT = option("--context", "kube_context", metavar="NAME", help="The context in the kubeconfig.")


def kubeconfig_option(about: str) -> click.Option:
    """`--kubeconfig`; `about` is its help."""
    return option("--kubeconfig", metavar="FILE", type=click.Path(), help=about)


def opa_options(opa: str, token: str) -> tuple[click.Option, click.Option]:
    """`--opa` and `--opa-token-file`, with these texts as their help."""
    return (
        option("--opa", "opa_url", metavar="URL", help=f"{opa} (or {OPA_VARIABLE})."),
        option("--opa-token-file", metavar="FILE", type=click.Path(), help=token),
    )


def _shared(*names: str, **attributes: Any) -> SharedOption:
    return SharedOption(names, **attributes)


_OF_ANY = (
    _shared("--opa", "opa_url", metavar="URL", help=f"The OPA of a bridge (or {OPA_VARIABLE})."),
    _shared(
        "--opa-token-file",
        metavar="FILE",
        type=click.Path(),
        help=f"The file with the bearer token for OPA (or {OPA_TOKEN_VARIABLE}).",
    ),
    _shared(
        "--manifests",
        metavar="PATH",
        type=click.Path(),
        multiple=True,
        help="Manifests: a file, a folder with all its files, or - for standard input. Repeatable.",
    ),
    _shared(
        "--kubeconfig",
        metavar="FILE",
        type=click.Path(),
        help="The cluster of this kubeconfig, read once with a temporary OPA. Without any of these options: kubectl's "
        "cluster.",
    ),
)
SOURCE = (*_OF_ANY, _shared("--context", "kube_context", metavar="NAME", help=CONTEXT.help))
# Of commands that may read several sources.
SEVERAL = (
    *_OF_ANY,
    _shared("--context", "contexts", metavar="NAME", multiple=True, help="The context in the kubeconfig. Repeatable."),
    _shared(
        "--cluster",
        "clusters",
        metavar="NAME",
        multiple=True,
        help="One cluster of an OPA that has the data of several. Repeatable.",
    ),
    _shared("--all-clusters", is_flag=True, help="All clusters of such an OPA."),
)


@command("Explain the options that name the source")
def options() -> None:
    """Explain the options with which a command finds its objects: in a cluster, in an OPA, or in manifests.

    Give one source. Options override the environment (BRIDGE_OPA_URL), which overrides kubectl's cluster.

    Examples:
        # From kubectl's cluster
        pbctl problems
        # From a folder
        pbctl problems --manifests examples/shop
        # From the OPA of a bridge
        pbctl problems --opa http://opa:8181
    """
    ctx = click.get_current_context()
    formatter = ctx.make_formatter()
    formatter.write_dl([one.record(ctx) for one in SEVERAL])
    click.echo(formatter.getvalue(), nl=False)


def read_input(
    opa_url: str | None,
    opa_token_file: str | None,
    manifests: tuple[str, ...] = (),
    kubeconfig: str | None = None,
    kube_context: str | None = None,
    **_: Any,
) -> Input:
    """Return the source from the options and the environment; options take precedence.

    Raises CommandError for two sources, or for none if kubectl has no cluster either.
    """
    cluster = "--kubeconfig" if kubeconfig else "--context" if kube_context else ""
    given = [name for name, value in (("--opa", opa_url), ("--manifests", manifests), (cluster, cluster)) if value]
    if len(given) > 1:
        raise CommandError(f"{given[0]} and {given[1]} cannot be used together: give one source")
    if not given:
        opa_url = os.environ.get(OPA_VARIABLE)
    if not given and not opa_url and not kubectl_has_a_cluster():
        raise CommandError(
            f"no source: no kubeconfig found; give --manifests PATH, --opa URL (or set {OPA_VARIABLE}), "
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
