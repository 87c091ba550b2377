"""The configuration with which OPA gets its modules from the bridge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

BUNDLE_NAME = "policy-bridge"  # the bundle's name in OPA's status and provenance
BUNDLE_PATH = "/bundles/policy-bridge.tar.gz"  # where the bridge serves it
TOKENS_NAME = "policy-bridge-tokens"  # the bundle of accepted tokens
TOKENS_PATH = "/bundles/policy-bridge-tokens.tar.gz"
KEY_ID = "policy-bridge"  # of the key that signs bundles, in OPA's configuration
KEY_ALGORITHM = "ES256"
LONG_POLL_SECONDS = 30
LARGEST_BODY = 64 << 20  # bytes of a request to OPA, also unpacked; a batch of an initial sync has at most half of that

# OPA uses long polling only for this Content-Type; otherwise it polls after every delay.
BUNDLE_CONTENT_TYPE = "application/vnd.openpolicyagent.bundles"


# OPA gives decisions an id only while it keeps a decision log: this one holds a single decision and sends it nowhere.
_DECISION_IDS = {
    "service": "bridge",
    "reporting": {"trigger": "manual", "buffer_type": "event", "buffer_size_limit_events": 1},
}


@dataclass(frozen=True, slots=True)
class BundleTrust:
    """The data with which OPA fetches and verifies bundles.

    OPA sends the token itself, or the content of the file `token_path` at each request. `public_key` is PEM; empty if
    OPA gets the key by an argument (`--set-file=keys.policy-bridge.key=FILE`).
    """

    public_key: str = ""
    token: str = field(default="", repr=False)
    token_path: str = ""


def opa_config(
    bridge_url: str, trust: BundleTrust, *, decision_ids: bool = False, authorization: bool = False
) -> dict[str, Any]:
    """Return OPA's configuration (JSON and YAML alike) for a bridge that serves its bundle at `bridge_url`.

    OPA accepts a bundle only with the signature of the key in `trust`. OPA polls again 1 to 2 s after each response,
    and a response waits up to LONG_POLL_SECONDS for changes. The status plugin is on, so `/v1/status` has the activated
    bundle, or the cause of a rejection. With `decision_ids` each decision has an id, for the audit of admission. With
    `authorization` OPA also fetches its accepted tokens, and limits the size of requests: OPA reads a body before it
    checks the token.
    """
    bearer = {"token_path": trust.token_path} if trust.token_path else {"token": trust.token}
    logged = {"decision_logs": _DECISION_IDS} if decision_ids else {}
    limits = {"server": {"decoding": {"max_length": LARGEST_BODY, "gzip": {"max_length": LARGEST_BODY}}}}
    return {
        "services": {"bridge": {"url": bridge_url.rstrip("/"), "credentials": {"bearer": bearer}}},
        "keys": {KEY_ID: {"algorithm": KEY_ALGORITHM, **({"key": trust.public_key} if trust.public_key else {})}},
        "bundles": {
            BUNDLE_NAME: _bundle(BUNDLE_NAME, BUNDLE_PATH),
            **({TOKENS_NAME: _bundle(TOKENS_NAME, TOKENS_PATH)} if authorization else {}),
        },
        "status": {"prometheus": True},
        **logged,
        **(limits if authorization else {}),
    }


def opa_arguments(config: str, policy: str, listen: Sequence[str]) -> list[str]:
    """Return the arguments of an `opa` that requires tokens: files of its configuration and policy, its addresses."""
    addresses = [f"--addr={address}" for address in listen]
    return [
        *("run", "--server", *addresses, "--unix-socket-perm=600"),
        *("--authentication=token", "--authorization=basic"),
        *(f"--config-file={config}", "--skip-version-check", policy),
    ]


def _bundle(name: str, path: str) -> dict[str, Any]:
    polling = {
        "min_delay_seconds": 1,
        "max_delay_seconds": 2,
        "long_polling_timeout_seconds": LONG_POLL_SECONDS,
    }
    return {
        "service": "bridge",
        "resource": path,
        "polling": polling,
        "signing": {"keyid": KEY_ID, "scope": name},
    }
