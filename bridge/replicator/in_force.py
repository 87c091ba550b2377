"""Whether OPA has the Rego that everything else depends on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaUndefined
from bridge.replicator.claim import SLOW

PATIENCE = SLOW  # seconds until somebody is told
BRISK = 3.0  # seconds in which OPA is looked at often: one that has just started soon answers
_FIRST_WAIT = 0.03  # seconds between two looks in that time, which cost OPA nothing; then the waits double
_LONGEST_WAIT = 1.0

log = structlog.get_logger(__name__)


async def modules_in_force(opa: Opa, rules: Callable[[], str | None]) -> None:
    """Wait for an OPA that answers and has the bridge's Rego; say once what it waits for.

    `rules` gives None while OPA does not have the modules that it is to have.
    """
    said = ""
    wait = _FIRST_WAIT
    since = asyncio.get_running_loop().time()
    while True:
        try:
            await opa.query("links", {"objects": []})
            if rules() is not None:
                return
            why = "OPA has not taken the modules yet that are served"
        except OpaUndefined:
            why = (
                "OPA has not loaded the bridge's modules yet; one that the bridge did not start is to be started "
                "with what `bridge opa-config` prints"
            )
        except OpaError as error:
            why = str(error)
        waited = asyncio.get_running_loop().time() - since
        if why != said and waited > PATIENCE:
            log.info("waiting for OPA", why=why)
            said = why
        await asyncio.sleep(wait)
        if waited > BRISK:
            wait = min(2 * wait, _LONGEST_WAIT)
