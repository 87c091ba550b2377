"""Admission on a real API server with a real webhook configuration, as kubectl shows it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.controlplane.api import ApiError
from tests.controlplane.plane import ControlPlane
from tests.eventually import eventually
from tests.integration.api_objects import fresh_name, make_namespace
from tests.integration.webhook import AtWork, webhook_at_work

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(control_plane: ControlPlane, opa_path: Path, kubectl_path: Path) -> AsyncIterator[AtWork]:
    """A webhook at work, for all tests here: it takes the API server seconds to know of one."""
    namespace = await make_namespace(control_plane.api)
    async with webhook_at_work(control_plane, opa_path, kubectl_path, namespace) as shared:
        yield shared


@pytest_asyncio.fixture(loop_scope="module")
async def work(shared: AtWork) -> AtWork:
    """The webhook, as it was at first."""
    await shared.reset()
    await eventually(lambda: placed(shared))
    shared.facts.events.clear()
    return shared


async def placed(work: AtWork) -> bool:
    """Whether the API server asks the webhook by now."""
    try:
        return "annotations" in (await work.make({"region": "eu"}))["metadata"]
    except ApiError:
        return False


async def test_an_object_gets_the_annotations_that_the_decision_gives(work: AtWork) -> None:
    code, said = await work.apply("placed", {"region": "eu"})
    assert (code, said) == (0, "")
    assert await work.annotations("placed") == {"example.com/clusters": '{"gce-europe-west1":{"weight":1}}'}
    await work.kubectl(
        "annotate", "configmap", "placed", "example.com/clusters=mine", "example.com/own=kept", "--overwrite"
    )
    assert await work.annotations("placed") == {
        "example.com/clusters": '{"gce-europe-west1":{"weight":1}}',
        "example.com/own": "kept",
    }
    assert await work.apply("plain") == (0, "Warning: no region is chosen\n")
    assert await work.annotations("plain") == {}


async def test_errors_deny_with_their_messages(work: AtWork) -> None:
    code, said = await work.apply("lost", {"region": "nowhere"})
    assert code == 1
    assert 'admission webhook "admission.policybridge.io" denied the request: lost may not be here' in said


async def test_no_decision_denies_while_policies_exist_and_admits_with_a_warning_where_none_does(work: AtWork) -> None:
    await work.stop_opa()
    code, said = await work.apply("closed", {"region": "eu"})
    assert code == 1
    assert "no decision could be made, and requests are denied while policies exist: placement: OPA at" in said
    assert work.facts.events == []  # the API server shows no client certificate here
    work.facts.exist = False
    code, said = await work.apply("open", {"region": "eu"})
    assert code == 0
    assert said.startswith(
        "Warning: policy-bridge: admitted without a decision, because no policy exists: placement: OPA at"
    )
    assert await work.annotations("open") == {}


async def test_a_dry_run_is_decided_and_leaves_nothing_behind(work: AtWork) -> None:
    code, _ = await work.apply("dry", {"region": "nowhere"}, "--dry-run=server")
    assert code == 1
    await work.stop_opa()
    code, said = await work.apply("dry", {"region": "eu"}, "--dry-run=server")
    assert code == 1
    assert "no decision could be made" in said
    assert work.facts.events == []


async def test_an_invalid_result_is_not_a_decision(work: AtWork) -> None:
    work.facts.distrust = "the initial sync of OPA is incomplete"
    with pytest.raises(ApiError, match="placement: the initial sync of OPA is incomplete; rules: the initial sync"):
        await work.make({"region": "eu"})
    work.facts.distrust = ""
    await work.put_policy("")
    with pytest.raises(ApiError, match=r"data.io.k8s.federation.admission is undefined though policies exist"):
        await work.make({"region": "eu"})
    work.facts.exist = False
    assert "annotations" not in (await work.make({"region": "eu"}))["metadata"]


async def test_with_the_bridge_down_the_api_server_decides_alike(work: AtWork) -> None:
    await work.stop()
    code, said = await work.apply("down")
    assert code == 1
    assert "failed calling webhook" in said
    await work.start()
    work.facts.exist = False
    await work.until("Ignore")
    await work.stop()
    await eventually(lambda: applies(work))


async def applies(work: AtWork) -> bool:
    try:
        await work.make({})
    except ApiError:
        return False
    return True


async def test_only_the_leases_holder_writes_the_configuration(work: AtWork) -> None:
    work.facts.held = False
    work.facts.exist = False
    await asyncio.sleep(1)
    assert (await work.configuration())["failurePolicy"] == "Fail"
    work.facts.held = True
    await work.until("Ignore")
    work.facts.exist = None  # not known yet: what was written last stays
    await asyncio.sleep(1)
    assert (await work.configuration())["failurePolicy"] == "Ignore"


async def test_an_exempt_namespace_is_never_requested(work: AtWork) -> None:
    await work.stop()
    name = fresh_name("fixes")
    code, _, said = await work.kubectl("create", "configmap", name, "--namespace=kube-system")
    assert (code, said) == (0, "")


async def test_a_decision_that_takes_too_long_is_given_up(work: AtWork) -> None:
    pairs = "some i in numbers.range(1, 40000); some j in numbers.range(1, 40000); i == j + 0.5"
    loop = f"annotations.x := count([1 | {pairs}])"
    await work.put_policy(f"package io.k8s.federation.admission\n\n{loop}\n")
    with pytest.raises(ApiError, match="placement: OPA did not respond in time"):
        await work.make({})
