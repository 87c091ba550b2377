"""The effects of applying manifests: introduced and fixed problems, effective policies before and after.

Rego decides about problems and differences; this module queries the states before and after (`bridge.queries.states`)
in batches, and compares two lists of problems.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from bridge.model.changes import Object, Trouble
from bridge.model.keys import Key, key_of, parse_key, pointer
from bridge.model.types import CONSTRAINT, CRD, DESCRIBING, GATEWAY, GATEWAY_API, POLICY_KIND
from bridge.offline.slicing import Reading
from bridge.opa.batches import SKIP_MISSING, in_parts
from bridge.opa.client import Opa
from bridge.queries.asking import (
    Entry,
    Selects,
    audited_keys,
    by_batches,
    in_batches,
    labels_of,
    names_missing_object,
    objects,
    outcomes_of,
    require_namespace,
    selected,
    violations_by,
    with_suggestions,
)
from bridge.queries.judged_change import audited_before_and_after, objects_concerned
from bridge.queries.names import exemption_text
from bridge.queries.states import PlannedChange, State, States, changed_guardrails, opened_states, rejected_rego
from bridge.queries.statuses import count_outcomes
from bridge.sources.downloads import UrlError, is_url, read_url
from bridge.sources.manifests import ManifestError, ManifestSource
from bridge.sources.pruning import prune

if TYPE_CHECKING:
    from bridge.offline.engine import Engine
    from bridge.sources.known_fields import Doubt

_MOST_CAUSES = 50  # changed objects of which each is asked whether it alone introduces a problem elsewhere


@dataclass(frozen=True, slots=True)
class Applied:
    """Objects with the API server's defaults, and the errors of the manifests."""

    objects: list[Object]
    keys: frozenset[Key]
    problems: list[Trouble]
    source: ManifestSource

    def position(self, key: Key) -> tuple[str, int] | None:
        """Return the file and line of an object; None if it is not among these."""
        return self.source.position(key)


def read_crds(places: Sequence[str]) -> list[Object]:
    """Return the CRDs in files, folders and at URLs (http, https).

    Raises ManifestError for a place that cannot be read, has errors or no CRDs.
    """
    found: list[Object] = []
    for place in places:
        source = ManifestSource(["-" if is_url(place) else place], follow=False)
        content = io.BytesIO(download(place)) if is_url(place) else None
        crds = [obj for obj in source.load(content) if key_of(obj).type_id == CRD]
        if source.problems:
            raise ManifestError(f"{place}: {source.problems[0].message}")
        if not crds:
            raise ManifestError(f"{place}: no CustomResourceDefinition")
        found += crds
    return found


def download(url: str) -> bytes:
    """Return the content at a URL. Raises ManifestError."""
    try:
        return read_url(url)
    except UrlError as error:
        raise ManifestError(f"{url}: {error}") from error


def doubtful(doubts: Iterable[tuple[Key, Doubt, int]]) -> list[Entry]:
    """Return unknown names and refused values in the form of the query `problems`, with the line in the object's file.

    One that a newer release may know is a warning, as a violation with the enforcementAction `warn` is.
    """
    return [
        {"subject": str(key), "about": str(key), "reason": doubt.reason, "message": doubt.message, "line": line}
        | ({} if doubt.certain else {"enforcementAction": "warn"})
        for key, doubt, line in doubts
    ]


async def doubts_of_change(
    engine: Engine,
    change: PlannedChange,
    written: Collection[Key],
    find: Callable[[Collection[str]], list[tuple[Key, Doubt, int]]],
    crds: Sequence[Object] = (),
    *,
    whole: bool = False,
) -> tuple[list[Entry], list[Entry]]:
    """Return what an API server refuses or drops of the objects that a change concerns, before and after it.

    `find` returns that of the `written` objects, by their keys. Another CRD makes fields and values of unchanged
    objects wrong, or right. `crds` and `whole` are those of `plan_change`.
    """
    kinds = change.redefined_kinds
    redefined = {key for key in await held_keys(engine.opa) if key.type_id in kinds} if kinds else set()
    doubted = {*change.keys, *map(str, redefined)}
    after = find(doubted)
    if unwritten := set() if whole else redefined - {*written} - {*change.deleted}:
        after += await asyncio.to_thread(engine.doubts, crds, [*map(str, unwritten)], change.crds)
    return doubtful(await asyncio.to_thread(engine.doubts, crds, doubted)), doubtful(after)


