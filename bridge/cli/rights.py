"""What a cluster lets us read, as `bridge doctor` asks: the API server is asked, nothing is tried."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.kube.client import KubeClient

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_READ = (
    ("", "namespaces"),
    ("", "services"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    *(
        ("gateway.networking.k8s.io", plural)
        for plural in ("gatewayclasses", "gateways", "httproutes", "grpcroutes", "referencegrants")
    ),
    ("policybridge.io", "policykinds"),
)


async def unreadable(client: KubeClient) -> list[str]:
    """The types, as `plural.group`, that we may not list in all namespaces. Raises KubeError."""
    allowed = await asyncio.gather(*(_may_list(client, group, plural) for group, plural in _READ))
    return [f"{plural}.{group}".rstrip(".") for (group, plural), may in zip(_READ, allowed, strict=True) if not may]


async def _may_list(client: KubeClient, group: str, plural: str) -> bool:
    attributes = {"verb": "list", "group": group, "resource": plural}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    return bool((await client.post(_REVIEWS, review))["status"]["allowed"])
