"""What queries answer before and after a change that is not made: the change, and the two states.

Where objects alone differ, and queries follow all that they may affect, both states are in one OPA, and queries after
the change have it as their input `changes`. A change of Rego has an OPA of its own with all objects after the change.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bridge.model.changes import Object
from bridge.model.keys import CLUSTER, Key, key_of, parse_key, pointer
from bridge.model.nesting import as_mapping
from bridge.model.types import CONSTRAINT, CRD
from bridge.offline.slicing import Reading
from bridge.opa.client import Opa
from bridge.queries.asking import POLICY_WORDS, Entry, by_batches, objects, policy_keys, violations_by
from bridge.queries.names import (
    CommandError,
    NameNotFoundError,
    UnknownKindError,
    choose,
    match_kinds,
    read_reference,
    short_key,
)
from bridge.replicator.replicator import QUERIES_OF_SYNC
from bridge.sources.defaults import Defaulter
from bridge.sources.known_fields import fields_of, without_unknown_fields
from bridge.sources.pruning import prune

if TYPE_CHECKING:
    from bridge.offline.engine import Engine
    from bridge.offline.modules import SettledModules
    from bridge.policy_loader.submissions import DataPath, Submission

_NAMESPACE = "core/Namespace"
_NONE: Mapping[str, Any] = {}
_AUTHORS = frozenset({"core/ConfigMap", "policybridge.io/RegoPolicy"})  # types of objects that may have Rego


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """The objects that an apply and a deletion change, with all that follows.

    `held` are the objects before, as far as the change names them; {} for one of which only the Rego is known.
    `upserts` are created or differ; `deleted` includes the objects that a Namespace or a CRD takes along. `unchanged`
    were applied and do not differ.
    """

    held: Mapping[Key, Object] = field(default_factory=dict)
    upserts: Mapping[Key, Object] = field(default_factory=dict)
    deleted: tuple[Key, ...] = ()
    unchanged: tuple[Key, ...] = ()

    @property
    def keys(self) -> list[str]:
        """Return the keys of all objects that differ."""
        return [str(key) for key in (*self.upserts, *self.deleted)]

    @property
    def created(self) -> set[str]:
        """Return the keys of objects that do not exist before."""
        return {str(key) for key in self.upserts if key not in self.held}

    @property
    def crds(self) -> list[Object]:
        """Return the CRDs that it writes."""
        return [obj for key, obj in self.upserts.items() if key.type_id == CRD]

    @property
    def redefined_kinds(self) -> set[str]:
        """Return the kinds, `<group>/<Kind>`, of CRDs that differ."""
        return _kinds_defined({key: obj for key, obj in self.upserts.items() if key.type_id == CRD}, self.held)

    @property
    def deletions(self) -> Mapping[str, Any]:
        """Return the deletions as the input of the query `problems`, which has no `changes` where they are made."""
        return {"deleted": [str(key) for key in self.deleted]} if self.deleted else _NONE

    def without(self, keys: Collection[Key]) -> PlannedChange:
        """Return the change without what it makes of these objects."""
        left = {key: obj for key, obj in self.upserts.items() if key not in keys}
        return replace(self, upserts=left, deleted=tuple(key for key in self.deleted if key not in keys))

    @property
    def changes(self) -> Mapping[str, Any]:
        """Return it as the input of queries; empty for a change without a difference."""
        if not self.upserts and not self.deleted:
            return _NONE
        return {"changes": {"upsert": [*self.upserts.values()], "delete": [str(key) for key in self.deleted]}}


async def deleted_keys(engine: Engine, texts: Sequence[str], namespace: str | None = None) -> list[Key]:
    """Return the objects to delete for their names; a cluster's authors of Rego are not among the objects in OPA.

    A name without a kind is that of a policy. Raises CommandError like `target_keys`.
    """
    found: list[Key] = []
    for text in texts:
        try:
            found += await policy_keys(engine.opa, [text if "/" in text else f"{POLICY_WORDS[0]}/{text}"], namespace)
        except (NameNotFoundError, UnknownKindError):
            submitted = [*await _submitted(engine)]
            types = {key.type_id: () for key in submitted}
            if not match_kinds(text.partition("/")[0], types):
                raise
            key = choose(read_reference(text, types, namespace), submitted)
            if key is None:
                raise
            found.append(key)
    return list(dict.fromkeys(found))


async def _submitted(engine: Engine) -> Collection[Key]:
    """Return the objects that have submitted Rego or data to the engine's OPA."""
    if engine.running:
        return (await _modules_there(engine)).submissions
    return engine.settled.submissions if engine.settled else ()


