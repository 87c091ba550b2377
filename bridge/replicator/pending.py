"""Changes that wait for the next write, one entry for each object: the newest state counts. And counts of writes.

Fields that no rule reads, and that are large or secret, are removed before.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bridge.model.changes import Change, Deleted, Listed, Listing, Object, Rejected, Resolved, Trouble, Upserted
from bridge.model.keys import Key, group_of, key_of
from bridge.model.nesting import decode
from bridge.model.observability import BYTES, COUNTS, MINUTES, Histogram
from bridge.model.types import Fields
from bridge.opa.address import segments_of
from bridge.pacing import Turns

_CRD = "CustomResourceDefinition"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# The fields that discovery reads besides the names, and those that complete a manifest in a comparison with a cluster.
_CRD_KEEPS = ("type", "enum", "x-kubernetes-preserve-unknown-fields", "default")
_CRD_DEPTH = 8  # property names up to this depth show the form of a policy's spec and status


def pruning(fields: Mapping[str, Fields]) -> Callable[[Object], Object]:
    """Return a `prune` that also removes the `fields` of each type (`<group>/<Kind>`)."""

    def shaped(obj: Object) -> Object:
        chosen = fields.get(f"{group_of(obj['apiVersion'])}/{obj['kind']}")
        pruned = prune(obj)
        return choose(pruned, chosen) if chosen else pruned

    return shaped


def choose(obj: Object, fields: Fields) -> Object:
    """Return an object with only its wanted fields, without changing the input."""
    if fields.keep is not None:
        kept: Object = {name: obj[name] for name in ("apiVersion", "kind", "metadata")}
        for path in fields.keep:
            found = _at(obj, segments_of(path))
            if found is not None:
                kept = _with(kept, segments_of(path), found)
        return kept
    if fields.drop is not None:
        for path in fields.drop:
            obj = _without(obj, segments_of(path))
        return obj
    if "status" not in obj:
        return obj
    conditions = _at(obj, ["status", "conditions"])
    return {**obj, "status": {} if conditions is None else {"conditions": conditions}}


def _at(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        mapping = parsed(value)
        value = mapping.get(name) if isinstance(mapping, dict) else None
    return value


def _with(obj: Object, path: Sequence[str], value: Any) -> Object:
    name, *rest = path
    below = parsed(obj.get(name))
    return {**obj, name: _with(below if isinstance(below, dict) else {}, rest, value) if rest else value}


def _without(obj: Object, path: Sequence[str]) -> Object:
    name, *rest = path
    if name not in obj:
        return obj
    if not rest:
        return {other: value for other, value in obj.items() if other != name}
    below = parsed(obj[name])
    return {**obj, name: _without(below, rest)} if isinstance(below, dict) else obj


def prune(obj: Object) -> Object:
    """Return the object without managedFields and the last-applied annotation; a Secret keeps only names and type.

    The schemas of a CustomResourceDefinition keep only property names and the fields in `_CRD_KEEPS`. The input is not
    changed.
    """
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict) and _LAST_APPLIED in annotations:
        metadata["annotations"] = {k: v for k, v in annotations.items() if k != _LAST_APPLIED}
    if obj["kind"] == "Secret" and obj["apiVersion"] == "v1":
        metadata.pop("annotations", None)  # other tools than kubectl also store there what they have applied
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": parsed(obj.get("type", ""))}
    pruned = {**obj, "metadata": metadata}
    if obj["kind"] == _CRD:
        pruned["spec"] = _crd_spec(parsed(obj.get("spec")))
        pruned.pop("status", None)
    return pruned


def parsed(value: Any) -> Any:
    """Return a field of an object, parsed if it is still JSON text; None if that cannot be decoded."""
    try:
        return decode(value) if isinstance(value, msgspec.Raw) else value
    except msgspec.DecodeError:
        return None


def _crd_spec(spec: Any) -> Any:
    if not isinstance(spec, dict) or not isinstance(spec.get("versions"), list):
        return spec
    return {**spec, "versions": [_version(version) for version in spec["versions"]]}


def _version(version: Any) -> Any:
    if not isinstance(version, dict):
        return version
    schema = version.get("schema")
    whole = schema.get("openAPIV3Schema") if isinstance(schema, dict) else None
    return {**version, "schema": {"openAPIV3Schema": _skeleton(whole, _CRD_DEPTH)}}


def _skeleton(schema: Any, depth: int) -> Object:
    if not isinstance(schema, dict) or depth == 0:
        return {}
    kept: Object = {name: schema[name] for name in _CRD_KEEPS if name in schema}
    if isinstance(properties := schema.get("properties"), dict):
        kept["properties"] = {name: _skeleton(part, depth - 1) for name, part in properties.items()}
    if "items" in schema:
        kept["items"] = _skeleton(schema["items"], depth - 1)
    return kept


LARGE = 64 << 10  # bytes of an object that is written alone: OPA needs about 0.1 s for the links of 200 KiB
_METADATA = 400  # bytes of an object's metadata, beside its annotations


@dataclass(slots=True)
class Pending:
    """Stores changes, coalesces them by object, and returns them in batches.

    `held` returns OPA's objects of a type: those that a listing does not contain become deletions.
    """

    held: Callable[[str], set[Key]]
    _objects: dict[Key, Object | None] = field(default_factory=dict)  # None: deleted
    _taken: frozenset[Key] = frozenset()  # the last batch, which OPA may not have yet
    _seen: dict[tuple[str, str], set[Key]] = field(default_factory=dict)  # of each listed type and namespace
    prune: Callable[[Object], Object] = prune
    size: int = 0  # approximate bytes of the waiting objects, as JSON
    taken_size: int = 0  # of the last batch
    arrivals: list[float] = field(default_factory=list)  # of the last batch, by the monotonic clock
    _sizes: dict[Key, int] = field(default_factory=dict)
    _arrived: dict[Key, float] = field(default_factory=dict)  # waiting changes
    _turns: Turns[Key] = field(default_factory=lambda: Turns(_namespace))
    _large_next: bool = False  # whether a large object precedes small ones

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
            case Trouble() | Resolved():
                pass

    def forget(self, type_id: str) -> None:
        """Note that every object of a type is deleted."""
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

    @property
    def writing(self) -> bool:
        """Return whether the last batch is not `written` yet."""
        return bool(self._taken)

    def written(self) -> None:
        """Note that OPA has the last batch."""
        self._taken = frozenset()

    def objects(self) -> Mapping[Key, Object | None]:
        """Return the waiting objects; None means a deleted one."""
        return self._objects

    def take_out(self, limit: int, most_bytes: int, *, in_turn: bool = False) -> dict[Key, Object | None]:
        """Remove and return the oldest changes; the previous batch is written now.

        They are at most `limit`, and about `most_bytes` together, but at least one. With `in_turn` namespaces take
        turns, so none waits for the changes of another; without, they have the source's order, in which OPA gets them
        as few large values. With it, a LARGE object is also a separate batch, and such batches alternate with those of
        small objects.
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
        """Drop everything, because the source delivers all of it again."""
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
    """Return the approximate bytes of an object as JSON, without parsing text that passes through."""
    annotations = obj["metadata"].get("annotations") or {}
    size = _METADATA + sum(map(len, annotations.values()))
    for name, value in obj.items():
        if isinstance(value, msgspec.Raw):
            size += memoryview(value).nbytes
        elif name != "metadata":
            size += len(msgspec.json.encode(value))
    return size


