"""`bridge webhook-config`: print the webhook configurations for the API server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import output_option
from bridge.queries.names import CommandError

_EXAMPLES = (
    ("For every object, with the Service of the settings", "bridge webhook-config | kubectl apply -f -"),
    (
        "For Deployments and one policy kind only",
        "bridge webhook-config --resource deployments.apps --resource colorpolicies.example.com",
    ),
    ("For a bridge outside the cluster", "bridge webhook-config --url https://10.0.0.7:8443/admission"),
)


@click.command(
    "webhook-config",
    cls=ExampleCommand,
    examples=_EXAMPLES,
    short_help="Print the webhook configurations for the API server",
)
@click.option("--service", "webhook_service", metavar="NAMESPACE/NAME", help="The Service of the bridge.")
@click.option("--port", type=click.IntRange(1, 65535), default=443, show_default=True, help="The Service's port.")
@click.option("--url", "webhook_url", metavar="URL", help="Instead of a Service: https://HOST:PORT/admission.")
@click.option(
    "--name", "webhook_configuration", metavar="NAME", help="Name of both configurations. Default: policy-bridge."
)
@click.option(
    "--resource",
    "resources",
    metavar="PLURAL.GROUP",
    multiple=True,
    help="Review these (deployments.apps, pods), their subresources, and all policies. Default: all.",
)
@click.option(
    "--policies/--no-policies",
    default=True,
    show_default=True,
    help="With --resource: also review objects that look like policies, so bounds apply to them at admission.",
)
@click.option(
    "--exempt-namespace",
    "exempt",
    metavar="NAMESPACE",
    multiple=True,
    help="Also exclude objects in this namespace. Repeatable.",
)
@click.option(
    "--ca-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The authority of the webhook's certificate. Default: the bridge adds its own authority.",
)
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Settings of `bridge run`; options take precedence.",
)
@output_option("yaml", "json")
@debug_option
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
    """
    from bridge.admission.webhook_configuration import (
        KINDS,
        POLICIES_ANYWHERE,
        SYSTEM_NAMESPACES,
        Target,
        namespace_of,
        not_secret,
        webhook_configuration,
    )
    from bridge.cli.printers.documents import print_objects
    from bridge.settings.loading import load_settings

    settings = load_settings(config, flags)
    try:
        authority = ca_file.read_bytes() if ca_file else b""
    except OSError as error:
        raise CommandError(f"--ca-file {ca_file}: {error.strerror}") from error
    own = settings.webhook_service.partition("/")[0]
    of_policies = [name for name in settings.policy_namespaces if name != "*"]
    of_opa = [namespace_of(url) for url in (settings.opa_url, settings.webhook_decision) if url]
    conditions = [POLICIES_ANYWHERE] if "*" in settings.policy_namespaces else []
    if not settings.webhook_cert_file:
        conditions.append(not_secret(settings.lease_namespace, settings.webhook_secret))
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
        )
        for which in KINDS
    ]
    print_objects(output, documents)
