"""The proxies of a cluster's Gateways: their Pods, and their configurations by port-forward."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from bridge.cli.output import print_error
from bridge.kube.kube_client import KubeClient
from bridge.kube.kube_errors import Forbidden, KubeError
from bridge.kube.port_forward import PortForward
from bridge.model.keys import Key, parse_key
from bridge.proxies.dumps import DumpError, ProxyError
from bridge.queries.names import CommandError, short_key

if TYPE_CHECKING:
    from bridge.cli.source import Input
    from bridge.offline.engine import Engine


def _role(namespace: str | None) -> str:
    """Return which command prints the role that a user lacks, in a namespace or in all."""
    return f"`pbctl admin rbac --reader --pods{f' -n {namespace}' if namespace else ''}` prints a role"


class _Connection(http.client.HTTPConnection):
    """HTTP on a socket that is connected already."""

    def __init__(self, connected: socket.socket) -> None:
        super().__init__("localhost")
        self.sock = connected


@dataclass(frozen=True, slots=True)
class ProxyPod:
    """The configuration of the proxy in a Pod, from its admin interface."""

    source: Input
    namespace: str
    pod: str
    port: int

    @property
    def name(self) -> str:
        """Return its name in messages and answers."""
        return f"{self.namespace}/{self.pod}"

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open it. Raises ProxyError if the Pod does not answer, CommandError without permission."""
        connect = partial(KubeClient.connect, self.source.kubeconfig, self.source.kube_context)
        forward = PortForward(connect, self.namespace, self.pod, self.port)
        with forward as connected:
            try:
                connection = _Connection(connected)
                connection.request("GET", "/config_dump")
                with connection.getresponse() as response:
                    if response.status != http.HTTPStatus.OK:
                        raise ProxyError(f"Pod {self.name}: port {self.port} answers {response.status} to /config_dump")
                    yield cast("BinaryIO", response)
            except (OSError, http.client.HTTPException, DumpError) as error:
                why = forward.failure()
                if isinstance(why, Forbidden):
                    what = f"forward ports of Pod {self.name} (get and create pods/portforward)"
                    raise CommandError(f"you may not {what}: {_role(self.namespace)}") from why
                text = f"Pod {self.name}: its proxy cannot be read at port {self.port}: {why or error}"
                raise ProxyError(text) from (why or error)


async def pods_of(
    engine: Engine, source: Input, targets: Sequence[Key], controller_namespace: str | None = None
) -> list[ProxyPod]:
    """Return the proxies of the Gateways above targets, of all without targets; print warnings. Raises CommandError.

    `controller_namespace` is that of a controller that has its proxies there, if it is not the usual one.
    """
    nodes = await engine.opa.query("verified_targets", {"targets": [str(key) for key in targets]}) if targets else []
    where = {"controllerNamespace": controller_namespace} if controller_namespace else {}
    gateways = await engine.opa.query("proxy_pods", {**where, **({"nodes": nodes} if targets else {})})
    if not gateways:
        print_error(f"warning: no Gateway is known{' above the targets' if targets else ''}")
    found: dict[tuple[str, str], ProxyPod] = {}
    denied: dict[str, None] = {}
    try:
        async with await KubeClient.connect(source.kubeconfig, source.kube_context) as client:
            for about in gateways:
                pods, not_read = await _list_selected(
                    client, about["selections"], named=controller_namespace is not None
                )
                denied |= dict.fromkeys(not_read)
                _report_missing(about, pods)
                for pod in pods:
                    place = pod["metadata"]["namespace"], pod["metadata"]["name"]
                    found[place] = ProxyPod(source, *place, about["port"])
    except KubeError as error:
        raise CommandError(str(error)) from error
    for text in denied:
        print_error(f"warning: not read: {text}")
    return [found[place] for place in sorted(found)]


async def _list_selected(
    client: KubeClient, selections: Sequence[Mapping[str, Any]], *, named: bool
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the Pods of selections that run, and why namespaces are not read.

    The Pods of a Gateway are in one of the namespaces. The usual one is that of the first selection: unless the user
    `named` another for it, one that the user may not read is a CommandError, as is no Pod beside such a namespace.
    """
    found: list[dict[str, Any]] = []
    denied: list[CommandError] = []
    for one in selections:
        try:
            found += await _list_pods(client, one)
        except CommandError as error:
            if not named and one.get("namespace") == selections[0].get("namespace"):
                others = {other.get("namespace") for other in selections} - {one.get("namespace")}
                fix = "; --controller-namespace names the namespace of the proxies" if others else ""
                raise CommandError(f"{error}{fix}") from error
            denied.append(error)
    if denied and not found:
        raise denied[0]
    return found, [str(error) for error in denied]


async def _list_pods(client: KubeClient, selection: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the Pods of a selection that run."""
    namespace = selection.get("namespace")
    path = f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods"
    labels = ",".join(f"{label}={value}" for label, value in sorted(selection["labels"].items()))
    try:
        answer = await client.get(path, {"labelSelector": labels})
    except Forbidden as error:
        where = f"namespace {namespace}" if namespace else "all namespaces"
        raise CommandError(f"you may not list the Pods of proxies in {where}: {_role(namespace)}") from error
    pods: list[dict[str, Any]] = []
    for pod in answer["items"]:
        ending = "deletionTimestamp" in pod["metadata"]
        phase = "terminating" if ending else pod.get("status", {}).get("phase", "Unknown")
        if phase == "Running":
            pods.append(pod)
        else:
            name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            print_error(f"warning: Pod {name} is {phase}, so its proxy is not read")
    return pods


def _report_missing(about: Mapping[str, Any], pods: Sequence[object]) -> None:
    if pods:
        return
    gateway = short_key(parse_key(about["gateway"]))
    if about["selections"]:
        places = " or ".join(
            ",".join(f"{label}={value}" for label, value in sorted(one["labels"].items()))
            + (f" in namespace {one['namespace']}" if "namespace" in one else "")
            for one in about["selections"]
        )
        print_error(f"warning: {gateway} has no Pod of a proxy that runs, with the labels {places}")
    else:
        print_error(f"warning: Policy Bridge doesn't know the Pods of {gateway}'s proxies: give --config-dump")
