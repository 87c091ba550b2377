"""Commands for an installation: `webhook-config`, `opa-config`, `credentials`, `token` and `crds`."""

import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from bridge.cli.command import command, option
from bridge.cli.options import file_option, output_option
from bridge.cli.output import print_document, print_error, print_objects
from bridge.files import read_file
from bridge.queries.names import CommandError


@command(
    "Print the webhook configurations for the API server",
    option("--service", "webhook_service", metavar="NAMESPACE/NAME", help="The Service of the bridge."),
    option("--port", type=click.IntRange(1, 65535), default=443, show_default=True, help="The Service's port."),
    option("--url", "webhook_url", metavar="URL", help="Instead of a Service: https://HOST:PORT/admission."),
    option(
        "--name", "webhook_configuration", metavar="NAME", help="Name of both configurations. Default: policy-bridge."
    ),
    option(
        "--resource",
        "resources",
        metavar="PLURAL.GROUP",
        multiple=True,
        help="Review these (deployments.apps, pods), their subresources, and what guardrails judge. Default: all.",
    ),
    option(
        "--policies/--no-policies",
        default=True,
        show_default=True,
        help="Also review what guardrails judge: policies, Services, labels of Namespaces, and deletions of these.",
    ),
    option(
        "--exempt-namespace",
        "exempt",
        metavar="NAMESPACE",
        multiple=True,
        help="Also exclude objects in this namespace. Repeatable.",
    ),
    file_option(
        "--ca-file",
        "The authority of the webhook's certificate. Default: none; a bridge that creates its certificate adds it.",
    ),
    file_option("--config", "Settings of `pbctl run`; options take precedence."),
    output_option("yaml", "json"),
)
def webhook_config(
    config: Path | None,
    ca_file: Path | None,
    resources: tuple[str, ...],
    policies: bool,
    exempt: tuple[str, ...],
    port: int,
    output: str,
    **flags: Any,
) -> None:
    """Print a mutating and a validating webhook configuration for `kubectl apply`.

    The mutating webhook adds annotations to objects. The validating webhook checks them as they will be stored, after
    all mutating webhooks. The namespaces of the bridge, of OPA (if the settings name its Service), of policies and of
    the control plane are excluded, so users can always fix a broken policy.

    Examples:
        # For every object, with the Service of the settings
        pbctl admin webhook-config | kubectl apply -f -
        # For Deployments and one policy kind only
        pbctl admin webhook-config --resource deployments.apps --resource colorpolicies.example.com
        # For a bridge outside the cluster
        pbctl admin webhook-config --url https://10.0.0.7:8443/admission
    """
    from bridge.admission.webhook_configuration import (
        KINDS,
        POLICIES_ANYWHERE,
        SYSTEM_NAMESPACES,
        Target,
        namespace_of,
        webhook_configuration,
    )
    from bridge.settings.loading import load_settings

    settings = load_settings(config, flags)
    try:
        authority = read_file(ca_file) if ca_file else b""
    except OSError as error:
        raise CommandError(f"--ca-file {ca_file}: {error.strerror}") from error
    own = settings.webhook_service.partition("/")[0]
    of_policies = [name for name in settings.policy_namespaces if name != "*"]
    of_opa = [namespace_of(url) for url in (settings.opa_url, settings.webhook_decision) if url]
    conditions = [POLICIES_ANYWHERE] if "*" in settings.policy_namespaces else []
    documents = [
        webhook_configuration(
            which,
            settings.webhook_configuration,
            Target(settings.webhook_url or "", settings.webhook_service, port, authority),
            exempt=[*SYSTEM_NAMESPACES, *of_policies, *filter(None, of_opa), own, *exempt],
            timeout=max(1, round(settings.webhook_deadline)),
            resources=resources,
            policies=policies,
            conditions=conditions,
            every_operation=settings.webhook_input == "review",
            policy_namespaces=settings.policy_namespaces if policies else (),
        )
        for which in KINDS
    ]
    print_objects(output, documents)


