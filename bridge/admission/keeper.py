"""The webhook configurations kept as they have to be: failurePolicy by whether policies exist, and our caBundle.

With the bridge down the API server decides by failurePolicy, so it says beforehand what the bridge would do.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from typing import Any

import structlog

from bridge.admission.configuration import API_VERSION, GROUP, KINDS, Kind
from bridge.kube.client import JSON_PATCH, KubeClient
from bridge.kube.errors import Conflict, Forbidden, Invalid, KubeError, NotFound

log = structlog.get_logger(__name__)

PERIOD = 0.25  # seconds between two looks at whether policies exist
AUDIT = 5.0  # seconds between two looks at the configurations, which others may change


class Keeper:
    """Keeps failurePolicy at Fail exactly while `policies_exist`, and the caBundle at `authority`, while `held`.

    `policies_exist` gives None while that is not known. `authority` gives empty bytes where the caBundle is not ours to
    set. Of both configurations `name` every webhook is kept.
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
        self._trouble: dict[Kind, str] = {}

    async def run(self) -> None:
        """Keep it, until cancelled."""
        clock = asyncio.get_running_loop().time
        kept: object = None
        due = 0.0
        while True:
            wanted = (self._policies_exist(), self._authority())
            if self._held() and (wanted != kept or clock() >= due):
                done = [await self._keep(which, *wanted) for which in KINDS]
                kept = wanted if all(done) else None
                due = clock() + AUDIT
                if kept is None:
                    await asyncio.sleep(1.0)
            await asyncio.sleep(PERIOD)

    async def _keep(self, which: Kind, exist: bool | None, authority: bytes) -> bool:
        path = f"/apis/{API_VERSION}/{which.plural}/{self._name}"
        try:
            found = await self._client.get(path)
            patch = differences(found, exist, authority)
            if patch and self._held():  # the Lease may have been lost while the API server was asked
                version = found["metadata"]["resourceVersion"]
                guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
                await self._client.patch(path, [guard, *patch], JSON_PATCH)
                log.info("wrote the webhook configuration", kind=which.kind, name=self._name, policies_exist=exist)
        except Conflict:
            return False
        except KubeError as error:
            self._tell(which, error)
            return False
        self._trouble.pop(which, None)
        return True

    def _tell(self, which: Kind, error: KubeError) -> None:
        what = f"{which.kind} {self._name}"
        match error:
            case NotFound():
                why = f"{what} does not exist: apply what `bridge webhook-config` prints"
            case Forbidden():
                why = f"{what}: grant the bridge's role get and patch on {which.plural}.{GROUP} ({error.message})"
            case Invalid():
                why = f"{what}: the API server does not accept it as it should be: {error}"
            case _:
                why = f"{what}: {error}"
        if why != self._trouble.get(which):
            self._trouble[which] = why
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
