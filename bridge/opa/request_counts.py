"""Durations of OPA's responses, by request, and the failures of requests."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from bridge.model.histogram import Histogram
from bridge.opa.errors import OpaRejected, OpaUnavailable

MOST_NAMES = 64  # further names count as OTHER: unknown clients' requests make no new series
OTHER = "other"
FAILURES = ("rejected", "unavailable", "abandoned")  # error response; no response; cancelled by the client
_QUERIES = "/v1/data/bridge/v1/"
_STATES = ("/health", "/v1/status", "/v1/config")


class Requests:
    """Requests to OPA. `seconds` by query, `errors` by query and failure: one of FAILURES."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, Histogram] = defaultdict(Histogram)
        self.errors: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def measured(self, method: str, path: str) -> Iterator[None]:
        """Count the request that the block sends."""
        began = time.perf_counter()
        failure = ""
        try:
            yield
        except OpaRejected:
            failure = "rejected"
            raise
        except OpaUnavailable:
            failure = "unavailable"
            raise
        except asyncio.CancelledError:
            failure = "abandoned"
            raise
        finally:
            name = asked(method, path)
            if name not in self.seconds and len(self.seconds) >= MOST_NAMES:
                name = OTHER
            self.seconds[name].observe(time.perf_counter() - began)
            if failure:
                self.errors[name, failure] += 1


def asked(method: str, path: str) -> str:
    """Return the name of a request: a query's name, or `write`, `document`, `decision`, `adhoc`, `state`."""
    if path.startswith(_QUERIES):
        return path[len(_QUERIES) :].partition("?")[0]
    if method in {"PATCH", "PUT"}:
        return "write"
    if path == "/v1/query":
        return "adhoc"
    if path.startswith(_STATES):
        return "state"
    return "document" if method == "GET" else "decision"
