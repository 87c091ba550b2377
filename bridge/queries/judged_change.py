"""Requests to an API server that change how policies act: authors' Rego, PolicyKinds, CRDs.

One query of OPA cannot answer for them, because what they change is not an object with targets. What guardrails find in
the state before the change is compared with the state after it, as by `pbctl analyze`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bridge.model.changes import Object
from bridge.model.keys import key_of, parse_key
from bridge.offline.engine import Engine, RunningEngines
from bridge.opa.batches import batches
from bridge.opa.errors import OpaError
from bridge.opa.executable import ToolError
from bridge.opa.judging import BATCH
from bridge.policy_loader.assembly import JUDGING
from bridge.policy_loader.compile_check import CheckError
from bridge.queries.asking import Entry, audited_keys
from bridge.queries.states import PlannedChange, States, opened_states, plan_change
from bridge.sources.pruning import prune

if TYPE_CHECKING:
    from bridge.offline.modules import ReadServed
    from bridge.opa.client import Opa
    from bridge.settings.model import Settings


QUERIES = frozenset({"audit_keys", "compared_violations", "guarded_targets", "violations"})  # to states apart


class ChangeJudge:
    """Judges requests by what guardrails find before and after them.

    `settings` are those of policies, `served` has the modules that this process serves.
    """

    def __init__(self, settings: Settings, served: ReadServed = lambda _: None) -> None:
        self._engines = RunningEngines(settings, served)

    async def judge(self, opa: Opa, request: msgspec.Raw, names: Sequence[str], seconds: float) -> Mapping[str, Any]:
        """Return what these Constraints find in the state after an AdmissionRequest that they do not find before it.

        The result is `{introduced, unjudged}`, as the query `guarded_decision` takes it, within `seconds`: objects are
        judged in order until a new violation denies the request. `opa` is that of a running bridge.
        """
        introduced: list[Entry] = []
        why = ""
        try:
            async with asyncio.timeout(seconds):
                await self._collect(opa, msgspec.json.decode(request), names, introduced)
        except TimeoutError:
            why = "is not judged: what is in effect before and after the change could not be compared in time"
        except (OpaError, ToolError, CheckError) as error:
            why = f"is not judged: {error}"
        unjudged = {} if not why or _denies(introduced) else dict.fromkeys(names, why)
        return {"introduced": introduced, "unjudged": unjudged}

    async def _collect(
        self, opa: Opa, request: Mapping[str, Any], names: Sequence[str], introduced: list[Entry]
    ) -> None:
        engine = self._engines.on(opa)
        change = await _plan(engine, request)
        async with opened_states(engine, change, points=JUDGING, queries=QUERIES) as states:
            objects = await _find_judged(states, change, names)
            compared = states
            for batch in batches(objects, BATCH):
                found = await _compare(compared, batch, names)
                # An object that was repaired meanwhile has a violation after the change, and none before it.
                if found and compared.open_stored and (stored := await compared.open_stored()):
                    compared = stored
                    found = await _compare(compared, batch, names)
                introduced += found
                if _denies(introduced):
                    return


async def _compare(states: States, objects: Sequence[str], names: Sequence[str]) -> list[Entry]:
    """Return what these Constraints find at objects after the change, and not before it."""
    before, after = await asyncio.gather(
        *(state.violations(objects, names, identified=True) for state in (states.before, states.after))
    )
    compared = await states.after.opa.query("compared_violations", {"before": before, "after": after})
    introduced: list[Entry] = compared["introduced"]
    return introduced


def _denies(rows: Sequence[Entry]) -> bool:
    return any(row["enforcementAction"] == "deny" for row in rows)


async def _plan(engine: Engine, request: Mapping[str, Any]) -> PlannedChange:
    """Return the change of a request, together with those that were admitted before it and that OPA lacks."""
    admitted = request.get("admitted", {})
    applied, deleted = [*admitted.get("upsert", ())], [*map(parse_key, admitted.get("delete", ()))]
    if request["operation"] == "DELETE":
        deleted.append(key_of(_complete(request["oldObject"], request)))
    else:
        applied.append(_complete(request["object"], request))
    return await plan_change(engine, [*map(prune, applied)], deleted)


def _complete(obj: Object, request: Mapping[str, Any]) -> Object:
    """Return an object with the name and namespace of its request, which a new one may lack."""
    given = {name: request[name] for name in ("name", "namespace") if request.get(name)}
    return {**obj, "metadata": {**given, **obj["metadata"]}}


async def _find_judged(states: States, change: PlannedChange, names: Sequence[str]) -> list[str]:
    """Return the objects of these Constraints whose violations the change may alter."""
    audited = await audited_before_and_after(states, {"constraints": list(names)})
    concerned = None if states.apart else await objects_concerned(states, change.keys)
    return sorted(audited if concerned is None else audited & concerned)


async def audited_before_and_after(states: States, asked: Mapping[str, Any]) -> set[str]:
    """Return the objects of Constraints in either state. `asked` is an input of the query `audit_keys`."""
    found = [await audited_keys(state.opa, {**asked, **state.more}) for state in (states.before, states.after)]
    return set().union(*found)


async def objects_concerned(states: States, keys: Sequence[str]) -> set[str] | None:
    """Return the objects at which a change of the objects `keys` may alter what guardrails find, None for all."""
    both = states.before, states.after
    concerned: set[str] = set()
    before, after = [await state.query("kind_documents", {}) for state in both]
    if before["kind_sets"]["virtual"] != after["kind_sets"]["virtual"]:
        return None  # references to objects of these kinds are accepted now, or no longer
    kinds = before["kinds"].keys() | after["kinds"].keys()
    differing = {kind for kind in kinds if before["kinds"].get(kind) != after["kinds"].get(kind)}
    for state in both:
        policies = await state.query("policies", {}) if differing else []
        described = [key for key in policies if parse_key(key).type_id in differing]
        asked = {"keys": [*keys, *described], "was": {}, "wanted": {"guarded": {}}}
        concerned.update((await state.query("outdated", asked))["guarded"])
    return concerned