def read_applied(files: Sequence[str], crds: Sequence[Object]) -> Applied:
    """Read manifests; `crds` describe kinds that they do not define themselves.

    Raises ManifestError for a missing path.
    """
    source = ManifestSource(files, follow=False, crds=crds)
    objects = [prune(obj) for obj in source.load()]
    return Applied(objects, frozenset(key_of(obj) for obj in objects), source.problems, source)


async def held_crds(engine: Engine) -> list[Object]:
    """Return the CRDs of an engine, whole from manifests; an OPA has their fields, types and enums alone."""
    if crds := engine.crds:
        return [*crds]
    held = await engine.opa.get(pointer("objects", "apiextensions.k8s.io", "CustomResourceDefinition", "-"))
    return list((held or {}).values())


async def held_keys(opa: Opa) -> list[Key]:
    """Return the keys of all objects in an OPA."""
    held = await opa.query("resource_versions", {})
    return [
        Key(group, kind, namespace, name)
        for group, kinds in held.items()
        for kind, namespaces in kinds.items()
        for namespace, names in namespaces.items()
        for name in names
    ]


async def selects_none(opa: Opa, namespace: str | None, selects: Selects | None) -> bool:
    """Return whether no object, of one namespace or of all, has the labels that `selects` wants."""
    if selects is None:
        return False
    held = await objects(opa, [key for key in await held_keys(opa) if namespace in {None, key.namespace}])
    return not any(selects(labels_of(obj)) for obj in held.values())


async def all_problems(
    opa: Opa,
    keys: Sequence[Key] | None = None,
    namespace: str | None = None,
    selects: Selects | None = None,
    doubts: Sequence[Entry] = (),
) -> list[Entry]:
    """Return what is wrong with objects: `{subject, about, reason, message}`, of the query `problems` and more.

    Without `keys` for every object, or for those of one `namespace`. `selects` decides by an object's labels. `doubts`
    are further problems of objects; violations of Constraints have an `enforcementAction` and the `identity` that
    `compare_problems` needs.
    """
    if keys is None:
        keys = [key for key in await held_keys(opa) if namespace in {None, key.namespace}]
    texts = list(dict.fromkeys(str(key.object) for key in keys))
    found = await _query_problems_by_counts(opa, texts)
    found += select_doubts(doubts, texts, found)
    audited = await audited_keys(opa)
    rows = await violations_by(opa, [text for text in texts if text in audited], None, {"identified": True})
    found += _once(map(_as_problem, rows))
    found = await with_suggestions(opa, await selected(opa, found, "subject", selects), {})
    return _once_for_each_kind(in_order(found))


def _once_for_each_kind(problems: Iterable[Entry]) -> list[Entry]:
    """Return problems, of those that say that policies of a kind are not judged the first alone."""
    said: set[str] = set()
    kept = []
    for problem in problems:
        if problem["reason"] == "NotJudged":
            if problem["value"] in said:
                continue
            said.add(problem["value"])
        kept.append(problem)
    return kept


async def _query_problems_by_counts(opa: Opa, keys: Sequence[str]) -> list[Entry]:
    """Return the problems of objects; those of policies from outcomes that are counted once for all of them."""
    policies = {*await opa.query("policies", {})} & {*keys}
    counted = await count_outcomes(opa, sorted(policies), with_marks=False)

    async def ask(batch: Sequence[str]) -> list[tuple[Sequence[str], list[Entry]]]:
        tallies = counted.tallies_of([key for key in batch if key in policies])
        return await in_parts(opa, "problems", "objects", batch, {**tallies, **SKIP_MISSING})

    return [problem for parts in await by_batches(keys, ask) for _, found in parts for problem in found]


