"""The reader of the tests of faults sees what it is to see, and does not die unnoticed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

import pytest

from bridge.model.keys import key_of
from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa
from bridge.replicator.documents import INDEX
from tests.controlplane.plane import ControlPlane
from tests.faults.cluster import BUNDLE, GATEWAY_API, Load, Reader
from tests.faults.comparing import index_of
from tests.integration.test_replicator import route

ROUTES = f"objects/{GATEWAY_API}/HTTPRoute/shop"


def reader(url: str) -> Reader:
    return Reader(url, Load(cast("ControlPlane", None), "shop"))  # which makes nothing here


async def test_it_sees_a_route_without_the_links_to_its_services_or_gateways(opa_path: Path) -> None:
    one = route("one", "cart")
    async with ManagedOpa(opa_path, {}, bundle=BUNDLE) as managed, Opa(managed.url) as opa:
        index = await index_of(opa, [one])
        await opa.put(INDEX, index)
        await opa.put(f"{ROUTES}/one", one)
        async with reader(managed.url).looking():
            await asyncio.sleep(0.5)
        for part in ("parents", "children"):
            await opa.put(INDEX, {**index, part: {}})
            sees = reader(managed.url)
            with pytest.raises(AssertionError):
                async with sees.looking():
                    await asyncio.sleep(0.5)
            assert set(sees.wrong) == {f"{key_of(one)} without its links"}


async def test_one_that_dies_fails_the_test(opa_path: Path) -> None:
    async with ManagedOpa(opa_path, {}, bundle=BUNDLE) as managed, Opa(managed.url) as opa:
        await opa.put(INDEX, {})
        await opa.put(f"{ROUTES}/no-route", {})
        with pytest.raises(KeyError):
            async with reader(managed.url).looking():
                await asyncio.sleep(0.5)
