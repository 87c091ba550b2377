"""The guardrails of a request, each judged alone: for requests whose decision fails or takes too long.

Rego has no catch, so one guardrail that fails would leave those of others unjudged.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from bridge.opa.batches import within
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected, OpaTimeout, OpaUndefined
from bridge.opa.judging import Judging, Row

_QUERY_SHARE = 0.4  # of the time for a request


async def judge_alone(opa: Opa, request: msgspec.Raw, seconds: float) -> dict[str, Any]:
    """Return the input of the decision without guardrails: the request, and the violations that it introduces.

    `unjudged` has the reasons why others are not judged, also those that take longer than `seconds`. Without
    `introduced`, none could be judged. Raises OpaUnavailable if OPA does not respond.
    """
    until = asyncio.get_running_loop().time() + seconds
    try:
        async with within(seconds / 2):
            asked = await opa.query("guarded_request", request)
    except (OpaRejected, OpaTimeout, OpaUndefined):
        return {"request": request}
    limit = seconds * _QUERY_SHARE
    identified = {"identified": True}
    after, before = Judging(opa, {"changes": asked["changes"], **identified}, limit), Judging(opa, identified, limit)
    unjudged: dict[str, str] = asked["unjudged"]
    names: Sequence[str] = asked["constraints"]

    async def introduced(name: str) -> list[Row]:
        try:
            async with asyncio.timeout_at(until):
                judgings = (judging.rows(asked["objects"], [name]) for judging in (after, before))
                rows, former = await asyncio.gather(*judgings)
        except (OpaError, TimeoutError):
            unjudged[name] = "is not judged: OPA could not compute it in time"
            return []
        compared = await opa.query("compared_violations", {"before": former, "after": rows})
        found: list[Row] = compared["introduced"]
        return [*found, *(row for row in compared["unchanged"] if (name, row["object"]) in after.unjudged)]

    found = await asyncio.gather(*map(introduced, names))
    return {"request": request, "introduced": [row for rows in found for row in rows], "unjudged": unjudged}
