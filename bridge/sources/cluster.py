"""The cluster as a change stream: one independent list-and-watch for each wanted type."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

from bridge.kube.discovery import Discovery, find_missing_access
from bridge.kube.kube_client import KubeClient
from bridge.kube.kube_errors import KubeError, NotFound, explain_access
from bridge.kube.listwatch import EXPIRED, INTERRUPTED, Pace, list_and_watch
from bridge.model.changes import Change, Listed, Listing, Resolved, Trouble, Upserted
from bridge.model.keys import CORE
from bridge.model.types import EVERYTHING, Access, ResourceType, Selection, plural_by_rule, regular_plural
from bridge.sources.pruning import prune

_ROOM = 64  # changes that may wait for the reader; then the watches wait too
_FIRST_POLL = 0.2  # seconds until the next check for a missing type; the waits double
_LONGEST_WITHOUT_ANSWER = 1.0  # seconds, so a server's return is detected soon
_AFTER_LOSS = 0.5  # seconds: discovery follows a CRD with a delay
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_LONGEST_ESTABLISHING = 10.0  # seconds from a read of a CRD until the API server serves its type
_ONLY = "only some namespaces may be read"
_STANDARD_PACE = Pace()
FIRST = "first"  # of a type
AGAIN = "served-again"  # the type was missing, or is served in another version
REFILL = "resync"  # OPA is synced again
LISTINGS = (FIRST, AGAIN, REFILL, EXPIRED, INTERRUPTED)


@dataclass(frozen=True, slots=True)
class _Failed:
    """A task ended with an unexpected error, which the reader gets."""

    error: BaseException


class ClusterSource:
    """A `Source` for an API server.

    `selections` limit, by type id, the delivered objects; for other types all are. With namespaces, each is listed and
    watched separately, so permissions in these namespaces are sufficient. A type that may not be listed in all
    namespaces is read in those of `instead` where that is allowed; a Trouble after its listing has these namespaces.

    A missing type gets a Trouble and is checked again, at least every `poll` seconds, and immediately after
    `rediscover`. When a type is no longer wanted, or its CRD is deleted, an empty listing removes its objects.
    """

    def __init__(
        self,
        client: KubeClient,
        selections: Mapping[str, Selection] | None = None,
        *,
        instead: Sequence[str] = (),
        pace: Pace = _STANDARD_PACE,
        poll: float = 5.0,
    ) -> None:
        self._client = client
        self._instead = tuple(instead)
        self._selections = selections or {}
        versions = {type_id: one.version for type_id, one in self._selections.items() if one.version}
        self._discovery = Discovery(client, versions)
        self._pace = pace
        self._poll = poll
        self._queue: asyncio.Queue[tuple[int, Change | _Failed]] = asyncio.Queue(_ROOM)
        self._epoch = 0  # changes of earlier epochs are not for the reader anymore
        self._wanted: frozenset[str] = frozenset()
        self._running: dict[str, tuple[ResourceType, asyncio.Task[None]]] = {}  # by type
        self._delivered: set[str] = set()  # types whose objects the reader may have
        self._ever: set[str] = set()  # types whose objects the reader has ever got
        self._reported: dict[str, str] = {}  # the last reported Trouble of a type that is not running
        self._coming: dict[str, float] = {}  # when a type was first missing, by the monotonic clock
        self._wake = asyncio.Event()
        self._rediscover = False  # to check the served types, even if none is missing
        self._again = False  # to deliver everything again
        self._iterated = False
        self._stopped: set[str] = set()  # types that are listed again on request
        self.listings: Counter[str] = Counter()  # by reason: LISTINGS

    def want(self, type_ids: AbstractSet[str]) -> None:
        """Deliver these types from now on, and no others."""
        self._wanted = frozenset(type_ids)
        self._wake.set()

    def rediscover(self) -> None:
        """Check immediately whether missing types are served now, or others in another version.

        Call it after a change of a CRD.
        """
        self._rediscover = True
        self._wake.set()

    def relist(self) -> None:
        """List every type again. Changes that wait for the reader are omitted from now on."""
        self._epoch += 1  # immediately: a Listed whose Listing the reader has dropped would remove everything
        self._again = True
        self._wake.set()

    def resource(self, type_id: str) -> ResourceType | None:
        """Return how a type is served, as last seen.

        Discovery of an API server that has just started may lack types that are followed already.
        """
        running = self._running.get(type_id)
        return self._discovery.types.get(type_id) or (running[0] if running else None)

    def plural(self, type_id: str) -> str:
        """Return the plural name of a type, as last seen, otherwise by the rule."""
        resource = self.resource(type_id)
        return resource.plural if resource else plural_by_rule(type_id)

    async def changes(self) -> AsyncIterator[Change]:
        """Return the change stream of all wanted types, ordered within a type. It can be iterated once."""
        if self._iterated:
            raise RuntimeError("a ClusterSource has one reader, once")
        self._iterated = True
        steering = asyncio.create_task(self._guarded(self._steer), name="cluster source")
        try:
            while True:
                epoch, change = await self._queue.get()
                if isinstance(change, _Failed):
                    raise change.error
                if epoch == self._epoch:
                    yield change
        finally:
            tasks = [steering, *(task for _, task in self._running.values())]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _steer(self) -> None:
        """Start and stop types, as they are wanted and served."""
        wait = _FIRST_POLL
        while True:
            self._wake.clear()
            rediscover, self._rediscover = self._rediscover, False
            wanted = self._wanted
            if self._again:
                await self._restart()
            for type_id in sorted((self._running.keys() | self._delivered | self._reported.keys()) - wanted):
                await self._forget(type_id)
            if (rediscover or wanted - self._running.keys()) and not await self._look(wanted):
                wait = min(wait, _LONGEST_WITHOUT_ANSWER)
            # A caller has seen a CRD change, which discovery follows with a delay: check a few more times.
            self._rediscover |= rediscover and wait < self._poll
            try:
                async with asyncio.timeout(wait if self._rediscover or wanted - self._running.keys() else None):
                    await self._wake.wait()
            except TimeoutError:
                wait = min(wait * 2, self._poll)
            else:
                wait = _FIRST_POLL

    async def _look(self, wanted: frozenset[str]) -> bool:
        """Start served types. False if the API server did not respond, or is not ready."""
        missing = sorted(wanted - self._running.keys())
        try:
            complete = not missing or await self._discovery.is_complete()
            await self._discovery.refresh()
        except KubeError as error:
            why = explain_access(error, self._client.origin)
            for type_id in missing:
                await self._report(type_id, f"cannot discover what the API server serves: {why}", unknown=True)
            return False
        for type_id in sorted(wanted):
            resource, running = self._discovery.types.get(type_id), self._running.get(type_id)
            if resource is not None:
                if running is None or running[0] != resource:
                    await self._start(type_id, resource)
            elif running is None and complete:
                await self._report_absent(type_id)
            elif running is None:
                await self._report(type_id, "the API server is not ready yet: the bridge retries", unknown=True)
        return complete

    async def _start(self, type_id: str, resource: ResourceType) -> None:
        await self._stop(type_id)
        self._reported.pop(type_id, None)
        self._coming.pop(type_id, None)
        first = AGAIN if type_id in self._ever else FIRST
        self.listings[REFILL if type_id in self._stopped else first] += 1
        self._stopped.discard(type_id)
        follow = partial(self._follow, type_id, resource, self._epoch)
        task = asyncio.create_task(self._guarded(follow), name=f"watch {type_id}")
        self._running[type_id] = resource, task

    async def _restart(self) -> None:
        self._again = False
        removed = self._ever - self._running.keys()  # a removal may be among the omitted changes
        for type_id in sorted(self._running):
            await self._stop(type_id)
            self._stopped.add(type_id)
        self._reported.clear()
        for type_id in sorted(removed):
            await self._remove_all(type_id, always=True)

    async def _stop(self, type_id: str) -> None:
        if running := self._running.get(type_id):
            running[1].cancel()
            await asyncio.gather(running[1], return_exceptions=True)
            self._running.pop(type_id, None)

    async def _report_absent(self, type_id: str) -> None:
        group = type_id.rpartition("/")[0]
        if group in self._discovery.unknown_groups:
            await self._report(
                type_id, f"the API server cannot list the resources of group {group}: see its APIService"
            )
            return
        await self._remove_all(type_id)
        version = self._selections.get(type_id, EVERYTHING).version
        served = f"{type_id} in version {version}" if version else type_id
        message = f"the API server does not serve {served}: install the CRD that defines it"
        if self._reported.get(type_id) != message and not await self._is_coming(type_id, version):
            await self._report(type_id, message, absent=True)

    async def _is_coming(self, type_id: str, version: str) -> bool:
        """Return whether a CRD defines a missing type: it was just applied, and the API server serves it soon."""
        group, _, kind = type_id.rpartition("/")
        since = self._coming.setdefault(type_id, time.monotonic())
        if group == CORE or time.monotonic() - since > _LONGEST_ESTABLISHING:
            return False
        try:
            crd = await self._client.get(f"{_CRDS}/{regular_plural(kind)}.{group}")
        except KubeError:
            return False  # it is missing, or may not be read: there is no better information
        versions = {one["name"] for one in crd["spec"]["versions"] if one["served"]}
        return "deletionTimestamp" not in crd["metadata"] and (not version or version in versions)

    async def _forget(self, type_id: str) -> None:
        await self._stop(type_id)
        self._reported.pop(type_id, None)
        self._coming.pop(type_id, None)
        await self._remove_all(type_id, always=True)

    async def _remove_all(self, type_id: str, *, always: bool = False) -> None:
        if always or type_id in self._delivered:
            self._delivered.discard(type_id)
            epoch = self._epoch
            await self._queue.put((epoch, Listing(type_id)))
            await self._queue.put((epoch, Listed(type_id)))

    async def _report(self, type_id: str, message: str, *, unknown: bool = False, absent: bool = False) -> None:
        if self._reported.get(type_id) != message:
            self._reported[type_id] = message
            await self._queue.put((self._epoch, Trouble(type_id, message, unknown=unknown, absent=absent)))

    async def _follow(self, type_id: str, resource: ResourceType, epoch: int) -> None:
        """Deliver one type until the API server no longer serves it."""
        selection = self._selections.get(type_id, EVERYTHING)
        namespaces = selection.namespaces if resource.namespaced else ()
        instead = await self._readable_instead(resource) if resource.namespaced and not namespaces else ()
        namespaces = namespaces or instead
        begun = set(namespaces)
        if namespaces:
            await self._put(epoch, Listing(type_id))

        async def deliver(namespace: str) -> None:
            following = list_and_watch(self._client, resource, self._pace, selection=selection, namespace=namespace)
            async with aclosing(following) as changes:
                async for change in changes:
                    await self._put(epoch, change)
                    if isinstance(change, Listed) and change.namespace in begun:
                        begun.remove(change.namespace)
                        if not begun:
                            await self._put(epoch, Listed(type_id))
                            if instead:
                                await self._put(epoch, Trouble(type_id, _ONLY, forbidden=True, namespaces=instead))

        tasks = [asyncio.create_task(deliver(namespace)) for namespace in namespaces or ("",)]
        try:
            await asyncio.gather(*tasks)
        except NotFound:
            # Discovery decides whether the type is missing, or not ready to be served.
            await asyncio.sleep(_AFTER_LOSS)
            self._running.pop(type_id, None)
            self._wake.set()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _readable_instead(self, resource: ResourceType) -> tuple[str, ...]:
        """Return those of the namespaces `instead` of all in which a type may be listed; none if it may be in all."""
        group = "" if resource.group == CORE else resource.group
        places = ("", *self._instead) if self._instead else ()
        wanted = [Access(place, group, resource.plural, ("list",)) for place in places]
        try:
            forbidden = {one.namespace for one in await find_missing_access(self._client, wanted)}
        except KubeError:  # the list itself has the reason
            return ()
        return tuple(place for place in self._instead if place not in forbidden) if "" in forbidden else ()

    async def _put(self, epoch: int, change: Change) -> None:
        if not isinstance(change, Trouble):
            type_id = change.subject if isinstance(change, Resolved) else change.type_id
            self._delivered.add(type_id)
            self._ever.add(type_id)
        if isinstance(change, Upserted):
            change = Upserted(change.type_id, tuple(map(prune, change.objects)))
        elif isinstance(change, Listing) and change.why:
            self.listings[change.why] += 1
        await self._queue.put((epoch, change))

    async def _guarded(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 (not swallowed: the reader raises it)
            await self._queue.put((self._epoch, _Failed(error)))