async def changed_guardrails(engine: Engine, change: PlannedChange) -> tuple[set[Key], list[str]]:
    """Return the objects of guardrails before a change that it changes, and the names of their Constraints.

    The objects are Constraints, and those that have Rego or data on which the policy of a Constraint depends.
    """
    from bridge.offline.modules import policies_by_author
    from bridge.policy_loader.used_guardrails import policy_of

    changing = {*change.upserts, *change.deleted}
    constraints = {key for key in changing if key.type_id == CONSTRAINT and change.held.get(key)}
    authors = {key for key in changing if key.type_id in _AUTHORS}
    settled = (await _modules_there(engine) if engine.running else engine.settled) if authors else None
    names = {key.name for key in constraints}
    if not settled:
        return constraints, sorted(names)
    stored = await engine.opa.get(pointer("objects", *CONSTRAINT.split("/"), CLUSTER)) or {}
    policies = {name: policy_of(obj) for name, obj in stored.items()}
    applied = [change.upserts[key] for key in sorted(authors & change.upserts.keys())]
    depending = await policies_by_author(settled, {*policies.values()}, applied)
    altered = {policy for author in authors for policy in depending.get(author, ())}
    names |= {name for name, policy in policies.items() if policy in altered}
    return {*constraints, *(author for author in authors if author in depending)}, sorted(names)


async def _modules_there(engine: Engine) -> SettledModules:
    """Return the modules in the running OPA of an engine, which keeps them."""
    from bridge.offline.modules import ModulesThere

    engine.modules_there = engine.modules_there or ModulesThere()
    return await engine.modules_there.read(engine.opa)


async def plan_change(
    engine: Engine,
    applied: Sequence[Object],
    deleted: Collection[Key],
    *,
    whole: bool = False,
    crds: Sequence[Object] = (),
) -> PlannedChange:
    """Return what becomes of the engine's objects when `applied` are applied and `deleted` deleted.

    With `whole` both are complete states of one source, such as two commits: then nothing of the stored objects stays
    that `applied` lack. `crds` describe kinds in addition to those of the engine. Raises CommandError for a key of
    `deleted` that is not an object's.
    """
    opa = engine.opa
    for key in deleted:
        if key != key.object:
            raise CommandError(f"{short_key(key)} is a part of an object: apply the object without it")
    written = {key_of(obj): obj for obj in applied}
    await engine.add_read(Reading([*written, *deleted], objects=applied))
    held = await objects(opa, [*written, *deleted])
    namespaces = {key.name for key in deleted if key.type_id == _NAMESPACE}
    unknown = [key for key in (*written, *deleted) if key.type_id in _AUTHORS and key not in held]
    submitted = await _submitted(engine) if unknown or namespaces else ()
    after = {
        key: obj if whole or key not in held else await _apply(engine, held[key], obj) for key, obj in written.items()
    }
    gone = [key for key in deleted if (key in held or key in submitted) and key not in written]
    taken = await _find_taken_along(opa, gone)
    taken |= {key for key in submitted if key.namespace in namespaces}
    gone += sorted(taken - {*gone, *written})
    held = {**held, **await objects(opa, taken)}
    # An applied object that its Namespace would take along is among the changes, to stay.
    changing = {key: obj for key, obj in after.items() if held.get(key) != obj or key in taken}
    unchanged = tuple(key for key in after if key not in changing or held.get(key) == changing[key])
    if not whole:
        further = await _complete_again(engine, {**after, **dict.fromkeys(gone)}, held, crds)
        changing |= {key: obj for key, obj in further.items() if obj is not None}
        gone += [key for key, obj in further.items() if obj is None]
        held = {**held, **await objects(opa, further)}
    return PlannedChange({**{key: {} for key in submitted}, **held}, changing, tuple(gone), unchanged)


async def _apply(engine: Engine, held: Object, written: Object) -> Object:
    """Return the resulting object: the manifest, with the status and the metadata that an apply leaves."""
    metadata = {**held["metadata"], **written["metadata"]}
    if "generation" in held["metadata"]:
        metadata["generation"] = held["metadata"]["generation"]
    left = {
        part: as_mapping(held["metadata"].get(part)).keys() - as_mapping(written["metadata"].get(part)).keys()
        for part in ("labels", "annotations")
    }
    applied = await engine.applied_names(key_of(held)) if any(left.values()) else None
    for part, names in left.items():
        # Without an API server it is unknown who has set a label: then it counts as one that the file had.
        stays = names - applied[part] if applied else set()
        values = {name: held["metadata"][part][name] for name in stays}
        metadata[part] = {**values, **as_mapping(written["metadata"].get(part))}
        if not metadata[part]:
            del metadata[part]
    result = {**written, "metadata": metadata}
    if "status" in held:
        result["status"] = held["status"]
    return result


