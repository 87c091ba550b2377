"""Queries of read commands, with few requests."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from bridge.model.keys import CLUSTER, FRONTEND, Key, field_pointer, parse_key, pointer
from bridge.model.nesting import as_mapping
from bridge.model.text import nearest
from bridge.model.types import ALWAYS, GATEWAY, GATEWAY_API
from bridge.opa.batches import SKIP_MISSING, at_targets_of, batches, in_parts
from bridge.opa.client import Opa
from bridge.opa.errors import QueryError
from bridge.queries.names import (
    WORKLOADS,
    AmbiguousNameError,
    CommandError,
    NameNotFoundError,
    Reference,
    UnknownKindError,
    choose,
    first_of,
    join_words,
    match_kinds,
    names_kind,
    not_found,
    read_kindless,
    read_reference,
    resolve_kind,
    section_not_found,
    short_key,
    suggest_objects,
    suggest_sections,
)

_FEW = 50  # objects of a kind that are queried separately, not as the whole kind
_SHOWN = 5  # objects that an error lists
_SUGGESTED = 50  # missing objects for which similar names are searched
_NOT_FOUND = frozenset({"TargetNotFound", "ParentNotFound", "BackendNotFound"})
POLICY_WORDS = ("policy", "policies", "pol")  # names of all policy kinds together
BATCH = 500  # keys of a query: enough to cost little, few enough for a result of a few MB
AT_ONCE = 2  # parallel queries: OPA evaluates each on one core, and has other clients

Entry = dict[str, Any]
_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")
Selects = Callable[[Mapping[str, str]], bool]  # whether an object with these labels is selected


async def policy_kind(opa: Opa, text: str, more: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Return the active policy kind for a name; `more` is further input of the queries, such as changes.

    Raises NameNotFoundError or AmbiguousNameError.
    """
    types = await opa.query("types", {**more})
    kinds = {name: about["names"] for name, about in types.items() if about["policy"]}
    if not match_kinds(text, kinds):
        presets = dict.fromkeys(await opa.query("kinds_in_force", {}), ())  # also those without policies
        found = match_kinds(text, presets)
        kinds = presets if found else kinds or presets
        # Of kinds that the source does not have, the one of Gateway API is meant: vendors use its names again.
        if standard := [type_id for type_id in found if type_id.startswith(f"{GATEWAY_API}/")]:
            return standard[0]
    return resolve_kind(text, kinds, "policy kind")


async def outcomes_of(
    opa: Opa, policies: Sequence[str], more: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, str]:
    """Return the outcome of each of these policies that has one; `more` is further input of the query."""
    entries = await in_batches(opa, "status", "policies", policies, more)
    return {entry["policy"]: entry["outcome"] for entry in entries if "outcome" in entry}


async def audited_keys(opa: Opa, query_input: Mapping[str, Any] = MappingProxyType({})) -> set[str]:
    """Return the objects that Constraints match; `query_input` is that of the query `audit_keys`."""
    found = await opa.query("audit_keys", {**query_input, **SKIP_MISSING})
    return {key for keys in found.values() for key in keys}


async def target_keys(
    opa: Opa, texts: Sequence[str], namespace: str | None, *, with_policies: bool = False, more: Iterable[str] = ()
) -> list[Key]:
    """Return the targets for `KIND/NAME`, `KIND NAME…`, `NAMESPACE/NAME`, or `KIND` for all objects of a kind.

    `NAMESPACE/NAME` means a policy only if no other object has that name, or `with_policies`. `more` are types that
    have been read too, of which OPA may have no object.

    Sections are checked by the query. Raises CommandError for a text of another form, a kind or an object that does not
    exist, or an ambiguous one.
    """
    types: dict[str, list[str]] = {name: [] for name in more} | await _query_names_of_kinds(opa)
    found: list[Key] = []
    for text in join_words(texts):
        try:
            reference = read_reference(text, types, namespace)
        except UnknownKindError as error:
            raise UnknownKindError(await _suggest_kind_of(opa, text, types, namespace) or str(error)) from error
        except NameNotFoundError:
            without_kind = await _find_without_kind(opa, text, types, with_policies=with_policies)
            if not without_kind:
                raise
            found += without_kind
            continue
        if not reference.name:
            every = await _query_names(opa, {"types": list(reference.types)})
            found += [key for key in every if namespace in {None, key.namespace} or key.namespace == CLUSTER]
            continue
        query_input = {"types": list(reference.types), "name": reference.name}
        key = choose(reference, await _query_names(opa, query_input))
        if key is None:
            raise not_found(reference, await _query_names(opa, {"types": list(reference.types)}))
        found.append(key)
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class AboutTargets:
    """A question about the targets that words name, as `target_keys` reads them."""

    words: tuple[str, ...]

    def names(self, types: Collection[str]) -> frozenset[str] | None:
        """Return the names of the targets if all are objects of these types; None otherwise."""
        try:
            references = [read_reference(text, dict.fromkeys(types, ())) for text in join_words(self.words)]
        except CommandError:
            return None
        names = frozenset(reference.name for reference in references)
        return None if "" in names else names

    async def targets(self, opa: Opa) -> list[Key]:
        """Return what the words may name in an OPA, in any namespace; none for words that it does not know."""
        found: list[Key] = []
        types = await _query_names_of_kinds(opa)
        with contextlib.suppress(CommandError):
            for text in join_words(self.words):
                reference = read_reference(text, types)
                found += await _query_names(opa, {"types": list(reference.types), "name": reference.name})
        return found


