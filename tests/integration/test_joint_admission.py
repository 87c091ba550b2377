"""Both decisions on a request by one query of a real OPA, and what happens where one of them fails."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridge.admission.admission import Admission, Question, read_rules
from bridge.admission.endpoint import Terms
from bridge.admission.queries import Joint
from bridge.files import rego_root
from bridge.model.keys import Key
from bridge.opa.client import Answer, Opa, Requests
from bridge.opa.shipped import shipped
from bridge.policy_loader.assembly import JOINT_DECISION, assemble, generated
from bridge.policy_loader.submissions import Submission
from tests.warm_opa import WarmOpa

PATH = "io/k8s/federation/admission"
PLACEMENT = """package io.k8s.federation.admission

annotations.region := input.metadata.labels.region

errors contains "not here" if input.metadata.labels.region == "nowhere"

errors contains "still used" if input.metadata.labels.used

warnings := {"one"} if input.metadata.labels.region == "odd"

warnings := {"other"} if input.metadata.labels.region == "odd"
"""
CONSTRAINT = {
    "apiVersion": "policybridge.io/v1alpha1",
    "kind": "Constraint",
    "metadata": {"name": "not-here", "uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1},
    "spec": {"policy": "k8s.limits", "match": {}},
}
LIMITS = 'package k8s.limits\n\nviolation contains {"msg": "too large"} if input.review.object.data.size == "large"\n'


@asynccontextmanager
async def deciding(opa_path: Path, path: str = PATH) -> AsyncIterator[tuple[Admission, Requests]]:
    """An Admission whose OPA has the module for `path` and a Constraint on every object; and its requests."""
    author = Key("core", "ConfigMap", "opa-policies", "placement")
    submissions = [Submission(author, "1", {"placement.rego": PLACEMENT, "limits.rego": LIMITS})]
    modules = generated(submissions, decision=tuple(path.split("/")))
    bundle = assemble(shipped(rego_root()), submissions, modules)
    requests = Requests()
    async with WarmOpa(opa_path, bundle=bundle) as managed, Opa(managed.url, requests=requests) as opa:
        constraints = {"policybridge.io": {"Constraint": {"-": {"not-here": CONSTRAINT}}}}
        await opa.put("objects", constraints)
        requests.seconds.clear()

        def asking(document: str) -> Any:
            async def ask(body: msgspec.Raw) -> Answer:
                return await opa.answer(document, body)

            return ask

        def distrust(answer: Answer) -> str:
            return "" if answer.revision == bundle.revision else "other modules"

        yield (
            Admission(
                Question("placement", asking(PATH), distrust, lambda: "it is undefined", same_opa=True),
                Question("rules", asking("bridge/v1/admission"), distrust, read=read_rules),
                lambda: True,
                joint=Joint(asking(JOINT_DECISION), PATH, distrust),
            ),
            requests,
        )


async def review(admission: Admission, labels: dict[str, str], size: str = "", operation: str = "CREATE") -> Any:
    """The response to a review of a ConfigMap."""
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop", "labels": labels}}
    obj["data"] = {"size": size}
    removes = operation == "DELETE"
    request = {
        "uid": "7",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "operation": operation,
        "name": "a",
        "namespace": "shop",
        "object": None if removes else obj,
        "oldObject": obj if removes else None,
    }
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.loads(await admission.review(json.dumps(body).encode(), Terms(5.0)))["response"]


def number(requests: Requests) -> int:
    """The number of requests since the last call."""
    count = Counter({name: taken.count for name, taken in requests.seconds.items()}).total()
    requests.seconds.clear()
    return count


async def test_both_decisions_are_made_by_one_request_to_opa(opa_path: Path) -> None:
    async with deciding(opa_path) as (admission, requests):
        response = await review(admission, {"region": "eu"})
        assert (response["allowed"], "patch" in response) == (True, True)
        assert number(requests) == 1
        response = await review(admission, {"region": "nowhere"}, "large")
        assert response["status"]["message"] == "not here; [not-here] too large"
        assert number(requests) == 1
        response = await review(admission, {"used": "true"}, operation="DELETE")
        assert response["status"]["message"] == "still used"
        assert number(requests) == 1


async def test_decision_counts_without_the_other_that_fails(opa_path: Path) -> None:
    async with deciding(opa_path) as (admission, requests):
        response = await review(admission, {"region": "odd"}, "large")
        assert response["status"] == {"code": 403, "reason": "Forbidden", "message": "[not-here] too large"}
        response = await review(admission, {"region": "odd"})
        assert response["status"]["code"] == 503
        assert "placement: " in response["status"]["message"]
        assert "conflict" in response["status"]["message"]
        assert number(requests) == 6  # the joint query fails first


@pytest.mark.parametrize("path", ["io/k8s/federation/admission/other", "io/other"])
async def test_module_for_another_decision_is_not_used(opa_path: Path, path: str) -> None:
    async with deciding(opa_path, path) as (admission, requests):
        for expected in (3, 2):  # for a pause the joint query is not sent again
            response = await review(admission, {"region": "nowhere"}, "large")
            assert response["status"]["message"] == "not here; [not-here] too large"
            assert number(requests) == expected


async def test_slow_decision_leaves_time_to_query_the_other_alone(opa_path: Path) -> None:
    async with deciding(opa_path) as (admission, _):
        joint = admission.joint
        assert joint is not None

        async def hang(_: msgspec.Raw) -> Answer:
            await asyncio.sleep(60)
            raise AssertionError

        joint._ask = hang
        began = asyncio.get_running_loop().time()
        assert await joint.answer(msgspec.Raw(b"{}"), 2.0) is None
        assert asyncio.get_running_loop().time() - began < 2.0