FILLS = ("start", "restarted", "changed", "modules", "rejected")
AUDITS = ("same", "different")


class ReplicationCounts:
    """Batches by objects and bytes, seconds from a change's arrival to OPA, syncs by reason (FILLS), audits (AUDITS).

    Writes of a full sync count among the batches, and not among the seconds, which are in `fill_seconds`.
    """

    def __init__(self) -> None:
        self.batch_objects = Histogram(COUNTS)
        self.batch_bytes = Histogram(BYTES)
        self.lag = Histogram()
        self.fills: Counter[str] = Counter()
        self.fill_seconds = Histogram(MINUTES)
        self.audits: Counter[str] = Counter()

    def taken_out(self, objects: int, size: int) -> None:
        """Count a batch."""
        self.batch_objects.observe(objects)
        self.batch_bytes.observe(size)

    def in_opa(self, arrivals: Iterable[float]) -> None:
        """Count changes that OPA has now, by their arrival (monotonic clock)."""
        now = time.monotonic()
        for arrived in arrivals:
            self.lag.observe(now - arrived)

    @contextmanager
    def filling(self, reason: str) -> Iterator[None]:
        """Count the sync that the block makes, if it succeeds."""
        began = time.monotonic()
        yield
        self.fills[reason] += 1
        self.fill_seconds.observe(time.monotonic() - began)
