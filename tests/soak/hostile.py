"""A hostile tenant in its own process: costly and odd objects in its namespace, and statuses that it overwrites.

.venv/bin/python -m tests.soak.hostile KUBECONFIG SEED
"""

import base64
import json
import os
import random
import ssl
import sys
import time
from collections import Counter
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.cluster import collection, path_of
from tests.controlplane.api import ApiError, ApiServer
from tests.soak.hostile_objects import ATTACKS, Object, odd_statuses

NUMBERS = 6  # of each attack, so many at once
_PAUSE = 0.3  # seconds between two attacks, on average
_REPORT = 20.0
_MERGE = "application/merge-patch+json"
_NICE = 10  # an attacker computes on a machine of its own


class Hostile:
    """`counts` has the API server's responses by attack: 200, the status of an error, or 0 without a response."""

    def __init__(self, api: ApiServer, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self._api = api
        self._chance = random.Random(seed)

    def attack(self) -> None:
        """Create the objects of an attack again, and overwrite statuses."""
        name = self._chance.choice(sorted(ATTACKS))
        for obj in ATTACKS[name](self._chance.randrange(NUMBERS)):
            self._replace(name, obj)
        for obj in odd_statuses(self._chance.randrange(NUMBERS)):
            path, body = f"{path_of(obj)}/status", {"status": obj.get("status")}
            if self._send("status", "PATCH", path, body) == HTTPStatus.NOT_FOUND:
                self._replace("odd_statuses", {name: value for name, value in obj.items() if name != "status"})

    def _replace(self, name: str, obj: Object) -> None:
        self._send("delete", "DELETE", path_of(obj))
        self._send(name, "POST", collection(obj), obj)

    def _send(self, name: str, method: str, path: str, body: Object | None = None) -> int:
        status, content_type = 0, _MERGE if method == "PATCH" else "application/json"
        try:
            self._api.request(method, path, body, content_type)
            status = 200
        except ApiError as error:
            status = error.status
        except OSError:
            pass  # it took too long
        self.counts[f"{name} {status}"] += 1
        return status


def api_of(kubeconfig: Path) -> ApiServer:
    """Return a client of the API server in a kubeconfig of the tests."""
    config: dict[str, Any] = json.loads(kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    return ApiServer(cluster["server"], config["users"][0]["user"]["token"], context)


def main(kubeconfig: Path, seed: int) -> None:
    """Attack until killed, and print a line of JSON with the counts every few seconds."""
    hostile = Hostile(api_of(kubeconfig), seed)
    reported = time.monotonic()
    while True:
        hostile.attack()
        time.sleep(random.uniform(0, 2 * _PAUSE))
        if time.monotonic() - reported > _REPORT:
            reported = time.monotonic()
            print(json.dumps(hostile.counts, sort_keys=True), flush=True)


if __name__ == "__main__":
    os.nice(_NICE)
    sys.setrecursionlimit(100_000)  # json writes nested values by recursion
    main(Path(sys.argv[1]), int(sys.argv[2]))
