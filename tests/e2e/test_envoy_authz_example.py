"""`examples/envoy-authz`: a real OPA decides on Envoy's requests by the effective policy of the rule that serves them.

The input is that of opa-envoy-plugin (https://www.openpolicyagent.org/docs/envoy/primer). The test queries the data
API: the plugin evaluates the same document.
"""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.opa.client import Opa
from tests.e2e.conftest import ROOT, Run
from tests.e2e.serving import bridge_runs
from tests.e2e.test_views import Fleet, about
from tests.eventually import eventually

EXAMPLE = ROOT / "examples" / "envoy-authz"
ADMIN = "gateway.networking.k8s.io/HTTPRoute/shop/books#admin"
CATALOG = "gateway.networking.k8s.io/HTTPRoute/shop/books#catalog"


@pytest.fixture
async def served(bridge_path: Path, environment: dict[str, str], tmp_path: Path) -> AsyncIterator[tuple[Opa, Path]]:
    """The OPA of a bridge on a copy of the example, and the copy."""
    folder = shutil.copytree(EXAMPLE, tmp_path / "example")
    arguments = ("--manifests", folder, "--listen", "127.0.0.1:0")
    with bridge_runs(bridge_path, environment, tmp_path / "log", *arguments) as found:
        async with Opa(found.opa_url) as opa:
            # On a busy machine the module's first check takes long, and a ready bridge checks it again.
            await eventually(lambda: opa.get("envoy/authz"), lambda package: package is not None)
            yield opa, folder


def _request(path: str, *groups: str, method: str = "GET", host: str = "books.example.com") -> dict[str, Any]:
    headers = {":authority": host, ":path": path, ":method": method, "user-agent": "curl/8"}
    headers |= {"x-groups": ",".join(groups)} if groups else {}
    http = {"id": "1", "host": host, "path": path, "method": method, "headers": headers, "protocol": "HTTP/2"}
    extensions = {"gateway": "gateway.networking.k8s.io/Gateway/infra/public"}
    return {"attributes": {"request": {"http": http}, "contextExtensions": extensions}, "parsed_query": {}}


async def _result(opa: Opa, request: dict[str, Any]) -> Any:
    return await opa.ask("envoy/authz/result", request)


async def test_the_effective_policy_of_the_matched_rule_decides(served: tuple[Opa, Path]) -> None:
    opa, _ = served
    passed = {"allowed": True, "headers": {"x-access-rule": CATALOG}}
    assert await _result(opa, _request("/poems?page=2")) == passed
    assert await _result(opa, _request("/admin/users", "book-admins")) == {
        "allowed": True,
        "headers": {"x-access-rule": ADMIN},
    }
    for request, body in (
        (_request("/admin", "staff"), "example.com/AccessPolicy/shop/admin admits the groups book-admins"),
        (_request("/poems", method="TRACE"), "TRACE is denied by example.com/AccessPolicy/infra/no-trace"),
    ):
        assert await _result(opa, request) == {"allowed": False, "http_status": 403, "body": body}


async def test_requests_that_no_rule_serves_do_not_pass(served: tuple[Opa, Path]) -> None:
    opa, _ = served
    result = await _result(opa, _request("/", "book-admins", host="other.example.com"))
    assert not result["allowed"]
    assert "other.example.com" in result["body"]


async def test_a_changed_policy_decides_at_once(served: tuple[Opa, Path]) -> None:
    opa, folder = served
    assert not (await _result(opa, _request("/admin", "staff")))["allowed"]
    policies = folder / "30-policies.yaml"
    policies.write_text(policies.read_text().replace("[book-admins]", "[staff]"))
    await eventually(lambda: _result(opa, _request("/admin", "staff")), lambda result: result["allowed"])


@pytest.mark.parametrize("content", ["", "=effective"])
async def test_an_edge_decides_without_a_bridge(
    bridge_path: Path, opa_path: Path, environment: dict[str, str], tmp_path: Path, content: str
) -> None:
    with ExitStack() as stack:
        await _decide_at_an_edge(Fleet(tmp_path, bridge_path, opa_path, environment, stack), content)


async def _decide_at_an_edge(fleet: Fleet, content: str) -> None:
    shutil.rmtree(fleet.folder / "manifests")
    shutil.copytree(EXAMPLE, fleet.folder / "manifests")
    hub = fleet.start_hub(f"Gateway/infra/public{content}")
    files = []
    if content:  # an edge with answers has the admins' Rego as a file
        config_map = next(yaml.safe_load_all((EXAMPLE / "40-authz.yaml").read_text().partition("---\n")[2]))
        (fleet.folder / "authz.rego").write_text(config_map["data"]["authz.rego"])
        files = [str(fleet.folder / "authz.rego")]
    url, _ = fleet.start_edge("edge", fleet.config("infra.public" + content.replace("=", ".")), *files)
    await eventually(lambda: asyncio.to_thread(about, url))
    hub.close()
    async with Opa(url) as opa:
        assert (await _result(opa, _request("/admin/users", "book-admins")))["headers"] == {"x-access-rule": ADMIN}
        denied = await _result(opa, _request("/admin", "staff"))
        assert denied["body"] == "example.com/AccessPolicy/shop/admin admits the groups book-admins"
        assert not (await _result(opa, _request("/", host="other.example.com")))["allowed"]


def test_the_documented_plugin_extends_the_configuration_of_an_opa(bridge: Run) -> None:
    """The plugin itself is in OPA's images alone; its options are those of its documentation."""
    page = (ROOT / "docs" / "how-to" / "authorize-requests-in-envoy.md").read_text()
    (plugin,) = re.findall(r"^```yaml\n(plugins:\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
    config = yaml.safe_load(bridge("opa-config").stdout + plugin)
    assert config["bundles"]
    assert config["plugins"]["envoy_ext_authz_grpc"]["path"] == "envoy/authz/result"
