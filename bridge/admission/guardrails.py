"""The guardrails of a request that one query does not judge: because it concerns many objects, or because one fails.

Rego has no catch, so one guardrail that fails would leave those of others unjudged: it is judged alone. Objects are
judged in order until a new violation denies the request, or the time is over.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from bridge.opa.batches import batches, within
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected, OpaTimeout, OpaUndefined, QueryError
from bridge.opa.judging import Judging, Row

_QUERY_SHARE = 0.3  # of the time for a request
_DECIDING = 1.5  # seconds for the decision after everything is judged, on an OPA that has much to do
_MOST_DECIDING = 0.3  # of the time for a request, if that is short
_BATCH = 100  # objects of a query
_TOGETHER = 2  # queries at the same time: a witness in the first one makes the others needless


# Returns `{introduced, unjudged}` of Constraints about a request that changes how policies act, in a number of seconds.
JudgeChange = Callable[[Opa, msgspec.Raw, Sequence[str], float], Awaitable[Mapping[str, Any]]]


async def judge_alone(opa: Opa, judge: JudgeChange, request: msgspec.Raw, seconds: float) -> dict[str, Any]:
    """Return the input of the decision without guardrails: the request, and the violations that it introduces.

    `unjudged` has the reasons why some guardrails are not judged, also those that take longer than `seconds`, of which
    some are left for the decision. Without `introduced`, none could be judged. Raises OpaUnavailable if OPA does not
    respond.
    """
    seconds -= _deciding(seconds)
    until = asyncio.get_running_loop().time() + seconds
    try:
        async with within(seconds / 2):
            asked = await opa.query("guarded_request", request)
    except (OpaRejected, OpaTimeout, OpaUndefined):
        return {"request": request}
    if asked.get("describes"):
        left = until - asyncio.get_running_loop().time()
        return {"request": request, **await judge(opa, request, asked["constraints"], left)}
    return await _InOrder(opa, request, asked, until, seconds).judge()


async def judge_rest(
    opa: Opa, request: msgspec.Raw, remaining: Mapping[str, Any], seconds: float
) -> dict[str, list[str]]:
    """Return the decision of guardrails, `{denied, warnings}`, about a request with `remaining` objects.

    It takes at most `seconds`: what is not judged then is denied, unless its Constraint says otherwise. Raises
    OpaError.
    """
    seconds -= _deciding(seconds)
    until = asyncio.get_running_loop().time() + seconds
    judged = await _InOrder(opa, request, remaining, until, seconds).judge()
    decision: dict[str, list[str]] = await opa.query("guarded_decision", judged)
    return decision


async def judge_change(opa: Opa, judge: JudgeChange, request: msgspec.Raw, seconds: float) -> dict[str, list[str]]:
    """Return the decision of guardrails, `{denied, warnings}`, about a request that changes how policies act.

    It takes at most `seconds`, as `judge_rest`. Raises OpaError.
    """
    until = asyncio.get_running_loop().time() + seconds - _deciding(seconds)
    names = (await opa.query("guarded_request", request))["constraints"]
    if not names:
        return {"denied": [], "warnings": []}
    judged = await judge(opa, request, names, until - asyncio.get_running_loop().time())
    decision: dict[str, list[str]] = await opa.query("guarded_decision", {"request": request, **judged})
    return decision


def _deciding(seconds: float) -> float:
    return min(_DECIDING, seconds * _MOST_DECIDING)


class _InOrder:
    """Judges the objects of a request until `until`, batch after batch.

    `asked` is a result of the query `guarded_request`. From the first batch in which a guardrail fails, or takes too
    long, each has its own queries.
    """

    def __init__(self, opa: Opa, request: msgspec.Raw, asked: Mapping[str, Any], until: float, seconds: float) -> None:
        self._opa = opa
        self._request = asked.get("request", request)
        self._names: Sequence[str] = asked["constraints"]
        self._objects: Sequence[str] = asked["objects"]
        self._until = until
        self._alone = False
        self._introduced: list[Row] = list(asked["introduced"])
        self._unjudged: dict[str, str] = {}
        more = {"identified": True}
        self._limit = seconds * _QUERY_SHARE
        self._after = Judging(opa, {"changes": asked["changes"], **more}, self._limit)
        self._before = Judging(opa, more, self._limit)

    async def judge(self) -> dict[str, Any]:
        """Return the request, the violations that it introduces, and why Constraints have not judged all of it."""
        done = 0
        for parts in batches([*batches(self._objects, _BATCH)], _TOGETHER):
            if self._is_denied() or not self._is_time_left():
                break
            for rows in await asyncio.gather(*map(self._judge, parts)):
                self._introduced += rows
            if self._is_time_left():
                done += sum(map(len, parts))
        if not self._is_denied() and done < len(self._objects):
            why = f"judged only {done:,} of {len(self._objects):,} more objects that the change concerns in time"
            self._unjudged = dict.fromkeys(self._names, why) | self._unjudged
        return {"request": self._request, "introduced": self._introduced, "unjudged": self._unjudged}

    def _is_denied(self) -> bool:
        return any(row["enforcementAction"] == "deny" for row in self._introduced)

    def _is_time_left(self) -> bool:
        return asyncio.get_running_loop().time() < self._until

    async def _judge(self, keys: Sequence[str]) -> list[Row]:
        if not self._alone:
            try:
                async with asyncio.timeout_at(self._until), within(self._limit):
                    asked = {"request": self._request, "objects": keys}
                    rows: list[Row] = await self._opa.query("guarded_violations", asked)
                    return rows
            except TimeoutError:
                return []
            except (OpaRejected, OpaTimeout, QueryError, OpaUndefined):
                self._alone = True
        alone = await asyncio.gather(*(self._judge_one(name, keys) for name in self._names))
        return [row for rows in alone for row in rows]

    async def _judge_one(self, name: str, keys: Sequence[str]) -> list[Row]:
        try:
            async with asyncio.timeout_at(self._until):
                judgings = (judging.rows(keys, [name]) for judging in (self._after, self._before))
                rows, former = await asyncio.gather(*judgings)
                compared = await self._opa.query("compared_violations", {"before": former, "after": rows})
        except (OpaError, TimeoutError):
            self._unjudged[name] = "is not judged: OPA could not compute it in time"
            return []
        found: list[Row] = compared["introduced"]
        return [*found, *(row for row in compared["unchanged"] if (name, row["object"]) in self._after.unjudged)]
