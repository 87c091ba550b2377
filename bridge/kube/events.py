"""Events about one object, as `kubectl describe` lists them."""

from __future__ import annotations

from typing import Any

from bridge.kube.client import KubeClient
from bridge.model.keys import CLUSTER, Key, group_of

_MOST = "100"


async def events_about(client: KubeClient, key: Key) -> list[dict[str, Any]]:
    """Return the Events about an object, the oldest first: `{type, reason, message, count, last, from}`.

    Raises KubeError.
    """
    namespace = "default" if key.namespace == CLUSTER else key.namespace  # Events of cluster-scoped objects are here
    selector = f"involvedObject.kind={key.kind},involvedObject.name={key.name}"
    answer = await client.get(f"/api/v1/namespaces/{namespace}/events", {"fieldSelector": selector, "limit": _MOST})
    found = [
        {
            "type": event.get("type", ""),
            "reason": event.get("reason", ""),
            "message": event.get("message", ""),
            "count": event.get("count") or 1,
            "last": event.get("lastTimestamp") or event.get("eventTime") or "",
            "from": (event.get("source") or {}).get("component") or event.get("reportingComponent", ""),
        }
        for event in answer["items"]
        if group_of((event.get("involvedObject") or {}).get("apiVersion") or "v1") == key.group
    ]
    return sorted(found, key=lambda event: str(event["last"]))
