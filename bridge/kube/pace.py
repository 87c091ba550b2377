"""How often and how long: pages, watches, waits between attempts. All times are in seconds."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from bridge.kube.errors import ApiError, KubeError, ServerError, Unreachable, Untrusted
from bridge.pacing import Backoff


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of one list-and-watch.

    A watch is asked to end after `watch` seconds, a tenth more or less, so that the watches of all types (and of all
    bridges) do not end together. A stream without a byte for `silence` seconds counts as dead: the API server sends a
    bookmark every minute. One that has not begun after `opening` seconds is asked for anew (a server that dies, or a
    proxy before it, may have taken the request), with twice the time each, up to `longest_opening`, so that a server
    that is merely slow is heard. A listing is streamed unless `streams` is False, and is asked for in pages of `page`
    objects when the stream stays silent for `first_silence` seconds, or is refused. A type that was there a moment ago
    counts as gone when it is not served for `patience_for_missing` seconds: an API server that starts knows no CRDs
    yet.
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
        """For how long to ask for the next watch."""
        return max(1, round(self.watch * random.uniform(0.9, 1.1)))  # noqa: S311 (spreads load, keeps no secret)


class WatchBackoff:
    """The waits between attempts: they double, with jitter, as long as the same thing goes wrong."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._kind: type[KubeError] | None = None
        self._backoff = Backoff(pace.first_wait, math.inf)

    def reset(self) -> None:
        """It worked: the next failure is a first one."""
        self._kind = None
        self._backoff.reset()

    def after(self, error: KubeError | None) -> float:
        """How long to wait after this error, or after a watch that ended at once without one."""
        kind = type(error) if error else None
        if kind is not self._kind:  # a server that starts refuses first, then says 503, then 403: each is news
            self._kind = kind
            self._backoff.reset()
        wait = self._backoff.next()
        longest = self._longest(error)
        asked = error.retry_after if isinstance(error, ApiError) else None
        if asked:  # the server knows best: one that has just started says 429 for a second or two, type by type
            return min(asked, longest) * random.uniform(1.0, 1.1)  # noqa: S311 (spreads load)
        return min(wait, longest) * random.uniform(0.5, 1.0)  # noqa: S311 (spreads load)

    def _longest(self, error: KubeError | None) -> float:
        # A server that is away, or starting, asks for little: so its return is noticed within a second or two.
        waits_for_server = isinstance(error, Unreachable | ServerError) and not isinstance(error, Untrusted)
        return self._pace.longest_wait_for_server if waits_for_server else self._pace.longest_wait
