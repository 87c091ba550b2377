"""Options of commands that name proxies: dumps of their configurations, or the Pods of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bridge.cli.command import option
from bridge.cli.output import print_error
from bridge.cli.reading import Asked, need_one_reader
from bridge.model.keys import Key, parse_key
from bridge.queries.names import CommandError, short_key

if TYPE_CHECKING:
    from bridge.offline.engine import Engine
    from bridge.proxies.comparison import Comparison, Input


PROXIES = (
    option(
        "--config-dump",
        "dumps",
        metavar="FILE|URL|-",
        multiple=True,
        help="The configuration of a proxy: Envoy's /config_dump, or what egctl and istioctl print. Repeatable.",
    ),
    option(
        "--pods",
        is_flag=True,
        help="The proxies of the cluster's Gateways, above the targets if there are any: the bridge forwards a port of "
        "their Pods, with your permissions.",
    ),
    option(
        "--controller-namespace",
        "controller_namespace",
        metavar="NAMESPACE",
        help="With --pods: the namespace of Envoy Gateway's controller, which has its proxies there. Default: "
        "envoy-gateway-system.",
    ),
)
QUERIES = (
    "proxy_facts",
    "proxy_pods",
    "taken_routes",
    "verified_targets",
    "verify",
    "kinds_in_force",
)  # of these options


def names_proxies(asked: Asked) -> bool:
    """Return whether options name proxies. Raises CommandError for options that exclude each other."""
    dumps, pods = asked.more["dumps"], asked.more["pods"]
    need_one_reader("--config-dump", dumps, asked.source)
    if asked.more["controller_namespace"] and not pods:
        raise CommandError("--controller-namespace needs --pods")
    if pods and (asked.source.manifests or asked.source.opa_url):
        raise CommandError("--pods reads the proxies of a cluster: it excludes --manifests and --opa")
    return bool(dumps or pods)


async def compare_proxies(engine: Engine, asked: Asked, targets: Sequence[Key], *, everything: bool) -> Comparison:
    """Compare the proxies of the options with what is in effect at targets, at all without any; print warnings.

    Raises CommandError.
    """
    from bridge.cli.proxy_pods import pods_of
    from bridge.proxies.comparison import compare
    from bridge.proxies.dumps import DumpError
    from bridge.proxies.inputs import ConfigDump

    dumps = [ConfigDump(name) for name in dict.fromkeys(asked.more["dumps"])]
    home = asked.more["controller_namespace"]
    pods = await pods_of(engine, asked.source, targets, home) if asked.more["pods"] else []
    inputs: list[Input] = [*dumps, *pods]
    if not inputs:
        raise CommandError("no Pod of a proxy is running: give --config-dump for proxies that are not in the cluster")
    try:
        found = await compare(engine.opa, inputs, targets, everything=everything)
    except DumpError as error:
        raise CommandError(str(error)) from error
    found.unread |= {
        pod.name: f"Pod {pod.name}: its proxy has no configuration of a Gateway"
        for pod in pods
        if not found.proxies.get(pod.name, {}).get("covers") and pod.name not in found.unread
    }
    for warning in found.warnings:
        print_error(f"warning: {warning}")
    for gateway, proxies in found.disagreeing.items():
        differing = f"{', '.join(proxies)} {'differs' if len(proxies) == 1 else 'differ'}"
        print_error(f"warning: the proxies of {short_key(parse_key(gateway))} disagree: only {differing}")
    for reason in found.unread.values():
        print_error(f"error: {reason}")
    return found
