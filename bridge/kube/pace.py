"""Times of pages, watches, and waits between attempts, in seconds."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from bridge.kube.errors import ApiError, KubeError, ServerError, Unreachable, Untrusted
from bridge.pacing import Backoff


@dataclass(frozen=True, slots=True)
class Pace:
    """The times of one list-and-watch.

    A watch is requested for `watch` seconds, a tenth more or less, so the watches of all types (and of all bridges) do
    not end together. A stream without a byte for `silence` seconds counts as dead: the API server sends a bookmark
    every minute. One that has not begun after `opening` seconds is requested again (a server that dies, or a proxy
    before it, may have lost the request), with doubled time, up to `longest_opening`, for slow servers. A listing is
    streamed unless `streams` is False, and is requested in pages of `page` objects if the stream stays silent for
    `first_silence` seconds, or is rejected. A type that was served a moment ago counts as missing when it is not served
    for `patience_for_missing` seconds: a starting API server knows no CRDs yet.
    """

    page: int = 500
    watch: float = 290.0
    opening: float = 5.0
    longest_opening: float = 40.0
    silence: float = 130.0
    first_silence: float = 15.0
    streams: bool = True
    first_wait: float = 0.1
    longest_wait: float = 10.0
    longest_wait_for_server: float = 0.5
    patience_for_missing: float = 2.0

    def watch_seconds(self) -> int:
        """Return the duration of the next watch."""
        return max(1, round(self.watch * random.uniform(0.9, 1.1)))  # noqa: S311 (spreads load, keeps no secret)


class WatchBackoff:
    """The waits between attempts: they double, with jitter, while the same error repeats."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._kind: type[KubeError] | None = None
        self._backoff = Backoff(pace.first_wait, math.inf)

    def reset(self) -> None:
        """Reset after a success: the next failure is a first one."""
        self._kind = None
        self._backoff.reset()

    def after(self, error: KubeError | None) -> float:
        """Return the wait after this error, or after a watch that ended immediately without one."""
        kind = type(error) if error else None
        if kind is not self._kind:  # a starting server refuses first, then returns 503, then 403: each is a new error
            self._kind = kind
            self._backoff.reset()
        wait = self._backoff.next()
        longest = self._longest(error)
        asked = error.retry_after if isinstance(error, ApiError) else None
        if asked:  # the server knows best: one that has just started returns 429 for a second or two, type by type
            return min(asked, longest) * random.uniform(1.0, 1.1)  # noqa: S311 (spreads load)
        return min(wait, longest) * random.uniform(0.5, 1.0)  # noqa: S311 (spreads load)

    def _longest(self, error: KubeError | None) -> float:
        # An unavailable or starting server causes little load, so its return is detected within a second or two.
        waits_for_server = isinstance(error, Unreachable | ServerError) and not isinstance(error, Untrusted)
        return self._pace.longest_wait_for_server if waits_for_server else self._pace.longest_wait
