"""A small configuration of an Envoy in the shape that Envoy Gateway gives it: one listener, and rules of one route."""

from typing import Any

Object = dict[str, Any]
_ENVOY = "type.googleapis.com/envoy"
LISTENER = "shop/public/http"


def named(kind: str, name: str, section: str = "") -> Object:
    """Return metadata that names an object of the namespace shop."""
    one = {"kind": kind, "namespace": "shop", "name": name} | ({"sectionName": section} if section else {})
    return {"filterMetadata": {"envoy-gateway": {"resources": [one]}}}


def route(rule: str, policies: tuple[str, ...] = (), filters: Object | None = None, **action: Any) -> Object:
    """Return the route of a rule of the HTTPRoute cart, with the BackendTrafficPolicies that it names."""
    metadata = named("HTTPRoute", "cart", rule)
    metadata["filterMetadata"]["envoy-gateway"]["policies"] = [
        {"kind": "BackendTrafficPolicy", "namespace": "shop", "name": name} for name in policies
    ]
    return {
        "name": f"httproute/shop/cart/rule/0/match/0/{rule}",
        "metadata": metadata,
        "route": {"cluster": f"cart-{rule}", **action},
        "typedPerFilterConfig": filters or {},
    }


def cluster(rule: str, **settings: Any) -> Object:
    """Return the cluster of a rule."""
    return {"name": f"cart-{rule}", "metadata": named("HTTPRoute", "cart", rule), **settings}


def listener(*filters: str, **manager: Any) -> Object:
    """Return the listener with these HTTP filters, and more settings of its connection manager."""
    config = {
        "@type": f"{_ENVOY}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "rds": {"routeConfigName": LISTENER},
        "httpFilters": [{"name": name, "typedConfig": {}} for name in filters],
        **manager,
    }
    return {"name": LISTENER, "defaultFilterChain": {"filters": [{"name": "http", "typedConfig": config}]}}


def route_config(*routes: Object) -> Object:
    """Return the configuration of the listener's routes."""
    host = {
        "name": f"{LISTENER}/all",
        "domains": ["*"],
        "routes": [*routes],
        "metadata": named("Gateway", "public", "http"),
    }
    return {"name": LISTENER, "ignorePortInHostMatching": True, "virtualHosts": [host]}


def dump(routes: Object, *clusters: Object, listeners: tuple[Object, ...] = (), updated: str = "") -> Object:
    """Return what `/config_dump` answers, with names of fields as in JSON."""
    when = {"lastUpdated": updated} if updated else {}
    return {
        "configs": [
            {
                "@type": f"{_ENVOY}.admin.v3.ClustersConfigDump",
                "dynamicActiveClusters": [{"cluster": one} for one in clusters],
            },
            {
                "@type": f"{_ENVOY}.admin.v3.ListenersConfigDump",
                "dynamicListeners": [{"name": one["name"], "activeState": {"listener": one}} for one in listeners],
            },
            {"@type": f"{_ENVOY}.admin.v3.RoutesConfigDump", "dynamicRouteConfigs": [{"routeConfig": routes, **when}]},
        ]
    }