@dataclass(frozen=True, slots=True)
class AboutChange:
    """A question about the effects of a change that deletes what these words name, and applies manifests."""

    deleted: tuple[str, ...]

    def names(self, _: Collection[str]) -> frozenset[str]:
        """Return the names of deleted objects."""
        return frozenset(text.rpartition("/")[2] for text in self.deleted)

    async def targets(self, _: Opa) -> None:
        """Return nothing: the change is known when the manifests have the defaults of the CRDs."""


async def _find_without_kind(
    opa: Opa, text: str, types: Mapping[str, Sequence[str]], *, with_policies: bool
) -> list[Key]:
    """Return the objects for `NAMESPACE/NAME[#SECTION]`, as `target_keys`."""
    parts = read_kindless(text)
    if parts is None:
        return []
    space, name, section = parts
    query_input = {"types": list(types), "name": name, "sections": bool(section)}
    named = [key for key in await _query_names(opa, query_input) if (key.namespace, key.section) == (space, section)]
    others = [key for key in named if POLICY_WORDS[0] not in types[key.type_id]]
    return named if with_policies else others or named


async def _suggest_kind_of(opa: Opa, name: str, types: Mapping[str, Sequence[str]], namespace: str | None) -> str:
    """Return the message for a name without a kind, with the objects that have it; empty without such objects."""
    named = await _query_names(opa, {"types": list(types), "name": name})
    hint = suggest_objects(Reference(name, tuple(types), namespace, name), named)
    return hint and f"{name!r} is not a kind{hint}"


async def _query_names_of_kinds(opa: Opa) -> dict[str, list[str]]:
    """Return the names of each kind, with objects or without; each policy kind also has those of POLICY_WORDS."""
    types = await opa.query("types", {})
    words = {name: [*about["names"], *(POLICY_WORDS if about["policy"] else ())] for name, about in types.items()}
    return {name: [] for name in ALWAYS} | words


async def policy_keys(opa: Opa, texts: Sequence[str], namespace: str | None) -> list[Key]:
    """Return the policies for the words of `target_keys`, or for `NAME…` or `NAMESPACE/NAME…` of any policy kind.

    Raises CommandError like `target_keys`.
    """
    types = await _query_names_of_kinds(opa)
    begins_with_kind = bool(match_kinds(texts[0], types)) if "/" not in texts[0] else False
    if begins_with_kind or all(text.count("/") > 1 or names_kind(text, types) for text in texts):
        return await target_keys(opa, texts, namespace)
    return await target_keys(opa, [f"{POLICY_WORDS[0]}/{text}" for text in texts], namespace)


