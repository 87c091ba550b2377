"""Measure `pbctl verify` with the dump of a proxy that has every route, beside parsing the same dump as JSON."""

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.bench.table import Figures
from tests.processes import Program

HOSTS = 100
_ENVOY = "type.googleapis.com/envoy"
_FILTERS = f"{_ENVOY}.extensions.filters"
_PARSE = "import json, sys; json.load(open(sys.argv[1], 'rb'))"
Object = dict[str, Any]


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the figures. Every field of the dump agrees with the objects."""
    objects, dump = folder / "objects.yaml", folder / "dump.json"
    with objects.open("w") as file:
        yaml.dump_all(_objects(routes), file, Dumper=yaml.CSafeDumper)
    dump.write_text(json.dumps(_dump(routes)))
    command = ("verify", "--config-dump", str(dump), "--manifests", str(objects))
    verified = await asyncio.to_thread(program.processor_time, *command)
    return {"verify_proxy": verified, "verify_parsing": await asyncio.to_thread(_parsing, dump)}


def _parsing(dump: Path) -> float:
    """Return the processor time of a Python that parses the dump."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", _PARSE, dump], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _named(kind: str, name: str, section: str = "") -> Object:
    one = {"kind": kind, "namespace": "shop", "name": name} | ({"sectionName": section} if section else {})
    return {"filterMetadata": {"envoy-gateway": {"resources": [one]}}}


def _object(api: str, kind: str, name: str, spec: Object, namespace: str = "shop") -> Object:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def _objects(routes: int) -> Iterator[Object]:
    gateway, envoy = "gateway.networking.k8s.io/v1", "gateway.envoyproxy.io/v1alpha1"
    ref = [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "public"}]
    controller = {"controllerName": "gateway.envoyproxy.io/gatewayclass-controller"}
    yield _object(gateway, "GatewayClass", "envoy", controller, "")
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    yield _object(gateway, "Gateway", "public", {"gatewayClassName": "envoy", "listeners": [listener]})
    limits = {"timeout": {"http": {"requestTimeout": "15s"}}, "retry": {"numRetries": 2}}
    limit = {"type": "Local", "local": {"rules": [{"limit": {"requests": 5, "unit": "Minute"}}]}}
    yield _object(envoy, "BackendTrafficPolicy", "all", {"targetRefs": ref, **limits, "rateLimit": limit})
    cors = {"allowOrigins": ["https://shop.example.com"], "allowMethods": ["GET", "POST"], "maxAge": "10m"}
    check = {"http": {"path": "/check", "backendRefs": [{"name": "check", "port": 80}]}}
    rules = {"defaultAction": "Deny"}
    yield _object(
        envoy, "SecurityPolicy", "all", {"targetRefs": ref, "cors": cors, "extAuth": check, "authorization": rules}
    )
    for number in range(routes):
        match = {"path": {"type": "PathPrefix", "value": f"/route-{number}"}}
        backend = {"name": f"service-{number}", "port": 80}
        yield _object(
            gateway,
            "HTTPRoute",
            f"route-{number}",
            {
                "parentRefs": [{"name": "public"}],
                "hostnames": [f"h{number % HOSTS}.example.com"],
                "rules": [{"name": "all", "matches": [match], "backendRefs": [backend]}],
            },
        )


def _dump(routes: int) -> Object:
    """What `/config_dump` answers of the proxy, as Envoy Gateway configures it."""
    hosts = [
        {
            "name": f"shop/public/http/h{host}_example_com",
            "domains": [f"h{host}.example.com"],
            "metadata": _named("Gateway", "public", "http"),
            "routes": [_route(number) for number in range(host, routes, HOSTS)],
        }
        for host in range(HOSTS)
    ]
    routing = {"name": "shop/public/http", "ignorePortInHostMatching": True, "virtualHosts": hosts}
    return {
        "configs": [
            {
                "@type": f"{_ENVOY}.admin.v3.ClustersConfigDump",
                "dynamicActiveClusters": [{"cluster": _cluster(number)} for number in range(routes)],
            },
            {
                "@type": f"{_ENVOY}.admin.v3.ListenersConfigDump",
                "dynamicListeners": [{"name": "shop/public/http", "activeState": {"listener": _listener()}}],
            },
            {
                "@type": f"{_ENVOY}.admin.v3.RoutesConfigDump",
                "dynamicRouteConfigs": [{"routeConfig": routing}],
            },
        ]
    }


