"""The webhook configuration kept as it has to be: failurePolicy by whether policies exist, and our caBundle.

With the bridge down the API server decides by failurePolicy, so it says beforehand what the bridge would do.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from typing import Any

import structlog

from bridge.kube.client import JSON_PATCH, KubeClient
from bridge.kube.errors import Conflict, Forbidden, Invalid, KubeError, NotFound

log = structlog.get_logger(__name__)

_PATH = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
_PLURAL = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
PERIOD = 0.25  # seconds between two looks at whether policies exist
AUDIT = 5.0  # seconds between two looks at the configuration, which others may change


class Keeper:
    """Keeps failurePolicy at Fail exactly while `policies_exist`, and the caBundle at `authority`, while `held`.

    `policies_exist` gives None while that is not known. `authority` gives empty bytes where the caBundle is not ours to
    set. Of the configuration `name` every webhook is kept.
    """

    def __init__(
        self,
        client: KubeClient,
        name: str,
        held: Callable[[], bool],
        policies_exist: Callable[[], bool | None],
        authority: Callable[[], bytes],
    ) -> None:
        self._client = client
        self._name = name
        self._held = held
        self._policies_exist = policies_exist
        self._authority = authority
        self._trouble = ""

    async def run(self) -> None:
        """Keep it, until cancelled."""
        clock = asyncio.get_running_loop().time
        kept: object = None
        due = 0.0
        while True:
            wanted = (self._policies_exist(), self._authority())
            if self._held() and (wanted != kept or clock() >= due):
                kept = wanted if await self._keep(*wanted) else None
                due = clock() + AUDIT
                if kept is None:
                    await asyncio.sleep(1.0)
            await asyncio.sleep(PERIOD)

    async def _keep(self, exist: bool | None, authority: bytes) -> bool:
        try:
            found = await self._client.get(f"{_PATH}/{self._name}")
            patch = differences(found, exist, authority)
            if patch and self._held():  # the Lease may have been lost while the API server was asked
                version = found["metadata"]["resourceVersion"]
                guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
                await self._client.patch(f"{_PATH}/{self._name}", [guard, *patch], JSON_PATCH)
                log.info("wrote the webhook configuration", name=self._name, policies_exist=exist)
        except Conflict:
            return False
        except KubeError as error:
            self._tell(error)
            return False
        self._trouble = ""
        return True

    def _tell(self, error: KubeError) -> None:
        what = f"MutatingWebhookConfiguration {self._name}"
        match error:
            case NotFound():
                why = f"{what} does not exist: apply what `bridge webhook-config` prints"
            case Forbidden():
                why = f"{what}: grant the bridge's role get and patch on {_PLURAL} ({error.message})"
            case Invalid():
                why = f"{what}: the API server does not accept it as it should be: {error}"
            case _:
                why = f"{what}: {error}"
        if why != self._trouble:
            self._trouble = why
            log.warning("the webhook configuration is not kept", why=why)


def differences(found: dict[str, Any], exist: bool | None, authority: bytes) -> list[dict[str, Any]]:
    """The JSON Patch that makes a configuration what it has to be; empty where it is."""
    patch = []
    bundle = base64.b64encode(authority).decode()
    for index, webhook in enumerate(found.get("webhooks") or []):
        policy = {True: "Fail", False: "Ignore", None: webhook.get("failurePolicy")}[exist]
        if webhook.get("failurePolicy") != policy:
            patch.append({"op": "add", "path": f"/webhooks/{index}/failurePolicy", "value": policy})
        if authority and (webhook.get("clientConfig") or {}).get("caBundle") != bundle:
            patch.append({"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": bundle})
    return patch
