"""Queries to an OPA: their results, times, and numbers of evaluated expressions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import aiohttp
import msgspec

_JSON = {"Content-Type": "application/json"}


async def ask(session: aiohttp.ClientSession, url: str, name: str, query_input: dict[str, Any]) -> tuple[Any, float]:
    """Return a query's result, and OPA's time for it in milliseconds. Raises RuntimeError for an error."""
    answer = await _post(session, f"{url}/v1/data/bridge/v1/{name}?metrics=true", query_input)
    if "error" in answer.get("result", {"error": ""}):
        raise RuntimeError(f"query {name}: {str(answer)[:500]}")
    return answer["result"], answer["metrics"]["timer_server_handler_ns"] / 1e6


async def expressions(session: aiohttp.ClientSession, url: str, name: str, query_input: dict[str, Any]) -> int:
    """Return the number of expressions that OPA evaluates for a query, as its profiler counts them."""
    answer = await _post(session, f"{url}/v1/data/bridge/v1/{name}?explain=full", query_input)
    if "error" in answer.get("result", {"error": ""}):
        raise RuntimeError(f"query {name}: {str(answer['result'])[:500]}")
    return Counter(event["op"] for event in answer["explanation"])["eval"]


async def _post(session: aiohttp.ClientSession, url: str, query_input: dict[str, Any]) -> dict[str, Any]:
    async with session.post(url, data=msgspec.json.encode({"input": query_input}), headers=_JSON) as response:
        body = await response.read()
        if response.status != 200:
            raise RuntimeError(f"{url}: {response.status} {body[:500].decode(errors='replace')}")
        answer: dict[str, Any] = msgspec.json.decode(body)
        return answer