async def _find_taken_along(opa: Opa, gone: Sequence[Key]) -> set[Key]:
    """Return the stored objects that the deletion of these takes along: of Namespaces, and of CRDs."""
    if not any(key.type_id in {_NAMESPACE, CRD} for key in gone):
        return set()
    found = await opa.query("deleted_objects", {"changes": {"delete": [str(key) for key in gone]}})
    return {parse_key(key) for key in found} - {*gone}


async def _complete_again(
    engine: Engine, after: Mapping[Key, Object | None], held: Mapping[Key, Object], crds: Sequence[Object]
) -> dict[Key, Object | None]:
    """Return the objects that differ because a CRD of their kind does, or None for one that goes.

    Others have other defaults, and from an API server no fields that the CRD no longer has.

    `after` are the changed objects, None for deleted ones: they have the new defaults already.
    """
    changed = {key: obj for key, obj in after.items() if key.type_id == CRD and held.get(key) != obj}
    kinds = _kinds_defined(changed, held)
    if not kinds:
        return {}
    stored = await engine.opa.get(pointer("objects", *CRD.split("/"), CLUSTER)) or {}
    present = [*crds, *(obj for name, obj in stored.items() if parse_key(f"{CRD}/{CLUSTER}/{name}") not in changed)]
    present += [obj for obj in changed.values() if obj]
    found: dict[Key, Object | None] = {}
    completed = engine.complete(present)
    defaulter = Defaulter(present)
    fields = {type_id: known for crd in changed.values() if crd for type_id, known in fields_of(crd)}
    for kind in kinds:
        objects_of = await engine.opa.get(pointer("objects", *kind.split("/"))) or {}
        before = {key_of(obj): obj for by_name in objects_of.values() for obj in by_name.values()}
        if completed is None:
            known = fields.get(kind)
            now = {
                key: prune(without_unknown_fields(whole, known) if known is not None else whole)
                for key, obj in before.items()
                for whole in [defaulter.complete(obj)]
            }
        else:
            now = {key: obj for key, obj in completed.items() if key.type_id == kind}
        found |= {key: obj for key, obj in now.items() if key not in after and before.get(key) != obj}
        found |= {key: None for key in before if key not in after and key not in now}
    return found


def _kinds_defined(changed: Mapping[Key, Object | None], held: Mapping[Key, Object]) -> set[str]:
    return {
        kind for key, obj in changed.items() for crd in (obj, held.get(key)) if crd and (kind := _defined_kind(crd))
    }


def _defined_kind(crd: Object) -> str:
    spec = as_mapping(crd.get("spec"))
    group, kind = spec.get("group"), as_mapping(spec.get("names")).get("kind")
    return Key(group, kind, "", "").type_id if isinstance(group, str) and isinstance(kind, str) else ""


@dataclass(frozen=True, slots=True)
class State:
    """What an OPA answers, with further input of each query: as it is, or as it would be after a change.

    `former` is the OPA of the state before, if the change is not made in this one's input. `problems` are those of
    rejected Rego.
    """

    opa: Opa
    more: Mapping[str, Any] = field(default_factory=dict)
    former: Opa | None = None
    problems: Sequence[Entry] = ()

    async def query(self, name: str, query_input: Mapping[str, Any]) -> Any:
        """Return the result of a query of the contract in this state."""
        return await self.opa.query(name, {**query_input, **self.more})

    async def violations(
        self, keys: Sequence[str], names: Sequence[str] | None = None, *, identified: bool = False
    ) -> list[Entry]:
        """Return the violations by objects of these Constraints, or of all; `identified` is that of the query."""
        more = {**self.more, **({"identified": True} if identified else {})}
        former = self.former
        if former is None:
            return await violations_by(self.opa, keys, names, more)

        async def judge(batch: Sequence[str]) -> list[Entry]:
            before = await former.query("guarded_targets", {"objects": list(batch), "identified": True})
            return await violations_by(self.opa, batch, names, {**more, "before": before})

        return [row for rows in await by_batches(keys, judge) for row in rows]


@dataclass(frozen=True, slots=True)
class States:
    """The states before and after a change. `apart`: in two OPAs, which are compared as a whole.

    The one before may be that of a running OPA, whose objects change: `open_stored` returns the two states of the
    stored objects from which the one after was made, None if these have not changed.
    """

    before: State
    after: State
    apart: bool = False
    open_stored: Callable[[], Awaitable[States | None]] | None = None


