"""Changes of objects: the stream of every source, a cluster or a folder; and notices about changes that OPA has.

Listing(type) -> Upserted(type, objects)* -> Listed(type) -> (Upserted | Deleted)* -> Listing(type) ...

Objects that a source has not upserted between a `Listing` and its `Listed` are deleted. Both may be about one namespace
only, within the listing of the whole type or after it. `Trouble` is the reason why a type (or a file) delivers nothing
at present; the type's next event ends it, and `Resolved` ends one of a file. `Rejected` means that the source has an
object that the bridge cannot handle; the next `Upserted` or `Deleted` of the object ends that.

The replicator writes changes to OPA, and then sends a `Notice` to its listeners.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Protocol

from bridge.model.keys import Key

# A Kubernetes object as parsed JSON. In one from a cluster, fields other than apiVersion, kind and metadata are JSON
# text (`msgspec.Raw`), which goes to OPA unparsed.
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """A source begins to deliver the current state of one type (`<group>/<Kind>`), in all namespaces or in one.

    `why` is the reason of one that is not the first, for metrics.
    """

    type_id: str
    namespace: str = ""
    why: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Upserted:
    """Created or changed objects of one type, in their current state."""

    type_id: str
    objects: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class Deleted:
    """One deleted object."""

    type_id: str
    key: Key


@dataclass(frozen=True, slots=True)
class Rejected:
    """One object of the source that OPA must not have, with the reason. `key` is the object's.

    `identity` has its apiVersion, kind and metadata. The name is empty if it cannot be read.
    """

    type_id: str
    key: Key
    identity: Object
    reason: str


@dataclass(frozen=True, slots=True)
class Listed:
    """The current state of one type has been delivered, in all namespaces or in one."""

    type_id: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a type (or a file of manifests) delivers nothing now, in one line with the fix.

    `subject` is the type's id, or `file:line` of a manifest. `retried` means that the source retries. `unknown` means
    that the objects of the type are unknown (the API server is unavailable), so it must not count as empty; `absent`
    means that the API server does not serve the type, which only matters if a setting names it. `forbidden` means that
    RBAC does not allow to read the type, except in `namespaces`.
    """

    subject: str
    message: str
    retried: bool = True
    unknown: bool = False
    absent: bool = False
    forbidden: bool = False
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolved:
    """A `Trouble` about a file of manifests has ended. `subject` is the Trouble's."""

    subject: str


Change = Listing | Upserted | Deleted | Rejected | Listed | Trouble | Resolved


def type_of(change: Change) -> str:
    """Return the type (`<group>/<Kind>`) that a change is about, or the file of manifests."""
    return change.subject if isinstance(change, Trouble | Resolved) else change.type_id


@dataclass(frozen=True, slots=True)
class Notice:
    """OPA has these changes now.

    `keys` are the objects with changed declarations; those in `reported` differ only in status. `was` has, by key, the
    previous index paths of an object. `refilled` means that OPA was synced again: everything derived from it must be
    computed again, and `keys` is empty. `refilling` comes before that, when OPA has other data than the bridge wrote:
    until the sync ends, its results are ignored. `kinds` means that the stored policy kinds may differ. An `alone`
    notice is computed separately. `traces` are the spans that wrote the changes (`bridge.tracing`).
    """

    keys: tuple[Key, ...] = ()
    reported: tuple[Key, ...] = ()
    was: Mapping[Key, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    refilled: bool = False
    refilling: bool = False
    kinds: bool = False
    alone: bool = False
    traces: tuple[Any, ...] = ()


def merge_notices(notices: Sequence[Notice]) -> Notice:
    """Return several notices as one, with the paths of all of them: a key may be stored under any."""
    if any(notice.refilled for notice in notices):
        return Notice(refilled=True)
    was: dict[Key, tuple[tuple[str, ...], ...]] = {}
    for notice in notices:
        for key, paths in notice.was.items():
            was[key] = tuple(dict.fromkeys((*was.get(key, ()), *paths)))
    keys = dict.fromkeys(key for notice in notices for key in notice.keys)
    reported = dict.fromkeys(key for notice in notices for key in notice.reported if key not in keys)
    traces = tuple(trace for notice in notices for trace in notice.traces)
    return Notice(tuple(keys), tuple(reported), was, kinds=any(notice.kinds for notice in notices), traces=traces)


Listener = Callable[[Notice], None]


class Source(Protocol):
    """Delivers the current state of types, and then changes.

    `want` may be called before and during the iteration of `changes`. The iterator does not end by itself, unless the
    source does not follow changes; it has one reader, and closing it stops the source.
    """

    def want(self, type_ids: AbstractSet[str]) -> None:
        """Deliver these types (`<group>/<Kind>`) from now on, and no others.

        A type that is no longer wanted gets an empty listing, which removes its objects.
        """

    def relist(self) -> None:
        """Deliver everything again, because the reader has lost its state. Unread changes may be omitted."""

    def changes(self) -> AsyncIterator[Change]:
        """Return the change stream (see `bridge.model.changes`)."""


class Tapped:
    """A `Source` that delivers the changes of `source`, which go through `tap` first.

    With `types` it wants these too, and the tap gets only their changes.
    """

    def __init__(self, source: Source, tap: Callable[[Change], None], types: AbstractSet[str] = frozenset()) -> None:
        self._source = source
        self._types = types
        self._tap = tap

    def want(self, type_ids: AbstractSet[str]) -> None:
        """Deliver these types, and those of the tap."""
        self._source.want(frozenset(type_ids | self._types))

    def relist(self) -> None:
        """Deliver everything again, to both."""
        self._source.relist()

    async def changes(self) -> AsyncIterator[Change]:
        """Return the change stream of the source."""
        async for change in self._source.changes():
            if not self._types or type_of(change) in self._types:
                self._tap(change)
            yield change