async def problems_beside_statuses(engine: Engine, doubts: Sequence[Entry]) -> list[Entry]:
    """Return the problems that neither links nor the outcomes of policies have, without violations.

    Those of PolicyKinds, CRDs, Constraints and ReferenceGrants, of policies without an active kind, rejected Rego, and
    `doubts`.
    """
    types = [*_WITHOUT_STATUS, *await engine.opa.query("undescribed", {})]
    found = await in_batches(engine.opa, "problems", "objects", await engine.opa.query("names", {"types": types}))
    found += select_doubts(doubts, {doubt["subject"] for doubt in doubts}, found)
    found += await rejected_modules(engine)
    return in_order(found)


_GRANT = f"{GATEWAY_API}/ReferenceGrant"  # of a listener's certificate, too
_WITHOUT_STATUS = (CRD, POLICY_KIND, CONSTRAINT, _GRANT)


def in_order(problems: Iterable[Entry]) -> list[Entry]:
    """Return problems as lists of them have them: by subject, by reason, and by what they are about."""
    return sorted(problems, key=itemgetter("subject", "reason", "about"))


async def rejected_modules(engine: Engine) -> list[Entry]:
    """Return rejected Rego of a cluster or a running OPA as problems; that of manifests is an error of the input."""
    found = [(one.subject, one.message) for one in engine.rejected]
    if engine.running:
        found += [(one["name"], one["message"]) for one in await engine.modules() if one["state"] == "Rejected"]
    return [rejected_rego(name, text) for name, text in sorted(found)]


@dataclass(frozen=True, slots=True)
class Analysis:
    """The effects of applying manifests.

    Keys of objects, problems from the query `problems`, violations of Constraints and unknown kinds and fields as
    further ones, and the result of the query `differences`. An introduced problem of an object that does not change has
    `causes`: the keys of the changed objects each of which alone introduces it. `is_guarded`: there are Constraints.
    `outcomes` are those of created policies, if the analysis is for the page. `errors` are `(FILE:LINE or "", message)`
    of what could not be read, so the rest may have more problems.
    """

    created: list[str]
    changed: list[str]
    deleted: list[str]
    unchanged: list[str]
    introduced: list[Entry]
    fixed: list[Entry]
    remaining: list[Entry]
    effective: list[Entry]
    is_guarded: bool = True
    with_fields: bool = False  # in the document
    outcomes: Mapping[str, str] = field(default_factory=dict)
    errors: Sequence[tuple[str, str]] = ()
    fail_on_warnings: bool = False

    @property
    def loses_unnoticed(self) -> bool:
        """Return whether fields are no longer in effect somewhere, and no Constraint could demand them."""
        return not self.is_guarded and any(
            not _list_fields(difference["before"]) <= _list_fields(difference["after"]) for difference in self.effective
        )

    @property
    def fails(self) -> bool:
        """Return whether it introduces a problem that makes a check fail."""
        return any(map(self.is_failure, self.introduced))

    def is_failure(self, problem: Mapping[str, Any]) -> bool:
        """Return whether an introduced problem makes a check fail."""
        return is_failure(problem, warnings=self.fail_on_warnings)

    def document(self) -> dict[str, Any]:
        """Return it in the form for JSON and YAML."""
        return {
            "objects": {
                "created": self.created,
                "changed": self.changed,
                "deleted": self.deleted,
                "unchanged": self.unchanged,
            },
            "problems": {"introduced": self.introduced, "fixed": self.fixed, "unchanged": self.remaining},
            "effective": self.effective if self.with_fields else without_fields(self.effective),
        }