@command(
    "Print the configuration of an OPA for the bridge",
    option(
        "--bridge-url",
        metavar="URL",
        help="The address of the bridge for OPA, as in `pbctl run --listen`, or for a view as in --publish-listen. "
        "Default: http://127.0.0.1:8282, for a view http://127.0.0.1:8484.",
    ),
    option("--view", metavar="NAME", help="For an OPA without a bridge, which gets this view from the bridge."),
    option(
        "--from",
        "place",
        metavar="URL",
        help="The OPA gets the view from this destination of `pbctl run --publish-to`. It reports to the bridge only "
        "with --bridge-url.",
    ),
    option(
        "--cluster",
        "clusters",
        metavar="NAME=URL",
        multiple=True,
        help="With --view federation --from URL: the destination of a cluster's view. Repeatable.",
    ),
    option(
        "--cluster-key",
        "cluster_keys",
        metavar="NAME=FILE",
        multiple=True,
        help="The verification key of that cluster's bridge, if it differs. Repeatable.",
    ),
    file_option("--ca-file", "Authorities (PEM) of the bridge's certificate, instead of the system's."),
    option(
        "--bundle-credentials",
        "--publish-credentials",
        "bundle_credentials",
        metavar="FOLDER",
        envvar="BRIDGE_BUNDLE_CREDENTIALS",
        type=click.Path(path_type=Path),
        help="The token and the keys with which OPA fetches and verifies bundles or views, as for `pbctl run`; "
        "created if the folder does not exist. Default: a folder of this user.",
    ),
    option("--decision-ids", is_flag=True, help="OPA returns an id with each decision, for the audit of admission."),
    option(
        "--system-main",
        is_flag=True,
        help="OPA answers POST / by the rule main of a ConfigMap's package system, as the bridge's own OPA does.",
    ),
    option(
        "--add-to",
        metavar="FILE",
        help="Add it to this configuration (YAML) of OPA, such as decision_logs, and print the whole.",
    ),
    option("--authorization", is_flag=True, help="OPA gets its accepted tokens from the bridge, and limits requests."),
    option(
        "--show",
        type=click.Choice(["config", "policy", "command"]),
        default="config",
        show_default=True,
        help="Print the configuration, the authorization policy, or the command that starts an OPA with both.",
    ),
    output_option("yaml", "json"),
)
def opa_config(
    bridge_url: str | None,
    view: str | None,
    place: str | None,
    ca_file: Path | None,
    bundle_credentials: Path | None,
    show: str,
    output: str,
    **more: Any,
) -> None:
    """Print an OPA configuration that loads modules only from this bridge.

    Examples:
        # Start an OPA next to the bridge
        pbctl admin opa-config >opa.yaml && opa run --server --config-file=opa.yaml
        # Then start the bridge that writes to it
        pbctl run --opa http://127.0.0.1:8181
        # For containers that share a folder
        pbctl admin opa-config --bundle-credentials /run/policy-bridge/bundle
        # For a bridge on another host
        pbctl admin opa-config --bridge-url http://policy-bridge:8282
        # For an OPA that has a configuration
        pbctl admin opa-config --add-to config.yaml >opa.yaml
        # For an OPA that requires tokens: its configuration,
        pbctl admin opa-config --authorization >opa.yaml
        # its authorization policy,
        pbctl admin opa-config --show policy >authz.rego
        # and the command that starts it
        pbctl admin opa-config --show command
        # For one of many OPAs that get a view of `pbctl run --publish`
        pbctl admin opa-config --view infra.public --bridge-url https://hub.example.com:8484
        # The command that starts it
        pbctl admin opa-config --view infra.public --show command
        # For one that gets it from object storage
        pbctl admin opa-config --view infra.public --from s3://fleet/east
        # For one that has the data of two clusters
        pbctl admin opa-config --view federation --from s3://fleet/east --cluster east=s3://fleet/east --cluster west=s3://fleet/west
    """
    if show != "config":
        print(_policy(of_edge=bool(view)) if show == "policy" else _command(of_edge=bool(view)))
        return
    from bridge.destinations.federation import federation_config
    from bridge.destinations.urls import place_of
    from bridge.model.views import FEDERATION
    from bridge.opa.bundle import edge_config
    from bridge.opa.bundle import opa_config as config_for
    from bridge.opa.credentials import default_folder, kept_credentials
    from bridge.sidecar.managed_opa import read_config

    added_to = more.pop("add_to")
    if added_to and view:
        raise CommandError("--add-to is for an OPA beside a bridge: omit --view")
    clusters, keys = _pairs("--cluster", more.pop("clusters")), _pairs("--cluster-key", more.pop("cluster_keys"))
    if place and not view:
        raise CommandError("--from needs --view")
    if clusters and not (place and view == FEDERATION):
        raise CommandError(f"--cluster needs --view {FEDERATION} --from URL")
    if unknown := keys.keys() - clusters.keys():
        raise CommandError(f"--cluster-key {min(unknown)}: no --cluster has this name")
    try:
        _check_names(view, clusters)
        source = place_of(place).source_of(view) if place and view else None
        places = {name: place_of(url) for name, url in clusters.items()}
    except ValueError as error:
        raise CommandError(str(error).removeprefix("publish: ").replace("publish_to: ", "")) from error
    url = bridge_url or f"http://127.0.0.1:{8484 if view else 8282}"
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise CommandError(f"--bridge-url {url}: write http://HOST:PORT")
    trust = kept_credentials(bundle_credentials or default_folder("publish" if view else "bundle")).trust
    if view:
        reported_to = url if bridge_url or source is None else ""
        config = edge_config(reported_to, trust, view, str(ca_file or ""), source)
        if places:
            found = {name: (at, _read_key(keys.get(name), trust.public_key)) for name, at in places.items()}
            config = federation_config(config, found)
        print_document(output, config)
        return
    print_document(output, config_for(url, trust, given=read_config("--add-to", added_to), **more))


