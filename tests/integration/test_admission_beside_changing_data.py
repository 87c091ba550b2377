"""Admission while authors change their data without a pause."""

import asyncio
from pathlib import Path

from tests.integration.loading import loading, policies_beside
from tests.integration.served_webhook import serving

PERIOD = 0.2  # seconds between two versions: OPA needs longer for one, so it never has the newest


async def test_requests_are_decided_while_data_changes_without_a_pause(opa_path: Path, tmp_path: Path) -> None:
    async with (
        loading(opa_path, whole=True) as bench,
        serving(
            tmp_path, bench.opa.url, policies=policies_beside(bench), webhook_decision="", webhook_deadline=8.0
        ) as ask,
    ):

        async def change() -> None:
            for number in range(1_000_000):
                bench.put("data", version=str(number), data={"round": number})
                await asyncio.sleep(PERIOD)

        changing = asyncio.create_task(change())
        await asyncio.sleep(5 * PERIOD)
        answers = [await ask({}) for _ in range(2)]
        changing.cancel()
    assert [answer["allowed"] for answer in answers] == [True] * 2, answers
