"""Scenarios in OPA alone: an OPA that holds nothing, asked as if the objects were there (`changes`)."""

import contextlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bridge.opa.client import Opa
from tests.bundles import bundle_with
from tests.queries import results_of
from tests.scenarios.cases import Case, all_cases
from tests.scenarios.checking import Answers, check, refusal
from tests.scenarios.described_requests import name_of, requests_of
from tests.scenarios.judging import Judged, check_judged, creation
from tests.warm_opa import WarmOpa

CONSTRAINED = [case for case in all_cases() if case.constrained]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def empty_opa(opa_path: Path) -> AsyncIterator[Opa]:
    async with _opa(opa_path) as opa:
        yield opa


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("case", [case for case in all_cases() if not case.modules], ids=lambda case: case.name)
async def test_a_scenario_holds_in_rego(case: Case, empty_opa: Opa) -> None:
    check(case, await _answers(case, empty_opa))


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("case", [case for case in all_cases() if case.extended], ids=lambda case: case.name)
async def test_a_scenario_with_modules_holds_in_rego(case: Case, opa_path: Path) -> None:
    async with _opa(opa_path, case.modules) as opa:
        check(case, await _answers(case, opa))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opa_with_policies(opa_path: Path) -> AsyncIterator[Opa]:
    """An OPA with the policies of all Constraints, each of which has a package of its own."""
    policies = [module for case in CONSTRAINED for module in case.modules]
    async with _opa(opa_path, policies) as opa:
        yield opa


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("case", CONSTRAINED, ids=lambda case: case.name)
async def test_a_scenario_of_constraints_holds_in_rego(case: Case, opa_with_policies: Opa) -> None:
    changes = {"upsert": case.objects}
    judged = Judged(
        await opa_with_policies.query("violations", {"changes": changes}),
        {
            one["constraint"]: one["condition"]
            for one in await opa_with_policies.query("constraints", {"changes": changes})
        },
        {
            key: await opa_with_policies.query("admission", {**creation(case, key), "changes": changes})
            for key in case.requests
        },
    )
    check_judged(case, judged)


@contextlib.asynccontextmanager
async def _opa(opa_path: Path, modules: Iterable[Path] = ()) -> AsyncIterator[Opa]:
    async with (
        WarmOpa(opa_path, bundle=bundle_with(module.read_text() for module in modules)) as managed,
        Opa(managed.url) as opa,
    ):
        await opa.put("kinds", await opa.query("kinds_in_force", {}))  # the presets alone
        yield opa


async def _answers(case: Case, opa: Opa) -> Answers:
    changes = {"upsert": case.objects}
    listed = await results_of(opa, "scopes", "policies", asked={"changes": changes})
    policykinds = [str(key) for key in case.keys if key.type_id == "policybridge.io/PolicyKind"]
    asked = {
        "targets": sorted({target for targets in listed["scopes"].values() for target in targets}),
        "policies": [*listed["policies"], *policykinds],
        "objects": [str(key) for key in case.keys],
        "changes": changes,
    }
    found = await results_of(opa, "effective", "status", "affected", asked=asked)
    by_source = {
        source: await opa.query("effective", {**asked, "sourceNamespace": source}) for source in sorted(case.sources)
    }
    statuses = {entry["policy"]: entry for entry in found["status"]}
    return Answers(
        _in_scope(listed["scopes"], found["effective"]),
        {policy: entry for policy, entry in statuses.items() if policy in listed["policies"]},
        {entry["object"]: _shown(entry) for entry in found["affected"]},
        {
            kind.rpartition("/")[2]: c
            for kind in policykinds
            if kind in statuses and (c := refusal(statuses[kind]["conditions"]))
        },
        {source: _in_scope(listed["scopes"], entries) for source, entries in by_source.items()},
        {key: await opa.query("explain", {"target": key, "changes": changes}) for key in case.explained},
        {name_of(one): await opa.query("request", {**one, "changes": changes}) for one in requests_of(case)},
        {root: await opa.query("tree", {"root": root, "changes": changes}) for root in case.trees},
        {key: await opa.query("problems", {"objects": [key], "changes": changes}) for key in case.reported},
    )


def _in_scope(scopes: dict[str, list[str]], entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The effective policies of each kind at the targets of its policies."""
    return [entry for entry in entries if entry["target"] in scopes.get(entry["policyKind"], [])]


def _shown(entry: dict[str, Any]) -> dict[str, Any]:
    """What the query `affected` wants, in the form of a status."""
    listeners = [{"name": name, "conditions": wanted} for name, wanted in entry.get("listeners", {}).items()]
    return {**entry, "listeners": listeners}
