"""A PolicyKind in a folder is checked by the schema of its CRD: the messages name the field and what it may have."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from bridge.opa.client import Opa
from tests.builders import resource
from tests.warm_opa import WarmOpa

LEAST = {"group": "acme.io", "kind": "RatePolicy", "effectiveTarget": "Route"}
ROWS: tuple[tuple[Any, str], ...] = (
    (None, "spec is not an object"),
    ({"kind": "Rate Policy"}, "kind: does not match pattern"),
    ({"mode": "On"}, 'mode: "On" is not one of Observe, Manage'),
    ({"defaultStrategy": "PatchDefault"}, 'defaultStrategy: "PatchDefault" is not one of None, AtomicDefaults'),
    ({"defaultStrategy": "PatchDefault"}, 'did you mean "PatchDefaults"?'),
    ({"targts": []}, 'unknown field "targts"; did you mean "targets"?'),
    (
        {"targets": [{"kind": "X"}, {"kind": "X", "section": True}]},
        'targets[1]: unknown field "section"; did you mean "sections"?',
    ),
    ({"targets": [{"group": "acme.io"}]}, "targets[0]: kind is required"),
    (
        {"targets": [{"kind": "X", "sections": "yes"}]},
        "targets[0].sections: invalid type. Expected: boolean, given: string",
    ),
    ({"targets": []}, "targets: array must have at least 1 items"),
    ({"specPaths": [{"path": "spec"}]}, "specPaths[0].path: does not match pattern"),
    ({"parentLevels": ["Rules"]}, 'parentLevels[0]: "Rules" is not one of GatewayClass'),
    ({"merge": {"units": ["a"]}}, "merge.units[0]: does not match pattern"),
    ({"custom": "acme.rates"}, "custom: does not match pattern"),
    ({"controllerName": 3}, "controllerName: invalid type. Expected: string, given: integer"),
    ({"strategies": {"a": "Pach"}}, 'strategies.a: "Pach" is not a strategy; did you mean "Patch"?'),
    ({"strategies": {"a": {"merge": {}}}}, "strategies.a: "),
    ({"mode": "On", "fold": "Stack"}, "mode: "),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opa(opa_path: Any) -> AsyncIterator[Opa]:
    async with WarmOpa(opa_path) as managed, Opa(managed.url) as client:
        yield client


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("fields", "message"), ROWS)
async def test_a_wrong_field_is_reported_with_the_right_spelling(opa: Opa, fields: Any, message: str) -> None:
    spec = fields if fields is None else {**LEAST, **fields}
    kind = resource("policybridge.io/v1alpha1", "PolicyKind", "rates", spec=spec)
    key = "policybridge.io/PolicyKind/-/rates"
    [status] = await opa.query("status", {"policies": [key], "changes": {"upsert": [kind]}})
    [condition] = status["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "Invalid")
    assert message in condition["message"]
