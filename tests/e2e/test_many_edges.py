"""Many edges of one hub at once: real OPAs, and clients that request as OPA does."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from bridge.opa.bundle import LONG_POLL_SECONDS, view_path
from tests.e2e.test_views import STOREFRONT, Fleet, _page, about, fleet, query
from tests.eventually import equal_to, eventually, eventually_blocking

__all__ = ["fleet"]
VIEW = "infra.public"
CLIENTS, OPAS = 200, 3


class Client:
    """Polls as OPA: with the ETag that it has, also after errors, which it repeats with growing delays."""

    def __init__(self) -> None:
        self.etag = ""
        self.downloads = 0
        self.errors: list[str] = []

    async def run(self, session: aiohttp.ClientSession, url: str) -> None:
        delay = 0.1
        while True:
            try:
                async with session.get(url, headers={"If-None-Match": self.etag}) as answer:
                    await answer.read()
                    if answer.status not in {200, 304}:
                        self.errors.append(f"HTTP {answer.status}")
                    elif answer.status == 200:
                        self.etag = answer.headers["ETag"]
                        self.downloads += 1
                    delay = 0.1
            except aiohttp.ClientError:
                delay = min(2 * delay, 2.0)
                await asyncio.sleep(delay)


@asynccontextmanager
async def polling(fleet: Fleet) -> AsyncIterator[list[Client]]:
    """Clients of the view, until the end of the context."""
    clients = [Client() for _ in range(CLIENTS)]
    url = f"http://{fleet.address}{view_path(VIEW)}"
    prefer = f"modes=snapshot,delta;wait={LONG_POLL_SECONDS}"
    headers = {"Authorization": f"Bearer {fleet.credentials.token}", "Prefer": prefer}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as session:
        tasks = [asyncio.create_task(one.run(session, url)) for one in clients]
        try:
            yield clients
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def downloads(fleet: Fleet) -> int:
    """The number of downloads since the hub's start."""
    found = re.search(rf'view_downloads_total{{view="{VIEW}"}} (\d+)', _page(f"{fleet.bridge_url}/metrics"))
    assert found
    return int(found[1])


def published(fleet: Fleet) -> str:
    """The revision that the hub publishes."""
    [view] = json.loads(fleet.get("/fleet", fleet.credentials.token)[1])["views"]
    return str(view["revision"])


@pytest.mark.long
async def test_200_edges_download_nothing_from_a_hub_with_the_same_history_and_otherwise_once(fleet: Fleet) -> None:
    views = ("Gateway/infra/public",)
    hub = await asyncio.to_thread(fleet.start_hub, *views)
    edges = [fleet.start_edge(f"edge-{number}", fleet.config(VIEW))[0] for number in range(OPAS)]

    async def all_have_one_revision(other_than: str = "") -> str:
        def revisions() -> set[str]:
            return {*(one.etag.strip('"') for one in clients), *(about(url)["revision"] for url in edges)}

        found = await eventually(
            lambda: asyncio.to_thread(revisions), lambda one: len(one) == 1 and other_than not in one
        )
        return found.pop()

    async with polling(fleet) as clients:
        known = await all_have_one_revision()
        assert {one.downloads for one in clients} == {1}

        # The hub is killed, and another one with the same history takes its address.
        hub.close()
        hub = await asyncio.to_thread(fleet.start_hub, *views)
        await eventually(lambda: asyncio.to_thread(published, fleet), equal_to(known))
        await asyncio.sleep(5)  # all have retried by then
        assert await all_have_one_revision() == known
        assert downloads(fleet) == 0

        # The next one has another history.
        hub.close()
        fleet.change("63-storefront.yaml", "theme: dark", "theme: light")
        await asyncio.to_thread(fleet.start_hub, *views)
        await all_have_one_revision(other_than=known)
        assert {one.downloads for one in clients} == {2}
        assert downloads(fleet) == CLIENTS + OPAS
        assert not [one.errors for one in clients if one.errors]


def test_edge_that_missed_revisions_downloads_the_last_one_only(fleet: Fleet) -> None:
    fleet.start_hub("Gateway/infra/public")
    edge, process = fleet.start_edge("edge", fleet.config(VIEW))
    known = eventually_blocking(lambda: about(edge)["revision"])
    process.kill()
    process.wait()
    revisions = [known]
    for old, new in itertools.pairwise(("dark", "light", "high-contrast", "sepia")):
        fleet.change("63-storefront.yaml", f"theme: {old}", f"theme: {new}")
        revisions.append(eventually_blocking(lambda: published(fleet), lambda found: found not in revisions))
    assert downloads(fleet) == 1

    edge, _ = fleet.start_edge("edge", fleet.config(VIEW))
    eventually_blocking(lambda: about(edge)["revision"], equal_to(revisions[-1]))
    assert "sepia" in str(query(edge, "effective", {"targets": [STOREFRONT]}))
    assert downloads(fleet) == 2
