"""What read commands ask OPA, in as few queries as that takes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from bridge.model.keys import CLUSTER, FRONTEND, Key, parse_key
from bridge.opa.batches import batches
from bridge.opa.client import Opa
from bridge.opa.errors import QueryError
from bridge.opa.paths import pointer
from bridge.queries.names import (
    AmbiguousNameError,
    NameNotFoundError,
    choose,
    first_of,
    join_words,
    match_kinds,
    not_found,
    read_reference,
    resolve_kind,
    section_not_found,
    short_key,
)

_PLAIN = re.compile(r"[A-Za-z0-9._:-]+")  # names that OPA takes in a URL; manifests may have others
_FEW = 50  # objects of a kind that are asked for one by one, not as the whole kind
_SHOWN = 5  # objects that an error names
BATCH = 500  # keys a query: large enough to cost little, small enough for an answer of a few MB

AT_ONCE = 2  # queries under way: OPA evaluates each on one core, and has others to answer

Entry = dict[str, Any]
_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")
Selects = Callable[[Mapping[str, str]], bool]  # whether an object with these labels is wanted


async def policy_kind(opa: Opa, text: str) -> str:
    """The policy kind in force that a person means. Raises NameNotFoundError or AmbiguousNameError."""
    types = await opa.query("types", {})
    return resolve_kind(text, {name: about["names"] for name, about in types.items() if about["policy"]}, "policy kind")


async def target_keys(opa: Opa, texts: Sequence[str], namespace: str | None) -> list[Key]:
    """The targets that a person means, as `KIND/NAME`, `KIND NAME…` or `KIND` for all objects of a kind.

    Whether an object has such a section shows when it is asked for. Raises CommandError for a text of another form, a
    kind or an object that does not exist, or an ambiguous one.
    """
    types = {name: about["names"] for name, about in (await opa.query("types", {})).items()}
    found: list[Key] = []
    for text in join_words(texts):
        reference = read_reference(text, types, namespace)
        if not reference.name:
            every = await _names(opa, {"types": list(reference.types)})
            found += [key for key in every if namespace in {None, key.namespace} or key.namespace == CLUSTER]
            continue
        asked = {"types": list(reference.types), "name": reference.name}
        key = choose(reference, await _names(opa, asked))
        if key is None:
            raise not_found(reference, await _names(opa, {"types": list(reference.types)}))
        found.append(key)
    return list(dict.fromkeys(found))


async def one_target(opa: Opa, texts: Sequence[str], namespace: str | None) -> Key:
    """The one target that a person means. Raises CommandError where there are several, or none."""
    found = await target_keys(opa, texts, namespace)
    if len(found) == 1:
        return found[0]
    if not found:
        raise NameNotFoundError(f"there are no {texts[0]}" + (f" in namespace {namespace}" if namespace else ""))
    listed = first_of([short_key(key) for key in found], _SHOWN)
    raise AmbiguousNameError(f"{' '.join(texts)} means {len(found):,} objects: give one of {listed}")


async def entry_gateway(opa: Opa, text: str, namespace: str | None) -> Key:
    """The Gateway that `[NAMESPACE/]NAME` means, or the mesh frontend that a kind with a name means.

    Raises CommandError as `target_keys` does.
    """
    types = {name: about["names"] for name, about in (await opa.query("types", {})).items()}
    kind = text.partition("/")[0] if "/" in text else ""
    named = text if kind and (match_kinds(kind, types) or text.count("/") > 1) else f"Gateway/{text}"
    (key,) = await target_keys(opa, [named], namespace)
    return key if key.kind == "Gateway" else key._replace(role=FRONTEND)


async def effective_at(
    opa: Opa, targets: Sequence[Key], kind: str | None = None, source_namespace: str | None = None
) -> list[Entry]:
    """The effective policies at targets, and at the effective targets below them, as the query gives them."""
    asked = {"policyKind": kind} if kind else {}
    if source_namespace:
        asked["sourceNamespace"] = source_namespace

    async def ask(batch: Sequence[Key]) -> list[Entry]:
        try:
            answer: list[Entry] = await opa.query("effective", {"targets": [str(key) for key in batch], **asked})
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
    """How what holds at a target, and at what is below it, came about, as the query `explain` gives it."""
    asked = {"policyKind": kind} if kind else {}
    if source_namespace:
        asked["sourceNamespace"] = source_namespace
    try:
        answer: list[Entry] = await opa.query("explain", {"target": str(target), **asked})
    except QueryError as error:
        await explain_missing(opa, [target], error)
        raise
    return answer


async def effective_everywhere(
    opa: Opa, kind: str | None = None, namespace: str | None = None, source_namespace: str | None = None
) -> list[Entry]:
    """The effective policies at every effective target that a policy reaches; of one namespace where that is given."""
    entries: list[Entry] = []
    for name, targets in (await scopes(opa, kind)).items():
        chosen = [key for key in targets if namespace in {None, key.namespace}]
        entries += await effective_at(opa, chosen, name, source_namespace)
    return sorted(entries, key=lambda entry: (entry["target"], entry["policyKind"]))


async def scopes(opa: Opa, kind: str | None = None) -> dict[str, list[Key]]:
    """Every effective target that a policy may reach, by policy kind."""
    answer = await opa.query("scopes", {"policyKind": kind} if kind else {})
    return {name: [parse_key(text) for text in targets] for name, targets in answer.items()}


async def in_batches(
    opa: Opa, query: str, name: str, keys: Sequence[str], more: Mapping[str, Any] = MappingProxyType({})
) -> list[Entry]:
    """The answers of a query that takes a list of keys as its input `name`, beside `more`."""
    answers = await by_batches(keys, lambda batch: opa.query(query, {name: batch, **more}))
    return [entry for answer in answers for entry in answer]


async def by_batches(items: Sequence[_Item], ask: Callable[[Sequence[_Item]], Awaitable[_Answer]]) -> list[_Answer]:
    """What `ask` returns for each batch of items, in their order; AT_ONCE of them are asked at the same time.

    Raises what the first batch that fails raises, after all have ended.
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


