"""Changes that wait for the next write, one entry an object: the newest state wins."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bridge.model.changes import Change, Deleted, Listed, Listing, Mended, Object, Trouble, Upserted
from bridge.model.keys import Key, key_of
from bridge.replicator.pruning import prune


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
                    self._objects[key] = self.prune(obj)
                    for keys in seen:
                        keys.add(key)
            case Deleted(_, key):
                self._objects[key] = None
            case Listed(type_id, namespace):
                gone = self._known(type_id, namespace) - self._seen.pop((type_id, namespace), set())
                self._objects.update(dict.fromkeys(gone))
            case Trouble() | Mended():
                pass

    def _known(self, type_id: str, namespace: str) -> set[Key]:
        waiting = {key for key in (*self._objects, *self._taken) if key.type_id == type_id}
        return {key for key in self.held(type_id) | waiting if namespace in {"", key.namespace}}

    def objects(self) -> Mapping[Key, Object | None]:
        """What waits; None stands for an object that is gone."""
        return self._objects

    def take_out(self, limit: int) -> dict[Key, Object | None]:
        """The oldest `limit` changes, which are forgotten here; the batch before that is written now."""
        batch = {key: self._objects[key] for key in itertools.islice(self._objects, limit)}
        for key in batch:
            del self._objects[key]
        self._taken = frozenset(batch)
        return batch

    def clear(self) -> None:
        """Forget everything, because the source tells all of it again."""
        self._objects.clear()
        self._taken = frozenset()
        self._seen.clear()
