"""The webhook queries the rules only for requests that they may find something about."""

import asyncio
import json
from typing import Any

from bridge.admission.concerned import Concerned
from bridge.admission.review import ReviewRequest, read_review
from bridge.derived.loop import Loop
from bridge.model.changes import Notice
from bridge.model.keys import parse_key
from bridge.model.types import CONSTRAINT
from bridge.opa.client import Opa
from bridge.opa.executable import ensure_opa
from tests.builders import policy_kind
from tests.eventually import eventually
from tests.warm_opa import WarmOpa

KIND = "test.example.com/LimitPolicy"
SPEC = {"effectiveTarget": "Rule"}


def request(type_id: str, operation: str = "CREATE", **more: Any) -> ReviewRequest:
    """A request that writes an object of a type."""
    group, _, kind = type_id.partition("/")
    about = {"group": "" if group == "core" else group, "version": "v1", "kind": kind}
    obj = {"metadata": {"name": "one", "namespace": "shop"}}
    asked = {"uid": "1", "kind": about, "operation": operation, "object": obj, **more}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    return read_review(json.dumps(review).encode())


async def test_requests_concern_the_rules_by_their_type_until_a_constraint_exists() -> None:
    async with WarmOpa(ensure_opa().path) as managed, Opa(managed.url) as opa:
        await opa.put(
            "objects", {"policybridge.io": {"PolicyKind": {"-": {"limitpolicy": policy_kind("LimitPolicy", **SPEC)}}}}
        )
        await opa.put("kinds", (await opa.query("kind_documents", {}))["kinds"])
        unready = ""
        loop = Loop(opa)
        concerned = Concerned(loop, opa, lambda: unready)
        loop.follow(concerned)
        assert concerned(request("core/Pod"))  # nothing is known yet
        running = asyncio.create_task(loop.run())
        try:
            loop.take_in(Notice(refilled=True))
            await eventually(lambda: not concerned(request("core/Pod")))
            assert not concerned(request("apps/Deployment", "DELETE"))
            assert concerned(request(KIND))
            assert concerned(request("policybridge.io/PolicyKind"))
            assert concerned(request("core/Binding"))
            assert concerned(request("apps/Deployment", "UPDATE", subResource="status"))
            unready = "OPA may have been restarted"
            assert concerned(request("core/Pod"))
            unready = ""
            assert not concerned(request("core/Pod"))
            await opa.put("objects/policybridge.io/Constraint", {"-": {"c": {}}})
            key = parse_key(f"{CONSTRAINT}/-/c")
            loop.take_in(Notice((key,)))
            assert concerned(request("core/Pod"))  # at once
            await asyncio.sleep(0.5)
            assert concerned(request("core/Pod"))
            await opa.put("objects/policybridge.io/Constraint", {})
            loop.take_in(Notice((key,)))
            await eventually(lambda: not concerned(request("core/Pod")))
        finally:
            running.cancel()
