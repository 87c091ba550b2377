"""The right to write: the holder of a Lease (coordination.k8s.io/v1), and a client whose writes end with it.

The rules:
- A missing or released Lease is acquired immediately.
- A held Lease is acquired when it was not renewed for its own duration, by this process's clock since it saw the last
  renewal: the clocks of two machines need not agree.
- The holder counts from the time at which it sent its last accepted renewal, and stops before another process may
  start.

The library's elector is not used: it never releases, so every restart costs a lease's duration; it uses the wall clock,
which may jump; and an unavailable API server ends it with the HTTP library's error.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bridge.kube.kube_client import KubeClient
from bridge.kube.kube_errors import Conflict, Fenced, Forbidden, KubeError, NotFound, Unauthorized

# Seconds between two checks. The event loop's clock may stop while a machine sleeps, the Lease's clock does not.
_LONGEST_CHECK = 0.2

_MOST_TRANSITIONS = 2**31 - 1  # the API server rejects more
LONGEST_DURATION = 120.0  # seconds: a Lease with a longer duration, which no bridge writes, would stop all writes


class FencedClient(KubeClient):
    """Send requests through `client`; those that change something only while `term` is held. It opens no streams.

    A request in progress ends with the term, also while it waits for a connection or for credentials; a renewal of the
    term extends it. The API server may still execute a request that was sent before. Raises Fenced.
    """

    def __init__(self, client: KubeClient, term: Lease) -> None:
        super().__init__(client.access)
        self._client = client
        self._term = term

    def may_write(self) -> bool:
        """Return whether the term is held."""
        return self._term.held

    async def request(self, method: str, path: str, **others: Any) -> bytes:
        """Send one request and return the response's bytes."""
        if method == "GET":
            return await self._client.request(method, path, **others)
        if not self.may_write():
            raise Fenced(f"{method} {path} not sent: this bridge does not hold the Lease")
        try:
            async with asyncio.timeout(None) as limit:
                with self._limit_to_term(limit):
                    return await self._client.request(method, path, **others)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise Fenced(f"{method} {path} aborted: this bridge no longer holds the Lease") from error

    @contextmanager
    def _limit_to_term(self, limit: asyncio.Timeout) -> Iterator[None]:
        """Let `limit` expire as soon as the term has ended."""
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle

        def check() -> None:
            nonlocal timer
            left = self._term.left
            if left > 0:
                timer = loop.call_later(min(left, _LONGEST_CHECK), check)
            else:
                limit.reschedule(loop.time())

        timer = loop.call_later(min(self._term.left, _LONGEST_CHECK), check)
        try:
            yield
        finally:
            timer.cancel()

    async def close(self) -> None:
        """Do nothing: the connections belong to the other client."""


_LEASES = "leases.coordination.k8s.io"
_RELEASE_TIMEOUT = 3.0  # seconds that a clean stop may take


@dataclass(frozen=True, slots=True)
class Term:
    """The times of a Lease, in seconds.

    Others acquire a Lease that was not renewed for `duration`; the holder stops `margin` before that; both check every
    `period`.
    """

    # The longest time without a writer after a holder was killed: duration and two periods, 12 s.
    duration: float = 10.0
    margin: float = 4.0
    period: float = 1.0


_STANDARD_TERM = Term()
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # macOS' monotonic clock includes sleep itself


def clock() -> float:
    """Return seconds of a clock that neither jumps nor stops while the machine is suspended."""
    return time.clock_gettime(_CLOCK)


