"""The configuration that makes an OPA take its modules from the bridge."""

from __future__ import annotations

from typing import Any

BUNDLE_NAME = "policy-bridge"  # how OPA names the bundle in its status and provenance
BUNDLE_PATH = "/bundles/policy-bridge.tar.gz"  # where the bridge serves it
LONG_POLL_SECONDS = 30

# OPA polls long only where the answer has this Content-Type; otherwise it falls back to asking every delay.
BUNDLE_CONTENT_TYPE = "application/vnd.openpolicyagent.bundles"


# OPA gives decisions an id only while it keeps a decision log: this one holds a single decision and sends it nowhere.
_DECISION_IDS = {
    "service": "bridge",
    "reporting": {"trigger": "manual", "buffer_type": "event", "buffer_size_limit_events": 1},
}


def opa_config(bridge_url: str, *, decision_ids: bool = False) -> dict[str, Any]:
    """OPA's configuration (JSON and YAML alike) for a bridge that serves its bundle at `bridge_url`.

    OPA asks again 1 to 2 s after each answer, and an answer waits up to LONG_POLL_SECONDS for news. The status plugin
    is on so that `/v1/status` tells which bundle OPA has activated, or why it refused one. With `decision_ids` each
    answer has an id, for the audit of admission.
    """
    logged = {"decision_logs": _DECISION_IDS} if decision_ids else {}
    return {
        "services": {"bridge": {"url": bridge_url.rstrip("/")}},
        "bundles": {
            BUNDLE_NAME: {
                "service": "bridge",
                "resource": BUNDLE_PATH,
                "polling": {
                    "min_delay_seconds": 1,
                    "max_delay_seconds": 2,
                    "long_polling_timeout_seconds": LONG_POLL_SECONDS,
                },
            }
        },
        "status": {"prometheus": True},
        **logged,
    }
