"""Shards: the namespaces are divided, and the holder of a shard's Lease writes to the objects of its namespaces.

Cluster-scoped objects are in shard 0. A free Lease is taken by the first bridge that sees it. A bridge that holds at
least two fewer than another one requests the difference's half, and gets each Lease when the writes in that shard have
ended; so in the end every bridge holds its part, rounded up or down. A bridge is known to others by what it holds or
requests: there is no list of bridges.
"""

import asyncio
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from bridge.kube.client import KubeClient
from bridge.kube.lease import FencedClient, Lease, Term
from bridge.model.keys import CLUSTER


def shard_of(namespace: str, count: int) -> int:
    """Return the shard of a namespace among `count`, the same in every bridge."""
    return 0 if namespace == CLUSTER else zlib.crc32(namespace.encode()) % count


def find_requests(me: str, owners: Sequence[str]) -> Iterator[int]:
    """Return the shards to request, by the owner of each: who requests it, or else holds it."""
    load = Counter(owner for owner in owners if owner)
    for shard in reversed(range(len(owners))):  # shard 0 has work beside its objects
        owner = owners[shard]
        if owner and load[owner] == max(load.values()) and has_too_many(owner, me, load):
            load.subtract({owner: 1, me: -1})
            yield shard


def has_too_many(holder: str, requester: str, load: Counter[str]) -> bool:
    """Return whether a Lease that moves from one bridge to another makes their numbers more equal."""
    return load[holder] >= load[requester] + 2


class Shards:
    """The Leases `names` in a namespace, a shard each, and clients that write while a shard's is held.

    `may_request` returns whether this bridge could write at once.
    """

    def __init__(
        self,
        client: KubeClient,
        namespace: str,
        names: Sequence[str],
        identity: str,
        *,
        term: Term | None = None,
        make_news: Callable[[], Callable[[Lease], None]] = lambda: lambda _: None,
        may_request: Callable[[], bool] = lambda: True,
    ) -> None:
        self._identity = identity
        self._term = term or Term()
        self._may_request = may_request
        self.leases: list[Lease] = []
        for name in names:
            first = self.leases[0] if self.leases else None
            lease = Lease(
                client,
                namespace,
                name,
                identity,
                term=self._term,
                on_change=make_news(),
                shards=len(names),
                first=first,
            )
            self.leases.append(lease)
        self._clients = [FencedClient(client, lease) for lease in self.leases]

    def held(self) -> frozenset[int]:
        """Return the shards whose objects this bridge may write now."""
        return frozenset(shard for shard, lease in enumerate(self.leases) if lease.held)

    def shard_of(self, namespace: str) -> int:
        """Return the shard of a namespace."""
        return shard_of(namespace, len(self.leases))

    def client_for(self, namespace: str) -> FencedClient:
        """Return the client that writes to objects of a namespace."""
        return self._clients[self.shard_of(namespace)]

    async def run(self) -> None:
        """Take part in the elections until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for lease in self.leases:
                tasks.create_task(lease.run())
            while len(self.leases) > 1:
                await asyncio.sleep(self._term.period)
                self._balance()

    def _balance(self) -> None:
        load = Counter(lease.holder for lease in self.leases if lease.holder)
        for lease, client in zip(self.leases, self._clients, strict=True):
            requester = lease.requester
            if requester and lease.held:
                if has_too_many(self._identity, requester, load):
                    load.subtract({self._identity: 1, requester: -1})
                    lease.give(requester, client.is_unchanging)
                lease.requester = ""
        if self.leases[0].is_agreed and self._may_request():
            for shard in find_requests(self._identity, [lease.requester or lease.holder for lease in self.leases]):
                self.leases[shard].wanted = True