def without_fields(differences: Iterable[Mapping[str, Any]]) -> list[Entry]:
    """Return differences of effective policies without `fields`: documents have them as spec and origins."""
    return [
        {name: _without_fields(value) if name in _SIDES else value for name, value in difference.items()}
        for difference in differences
    ]


_SIDES = ("before", "after")


def _without_fields(side: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return side and {name: value for name, value in side.items() if name != "fields"}


def is_error(problem: Mapping[str, Any]) -> bool:
    """Return whether a problem is more than a warning or a dryrun: of a Constraint, or about an unknown field."""
    action: str = problem.get("enforcementAction", "deny")
    return action == "deny"


def is_failure(problem: Mapping[str, Any], *, warnings: bool) -> bool:
    """Return whether a problem makes a check fail, with `warnings` also a mere warning, but no exempt violation."""
    return is_error(problem) or (warnings and problem.get("enforcementAction") != "exempt")


async def compare_problems(opa: Opa, before: Sequence[Entry], after: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Return the problems that are `introduced`, `fixed` and `unchanged`: Rego decides which ones are the same."""
    found: dict[str, list[Entry]] = await opa.query("compared_problems", {"before": before, "after": after})
    return {name: _once(problems) for name, problems in found.items()}


def without_identity(problem: Mapping[str, Any]) -> Entry:
    """Return a problem as people and programs read it, without what only comparisons need."""
    return {name: value for name, value in problem.items() if name != "identity"}


async def analyze(
    engine: Engine,
    change: PlannedChange,
    source_namespace: str | None = None,
    *,
    doubts_before: Sequence[Entry] = (),
    doubts_after: Sequence[Entry] = (),
    for_page: bool = False,
) -> Analysis:
    """Compare the engine's objects with those after a change.

    `doubts_before` and `doubts_after` are unknown kinds and fields, and refused values, of the objects before the
    change, and of those that it writes or describes. Effective policies are compared for requests from
    `source_namespace`; without it also for each namespace with a difference. `for_page` adds `outcomes`, and `fields`
    to the document.
    """
    asked: Entry = {"fields": True} | ({"sourceNamespace": source_namespace} if source_namespace else {})
    async with opened_states(engine, change) as states:
        await require_namespace(states.after.opa, source_namespace, states.after.more)
        constraints = await _find_constraints(states)
        if states.apart:
            found = await _compare_everything(states, change, asked)
        else:
            found = await _compare_concerned(engine, states, change, asked, constraints)
        before, after = (
            [*problems, *select_doubts(doubts, {one["subject"] for one in doubts}, problems)]
            for problems, doubts in ((found.before, doubts_before), (found.after, doubts_after))
        )
        compared = await compare_problems(states.after.opa, before, after)
        introduced = await _add_causes(states, compared["introduced"], change)
        if any(map(names_missing_object, introduced)):
            await engine.add_withheld()  # for similar names
        analysis = Analysis(
            created=sorted(change.created),
            changed=sorted({*map(str, change.upserts)} - change.created),
            deleted=sorted(map(str, change.deleted)),
            unchanged=sorted(map(str, change.unchanged)),
            introduced=await with_suggestions(
                states.after.opa, [*map(without_identity, introduced)], states.after.more
            ),
            fixed=[*map(without_identity, compared["fixed"])],
            remaining=[without_identity(one) for one in compared["unchanged"] if one["subject"] in found.subjects],
            effective=found.differences,
            is_guarded=bool(constraints),
            with_fields=for_page,
            outcomes=await _query_outcomes(states.after, change, found.differences) if for_page else {},
        )
    relaxed = await _judge_by_former_guardrails(engine, change, after, found.subjects)
    return replace(analysis, introduced=[*analysis.introduced, *map(without_identity, relaxed)])


async def _judge_by_former_guardrails(
    engine: Engine, change: PlannedChange, after: Sequence[Entry], subjects: Collection[str]
) -> list[Entry]:
    """Return what the guardrails that a change relaxes find in the rest of it, and the relaxed Constraints.

    `after` are the problems after the change, which its own guardrails find.
    """
    guards, names = await changed_guardrails(engine, change)
    if not guards:
        return []
    pairs = [[change.held[key], change.upserts.get(key)] for key in sorted(guards) if key.type_id == CONSTRAINT]
    asked: Entry = {"constraints": pairs, "guardrails": [str(key) for key in sorted(guards)]}
    rest = change.without(guards)
    if rest.keys:
        async with opened_states(engine, rest) as states:
            judged = await _find_judged(
                states, rest.keys, [key for key in subjects if key not in set(map(str, guards))]
            )
            if states.apart:
                judged = sorted(await audited_before_and_after(states, {"constraints": names}))
            for name, state in (("former", states.before), ("latter", states.after)):
                asked[name] = [*map(_as_problem, await state.violations(judged, names, identified=True))]
        asked["after"] = after
    relaxed: list[Entry] = await engine.opa.query("relaxed_guardrails", asked)
    return relaxed


async def _query_outcomes(state: State, change: PlannedChange, differences: Sequence[Entry]) -> dict[str, str]:
    """Return the outcome of each created policy that is in effect somewhere, or overridden."""
    acting = {policy["policy"] for one in differences if one["after"] for policy in one["after"]["policies"]}
    return await outcomes_of(state.opa, sorted(acting & change.created), state.more)


def _list_fields(side: Entry | None) -> frozenset[str]:
    """Return the pointers of the fields that are in effect on one side of a difference."""
    return frozenset(one["field"] for one in (side or {}).get("fields", ()) if "value" in one)


async def _find_constraints(states: States) -> set[str]:
    """Return the keys of the Constraints of both states."""
    found = [await state.query("names", {"types": [CONSTRAINT]}) for state in (states.before, states.after)]
    return {key for names in found for key in names}


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The problems of two states, the differences of effective policies, and the affected objects."""

    before: list[Entry]
    after: list[Entry]
    differences: list[Entry]
    subjects: Collection[str]


async def _query_findings(
    state: State, subjects: Sequence[str], judged: Sequence[str], deletions: Mapping[str, Any]
) -> list[Entry]:
    """Return the problems of these subjects, the violations by the judged objects, and rejected Rego."""
    found = await in_batches(state.opa, "problems", "objects", subjects, {**state.more, **deletions})
    return [*state.problems, *found, *map(_as_problem, await state.violations(judged, identified=True))]


async def _compare_concerned(
    engine: Engine, states: States, change: PlannedChange, asked: Entry, constraints: Collection[str]
) -> _Comparison:
    """Compare what a change of objects concerns."""
    keys = change.keys
    concerned = await _query_concerned(states, keys)
    differences = await _query_differences(states, concerned["scopes"], asked)
    subjects = _collect_subjects(keys, concerned, differences)
    await engine.add_read(Reading(subjects=[*map(parse_key, subjects)], objects=[*change.upserts.values()]))
    judged = await _find_judged(states, keys, subjects) if constraints else []
    # Any object may be the only one that a Constraint selects.
    asked_about = sorted({*subjects, *constraints})
    before = await _query_findings(states.before, asked_about, judged, {})
    after = await _query_findings(states.after, asked_about, judged, change.deletions)
    return _Comparison(before, after, differences, {*subjects, *judged})


async def _compare_everything(states: States, change: PlannedChange, asked: Entry) -> _Comparison:
    """Compare two states of which nothing is known in common."""
    found = []
    for state, deletions in ((states.before, {}), (states.after, change.deletions)):
        every = sorted(map(str, await held_keys(state.opa)))
        found.append(await _query_findings(state, every, every, deletions))
    differences = await _query_differences(states, await _query_scopes(states), asked)
    targets = {str(parse_key(difference["target"]).object) for difference in differences}
    subjects = {*_collect_subjects(change.keys, _NOTHING, differences), *targets}
    before, after = found
    return _Comparison(before, after, differences, subjects)


async def _query_scopes(states: States) -> dict[str, list[str]]:
    """Return all effective targets of both states, by policy kind."""
    scopes: dict[str, set[str]] = {}
    for state in (states.before, states.after):
        for kind, targets in (await state.query("scopes", {})).items():
            scopes.setdefault(kind, set()).update(targets)
    return {kind: sorted(targets) for kind, targets in scopes.items()}


async def policy_impact(engine: Engine, asked: Mapping[str, Any]) -> Entry:
    """Return the result of the query `impact` with the input `asked`.

    Where a strategy or an extension reads objects beyond its input, `ifDeleted` has the differences at all targets;
    those of other policy kinds have a `policyKind`. Raises OpaError, and like `opened_states`.
    """
    from bridge.policy_loader.assembly import MERGING

    found: Entry = await engine.opa.query("impact", asked)
    if "changes" in asked:
        return found
    key = parse_key(found["policy"])
    async with opened_states(engine, PlannedChange({key: {}}, deleted=(key,)), points=MERGING) as states:
        if states.apart:
            scopes = await _query_scopes(states)
            more = {name: asked[name] for name in ("sourceNamespace", "fields") if name in asked}
            differences = await _query_differences(states, scopes, more)
            found["ifDeleted"] = [
                {name: value for name, value in one.items() if (name, value) != ("policyKind", found["policyKind"])}
                for one in differences
            ]
    return found


_NOTHING: Entry = {"objects": [], "policies": []}
# Types of objects that name kinds, which a change of what describes kinds makes known or unknown.
_NAMING_KINDS = [*_WITHOUT_STATUS, GATEWAY, f"{GATEWAY_API}/ListenerSet"]


async def _query_concerned(states: States, keys: list[str]) -> Entry:
    """Return the result of the query `dependents`, before and after the change: deleted objects exist only before.

    `objects` includes unchanged ones whose links the change may affect.
    """
    scopes: dict[str, set[str]] = {}
    found: dict[str, set[str]] = {"objects": set(), "policies": set()}
    describing = any(parse_key(key).type_id in DESCRIBING for key in keys)
    # The first object of a kind, or the last one, makes the kind known or unknown where no CRD does.
    known = [{*await state.query("types", {})} for state in (states.before, states.after)]
    naming = describing or known[0] != known[1] or any(parse_key(key).type_id == _GRANT for key in keys)
    for state in (states.before, states.after):
        concerned = await state.query("dependents", {"keys": keys, "was": {}})
        found["objects"].update(concerned["objects"], await state.query("neighbors", {"keys": keys}))
        found["policies"].update(concerned["policies"])
        if describing:
            found["policies"].update(await state.query("policies", {}))
        if naming:
            found["objects"].update(await state.query("names", {"types": _NAMING_KINDS}))
        for targets_by_kind in (concerned["scopes"], await state.query("scopes", {}) if describing else {}):
            for kind, targets in targets_by_kind.items():
                scopes.setdefault(kind, set()).update(targets)
    return {
        "scopes": {kind: sorted(targets) for kind, targets in scopes.items()},
        **{name: sorted(members) for name, members in found.items()},
    }


async def _query_differences(states: States, scopes: Mapping[str, Sequence[str]], asked: Entry) -> list[Entry]:
    found: list[Entry] = []
    for kind, targets in sorted(scopes.items()):

        async def ask(batch: Sequence[str], kind: str = kind) -> list[Entry]:
            compared = {"scopes": {kind: batch}, **asked}
            if states.apart:
                compared["before"] = await states.before.query("effective_at_scopes", compared)
            answer: list[Entry] = await states.after.query("differences", compared)
            return answer

        found += [difference for answer in await by_batches(targets, ask) for difference in answer]
    return found


def _collect_subjects(keys: Sequence[str], concerned: Entry, differences: Sequence[Entry]) -> list[str]:
    """Return the objects whose problems may change: changed and affected objects, and policies with differences."""
    policies = {
        policy["policy"]
        for difference in differences
        for side in (difference["before"], difference["after"])
        if side
        for policy in side["policies"]
    }
    return sorted({*keys, *concerned["objects"], *concerned["policies"], *policies})


async def _add_causes(states: States, introduced: Sequence[Entry], change: PlannedChange) -> list[Entry]:
    """Return the problems; those of objects that do not change with `causes`.

    Causes are the changes that introduce them alone. Problems that only several changes together introduce have none,
    nor have those of a very large change, or of one of several that is not made in the input of queries.
    """
    changed = {str(key): PlannedChange(upserts={key: obj}) for key, obj in change.upserts.items()}
    changed |= {str(key): PlannedChange(deleted=(key,)) for key in change.deleted}
    elsewhere = [one for one in introduced if one["subject"] not in changed]
    causes: dict[tuple[Any, ...], list[str]] = {_shown(one): [] for one in elsewhere}
    subjects = sorted({one["subject"] for one in elsewhere})
    most = 1 if states.apart else _MOST_CAUSES
    for key, one_change in changed.items() if subjects and len(changed) <= most else ():
        caused = elsewhere
        if len(changed) > 1:
            state = State(states.after.opa, one_change.changes)
            alone = await _query_findings(state, subjects, subjects, one_change.deletions)
            caused = (await compare_problems(state.opa, alone, elsewhere))["unchanged"]
        for one in caused:
            causes[_shown(one)].append(key)
    return [one | ({"causes": causes[_shown(one)]} if causes.get(_shown(one)) else {}) for one in introduced]


def select_doubts(doubts: Iterable[Entry], keys: Collection[str], found: Iterable[Entry]) -> list[Entry]:
    """Return the doubts about these objects, without kinds that a found problem reports as a policy's."""
    reported = {one["subject"] for one in found if one["reason"] == "NotDescribed"}
    return _once(
        one
        for one in doubts
        if one["subject"] in keys and not (one["reason"] == "UnknownKind" and one["subject"] in reported)
    )


async def _find_judged(states: States, keys: Sequence[str], subjects: Sequence[str]) -> list[str]:
    """Return the objects whose violations may change: those that a changed Constraint matches, and all affected ones.

    A policy of a Constraint may read what is in effect, so an object is affected too if another policy applies there,
    or above it. A Namespace decides by its labels which objects in it match, whether the hierarchy has these or not.
    """
    changed = [parse_key(key) for key in keys]
    names = [key.name for key in changed if key.type_id == CONSTRAINT]
    namespaces = [key.name for key in changed if key.type_id == "core/Namespace"]
    concerned = await objects_concerned(states, keys)
    found = {*subjects, *(await audited_before_and_after(states, {}) if concerned is None else concerned)}
    for asked in [{"constraints": names}] * bool(names) + [{"namespaces": namespaces}] * bool(namespaces):
        found |= await audited_before_and_after(states, asked)
    return sorted(found)


def _as_problem(row: Entry) -> Entry:
    """Return a violation in the form of the query `problems`."""
    exempt = f" (exempt: {exemption_text(row['exemption'])})" if "exemption" in row else ""
    details = row["details"]
    identity = {**details.get("identity", {}), **{name: details[name] for name in ("field",) if name in details}}
    identity |= {"message": row["message"]} if exempt else {}
    return {
        "subject": row["object"],
        "about": f"{CONSTRAINT}/-/{row['constraint']}",
        "reason": "Violation",
        "message": row["message"] + exempt,
        "enforcementAction": row["enforcementAction"],
        **({"exemption": row["exemption"]} if "exemption" in row else {}),
        **({"identity": identity} if identity else {}),
    }


def _once(problems: Iterable[Entry]) -> list[Entry]:
    """Return the problems without those that read as another one, such as violations on several paths."""
    return [*{_shown(problem): problem for problem in problems}.values()]


def _shown(problem: Entry) -> tuple[Any, ...]:
    return tuple(problem[name] for name in ("subject", "about", "reason", "message"))
