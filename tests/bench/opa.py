"""OPA: queries to it, and an OPA without the bridge to compare with."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import msgspec

from bridge.opa.process import free_port
from hack.tools import ensure
from tests.controlplane.process import ServerProcess
from tests.eventually import eventually

_JSON = {"Content-Type": "application/json"}
_PATIENCE = 120.0  # seconds until OPA responds


async def ask(session: aiohttp.ClientSession, url: str, name: str, query_input: dict[str, Any]) -> Any:
    """Return a query's result. Raises RuntimeError for an error."""
    return (await _post(session, f"{url}/v1/data/bridge/v1/{name}", query_input))["result"]


async def expressions(session: aiohttp.ClientSession, url: str, name: str, query_input: dict[str, Any]) -> int:
    """Return the number of expressions that OPA evaluates for a query, as its profiler counts them."""
    answer = await _post(session, f"{url}/v1/data/bridge/v1/{name}?explain=full", query_input)
    return Counter(event["op"] for event in answer["explanation"])["eval"]


async def timed(session: aiohttp.ClientSession, url: str, name: str, query_input: dict[str, Any]) -> float:
    """Return the median microseconds of a query, by OPA's own timer."""
    answers = [await _post(session, f"{url}/v1/data/bridge/v1/{name}?metrics", query_input) for _ in range(200)]
    return float(median(answer["metrics"]["timer_rego_query_eval_ns"] for answer in answers)) / 1000


async def _post(session: aiohttp.ClientSession, url: str, query_input: dict[str, Any]) -> dict[str, Any]:
    async with session.post(url, data=msgspec.json.encode({"input": query_input}), headers=_JSON) as response:
        answer: dict[str, Any] = msgspec.json.decode(await response.read())
    if response.status != 200 or "error" in answer.get("result", {"error": ""}):
        raise RuntimeError(f"{url}: {response.status} {str(answer)[:500]}")
    return answer


@asynccontextmanager
async def plain_opa(
    folder: Path, session: aiohttp.ClientSession, *arguments: str, scheme: str = "http"
) -> AsyncIterator[tuple[str, int]]:
    """Start an OPA with these arguments; yield its URL and the process id of the shell above it."""
    url = f"{scheme}://127.0.0.1:{free_port()}"
    opa = (await asyncio.to_thread(ensure, "opa")).path
    command = [str(opa), "run", "--server", "--addr", url.removeprefix("http://"), "--log-level=error"]
    process = ServerProcess([*command, "--skip-version-check", *arguments], folder / "opa.log")

    async def is_healthy() -> bool:
        async with session.get(f"{url}/health") as answer:
            return answer.status == 200

    try:
        await eventually(is_healthy, patience=_PATIENCE)
        yield url, process.pid
    finally:
        await asyncio.to_thread(process.kill)
