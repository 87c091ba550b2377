"""A federation: one OPA with the data of several clusters, each of which is a bundle of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridge.destinations.place import Place
from bridge.model.views import OF_CLUSTER, name_of_cluster
from bridge.opa.bundle import BUNDLE_NAME, KEY_ALGORITHM, SOURCE, Bundle, build_view_bundle, move_below

CLUSTERS = "clusters"  # the document with the data of several clusters, by name


def federation_config(config: Mapping[str, Any], clusters: Mapping[str, tuple[Place, str]]) -> dict[str, Any]:
    """Return the configuration of an OPA that also gets the data of `clusters`: where they are, and their public keys.

    `config` is that of an edge with the view FEDERATION.
    """
    parts: dict[str, dict[str, Any]] = {name: {**config[name]} for name in ("services", "keys", "bundles")}
    common = parts["services"][SOURCE].get("tls")
    for cluster, (place, public_key) in clusters.items():
        name, view = f"{OF_CLUSTER}-{cluster}", name_of_cluster(cluster)
        source = place.source_of(view)
        parts["services"][name] = {**source.service, **({"tls": common} if common else {})}
        parts["keys"][name] = {"algorithm": KEY_ALGORITHM, "key": public_key}
        signing = {"signing": {"keyid": name, "scope": view}}
        polled = config["bundles"][BUNDLE_NAME]
        parts["bundles"][name] = {**polled, "service": name, "resource": source.resource, **signing}
    return {**config, **parts}


def build_cluster_bundle(documents: Mapping[str, Any], cluster: str, view: str, now: str, number: int) -> Bundle:
    """Return the bundle of a cluster's data alone, below `data.clusters[cluster]`, with the document VIEW there."""
    return move_below(build_view_bundle(Bundle({}, "", ()), documents, view, now, number), f"{CLUSTERS}/{cluster}")
