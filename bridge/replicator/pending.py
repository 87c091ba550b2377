"""Changes that wait for the next write, one entry an object: the newest state wins."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from bridge.model.changes import Change, Deleted, Listed, Listing, Mended, Object, Rejected, Trouble, Upserted
from bridge.model.keys import Key, key_of
from bridge.model.turns import Turns
from bridge.replicator.pruning import prune

LARGE = 64 << 10  # bytes of an object that is written alone: OPA needs about 0.1 s for the links of 200 KiB
_METADATA = 400  # bytes of an object's metadata, beside its annotations


@dataclass(slots=True)
class Pending:
    """Takes changes in, coalesces them by object, and gives them out in batches.

    `held` tells which objects of a type OPA has: what a listing does not name and OPA has becomes a deletion.
    """

    held: Callable[[str], set[Key]]
    _objects: dict[Key, Object | None] = field(default_factory=dict)  # None: gone
    _taken: frozenset[Key] = frozenset()  # the last batch, which OPA may not hold yet
    _seen: dict[tuple[str, str], set[Key]] = field(default_factory=dict)  # of each type and namespace being listed
    prune: Callable[[Object], Object] = prune
    size: int = 0  # about the bytes of the objects that wait, as JSON
    taken_size: int = 0  # of the last batch
    arrivals: list[float] = field(default_factory=list)  # of the last batch, by the monotonic clock
    _sizes: dict[Key, int] = field(default_factory=dict)
    _arrived: dict[Key, float] = field(default_factory=dict)  # what waits
    _turns: Turns[Key] = field(default_factory=lambda: Turns(_namespace))
    _large_next: bool = False  # whether a large object has its turn before small ones

    def __len__(self) -> int:
        return len(self._objects)

    def take_in(self, change: Change) -> None:
        """Note one change of a source; raises KeyError for an object without kind or name."""
        match change:
            case Listing(type_id, namespace):
                self._seen[type_id, namespace] = set()
            case Upserted(type_id, objects):
                seen = [keys for (listed, _), keys in self._seen.items() if listed == type_id]
                for obj in objects:
                    key = key_of(obj)
                    self._put(key, self.prune(obj))
                    for keys in seen:
                        keys.add(key)
            case Deleted(_, key) | Rejected(_, key):
                self._put(key, None)
            case Listed(type_id, namespace):
                for key in self._known(type_id, namespace) - self._seen.pop((type_id, namespace), set()):
                    self._put(key, None)
            case Trouble(type_id, absent=True):
                self.forget(type_id)
            case Trouble() | Mended():
                pass

    def forget(self, type_id: str) -> None:
        """Note that every object of a type is gone."""
        for key in self._known(type_id, ""):
            self._put(key, None)

    def _put(self, key: Key, obj: Object | None) -> None:
        if key not in self._objects:
            self._arrived[key] = time.monotonic()
            self._turns.add(key)
        self._objects[key] = obj
        self.size -= self._sizes.pop(key, 0)
        if obj is not None:
            self.size += self._sizes.setdefault(key, size_of(obj))

    def _known(self, type_id: str, namespace: str) -> set[Key]:
        waiting = {key for key in (*self._objects, *self._taken) if key.type_id == type_id}
        return {key for key in self.held(type_id) | waiting if namespace in {"", key.namespace}}

    def objects(self) -> Mapping[Key, Object | None]:
        """What waits; None stands for an object that is gone."""
        return self._objects

    def take_out(self, limit: int, most_bytes: int, *, in_turn: bool = False) -> dict[Key, Object | None]:
        """The oldest changes, which are forgotten here; the batch before that is written now.

        They are at most `limit`, and about `most_bytes` together, but one in any case. With `in_turn` each namespace
        has its turn, so that none waits until the changes of another are written; without, they have the source's
        order, by which OPA takes them as few large values. With it, too, a LARGE object is a batch of its own, and such
        batches alternate with those of small objects.
        """
        self.taken_size = 0
        chosen: list[Key] = []

        def fits(key: Key) -> bool:
            size = self._sizes.get(key, 0)
            if chosen and self.taken_size + size > most_bytes:
                return False
            self.taken_size += size
            chosen.append(key)
            return True

        if in_turn:
            if not self._large_next:
                self._turns.take(limit, lambda key: not self._is_large(key) and fits(key))
            if not chosen:
                self._turns.take(1, lambda key: self._is_large(key) and fits(key))
            if not chosen:
                self._turns.take(limit, fits)  # only small ones wait
            self._large_next = bool(chosen) and not self._is_large(chosen[0])
        else:
            for key in self._objects:
                if len(chosen) == limit or not fits(key):
                    break
        batch = {key: self._objects.pop(key) for key in chosen}
        for key in batch:
            self._turns.discard(key)
            self.size -= self._sizes.pop(key, 0)
        self._taken = frozenset(batch)
        self.arrivals = [self._arrived.pop(key) for key in batch]
        return batch

    def _is_large(self, key: Key) -> bool:
        return self._sizes.get(key, 0) > LARGE

    def clear(self) -> None:
        """Forget everything, because the source tells all of it again."""
        self._objects.clear()
        self._arrived.clear()
        self._turns.clear()
        self._sizes.clear()
        self.size = 0
        self._taken = frozenset()
        self._seen.clear()


def _namespace(key: Key) -> str:
    return key.namespace


def size_of(obj: Object) -> int:
    """About the bytes of an object as JSON, without a look into what passes through as text."""
    annotations = obj["metadata"].get("annotations") or {}
    size = _METADATA + sum(map(len, annotations.values()))
    for name, value in obj.items():
        if isinstance(value, msgspec.Raw):
            size += memoryview(value).nbytes
        elif name != "metadata":
            size += len(msgspec.json.encode(value))
    return size
