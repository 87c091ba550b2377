"""Constraints at admission, on a real API server with a real webhook configuration, as kubectl shows it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bridge.model.changes import Notice
from bridge.model.keys import key_of
from bridge.opa.client import Opa
from tests.bundles import bundle_with
from tests.controlplane.plane import ControlPlane
from tests.integration.objects import fresh_name, make_namespace
from tests.integration.webhook import AtWork, webhook_at_work

pytestmark = pytest.mark.asyncio(loop_scope="module")

POLICY = """package k8s.keys

violation contains {"msg": sprintf("%d keys are more than %d", [keys, input.parameters.limit])} if {
	keys := count(input.review.object.data)
	keys > input.parameters.limit
}
"""
MATCH = {"kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}]}
EU = {"region": "eu"}  # what the placement policy of these tests wants


def _constraint(name: str, **spec: Any) -> dict[str, Any]:
    whole = {"policy": "k8s.keys", "match": MATCH, "parameters": {"limit": 1}, **spec}
    return {
        "apiVersion": "policybridge.io/v1alpha1",
        "kind": "Constraint",
        "metadata": {"name": name},
        "spec": whole,
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def work(control_plane: ControlPlane, opa_path: Path, kubectl_path: Path) -> AsyncIterator[AtWork]:
    """A webhook at work, with Constraints that deny, warn and only count."""
    namespace = await make_namespace(control_plane.api)
    large = {"match": {"name": "large-*"}, "parameters": {"limit": 2}}
    objects = [
        await asyncio.to_thread(control_plane.api.get, f"/api/v1/namespaces/{namespace}"),
        _constraint("few", parameterSelection=[large]),
        _constraint("fewer", enforcementAction="warn", parameters={"limit": 0}),
        _constraint("quiet", enforcementAction="dryrun", parameters={"limit": 0}),
    ]
    bundle = bundle_with([POLICY])
    async with webhook_at_work(control_plane, opa_path, kubectl_path, namespace, bundle) as found:
        async with Opa(found.opa.url) as opa:
            for obj in objects:
                key = key_of(obj)
                await opa.put(f"objects/{key.group}/{key.kind}/{key.namespace}/{key.name}", obj)
        found.webhook.note(Notice(tuple(map(key_of, objects))))  # what the replicator would say of them
        async with asyncio.timeout(300):
            while not await _requested(found):  # noqa: ASYNC110 - it takes the API server seconds to know of a webhook
                await asyncio.sleep(0.2)
        yield found


async def _requested(work: AtWork) -> bool:
    code, said = await work.apply(fresh_name("probe"), EU, a="1")
    return code == 0 and "[fewer]" in said


async def test_a_violation_is_denied_with_the_constraints_name_and_warned_about(work: AtWork) -> None:
    code, said = await work.apply("many", EU, a="1", b="2")
    assert code != 0, said
    assert "[few] 2 keys are more than 1" in said
    assert "quiet" not in said
    code, said = await work.apply("one", EU, a="1")
    assert (code, said) == (0, "Warning: [fewer] 1 keys are more than 0\n")


async def test_parameters_are_those_of_the_first_entry_that_matches(work: AtWork) -> None:
    code, said = await work.apply("large-one", EU, a="1", b="2")
    assert (code, "[few]" in said) == (0, False)
    code, said = await work.apply("large-two", EU, a="1", b="2", c="3")
    assert code != 0
    assert "[few] 3 keys are more than 2" in said


async def test_what_violates_a_constraint_may_be_deleted_but_not_grow(work: AtWork) -> None:
    await work.apply("going", EU, a="1")
    code, said = await work.apply("going", EU, a="1", b="2")
    assert code != 0
    assert "[few] 2 keys are more than 1" in said
    code, _, said = await work.kubectl("delete", "configmap", "going")
    assert (code, said) == (0, "")