class Lease:
    """Takes part in the election: `run` it as a task, and check `held` before each write.

    `identity` must be unique to this process. `on_change` is called when `held`, `trouble`, or another `holder` has
    changed. The event `taken` is set while the Lease is held. The holder's `notes` are written as annotations of the
    Lease with the next renewal, for later holders.
    """

    def __init__(
        self,
        client: KubeClient,
        namespace: str,
        name: str,
        identity: str,
        *,
        term: Term = _STANDARD_TERM,
        on_change: Callable[[Lease], None] = lambda _: None,
    ) -> None:
        self.namespace = namespace
        self.name = name
        self.identity = identity
        self.taken = asyncio.Event()
        self.holder = ""  # the last seen holder
        self.notes: dict[str, str] = {}
        self.trouble: str | None = None  # why it cannot be acquired or renewed, in one line with the fix
        self._client = client
        self._term = term
        self._on_change = on_change
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._seen: dict[str, Any] | None = None  # the Lease object as last read or written
        self._renewal: tuple[object, ...] = ()  # the identity of the last seen renewal
        self._renewal_seen = 0.0
        self._held_until = 0.0
        self._resigned = False
        self._expiry: asyncio.TimerHandle | None = None

    @property
    def held(self) -> bool:
        """Return whether this process may write now. It is False well before others may start."""
        return not self._resigned and clock() < self._held_until

    @property
    def left(self) -> float:
        """Return the seconds for a write in progress, if nothing renews the Lease; resigning does not end it."""
        return max(0.0, self._held_until - clock())

    @property
    def noted(self) -> dict[str, str]:
        """Return the annotations of the Lease as last seen."""
        return dict((self._seen or {}).get("metadata", {}).get("annotations") or {})

    def resign(self) -> None:
        """Stop holding it. Others can acquire it only after `run` is cancelled, so writes in progress may end first."""
        self._resigned = True

    async def run(self) -> None:
        """Acquire the Lease when it is free and renew it, until cancelled; then release it."""
        try:
            while True:
                try:
                    await self._look_and_act()
                except KubeError as error:
                    self._report(self._explain(error))
                else:
                    self._report(None)
                await asyncio.sleep(self._term.period * random.uniform(0.8, 1.0))  # noqa: S311 (spreads load)
        finally:
            await self._release()

    async def _look_and_act(self) -> None:
        if not self.held or self._seen is None:
            await self._look()
        if self._seen is None:
            await self._create()
        elif self._may_take(self._seen["spec"]):
            await self._write(self._seen)

    async def _look(self) -> None:
        try:
            self._note(await self._client.get(f"{self._path}/{self.name}", timeout=self._timeout))
        except NotFound:
            self._seen = None

    def _note(self, lease: dict[str, Any]) -> None:
        spec = lease.setdefault("spec", {})
        self._seen = lease
        before, self.holder = self.holder, spec.get("holderIdentity") or ""
        renewal = (self.holder, spec.get("renewTime"), lease["metadata"]["resourceVersion"])
        if renewal != self._renewal:
            self._renewal, self._renewal_seen = renewal, clock()
        if self.holder != self.identity:
            self._lose()
            if self.holder != before:
                self._on_change(self)

    def _may_take(self, spec: dict[str, Any]) -> bool:
        if self.holder in {"", self.identity}:
            return True
        duration = spec.get("leaseDurationSeconds") or self._term.duration
        return clock() >= self._renewal_seen + min(duration, LONGEST_DURATION)

    async def _create(self) -> None:
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.name, "namespace": self.namespace, "annotations": self.notes},
            "spec": self._make_spec({}),
        }
        sent = clock()
        try:
            lease = await self._client.post(self._path, body, timeout=self._timeout)
        except Conflict:
            return  # another bridge was faster: the next check sees it
        self._take(lease, sent)

    async def _write(self, lease: dict[str, Any]) -> None:
        metadata = {**lease["metadata"], "annotations": {**self.noted, **self.notes}}
        body = {**lease, "metadata": metadata, "spec": self._make_spec(lease["spec"])}
        sent = clock()
        try:
            answer = await self._client.put(f"{self._path}/{self.name}", body, timeout=self._timeout)
        except (Conflict, NotFound):
            # Another client has changed or removed it since: only a read shows whether this process still holds it.
            await self._look()
            if self._seen is None:
                self._lose()
            return
        self._take(answer, sent)

    def _make_spec(self, before: dict[str, Any]) -> dict[str, Any]:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {**before, "leaseDurationSeconds": max(1, round(self._term.duration)), "renewTime": now}
        if before.get("holderIdentity") != self.identity:
            spec["holderIdentity"] = self.identity
            spec["acquireTime"] = now
            spec["leaseTransitions"] = (
                min((before.get("leaseTransitions") or 0) + 1, _MOST_TRANSITIONS) if before else 0
            )
        return spec

    def _take(self, lease: dict[str, Any], sent: float) -> None:
        self._note(lease)
        self._held_until = sent + self._term.duration - self._term.margin
        if self._expiry is not None:
            self._expiry.cancel()
        delay = max(0.0, self._held_until - clock())
        self._expiry = asyncio.get_running_loop().call_later(delay, self._lose)
        if self.held and not self.taken.is_set():
            self.taken.set()
            self._on_change(self)

    def _lose(self) -> None:
        self._held_until = 0.0
        self.notes.clear()  # the next holder's notes count
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        if self.taken.is_set():
            self.taken.clear()
            self._on_change(self)

    async def _release(self) -> None:
        was_held, lease, notes = clock() < self._held_until, self._seen, dict(self.notes)
        self._lose()
        if not was_held or lease is None:
            return
        path = f"{self._path}/{self.name}"
        with suppress(KubeError, TimeoutError):  # then it expires by itself
            async with asyncio.timeout(_RELEASE_TIMEOUT):
                try:
                    await self._client.put(path, _remove_holder(lease, notes))
                except Conflict:  # a renewal was in progress at the stop
                    lease = await self._client.get(path)
                    if lease["spec"].get("holderIdentity") == self.identity:
                        await self._client.put(path, _remove_holder(lease, notes))

    @property
    def _timeout(self) -> float:
        return max(1.0, (self._term.duration - self._term.margin) / 2)  # leaves time for a second attempt

    def _report(self, trouble: str | None) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            self._on_change(self)

    def _explain(self, error: KubeError) -> str:
        what = f"Lease {self.namespace}/{self.name}"
        match error:
            case NotFound():  # for a Lease itself it is not an error, so the namespace is missing
                return f"{what} cannot be created: no namespace {self.namespace}: create it, or choose another"
            case Forbidden():
                return f"{what}: grant the bridge's role get, create and update on {_LEASES} ({error.message})"
            case Unauthorized():
                return f"{what}: the API server does not accept the credentials of {self._client.origin}: renew them"
            case _:
                return f"{what}: {error}"


def _remove_holder(lease: dict[str, Any], notes: dict[str, str]) -> dict[str, Any]:
    metadata = lease["metadata"]
    annotations = {**(metadata.get("annotations") or {}), **notes}  # notes since the last renewal
    spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
    return {**lease, "metadata": {**metadata, "annotations": annotations}, "spec": spec}
