"""While a changed version is checked, OPA answers from one set of modules, and readers see since when it is checked."""

import asyncio
import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from bridge.offline.engine import Engine
from tests.eventually import eventually
from tests.integration.loading import DEADLINE, Bench, loading

pytestmark = pytest.mark.long


@pytest.fixture
async def bench(opa_path: Path) -> AsyncIterator[Bench]:
    async with loading(opa_path, whole=True) as found:
        yield found


def put(bench: Bench, version: int) -> None:
    """Submit two modules of one version; the first one reads the second one."""
    reads = f"package team.a\n\nimport data.bridge.lib.keys\n\nx := {version}\n\ny := data.team.b.y\n"
    bench.put("rules", reads, f"package team.b\n\ny := {version}\n", version=str(version))


async def test_answers_come_from_one_set_while_modules_change(bench: Bench) -> None:
    put(bench, 1)
    await bench.until_active("rules")
    seen: list[tuple[int, int]] = []
    for version in (2, 3):
        put(bench, version)
        async with asyncio.timeout(DEADLINE):
            while not seen or seen[-1][0] != version:
                found = await bench.opa.get("team") or {}
                seen.append((found["a"]["x"], found["a"]["y"]))
                assert found["a"]["x"] == found["a"]["y"] == found["b"]["y"]
                await asyncio.sleep(0.005)
    assert [x for x, _ in seen] == sorted(x for x, _ in seen)
    assert {x for x, _ in seen} == {1, 2, 3}


async def test_modules_that_are_being_checked_or_rejected_are_listed_with_time_and_reason(bench: Bench) -> None:
    engine = Engine(bench.opa)
    lines: dict[int, list[tuple[str, str]]] = {1: [], 2: []}

    async def is_active(version: int) -> bool:
        modules = await engine.modules()
        lines[version] += [(one["state"], one["message"]) for one in modules]
        return await bench.opa.get("team/b/y") == version and not modules[0]["message"]

    for version in (1, 2):
        put(bench, version)
        await eventually(partial(is_active, version), patience=DEADLINE, pause=0.01)
    time = r"being checked since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    assert any(state == "Pending" and re.fullmatch(time, message) for state, message in lines[1])
    assert any(
        state == "Active" and re.fullmatch(f"the newest version is {time}", message) for state, message in lines[2]
    )
    assert (await engine.modules())[0]["state"] == "Active"
    bench.put("rules", "package team.a\n\nx := nowhere\n", version="3")
    await bench.refused("rules", "3")

    bench.put("other", "package team.other\n\nx := nowhere\n")
    await bench.refused("other", "1")

    async def are_rejected() -> bool:
        other, rules = await engine.modules()
        return bool(other["message"]) and "rejected" in rules["message"]

    await eventually(are_rejected, patience=DEADLINE)
    other, rules = await engine.modules()
    assert (other["state"], rules["state"]) == ("Rejected", "Active")
    why = "m0.rego:3:6: var nowhere is unsafe"
    assert other["message"] == f"rejected: {why}; no version is active"
    assert rules["message"] == f"the newest version is rejected: {why}; the last good version stays active"