def _check_names(view: str | None, clusters: Iterable[str]) -> None:
    """Raise ValueError for a name that no view or cluster can have."""
    from bridge.model.views import View, name_of_cluster

    if view:
        View(view)
    for name in clusters:
        name_of_cluster(name)


def _pairs(name: str, texts: tuple[str, ...]) -> dict[str, str]:
    """Return the values of a repeatable option `NAME=VALUE` by name. Raises CommandError."""
    found = dict(text.split("=", 1) for text in texts if "=" in text)
    if len(found) != len(texts):
        raise CommandError(f"{name}: write NAME=VALUE, each name once")
    return found


def _read_key(file: str | None, default: str) -> str:
    if not file:
        return default
    try:
        key = read_file(Path(file)).decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--cluster-key {file}: {error}") from error
    if not key.startswith("-----BEGIN PUBLIC KEY-----"):
        raise CommandError(
            f"--cluster-key {file}: it is not a public key in PEM: give verification-key.pem of its bridge"
        )
    return key


def _policy(*, of_edge: bool) -> str:
    from bridge.files import authorization_policy

    if of_edge:
        raise CommandError("--show policy: a view contains the policy of its edges, so --view needs no file of it")
    return authorization_policy().rstrip()


def _command(*, of_edge: bool) -> str:
    from bridge.opa.bundle import edge_arguments, opa_arguments

    if of_edge:
        return " ".join(["opa", *edge_arguments("opa.yaml", "127.0.0.1:8181")])
    addresses = ("unix:///run/policy-bridge/opa.sock", "0.0.0.0:8181")
    return " ".join(["opa", *opa_arguments("opa.yaml", "authz.rego", addresses)])


@command("Print a random token")
def token() -> None:
    """Print a random token of 43 characters (256 bits), for the page, for OPA's readers, or for the bridge.

    Examples:
        # A token for the web page
        pbctl admin token >token && pbctl run --listen 0.0.0.0:8282 --web-token-file token
        # Store a token as a Secret
        kubectl create secret generic web-token --from-literal=token="$(pbctl admin token)"
    """
    print(secrets.token_urlsafe(32))


@command(
    "Create the secrets between an OPA and the bridge",
    click.Argument(["folder"], metavar="FOLDER", type=click.Path(path_type=Path)),
)
def credentials(folder: Path) -> None:
    """Create the secrets with which an OPA fetches and verifies the bridge's bundles, if FOLDER does not exist yet.

    FOLDER then has the files token, signing-key.pem and verification-key.pem. `pbctl run` and `pbctl admin opa-config`
    create them too; use this command in a container that runs before both.

    Examples:
        # Secrets for a bridge and an OPA that share a folder
        pbctl admin credentials /run/policy-bridge/bundle
    """
    from bridge.opa.credentials import kept_credentials

    kept_credentials(folder)
    print_error(f"credentials in {folder}")


@command("Print the bridge's own CRDs")
def crds() -> None:
    """Print the CustomResourceDefinitions of PolicyKind, RegoPolicy and Constraint for this version.

    Examples:
        # Install the CRDs in a cluster
        pbctl admin crds | kubectl apply -f -
    """
    from bridge.files import crds_root

    texts = [file.read_text(encoding="utf-8").strip() for file in sorted(crds_root().glob("*.yaml"))]
    click.echo("\n---\n".join(texts))
