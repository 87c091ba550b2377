import json
from typing import Any

import msgspec
import pytest

from bridge.opa.client import Opa
from bridge.queries.judged_change import ChangeJudge
from bridge.settings.loading import load_settings
from tests.ports import free_port

REQUEST: dict[str, Any] = {
    "operation": "DELETE",
    "kind": {"group": "policybridge.io", "kind": "RegoPolicy"},
    "oldObject": {"apiVersion": "policybridge.io/v1alpha1", "kind": "RegoPolicy", "metadata": {"name": "rules"}},
}


@pytest.mark.parametrize(("seconds", "why"), [(0.0, "in time"), (30.0, "OPA")])
async def test_a_change_that_cannot_be_compared_is_not_judged_by_any_constraint(seconds: float, why: str) -> None:
    request = msgspec.Raw(json.dumps(REQUEST).encode())
    async with Opa(f"http://127.0.0.1:{free_port()}") as opa:
        judged = await ChangeJudge(load_settings(None, {}, {})).judge(opa, request, ["few", "some"], seconds)
    assert judged["introduced"] == []
    assert set(judged["unjudged"]) == {"few", "some"}
    assert all(text.startswith("is not judged: ") and why in text for text in judged["unjudged"].values())
