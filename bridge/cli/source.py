"""The source of a read command: a running OPA, manifests, or a cluster, from the options and the environment."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from bridge.cli.command import option
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


SOURCE = (
    *opa_options("The OPA of a bridge", f"Bearer token for OPA (or {OPA_TOKEN_VARIABLE})."),
    option(
        "--manifests",
        metavar="PATH",
        type=click.Path(),
        multiple=True,
        help="Read manifests instead of a running OPA: a file, a folder with all its files, or - for standard input. "
        "Repeatable.",
    ),
    kubeconfig_option(
        "Read this cluster once, with a temporary OPA. Default: kubectl's cluster, if neither --opa nor --manifests is "
        "given."
    ),
    CONTEXT,
)


# Of commands that may read several sources, instead of CONTEXT.
SEVERAL = (
    *(one for one in SOURCE if one is not CONTEXT),
    option("--context", "contexts", metavar="NAME", multiple=True, help="The context in the kubeconfig. Repeatable."),
    option(
        "--cluster",
        "clusters",
        metavar="NAME",
        multiple=True,
        help="Of an --opa with the data of several clusters: this one. Repeatable.",
    ),
    option("--all-clusters", is_flag=True, help="Of such an OPA: all of them."),
)


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
        raise CommandError(f"{given[0]} and {given[1]} exclude each other: give one source")
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
