"""The Python client, asking a real bridge and its OPA."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from opa_client.opa_async import AsyncOpaClient
from tenacity import wait_exponential

from bridge.client import Client, OpaError, OpaUnavailable, QueryError, Update
from bridge.opa.process import ManagedOpa
from tests.builders import resource
from tests.e2e.conftest import SHOP
from tests.e2e.serving import bridge_runs
from tests.integration.proxy import Proxy

CHECKOUT = "gateway.networking.k8s.io/HTTPRoute/shop/cart#checkout"
CATALOG = "core/Service/shop/catalog"
COLORS, TIMEOUTS = "example.com/ColorPolicy", "example.com/TimeoutPolicy"
PATIENCE = 300.0


@dataclass(frozen=True)
class Served:
    """A bridge on a copy of the example, which tests change."""

    folder: Path
    opa: str
    bridge: str


@pytest.fixture(scope="module")
def served(
    bridge_path: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    folder = shutil.copytree(SHOP, tmp_path_factory.mktemp("client") / "shop")
    log = folder.parent / "log"
    with bridge_runs(bridge_path, environment, log, "--manifests", folder, "--listen", "127.0.0.1:0") as found:
        yield Served(folder, found.opa_url, found.url)


async def test_effective_policies_have_types(served: Served) -> None:
    async with Client(served.opa) as client:
        (found,) = await client.effective(CHECKOUT, policy_kind=COLORS)
    internal = next(path for path in found.paths if "gateway.networking.k8s.io/Gateway/infra/internal" in path.path)
    assert (found.target, found.policy_kind) == (CHECKOUT, COLORS)
    assert internal.spec == {"contrast": 10, "theme": "plain"}
    assert internal.origins["/theme"] == f"{COLORS}/infra/internal-tools"
    assert [(one.policy, one.outcome) for one in internal.policies][:2] == [
        (f"{COLORS}/infra/internal-tools", "Programmed"),
        (f"{COLORS}/shop/cart", "Overridden"),
    ]
    assert internal.error is None


async def test_an_explanation_has_the_steps_and_the_ignored_policies(served: Served) -> None:
    async with Client(served.opa) as client:
        (found,) = await client.explain(CHECKOUT, policy_kind=COLORS)
        timeouts = await client.explain(CATALOG, policy_kind=TIMEOUTS)
    assert {step.winner for path in found.paths for step in path.steps} <= {"Established", "Challenger", "Both"}
    assert found.paths[0].steps[-1].result == found.paths[0].spec
    assert ("example.com/TimeoutPolicy/shop/catalog-again", "Conflicted") in {
        (one.policy, one.reason) for explanation in timeouts for one in explanation.attachments
    }


async def test_a_hypothetical_change_is_answered_as_if_it_was_applied(served: Served) -> None:
    async with Client(served.opa) as client:
        before = await client.effective(f"{CATALOG}#metrics", policy_kind=TIMEOUTS)
        after = await client.effective(
            f"{CATALOG}#metrics", policy_kind=TIMEOUTS, delete=[f"{TIMEOUTS}/shop/catalog-metrics"]
        )
    assert before[0].paths[0].spec != after[0].paths[0].spec
    assert len(before[0].paths[0].policies) == len(after[0].paths[0].policies) + 1


async def test_a_refused_query_has_its_code(served: Served) -> None:
    async with Client(served.opa, bridge=served.bridge) as client:
        with pytest.raises(QueryError) as error:
            await client.effective("core/Service/shop/nothing")
        assert error.value.code == "TargetNotFound"
        with pytest.raises(QueryError) as error:
            await anext(client.stream("httproute/shop/cort"))
        assert (error.value.code, "did you mean" in str(error.value)) == ("NotFound", True)


async def test_other_failures_of_opa_are_errors_of_the_client(served: Served, opa_path: Path) -> None:
    async with Client("http://127.0.0.1:9") as client:
        with pytest.raises(OpaUnavailable, match="cannot query OPA"):
            await client.effective(CATALOG)
    async with Client(served.opa) as client:
        with pytest.raises(OpaError, match="bridge/v1/nothing"):
            await client.query("nothing", {})
    async with Client(bridge=served.bridge) as client:
        with pytest.raises(OpaError, match="no OPA to query"):
            await client.effective(CATALOG)
    for address in ("unix:///run/opa.sock", "127.0.0.1:8181", "http://"):
        with pytest.raises(ValueError, match="is not an address of OPA"):
            Client(address)
    async with ManagedOpa(opa_path, {"default_decision": "/a"}, bundle=None) as bare, Client(bare.url) as client:
        with pytest.raises(OpaError):
            await client.effective(CATALOG)


async def test_a_client_of_the_library_is_used_as_it_is(served: Served) -> None:
    address = urlsplit(served.opa)
    async with Client(AsyncOpaClient(host=address.hostname, port=address.port, timeout=30.0)) as client:
        assert await client.effective(CATALOG, policy_kind=TIMEOUTS)


async def test_a_stream_gives_the_state_and_then_changes(served: Served) -> None:
    async with Client(bridge=served.bridge) as client, asyncio.timeout(PATIENCE):
        updates = client.stream("service/shop/catalog", policy_kind="timeoutpolicy")
        first = {(await anext(updates)).target for _ in range(3)}
        assert first == {CATALOG, f"{CATALOG}#http", f"{CATALOG}#metrics"}
        _write(served, "91-slow.yaml", "catalog-http", "http", "9s")
        update = await _until(updates, f"{CATALOG}#http", "9s")
        (served.folder / "91-slow.yaml").unlink()
        again = await anext(updates)
    assert again.target == update.target
    assert again.revision != update.revision


async def test_a_stream_continues_after_a_restart_and_repeats_nothing(
    bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    folder = shutil.copytree(SHOP, tmp_path / "shop")
    log = tmp_path / "log"
    served = Served(folder, "", "")
    arguments = ("--manifests", folder, "--listen")
    with bridge_runs(bridge_path, environment, log, *arguments, "127.0.0.1:0") as found:
        address = found.url
        client = await Client(bridge=address).__aenter__()
        updates = client.stream(CATALOG, policy_kind=TIMEOUTS)
        async with asyncio.timeout(PATIENCE):
            for _ in range(3):
                await anext(updates)
        following = asyncio.ensure_future(anext(updates))
        await asyncio.sleep(0)
    # The bridge reports changes of policies during its absence afterwards, and nothing else.
    for file in folder.glob("*.yaml"):
        documents = [one for one in yaml.safe_load_all(file.read_text()) if one]
        kept = [one for one in documents if one["metadata"]["name"] != "catalog-metrics"]
        file.write_text(yaml.safe_dump_all(kept))
    _write(served, "91-slow.yaml", "catalog-http", "http", "9s")
    with bridge_runs(bridge_path, environment, log, *arguments, address.removeprefix("http://")):
        async with asyncio.timeout(PATIENCE):
            reported = {(update := await following).target: update, (update := await anext(updates)).target: update}
        assert set(reported) == {f"{CATALOG}#http", f"{CATALOG}#metrics"}
        assert reported[f"{CATALOG}#http"].paths[0].spec["request"] == "9s"
        await client.__aexit__(None, None, None)


async def test_a_stream_with_broken_bytes_continues_on_another_connection(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bridge.client.program_client._SILENCE", 2.0)
    async with (
        Proxy(served.bridge) as proxy,
        Client(bridge=proxy.url) as client,
        asyncio.timeout(PATIENCE),
    ):
        updates = client.stream("service/shop/catalog", policy_kind="timeoutpolicy")
        for _ in range(3):
            await anext(updates)
        following = asyncio.ensure_future(_until(updates, f"{CATALOG}#http", "8s"))
        await asyncio.sleep(0.5)
        proxy.insert(b"zz\r\n")
        _write(served, "92-slower.yaml", "catalog-slower", "http", "8s")
        update = await following
        (served.folder / "92-slower.yaml").unlink()
    assert update.target == f"{CATALOG}#http"


async def test_a_bridge_that_is_missing_ends_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.client.program_client._WAIT", wait_exponential(multiplier=0.001, max=0.001))
    async with Client(bridge="http://127.0.0.1:9") as client:
        with pytest.raises(OpaUnavailable, match="cannot be followed"):
            await anext(client.stream(CATALOG))


def _write(served: Served, file: str, name: str, section: str, request: str) -> None:
    ref = {"group": "", "kind": "Service", "name": "catalog", "sectionName": section}
    policy = resource("example.com/v1", "TimeoutPolicy", name, "shop", spec={"targetRefs": [ref], "request": request})
    (served.folder / file).write_text(yaml.safe_dump(policy))


async def _until(updates: AsyncIterator[Update], target: str, request: str) -> Update:
    async for update in updates:
        if update.target == target and update.paths[0].spec.get("request") == request:
            return update
    raise AssertionError("the stream ended")
