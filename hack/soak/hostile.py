"""A hostile tenant in its own process: its objects, statuses and connections, and slow writes in its namespace.

.venv/bin/python -m hack.soak.hostile KUBECONFIG SEED WEBHOOK_PORT PAGE_PORT ACTS
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import random
import ssl
import sys
import tempfile
from collections import Counter
from http import HTTPStatus
from pathlib import Path
from typing import Any

from hack.cluster import collection
from hack.soak.floods import IDLE, PASTE, REVIEW, SILENT, SLOW, Floods
from hack.soak.hostile_objects import ATTACKS, GROUP, HOSTILE, Object, odd_statuses
from hack.soak.slow_writes import SlowWrites
from tests.controlplane.api import ApiError, ApiServer

ACTS = ("statuses", "floods", "slow", *ATTACKS)
WEBHOOK = {SILENT: 1_500, IDLE: 300, SLOW: 16, REVIEW: 4}  # connections to the ports
PAGE = {SILENT: 500, IDLE: 300, SLOW: 16, REVIEW: 4, PASTE: 7}
NUMBERS = 6  # of each attack, so many at once
_PAUSE = 0.6  # seconds between two attacks, on average
_STATUS_PAUSE = 0.2  # seconds between two statuses that are overwritten
_SLOW = 7.0  # seconds that a status write takes: longer than a Lease's renewal
_REPORT = 20.0
_NICE = 10  # what an attacker computes, he computes elsewhere


class Hostile:
    """Create objects of ATTACKS and overwrite statuses. `counts` has the API server's responses."""

    def __init__(self, api: ApiServer, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self._api = api
        self._chance = random.Random(seed)

    async def make_objects(self, attacks: list[str]) -> None:
        """Create objects of each of these attacks in turn, until cancelled."""
        while True:
            name = self._chance.choice(attacks)
            for obj in ATTACKS[name](self._chance.randrange(NUMBERS)):
                await asyncio.to_thread(self._replace, name, obj)
            await asyncio.sleep(self._chance.uniform(0, 2 * _PAUSE))

    async def overwrite_statuses(self) -> None:
        """Overwrite the statuses of the tenant's policies, until cancelled."""
        while True:
            for obj in odd_statuses(self._chance.randrange(NUMBERS)):
                await asyncio.to_thread(self._overwrite, obj)
                await asyncio.sleep(_STATUS_PAUSE)

    def _replace(self, attack: str, obj: Object) -> None:
        path = collection(obj)
        try:
            with contextlib.suppress(ApiError):
                self._api.request("DELETE", f"{path}/{obj['metadata']['name']}")
            self._api.request("POST", path, {name: value for name, value in obj.items() if name != "status"})
        except ApiError as error:
            self.counts[f"{attack}_refused_{error.status}"] += 1
        except (OSError, ValueError):  # it took longer than 30 s, or is more than json can write
            self.counts[f"{attack}_failed"] += 1
        else:
            self.counts[attack] += 1

    def _overwrite(self, obj: Object) -> None:
        path = f"{collection(obj)}/{obj['metadata']['name']}/status"
        try:
            self._api.request("PATCH", path, {"status": obj.get("status")}, "application/merge-patch+json")
        except ApiError as error:
            self.counts[f"status_refused_{error.status}"] += 1
            if error.status == HTTPStatus.NOT_FOUND:
                self._replace("odd_statuses", obj)
        except OSError:
            self.counts["status_failed"] += 1
        else:
            self.counts["status"] += 1


def api_of(kubeconfig: Path) -> ApiServer:
    """Return a client of the API server in a kubeconfig of the tests."""
    config: dict[str, Any] = json.loads(kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    return ApiServer(cluster["server"], config["users"][0]["user"]["token"], context)


async def attack(kubeconfig: Path, seed: int, webhook_port: int, page_port: int, acts: set[str]) -> None:
    """Run these ACTS until cancelled, and print a line of JSON with the counts every few seconds."""
    api = api_of(kubeconfig)
    hostile = Hostile(api, seed)
    floods = Floods()
    with tempfile.TemporaryDirectory(prefix="policy-bridge-slow-") as folder:
        slow = SlowWrites(api, HOSTILE, [GROUP], _SLOW, Path(folder))
        async with slow if "slow" in acts else contextlib.nullcontext(), asyncio.TaskGroup() as tasks:
            if "statuses" in acts:
                tasks.create_task(hostile.overwrite_statuses())
            if "floods" in acts:
                tasks.create_task(floods.run(webhook_port, WEBHOOK, 1, tls=True))
                tasks.create_task(floods.run(page_port, PAGE, 2, tls=False))
            if attacks := sorted(acts & ATTACKS.keys()):
                tasks.create_task(hostile.make_objects(attacks))
            while True:
                await asyncio.sleep(_REPORT)
                counts = {**hostile.counts, **floods.counts, "slow_writes": slow.delayed}
                sys.stdout.write(f"{json.dumps(counts, sort_keys=True)}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    os.nice(_NICE)
    sys.setrecursionlimit(100_000)  # json writes nested values by recursion
    _, path, drawn, webhook, page, chosen = sys.argv
    asyncio.run(attack(Path(path), int(drawn), int(webhook), int(page), set(chosen.split(","))))