async def require_namespace(opa: Opa, name: str | None, more: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Raise NameNotFoundError, with similar names, for a namespace that does not exist and has no objects.

    `more` is further input of the query, such as changes.
    """
    if name:
        namespaces = await opa.query("namespaces", dict(more))
        if name not in namespaces:
            near = nearest(name, namespaces)
            raise NameNotFoundError(f"namespace {name} has no objects" + (f"; did you mean {near}?" if near else ""))


Find = Callable[[Opa, Sequence[str], str | None], Awaitable[list[Key]]]


async def some_targets(opa: Opa, texts: Sequence[str], namespace: str | None, find: Find = target_keys) -> list[Key]:
    """Return the targets for the words, at least one. Raises CommandError like `find`."""
    found = await find(opa, texts, namespace)
    if not found:
        raise NameNotFoundError(f"no {texts[0]} found" + (f" in namespace {namespace}" if namespace else ""))
    return found


async def one_target(opa: Opa, texts: Sequence[str], namespace: str | None, find: Find = target_keys) -> Key:
    """Return the one target for the words, by `find`. Raises CommandError if there are several, or none."""
    found = await some_targets(opa, texts, namespace, find)
    if len(found) == 1:
        return found[0]
    listed = first_of([short_key(key) for key in found], _SHOWN)
    raise AmbiguousNameError(f"{' '.join(texts)} means {len(found):,} objects: give one of {listed}")


async def entry_gateway(opa: Opa, text: str, namespace: str | None) -> Key:
    """Return the Gateway for `[NAMESPACE/]NAME`, or the mesh frontend for a kind with a name.

    Raises CommandError like `target_keys`.
    """
    types = await _query_names_of_kinds(opa)
    kind = text.partition("/")[0] if "/" in text else ""
    named = text if kind and (match_kinds(kind, types) or text.count("/") > 1) else f"Gateway/{text}"
    (key,) = await target_keys(opa, [named], namespace)
    return key if key.kind == "Gateway" else key._replace(role=FRONTEND)


async def without_workloads(opa: Opa, targets: Sequence[Key]) -> list[Key]:
    """Return the targets, with the Services that select it in place of each workload. Raises NameNotFoundError."""
    workloads = [str(key) for key in targets if key.type_id in WORKLOADS]
    if not workloads:
        return list(targets)
    selecting: dict[str, list[str]] = await opa.query("selecting_services", {"workloads": workloads})
    found: dict[Key, None] = {}
    for key in targets:
        services = selecting.get(str(key), []) if key.type_id in WORKLOADS else [str(key)]
        if not services:
            raise NameNotFoundError(f"no Service selects {short_key(key)}, so no policy applies to its requests")
        found |= dict.fromkeys(map(parse_key, services))
    return list(found)


async def proxy_commands(opa: Opa, nodes: Iterable[Key]) -> dict[Key, str]:
    """Return the commands that print what the proxies of the Gateways among nodes have, "" where none is known."""
    gateways = sorted({node.object for node in nodes if node.type_id == GATEWAY})
    named = [str(gateway) for gateway in gateways]
    found: dict[str, str] = await opa.query("proxy_commands", {"gateways": named}) if named else {}
    return {gateway: found.get(str(gateway), "") for gateway in gateways}


def _input_of(kind: str | None, source_namespace: str | None, **flags: bool) -> dict[str, Any]:
    """Return the input of a query about effective policies, besides its targets."""
    named = {"policyKind": kind, "sourceNamespace": source_namespace}
    return {name: value for name, value in {**named, **flags}.items() if value}


async def effective_at(
    opa: Opa,
    targets: Sequence[Key],
    kind: str | None = None,
    source_namespace: str | None = None,
    *,
    with_staged: bool = False,
    fields: bool = False,
) -> list[Entry]:
    """Return the effective policies at targets, and at the effective targets below them, as in the query result."""
    query_input = _input_of(kind, source_namespace, staged=with_staged, fields=fields)

    async def ask(batch: Sequence[Key]) -> list[Entry]:
        try:
            answer: list[Entry] = await opa.query("effective", {"targets": [str(key) for key in batch], **query_input})
        except QueryError as error:
            await explain_missing(opa, batch, error)
            raise
        return answer

    found = await by_batches(targets, ask)
    entries = {(entry["target"], entry["policyKind"]): entry for answer in found for entry in answer}
    return [entries[name] for name in sorted(entries)]


async def explained_at(
    opa: Opa, target: Key, kind: str | None = None, source_namespace: str | None = None
) -> list[Entry]:
    """Return the result of the query `explain` at a target and the targets below it."""
    query_input = _input_of(kind, source_namespace)
    try:
        answer: list[Entry] = await opa.query("explain", {"target": str(target), **query_input})
    except QueryError as error:
        await explain_missing(opa, [target], error)
        raise
    return answer


async def acting_below(opa: Opa, targets: Sequence[Key], kind: str | None) -> str:
    """Return where Direct kinds act below targets, which `explain` there does not have, for people."""
    found: dict[str, dict[str, None]] = {}
    for target in targets:
        for entry in await opa.query("policies_below", {"target": str(target), **_input_of(kind, None)}):
            at = found.setdefault(entry["policyKind"].partition("/")[2], {})
            at[short_key(parse_key(entry["target"]).object)] = None
    return "; ".join(f"{name} acts at {first_of(list(at), _SHOWN)}" for name, at in sorted(found.items()))


async def effective_everywhere(
    opa: Opa,
    kind: str | None = None,
    namespace: str | None = None,
    source_namespace: str | None = None,
    *,
    with_staged: bool = False,
    all_paths: bool = False,
    fields: bool = False,
) -> list[Entry]:
    """Return the effective policies at every effective target of policies, or only in one namespace.

    With `all_paths` also the paths to these targets that have no policy, with `fields` the list of fields in effect.

    Targets at which the query fails are left out, as by `in_batches`.
    """
    entries: dict[tuple[str, str], Entry] = {}  # an object's entries include those of its sections
    for name, targets in (await scopes(opa, kind, with_staged=with_staged)).items():
        chosen = [str(key) for key in targets if namespace in {None, key.namespace}]
        more = _input_of(name, source_namespace, staged=with_staged, allPaths=all_paths, fields=fields)
        found = await in_batches(opa, "effective", "targets", chosen, more, at_targets_of(name))
        entries |= {(entry["target"], entry["policyKind"]): entry for entry in found}
    return [entries[name] for name in sorted(entries)]


async def uncovered(opa: Opa, text: str, namespace: str | None = None) -> list[Entry]:
    """Return the effective targets without a policy of a kind, or without a field: `KIND[.spec.FIELD]`.

    Each is an entry of the query `uncovered`. Raises NameNotFoundError for an unknown kind, QueryError for a field that
    the kind does not have.
    """
    kind, _, field = text.partition(".spec.")
    of_kind = {"policyKind": await policy_kind(opa, kind.removesuffix(".spec"))}
    more = of_kind | ({"field": field_pointer(field)} if field else {})
    targets = await opa.query("coverable", {**more, "namespace": namespace})
    return await in_batches(opa, "uncovered", "targets", targets, more)


async def scopes(opa: Opa, kind: str | None = None, *, with_staged: bool = False) -> dict[str, list[Key]]:
    """Return every effective target of policies, by policy kind."""
    staged = {"staged": True} if with_staged else {}
    answer = await opa.query("scopes", {"policyKind": kind, **staged} if kind else staged)
    return {name: [parse_key(text) for text in targets] for name, targets in answer.items()}


async def in_batches(
    opa: Opa,
    query: str,
    name: str,
    keys: Sequence[str],
    more: Mapping[str, Any] = MappingProxyType({}),
    name_of: Callable[[str], str] = str,
) -> list[Entry]:
    """Return the results of a query that takes a list of keys as its input `name`, in addition to `more`.

    A key on which the query fails is left out, and among `Opa.failures`: an extension that fails at one target must not
    keep the others from their reader. So is one that has been deleted since the caller listed it.
    """
    more = {**more, **SKIP_MISSING}
    answers = await by_batches(keys, lambda batch: in_parts(opa, query, name, batch, more, name_of))
    return [entry for parts in answers for _, answer in parts for entry in answer]


async def by_batches(items: Sequence[_Item], ask: Callable[[Sequence[_Item]], Awaitable[_Answer]]) -> list[_Answer]:
    """Return the results of `ask` for each batch of items, in order; AT_ONCE of them are sent in parallel.

    Raises the error of the first batch that fails, after all have ended.
    """
    room = asyncio.Semaphore(AT_ONCE)

    async def answered(batch: Sequence[_Item]) -> _Answer:
        async with room:
            return await ask(batch)

    found = await asyncio.gather(*map(answered, batches(items, BATCH)), return_exceptions=True)
    answers: list[_Answer] = []
    for answer in found:
        if isinstance(answer, BaseException):
            raise answer
        answers.append(answer)
    return answers


async def violations_by(
    opa: Opa, keys: Sequence[str], names: Sequence[str] | None, more: Mapping[str, Any] = MappingProxyType({})
) -> list[Entry]:
    """Return the violations by objects of these Constraints, or of all; `more` is further input of the query."""
    from bridge.opa.judging import Judging  # most commands judge nothing

    judging = Judging(opa, more)
    return [row for rows in await by_batches(keys, lambda batch: judging.rows(batch, names)) for row in rows]


async def objects(opa: Opa, keys: Iterable[Key]) -> dict[Key, Entry]:
    """Return the objects of these keys, as in OPA."""
    wanted: dict[tuple[str, str], list[Key]] = {}
    for key in keys:
        wanted.setdefault((key.group, key.kind), []).append(key)
    found: dict[Key, Entry] = {}
    for (group, kind), members in wanted.items():
        few = len(members) <= _FEW
        held = {} if few else await opa.get(pointer("objects", group, kind)) or {}
        for key in members:
            if few:
                obj = await opa.get(pointer("objects", group, kind, key.namespace, key.name))
            else:
                obj = held.get(key.namespace, {}).get(key.name)
            if obj is not None:
                found[key] = obj
    return found


async def selected(opa: Opa, entries: list[Entry], field: str, selects: Selects | None) -> list[Entry]:
    """Return the entries whose `field` is the key of an object, or of a section of one, with selected labels."""
    if selects is None:
        return entries
    held = await objects(opa, {parse_key(entry[field]).object for entry in entries})
    return [entry for entry in entries if selects(labels_of(held.get(parse_key(entry[field]).object, {})))]


def labels_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the labels of an object, none if they are no mapping."""
    return as_mapping(obj.get("metadata", {}).get("labels"))


async def refused_policy_kinds(opa: Opa) -> list[tuple[Key, str]]:
    """Return the PolicyKinds that are not active, with the reasons, because results lack their policies."""
    found: dict[str, str] = await opa.query("refused_policykinds", {})
    return [(parse_key(key), found[key]) for key in sorted(found)]


async def undescribed(opa: Opa) -> dict[str, Entry]:
    """Return the types of policies that no active kind describes, `{message, crd?, near?}` by `<group>/<Kind>`."""
    found: dict[str, Entry] = await opa.query("undescribed", {})
    return {type_id: found[type_id] for type_id in sorted(found)}


async def policy_kind_doubts(opa: Opa) -> list[tuple[Key, str]]:
    """Return messages about PolicyKinds that name a kind without a CRD, and CRDs without fields that a preset reads."""
    found: dict[str, list[str]] = await opa.query("policykind_doubts", {})
    return [(parse_key(key), message) for key, messages in sorted(found.items()) for message in messages]


async def version_problems(opa: Opa) -> list[tuple[Key, Entry]]:
    """Return the policies in an unread version, each with its `{policy, reason, message}`."""
    return [(parse_key(entry["policy"]), entry) for entry in await opa.query("version_problems", {})]


async def explain_missing(opa: Opa, targets: Iterable[Key], error: QueryError) -> None:
    """Raise the better error if a target lacks the requested section."""
    if error.code != "TargetNotFound":
        return
    for key in targets:
        if key.section and str(key) in str(error):
            query_input = {"types": [key.type_id], "name": key.name, "sections": True}
            raise section_not_found(key, await _query_names(opa, query_input)) from error


async def with_suggestions(opa: Opa, problems: Sequence[Entry], more: Mapping[str, Any]) -> list[Entry]:
    """Return the problems; messages about objects that do not exist, of the first of them, end with similar names."""
    hints: dict[str, str] = {}
    names: dict[str, list[Key]] = {}  # by type
    for problem in problems:
        if names_missing_object(problem) and problem["about"] not in hints and len(hints) < _SUGGESTED:
            hints[problem["about"]] = await _find_suggestions(opa, parse_key(problem["about"]), more, names)
    return [
        one | {"message": one["message"] + hints.get(one["about"], "")} if one["reason"] in _NOT_FOUND else one
        for one in problems
    ]


def names_missing_object(problem: Entry) -> bool:
    """Return whether the message of a problem may end with similar names."""
    return problem["reason"] in _NOT_FOUND and problem["about"] != problem["subject"]


async def _find_suggestions(opa: Opa, key: Key, more: Mapping[str, Any], names: dict[str, list[Key]]) -> str:
    named = await _query_names(opa, {"types": [key.type_id], "name": key.name, "sections": True, **more})
    if key in named:
        return ""  # but no ReferenceGrant lets the policy name it, which looks the same
    if key.object in named:
        return suggest_sections(key, named)
    reference = Reference(str(key), (key.type_id,), key.namespace, key.name, key.section)
    if key.type_id not in names:
        names[key.type_id] = await _query_names(opa, {"types": [key.type_id], **more})
    return suggest_objects(reference, names[key.type_id])


async def _query_names(opa: Opa, query_input: Entry) -> list[Key]:
    return [parse_key(text) for text in await opa.query("names", query_input)]