async def objects(opa: Opa, keys: Iterable[Key]) -> dict[Key, Entry]:
    """The objects of these keys, as OPA holds them."""
    wanted: dict[tuple[str, str], list[Key]] = {}
    for key in keys:
        wanted.setdefault((key.group, key.kind), []).append(key)
    found: dict[Key, Entry] = {}
    for (group, kind), members in wanted.items():
        few = len(members) <= _FEW and all(_PLAIN.fullmatch(key.namespace + key.name) for key in members)
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
    """The entries whose `field` is the key of an object, or of a section of it, with selected labels."""
    if selects is None:
        return entries
    held = await objects(opa, {parse_key(entry[field]).object for entry in entries})
    return [entry for entry in entries if selects(_labels(held.get(parse_key(entry[field]).object, {})))]


def _labels(obj: Mapping[str, Any]) -> Mapping[str, str]:
    labels = obj.get("metadata", {}).get("labels")
    return labels if isinstance(labels, Mapping) else {}


async def refused_policy_kinds(opa: Opa) -> list[tuple[Key, str]]:
    """The PolicyKinds that are not active, each with the reason: their policies would be missing without a word."""
    keys = await opa.query("policykinds", {})
    return [
        (parse_key(entry["policy"]), condition["message"])
        for entry in await in_batches(opa, "status", "policies", keys)
        for condition in entry["conditions"]
        if condition["type"] == "Accepted" and condition["status"] != "True"
    ]


async def undescribed(opa: Opa) -> dict[str, Entry]:
    """The types of policies that no policy kind in force describes, `{message, crd?, near?}` by `<group>/<Kind>`."""
    found: dict[str, Entry] = await opa.query("undescribed", {})
    return {type_id: found[type_id] for type_id in sorted(found)}


async def policy_kind_doubts(opa: Opa) -> list[tuple[Key, str]]:
    """The PolicyKinds that name a kind without a CRD, and the CRDs that lack what a preset reads, with the messages."""
    found: dict[str, list[str]] = await opa.query("policykind_doubts", {})
    return [(parse_key(key), message) for key, messages in sorted(found.items()) for message in messages]


async def version_problems(opa: Opa) -> list[tuple[Key, Entry]]:
    """The policies in a version that is not read as it is written, each with its `{policy, reason, message}`."""
    return [(parse_key(entry["policy"]), entry) for entry in await opa.query("version_problems", {})]


async def explain_missing(opa: Opa, targets: Iterable[Key], error: QueryError) -> None:
    """Raise the better error where a target lacks the section that was asked for."""
    if error.code != "TargetNotFound":
        return
    for key in targets:
        if key.section and str(key) in str(error):
            asked = {"types": [key.type_id], "name": key.name, "sections": True}
            raise section_not_found(key, await _names(opa, asked)) from error


async def _names(opa: Opa, asked: Entry) -> list[Key]:
    return [parse_key(text) for text in await opa.query("names", asked)]