def _route(number: int) -> Object:
    metadata = _named("HTTPRoute", f"route-{number}", "all")
    policy = {"kind": "BackendTrafficPolicy", "namespace": "shop", "name": "all"}
    metadata["filterMetadata"]["envoy-gateway"]["policies"] = [policy]
    always = {"defaultValue": {"numerator": 100}}
    deny = {"name": "default", "typedConfig": {"@type": f"{_ENVOY}.config.rbac.v3.Action", "action": "DENY"}}
    previous = {
        "name": "envoy.retry_host_predicates.previous_hosts",
        "typedConfig": {"@type": f"{_ENVOY}.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"},
    }
    return {
        "name": f"httproute/shop/route-{number}/rule/0/match/0/h{number % HOSTS}_example_com",
        "match": {"pathSeparatedPrefix": f"/route-{number}"},
        "metadata": metadata,
        "route": {
            "cluster": f"httproute/shop/route-{number}/rule/0",
            "timeout": "15s",
            "upgradeConfigs": [{"upgradeType": "websocket"}],
            "retryPolicy": {
                "hostSelectionRetryMaxAttempts": "5",
                "numRetries": 2,
                "retriableStatusCodes": [503],
                "retryHostPredicate": [previous],
                "retryOn": "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes",
            },
        },
        "typedPerFilterConfig": {
            "envoy.filters.http.cors": {
                "@type": f"{_FILTERS}.http.cors.v3.CorsPolicy",
                "allowOriginStringMatch": [{"exact": "https://shop.example.com"}],
                "allowMethods": "GET, POST",
                "maxAge": "600",
                "forwardNotMatchingPreflights": False,
            },
            "envoy.filters.http.local_ratelimit": {
                "@type": f"{_FILTERS}.http.local_ratelimit.v3.LocalRateLimit",
                "statPrefix": "http_local_rate_limiter",
                "alwaysConsumeDefaultTokenBucket": False,
                "enableXRatelimitHeaders": "DRAFT_VERSION_03",
                "filterEnabled": always,
                "filterEnforced": always,
                "tokenBucket": {"maxTokens": 5, "tokensPerFill": 5, "fillInterval": "60s"},
            },
            "envoy.filters.http.ext_authz/securitypolicy/shop/all": {
                "@type": f"{_FILTERS}.http.ext_authz.v3.ExtAuthzPerRoute",
                "checkSettings": {},
            },
            "envoy.filters.http.rbac": {
                "@type": f"{_FILTERS}.http.rbac.v3.RBACPerRoute",
                "rbac": {"matcher": {"onNoMatch": {"action": deny}}},
            },
        },
    }


def _cluster(number: int) -> Object:
    name = f"httproute/shop/route-{number}/rule/0"
    policies = f"{_ENVOY}.extensions.load_balancing_policies.least_request.v3.LeastRequest"
    balancing = {
        "name": "envoy.load_balancing_policies.least_request",
        "typedConfig": {"@type": policies, "localityLbConfig": {"localityWeightedLbConfig": {}}},
    }
    return {
        "@type": f"{_ENVOY}.config.cluster.v3.Cluster",
        "name": name,
        "metadata": _named("HTTPRoute", f"route-{number}", "all"),
        "type": "EDS",
        "edsClusterConfig": {
            "edsConfig": {"ads": {}, "resourceApiVersion": "V3"},
            "serviceName": name,
        },
        "circuitBreakers": {"thresholds": [{"maxRetries": 1024}]},
        "connectTimeout": "10s",
        "dnsLookupFamily": "V4_PREFERRED",
        "ignoreHealthOnHostRemoval": True,
        "loadBalancingPolicy": {"policies": [{"typedExtensionConfig": balancing}]},
        "perConnectionBufferLimitBytes": 32768,
    }


def _listener() -> Object:
    types = {
        "cors": "cors.v3.Cors",
        "ext_authz/securitypolicy/shop/all": "ext_authz.v3.ExtAuthz",
        "rbac": "rbac.v3.RBAC",
        "local_ratelimit": "local_ratelimit.v3.LocalRateLimit",
        "router": "router.v3.Router",
    }
    filters: list[Object] = [
        {"name": f"envoy.filters.http.{name}", "typedConfig": {"@type": f"{_FILTERS}.http.{type_}"}}
        for name, type_ in types.items()
    ]
    filters[1]["typedConfig"]["httpService"] = {"pathPrefix": "/check"}
    filters[1]["disabled"] = True  # routes enable it
    manager = {
        "@type": f"{_FILTERS}.network.http_connection_manager.v3.HttpConnectionManager",
        "statPrefix": "http-10080",
        "rds": {"routeConfigName": "shop/public/http"},
        "httpFilters": filters,
    }
    return {"name": "shop/public/http", "defaultFilterChain": {"filters": [{"name": "http", "typedConfig": manager}]}}
