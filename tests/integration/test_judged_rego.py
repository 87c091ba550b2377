"""What guardrails say of a change of Rego: what a comparison of both sets costs, and that it is right."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from bridge.files import rego_root
from bridge.model.changes import Object
from bridge.model.keys import key_of, pointer
from bridge.offline.engine import open_objects
from bridge.offline.modules import settle_manifests
from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import shipped
from bridge.policy_loader.judgement import ServedModules
from bridge.queries import states
from bridge.queries.judged_change import ChangeJudge
from bridge.settings.loading import load_settings
from tests.builders import GATEWAY_API, config_map, resource

NAMES = ("first", "second")
HEAD = 'package bridge.guardrails.mine\n\nviolations contains {"message": "no"} if {\n\tinput.target\n\t'
BAD = '"bad.example.com" in data.objects["gateway.networking.k8s.io"].HTTPRoute[_][_].spec.hostnames'

Judge = Callable[[str], Awaitable[list[str]]]


def author(condition: str) -> Object:
    """A RegoPolicy with a guardrail that finds a violation wherever a condition holds."""
    text = HEAD + condition + "\n}\n"
    return resource("policybridge.io/v1alpha1", "RegoPolicy", "mine", spec={"modules": {"mine.rego": text}})


def route(name: str, hostname: str = "good.example.com") -> Object:
    spec = {"hostnames": [hostname], "parentRefs": [{"name": "edge"}], "rules": [{"name": "all"}]}
    return resource(f"{GATEWAY_API}/v1", "HTTPRoute", name, "shop", spec=spec)


GATEWAY = resource(
    f"{GATEWAY_API}/v1", "Gateway", "edge", "shop",
    spec={"gatewayClassName": "x", "listeners": [{"name": "web", "port": 80, "protocol": "HTTP"}]},
)  # fmt: skip
CONSTRAINT = resource(
    "policybridge.io/v1alpha1", "Constraint", "rule",
    spec={"policy": "bridge.guardrails.mine", "match": {"kinds": [{"kinds": ["HTTPRoute"]}]}},
)  # fmt: skip


@asynccontextmanager
async def judging(
    condition: str, *routes: Object, others: Sequence[Object] = (), serves: bool = False
) -> AsyncIterator[tuple[Opa, Judge]]:
    """An OPA as of a running bridge, and a function from the next condition to the objects with new violations.

    With `serves`, the OPA has what this process serves.
    """
    objects = [GATEWAY, *(routes or map(route, NAMES)), CONSTRAINT]
    settled = await settle_manifests([*objects, author(condition), *others])
    assert not settled.problems

    def served(revision: str) -> ServedModules | None:
        assert revision == settled.bundle.revision
        return (
            ServedModules(settled.shipped, [*settled.active.values()], settled.view, settled.guardrails)
            if serves
            else None
        )

    async with open_objects(settled.bundle, objects) as opa:

        async def judge(changed: str) -> list[str]:
            request = {"operation": "UPDATE", "name": "mine", "object": author(changed), "oldObject": author(condition)}
            raw = msgspec.Raw(json.dumps(request).encode())
            found = await ChangeJudge(load_settings(None, {}, {}), served).judge(opa, raw, ["rule"], 300)
            assert found["unjudged"] == {}
            return [row["object"].rpartition("/")[2] for row in found["introduced"]]

        yield opa, judge


def _size(opa: ManagedOpa) -> int:
    bundle: Any = opa._bundle
    return sum(len(text) for path, text in bundle.files.items() if path.endswith(".rego"))


async def test_change_compiles_a_part_of_the_rules_once(starts: list[ManagedOpa]) -> None:
    whole = sum(map(len, shipped(rego_root()).modules.values()))
    async with judging("1 == 2") as (_, judge):
        starts.clear()
        assert await judge("1 == 3") == []
        assert len(starts) == 1
        assert await judge("true") == [*NAMES]
        assert len(starts) == 2
    assert all(_size(opa) < 0.5 * whole for opa in starts)


async def test_change_that_does_not_compile_starts_no_opa(starts: list[ManagedOpa]) -> None:
    async with judging("1 == 2") as (_, judge):
        starts.clear()
        assert await judge("data.bridge.lib.keys.nothing(1)") == []
        assert not starts


@pytest.mark.parametrize(
    "condition",
    [
        'data.bridge.lib.implementations.envoy.name == "Envoy"',
        'data["bridge"].lib.implementations.envoy.name == "Envoy"',
        'some name; data.bridge.lib[name].envoy.name == "Envoy"',
        'data.bridge.lookup.section("no", "name") == {}; false',
        'data.bridge.v1.types["gateway.networking.k8s.io/HTTPRoute"]',
    ],
)
@pytest.mark.usefixtures("starts")
async def test_rules_that_no_query_reaches_but_the_rego_does_are_there(condition: str) -> None:
    async with judging("1 == 2") as (opa, judge):
        settled = await settle_manifests([author(condition)])
        expected = [] if settled.problems or condition.endswith("false") else [*NAMES]
        assert await judge(condition) == expected
        assert await opa.is_ready()


@pytest.mark.usefixtures("starts")
async def test_violation_of_an_object_that_is_repaired_meanwhile_is_not_new(monkeypatch: pytest.MonkeyPatch) -> None:
    read, repaired = states._stored_objects, route("first")

    async def repair(opa: Opa) -> Any:
        stored = await read(opa)
        await opa.put(pointer("objects", *str(key_of(repaired)).split("/")), repaired)
        return stored

    async with judging(BAD, route("first", "bad.example.com"), route("second")) as (_, judge):
        assert await judge("true") == []
        monkeypatch.setattr(states, "_stored_objects", repair)
        assert await judge("true; true") == []


@pytest.mark.usefixtures("starts")
async def test_rego_v0_of_another_author_keeps_no_change_from_being_judged() -> None:
    labels = {"openpolicyagent.org/policy": "rego", "policybridge.io/rego-version": "v0"}
    old = config_map("old", {"old.rego": 'package old\n\ndeny["no"] { input.x }\n'}, "opa-policies")
    old["metadata"]["labels"] = labels
    async with judging("1 == 2", others=[old]) as (_, judge):
        assert await judge("true") == [*NAMES]


@pytest.mark.usefixtures("starts")
async def test_modules_that_this_process_serves_are_not_read_from_opa(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Opa) -> None:
        raise AssertionError("OPA writes megabytes")

    async with judging("1 == 2", serves=True) as (_, judge):
        monkeypatch.setattr(Opa, "modules", fail)
        assert await judge("true") == [*NAMES]