@asynccontextmanager
async def opened_states(
    engine: Engine,
    change: PlannedChange,
    *,
    points: Collection[DataPath] | None = None,
    queries: Collection[str] | None = None,
) -> AsyncIterator[States]:
    """Yield the states of an engine's source before and after a change.

    With `points` only results count that depend on modules below these extension points. `queries` are those that are
    sent to states apart, whose OPA then has only the rules that they reach; None: any. Raises OpaError, ToolError or
    CheckError if a second OPA is needed and cannot be filled or started.
    """
    sent = None if queries is None else {*queries, *QUERIES_OF_SYNC}
    revision = await engine.opa.bundle_revision() if engine.running else None
    modules = await _changed_modules(engine, change, points, sent)
    if modules is None:
        yield States(State(engine.opa), State(engine.opa, change.changes))
        return
    from bridge.offline.engine import open_objects
    from bridge.offline.modules import guardrails_named, with_reached
    from bridge.policy_loader.assembly import reads_objects

    before, after = modules
    if sent is not None:
        before, after = with_reached(before, after, sent), with_reached(after, before, sent)
    stored = await _stored_objects(engine.opa)
    changed = {key: obj for key, obj in stored.items() if key not in {*change.upserts, *change.deleted}}
    async with engine.room, AsyncExitStack() as stack:
        opa = await stack.enter_async_context(open_objects(after.bundle, [*changed.values(), *change.upserts.values()]))
        guarded = guardrails_named(obj for objects in (changed, change.upserts) for obj in objects.values())
        unchanged: Entry = {"changes": {"upsert": [], "delete": []}}

        def against(former: Opa, open_stored: Callable[[], Awaitable[States | None]] | None = None) -> States:
            return States(
                State(former, problems=_rejected(before)),
                State(opa, unchanged, former if guarded else None, _rejected(after)),
                apart=True,
                open_stored=open_stored,
            )

        async def open_before() -> States:
            return against(await stack.enter_async_context(open_objects(before.bundle, stored.values())))

        async def open_stored() -> States | None:
            # What other clients write is not among the objects.
            alone = not reads_objects([*before.active.values(), *after.active.values()])
            same = alone and revision == await engine.opa.bundle_revision()
            return None if same and stored == await _stored_objects(engine.opa) else await open_before()

        if not engine.running:
            yield against(engine.opa)
        else:
            yield await open_before() if queries is None else against(engine.opa, open_stored)


async def _stored_objects(opa: Opa) -> dict[Key, Object]:
    stored = await opa.get(pointer("objects")) or {}
    return {
        Key(group, kind, namespace, name): obj
        for group, kinds in stored.items()
        for kind, namespaces in kinds.items()
        for namespace, named in namespaces.items()
        for name, obj in named.items()
    }


async def _changed_modules(
    engine: Engine, change: PlannedChange, points: Collection[DataPath] | None, queries: Collection[str] | None
) -> tuple[SettledModules, SettledModules] | None:
    """Return the modules before and after a change that queries with `changes` cannot answer; None for others."""
    if not change.upserts and not change.deleted:
        return None
    from bridge.offline.modules import (
        alters_behind,
        guardrails_named,
        is_of_author,
        settle_changed,
        settle_manifests,
        shipped_only,
    )
    from bridge.policy_loader.assembly import reads_objects, submissions_behind

    submits = any(key.type_id in _AUTHORS for key in (*change.upserts, *change.deleted))
    named = shipped_only(guardrails_named(change.upserts.values()))
    before = engine.settled
    if engine.running:
        roots = await engine.opa.bundle_roots()
        if not submits and named <= {".".join(root) for root in roots} and not any(map(is_of_author, roots)):
            return None
        before = await _modules_there(engine)
    elif before is None:
        if not submits and not named:
            return None
        before = await settle_manifests(())
    if points is not None:
        submits = submits and await alters_behind(points, before, change.upserts.values(), change.deleted)
    guardrails = before.guardrails | named
    after = before
    if submits or guardrails != before.guardrails:
        after = await settle_changed(before, change.upserts.values(), change.deleted, guardrails, queries)
    differs = (after.content, after.guardrails) != (before.content, before.guardrails)
    differs = differs or (after.problems != before.problems and points is None)
    reading: Sequence[Submission] = [*before.active.values()]
    reading = reading if points is None else submissions_behind(points, reading)
    return (before, after) if differs or reads_objects(reading) else None


def _rejected(modules: SettledModules) -> list[Entry]:
    """Return a problem for each reason why an object's Rego is not active."""
    from bridge.policy_loader.reporter import place

    return [
        rejected_rego(str(author), f"{place(problem)}{problem.message}")
        for author, problems in modules.problems.items()
        for problem in problems
    ]


def rejected_rego(author: str, message: str) -> Entry:
    """Return the problem of an object whose Rego is not active, in the form of the query `problems`."""
    return {"subject": author, "about": author, "reason": "RegoRejected", "message": message}
