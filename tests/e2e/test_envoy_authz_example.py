"""`examples/envoy-authz`: a real OPA decides on Envoy's requests by the effective policy of the rule that serves them.

The input is that of opa-envoy-plugin (https://www.openpolicyagent.org/docs/envoy/primer). The test queries the data
API: the plugin evaluates the same document.
"""

import asyncio
import http.client
import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.opa.client import Opa
from hack.tools.building import go_program
from hack.tools.catalog import GoBuild
from hack.tools.wheels import wheel_executable
from tests.e2e.conftest import ROOT, Run
from tests.e2e.serving import bridge_runs
from tests.e2e.test_against_envoy import ENVOY
from tests.e2e.test_views import Fleet, about
from tests.eventually import eventually
from tests.ports import free_ports

EXAMPLE = ROOT / "examples" / "envoy-authz"
AUTHZ = ROOT / "tests/e2e/ext_authz/main.go"
ENVOY_OPTIONS = ("--use-dynamic-base-id", "--concurrency", "1", "-l", "error")
DECISION = "envoy/authz/result"
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
    return await opa.ask(DECISION, request)


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


@pytest.mark.parametrize("content", ["", pytest.param("=effective", marks=pytest.mark.long)])
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
    async with Opa(url) as opa:
        # The hub publishes the objects before it has checked the admins' Rego, which takes long on a loaded machine.
        await eventually(lambda: opa.get("envoy/authz"), lambda package: package is not None)
        hub.close()
        assert (await _result(opa, _request("/admin/users", "book-admins")))["headers"] == {"x-access-rule": ADMIN}
        denied = await _result(opa, _request("/admin", "staff"))
        assert denied["body"] == "example.com/AccessPolicy/shop/admin admits the groups book-admins"
        assert not (await _result(opa, _request("/", host="other.example.com")))["allowed"]


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    rule: str  # the header that the decision adds to the request, as the backend gets it
    body: str


def _send(port: int, path: str, *groups: str, method: str = "GET", host: str = "books.example.com") -> _Response:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, headers={"host": host} | ({"x-groups": ",".join(groups)} if groups else {}))
    response = connection.getresponse()
    found = _Response(response.status, response.headers.get("x-seen-rule", ""), response.read().decode())
    connection.close()
    return found


async def _sent(port: int, path: str, *groups: str, **more: str) -> _Response:
    return await asyncio.to_thread(_send, port, path, *groups, **more)


def _snippets(page: str) -> dict[str, Any]:
    """The documented configuration of Envoy, by its keys."""
    text = (ROOT / "docs" / "how-to" / page).read_text()
    found: dict[str, Any] = {}
    for snippet in re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        found |= yaml.safe_load(snippet)
    return found


def _envoy_config(port: int, admin: int, authz: int) -> dict[str, Any]:
    """The documented filters, before a backend that returns the header that it gets."""
    documented = _snippets("authorize-requests-in-envoy.md")
    routed = {
        "match": {"prefix": "/"},
        "direct_response": {"status": 200, "body": {"inline_string": "a book"}},
        "response_headers_to_add": [{"header": {"key": "x-seen-rule", "value": "%REQ(x-access-rule)%"}}],
    }
    host = {
        "name": "all",
        "domains": ["*"],
        "routes": [routed],
        "typed_per_filter_config": documented["typed_per_filter_config"],
    }
    types = "type.googleapis.com/envoy.extensions.filters"
    router = {"name": "envoy.filters.http.router", "typed_config": {"@type": f"{types}.http.router.v3.Router"}}
    manager = {
        "@type": f"{types}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "books",
        "route_config": {"virtual_hosts": [host]},
        "http_filters": [*documented["http_filters"], router],
    }
    chain = {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
    protocol = {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http2_protocol_options": {}},
    }
    endpoint = {"endpoint": {"address": _local(authz)}}
    opa = {
        "name": "opa",
        "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": protocol},
        "load_assignment": {"cluster_name": "opa", "endpoints": [{"lb_endpoints": [endpoint]}]},
    }
    listener = {"name": "books", "address": _local(port), "filter_chains": [chain]}
    return {"admin": {"address": _local(admin)}, "static_resources": {"listeners": [listener], "clusters": [opa]}}


def _local(port: int) -> dict[str, Any]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


@contextmanager
def _running(*words: str | Path) -> Iterator[None]:
    with subprocess.Popen(words) as process:
        try:
            yield
        finally:
            process.terminate()


@pytest.mark.long
async def test_real_envoy_lets_requests_pass_as_the_example_decides(served: tuple[Opa, Path], tmp_path: Path) -> None:
    """opa-envoy-plugin is not in OPA's releases for a command line: a program of ours asks this OPA as it does."""
    opa, folder = served
    port, admin, authz = free_ports(3)
    program = GoBuild("github.com/envoyproxy/go-control-plane/envoy", "v1.37.0", ".", main=AUTHZ.read_text())
    config = tmp_path / "envoy.json"
    # A loaded machine may take longer than the documented 0.25 s for a decision, and then Envoy denies the request.
    documented = _envoy_config(port, admin, authz)
    config.write_text(json.dumps(documented).replace('"timeout": "0.25s"', '"timeout": "60s"'))
    assert '"timeout": "60s"' in config.read_text()
    with ExitStack() as stack:
        stack.enter_context(
            _running(go_program("ext-authz", program), f"127.0.0.1:{authz}", f"{opa.url}/v1/data/{DECISION}")
        )
        stack.enter_context(_running(wheel_executable(*ENVOY), "-c", config, *ENVOY_OPTIONS))
        send = partial(_sent, port)
        await eventually(lambda: send("/poems"), lambda response: response.status == 200)
        assert await send("/poems?page=2") == _Response(200, CATALOG, "a book")
        assert await send("/admin/users", "book-admins") == _Response(200, ADMIN, "a book")
        denied = await send("/admin", "staff")
        assert (denied.status, denied.body) == (
            403,
            "example.com/AccessPolicy/shop/admin admits the groups book-admins",
        )
        assert (await send("/poems", method="TRACE")).status == 403
        other = await send("/", "book-admins", host="other.example.com")
        assert (other.status, "other.example.com" in other.body) == (403, True)
        policies = folder / "30-policies.yaml"
        policies.write_text(policies.read_text().replace("[book-admins]", "[staff]"))
        await eventually(lambda: send("/admin", "staff"), lambda response: response.status == 200)


def test_the_documented_plugin_extends_the_configuration_of_an_opa(bridge: Run) -> None:
    """The plugin itself is in OPA's images alone; its options are those of its documentation."""
    page = (ROOT / "docs" / "how-to" / "authorize-requests-in-envoy.md").read_text()
    (plugin,) = re.findall(r"^```yaml\n(plugins:\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
    config = yaml.safe_load(bridge("opa-config").stdout + plugin)
    assert config["bundles"]
    assert config["plugins"]["envoy_ext_authz_grpc"]["path"] == "envoy/authz/result"
