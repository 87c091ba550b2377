"""The HTTP API of `pbctl run`, as browsers and programs use it."""

import asyncio
import contextlib
import io
import json
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from bridge.files import rego_root
from bridge.opa.bundle import BUNDLE_PATH
from bridge.web.queries import ALLOWED
from tests.builders import GATEWAY_API, gateway, http_route, resource
from tests.e2e.conftest import SHOP, Run
from tests.e2e.serving import bridge_runs
from tests.kgateway import UNCERTAIN

CART = "gateway.networking.k8s.io/HTTPRoute/shop/cart"
CHECKOUT = f"{CART}#checkout"
GATEWAY = "gateway.networking.k8s.io/Gateway/infra/public"
BRAND = "example.com/ColorPolicy/infra/brand"
PATIENCE = 300.0
# A hostile name, in a place where everything is allowed.
HOSTILE = '</script><img src=x onerror=alert(1)>\u2028"\n\nevent: fake\ndata: {}\n\n' + "x" * 253
FIRST, SECOND = "the-first-token-0123456789-abcdefgh", "the-second-token-0123456789-abcdefg"


WRONG = """
apiVersion: example.com/v1
kind: ColorPolicy
metadata: {name: near, namespace: shop}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: crat}], defaults: {theme: dusk}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: near, namespace: shop}
spec:
  parentRefs: [{name: pubic, namespace: infra}]
  rules: [{name: all, backendRef: [], backendRefs: [{name: crat, port: 8080}]}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fogpolicies.example.org, labels: {gateway.networking.k8s.io/policy: Direct}}
spec:
  group: example.org
  names: {kind: FogPolicy, plural: fogpolicies, singular: fogpolicy, listKind: FogPolicyList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""


@dataclass
class Served:
    """A bridge that serves a copy of the example."""

    process: subprocess.Popen[str]
    folder: Path
    url: str

    def write(self, name: str, *objects: Any) -> None:
        """Put a manifest into the folder."""
        (self.folder / name).write_text(yaml.safe_dump_all(objects))


@contextlib.contextmanager
def serving(bridge_path: Path, environment: dict[str, str], folder: Path, *more: str) -> Iterator[Served]:
    """A bridge that has said where it is."""
    with bridge_runs(bridge_path, environment, folder.parent / "log", "--manifests", folder, *more) as found:
        yield Served(found.process, folder, found.url)


@pytest.fixture(scope="module")
def served(
    bridge_path: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """A bridge on the example. Who writes into its folder puts it back."""
    folder = shutil.copytree(SHOP, tmp_path_factory.mktemp("web") / "shop")
    with serving(bridge_path, environment, folder, "--listen", "127.0.0.1:0") as found:
        yield found


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_thousand_clients_that_read_nothing_cost_little_memory(served: Served) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    request = f"GET /vendor/cytoscape.js HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    before = _resident(served.process.pid)
    with contextlib.ExitStack() as stack:
        for _ in range(1000):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect((host, int(port)))
            client.sendall(request)
        with urllib.request.urlopen(f"{served.url}/readyz", timeout=60) as answer:  # noqa: S310 (always http on loopback)
            assert answer.status == 200
        assert _resident(served.process.pid) - before < 64


def _resident(process: int) -> int:
    """The memory of a process, in MiB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) >> 10


class Events:
    """Server-sent events as a client reads them; keeps the name of the last."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.last_id = ""

    async def next(self, name: str) -> Any:
        """The data of the next event of a name."""
        async with asyncio.timeout(PATIENCE):
            event = ""
            while line := (await self._response.content.readuntil(b"\n")).decode():
                field, _, value = line.rstrip("\n").partition(": ")
                if field == "event":
                    event = value
                elif field == "id":
                    self.last_id = value
                elif field == "data" and event == name:
                    return json.loads(value)
        raise AssertionError(f"no event {name} any more")

    async def until(self, name: str, want: Any) -> Any:
        """The data of the next event of a name for which `want` is true."""
        async with asyncio.timeout(PATIENCE):
            while True:
                data = await self.next(name)
                if want(data):
                    return data


@contextlib.asynccontextmanager
async def events(url: str, **headers: str) -> AsyncIterator[Events]:
    """The events at a URL."""
    async with (
        aiohttp.ClientSession(read_bufsize=1 << 24, timeout=aiohttp.ClientTimeout(total=None)) as session,
        session.get(url, headers={name.replace("_", "-"): value for name, value in headers.items()}) as response,
    ):
        assert response.status == 200, await response.text()
        assert response.headers["Content-Type"].startswith("text/event-stream")
        yield Events(response)


async def get(url: str, **headers: str) -> tuple[int, Any]:
    """Status and JSON of an answer."""
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
        return response.status, await response.json()


async def post(url: str, body: str | io.BytesIO) -> tuple[int, Any]:
    """The same of something that is sent."""
    async with aiohttp.ClientSession() as session, session.post(url, data=body) as response:
        return response.status, await response.json()


def policy(name: str, target: str, accent: str) -> Any:
    """A ColorPolicy in shop on a route."""
    ref = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": target}
    spec = {"targetRefs": [ref], "defaults": {"strategy": "patch", "colors": {"accent": accent}}}
    return resource("example.com/v1", "ColorPolicy", name, "shop", spec=spec)


async def test_the_page_is_kept_to_itself(served: Served) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{served.url}/") as response:
            assert response.status == 200
            rules = response.headers["Content-Security-Policy"]
            assert "default-src 'none'" in rules
            assert "unsafe" not in rules
            assert "frame-ancestors 'none'" in rules
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            etag = response.headers["ETag"]
        async with session.get(f"{served.url}/", headers={"If-None-Match": etag}) as response:
            assert response.status == 304
        for path in ("/../guard.py", "/%2e%2e/guard.py", "/..%2fguard.py", "/nothing.js", "//etc/passwd"):
            async with session.get(f"{served.url}{path}") as response:
                assert response.status == 404, path
        async with session.get(f"{served.url}/api/topology", headers={"Host": "evil.example"}) as response:
            assert response.status == 421
        async with session.get(f"{served.url}/api/topology") as response:
            assert response.headers["Cache-Control"] == "no-store"
        for path, status in (("/livez", 200), ("/readyz", 200), ("/metrics", 200), (BUNDLE_PATH, 421)):
            async with session.get(f"{served.url}{path}", headers={"Host": "bridge.example"}) as response:
                assert response.status == status, path
        async with session.get(f"{served.url}{BUNDLE_PATH}") as response:
            assert response.status == 401


async def test_the_picture_shows_the_hierarchy_with_policies_and_the_outcome_of_them(served: Served) -> None:
    async with asyncio.timeout(PATIENCE):
        found: Any = {"whole": False}
        # The picture is whole before the first outcomes are computed.
        while not found["whole"] or not found["policies"][BRAND]["outcome"]:
            status, found = await get(f"{served.url}/api/topology")
            assert status == 200
    nodes = found["nodes"]
    assert found["total"] == len(nodes)
    assert nodes[CHECKOUT]["parents"] == [CART]
    assert nodes[CHECKOUT]["level"] == "Rule"
    assert "core/Service/shop/cart" in nodes[CHECKOUT]["leadsTo"]
    assert f"{GATEWAY}#https" in nodes[CART]["parents"]
    assert [one["policy"] for one in nodes[GATEWAY]["policies"]] == [BRAND]
    assert found["policies"][BRAND]["outcome"] == "PartiallyProgrammed"
    lost = found["policies"]["example.com/ColorPolicy/shop/summer-sale"]
    assert [condition["reason"] for condition in lost["conditions"]] == ["TargetNotFound"]
    overridden = [name for name, about in found["policies"].items() if about["outcome"] == "Overridden"]
    assert overridden
    assert nodes[CART]["hostnames"] == ["shop.example.com"]
    _, part = await get(f"{served.url}/api/topology?limit=4")
    assert len(part["nodes"]) < 5
    assert part["total"] == found["total"]
    assert part["policies"] == found["policies"]
    for wrong, code in (("limit=x", 400), ("limit=0", 400), ("colour=red", 400)):
        status, said = await get(f"{served.url}/api/topology?{wrong}")
        assert (status, "error" in said) == (code, True), wrong


async def test_picture_and_other_problems_are_the_list_of_bridge_problems(
    bridge_path: Path, environment: dict[str, str], bridge: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "wrong"
    shutil.copytree(SHOP, folder)
    (folder / "80-uncertain.yaml").write_text(UNCERTAIN)
    (folder / "81-wrong.yaml").write_text(WRONG)
    listed = json.loads(bridge("problems", "-o", "json", "--manifests", folder).stdout)
    expected = {_named(one["subject"], one) for one in listed}
    reasons = {"Incomplete", "Overridden", "ParentNotFound", "TargetNotFound", "UnknownField"}
    assert {reason for _, reason, *_ in expected} >= reasons
    assert sum("did you mean" in message for *_, message, _ in expected) >= 4
    with serving(bridge_path, environment, folder) as served:
        async with asyncio.timeout(PATIENCE):
            found: set[tuple[str, ...]] = set()
            while found != expected:
                _, picture = await get(f"{served.url}/api/topology")
                _, others = await get(f"{served.url}/api/problems")
                problems = [
                    *others["problems"],
                    *(one for each in picture["policies"].values() for one in each["problems"]),
                    *(one for each in picture["nodes"].values() for one in each["problems"]),
                ]
                found = {_named(one["subject"], one) for one in problems}
                await asyncio.sleep(0.2)


def _named(subject: str, problem: dict[str, str]) -> tuple[str, ...]:
    return subject, problem["reason"], problem["message"], problem.get("enforcementAction", "deny")


async def test_a_change_is_reported_as_its_differences_and_a_break_misses_nothing(served: Served) -> None:
    async with events(f"{served.url}/api/stream") as stream:
        assert (await stream.next("topology"))["reload"]
        await stream.until("state", lambda state: state["ready"] and state["whole"])
        served.write("90-more.yaml", policy("more", "cart", "pink"))
        name = "example.com/ColorPolicy/shop/more"
        reported = await stream.until("topology", lambda data: CART in data.get("nodes", {}))
        assert name in [one["policy"] for one in reported["nodes"][CART]["policies"]]
        assert not reported["reload"]
        assert stream.last_id == reported["revision"]
        if name not in reported["policies"]:  # its outcome may be reported after its place
            reported = await stream.until("topology", lambda data: name in data["policies"])
        had = reported["revision"]
    (served.folder / "90-more.yaml").unlink()
    async with events(f"{served.url}/api/stream", Last_Event_ID=had) as stream:
        reported = await stream.until("topology", lambda data: CART in data.get("nodes", {}))
        assert name not in [one["policy"] for one in reported["nodes"][CART]["policies"]]
        if name not in reported["gonePolicies"]:
            await stream.until("topology", lambda data: name in data["gonePolicies"])


async def test_queries_are_passed_on_and_nothing_else_is(served: Served) -> None:
    url = f"{served.url}/api/query"
    status, said = await post(f"{url}/effective", json.dumps({"input": {"targets": [CHECKOUT]}}))
    assert status == 200
    assert said["result"][0]["target"] == CHECKOUT
    for name, body, code, word in (
        ("effective", '{"input": {"targets": ["x"]}}', 400, "InvalidInput"),
        ("effective", '{"input": {"targets": ["core/Service/a/b"]}}', 404, "TargetNotFound"),
        ("effective", "{", 400, "InvalidInput"),
        ("effective", "[]", 400, "InvalidInput"),
        ("effective", "[" * 20_000, 400, "InvalidInput"),
        ("effective", '{"input":' * 20_000 + "1" + "}" * 20_000, 400, "InvalidInput"),
        ("effective", '{"input": {"changes": {"upsert": ' + "[" * 500 + "]" * 500 + "}}}", 400, "InvalidInput"),
        ("resource_versions", "{}", 404, "UnknownQuery"),
        ("..%2F..%2Fobjects", "{}", 404, "UnknownQuery"),
    ):
        status, said = await post(f"{url}/{name}", body)
        assert (status, said["error"]["code"]) == (code, word), name
    status, said = await post(f"{url}/effective", io.BytesIO(b" " * (5 << 20)))
    assert (status, said["error"]["code"]) == (413, "TooLarge")


async def test_object_is_returned_as_the_bridge_has_it(served: Served) -> None:
    status, said = await get(f"{served.url}/api/object?key={CART}%23checkout")
    assert status == 200
    assert said["object"]["metadata"]["name"] == "cart"
    for key, code in ((f"{CART}-none", 404), ("httproute/cart", 400), ("", 400)):
        for what in ("object", "events"):
            assert (await get(f"{served.url}/api/{what}?key={key}"))[0] == code


async def test_a_pasted_manifest_is_analysed_and_all_its_mistakes_are_reported(served: Served) -> None:
    url = f"{served.url}/api/changes"
    pasted = yaml.safe_dump_all([policy("more", "cart", "pink"), policy("lost", "nowhere", "pink")])
    status, said = await post(url, pasted)
    assert status == 200
    assert said["objects"]["created"] == ["example.com/ColorPolicy/shop/lost", "example.com/ColorPolicy/shop/more"]
    assert [problem["reason"] for problem in said["problems"]["introduced"]] == ["TargetNotFound"]
    assert CHECKOUT in {difference["target"] for difference in said["effective"]}
    assert said["mistakes"] == []
    _, same = await post(url, json.dumps(policy("more", "cart", "pink")))
    assert same["objects"]["created"] == ["example.com/ColorPolicy/shop/more"]
    broken = "\n---\n".join([f"kind: Broken{number}" for number in range(49)] + ["a: [", pasted])
    status, said = await post(url, broken)
    assert status == 200
    assert len(said["mistakes"]) == 50
    assert [mistake["line"] for mistake in said["mistakes"]][:3] == [1, 3, 5]
    assert len(said["objects"]["created"]) == 2
    _, deleted = await post(f"{url}?delete=colorpolicy/infra/brand", "")
    assert deleted["objects"]["deleted"] == [BRAND]
    for body, query, code in (("", "", 400), ("", "?delete=colorpolicy/infra/brnd", 404)):
        status, _ = await post(url + query, body)
        assert status == code


@pytest.mark.long
async def test_abandoned_pastes_end_and_delay_no_other(served: Served) -> None:
    host, _, port = served.url.removeprefix("http://").partition(":")
    pasted = b"- []\n" * 800_000
    head = f"POST /api/changes HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(pasted)}\r\n\r\n"
    for _ in range(7):
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(head.encode() + pasted)
        await writer.drain()
        await asyncio.sleep(0.3)  # the whole body arrives
        writer.transport.abort()
    started = time.monotonic()
    async with asyncio.timeout(30):
        served.write("90-new.yaml", policy("new", "cart", "blue"))
        status, _ = await post(f"{served.url}/api/changes", yaml.safe_dump(policy("more", "cart", "pink")))
    (served.folder / "90-new.yaml").unlink()
    assert status == 200
    assert time.monotonic() - started < 10  # one such paste takes 4 s and more


async def test_hostile_names_end_no_event_and_no_document(served: Served) -> None:
    hostile = policy("more", "cart", HOSTILE)
    async with events(f"{served.url}/v1/effective?target={CART}&watch=true") as stream:
        await stream.next("synced")
        served.write("90-hostile.yaml", hostile)
        await stream.until("effective", _has)
        (served.folder / "90-hostile.yaml").unlink()
        await stream.until("effective", lambda data: not _has(data))
    _, said = await post(f"{served.url}/api/changes", yaml.safe_dump(policy(HOSTILE, "cart", "x")))
    assert len(said["mistakes"]) == 1


def _has(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has, value.values()))
    return any(map(_has, value)) if isinstance(value, list) else value == HOSTILE


async def test_wrong_targets_are_reported_with_near_matches(served: Served) -> None:
    for requested, code, words in (
        ("target=httproute/cort", 404, "did you mean HTTPRoute/shop/cart?"),
        ("target=httproute/shop/cart%23chekout&watch=true", 404, "did you mean HTTPRoute/shop/cart#checkout?"),
        ("target=x", 400, "is not a kind"),
        ("target=service/posts&policyKind=colorpolicie", 404, "did you mean ColorPolicy"),
        ("target=service/posts&sourceNamespace=shp", 404, "did you mean shop?"),
        ("target=service/posts&watch=perhaps", 400, "true or false"),
        ("watch=true", 400, "give 1 to 100 targets"),
        ("target=service/posts&wach=true", 400, "unknown parameter 'wach'"),
    ):
        status, said = await get(f"{served.url}/v1/effective?{requested}")
        assert status == code, requested
        assert words in said["error"]["message"]


async def test_a_page_left_open_continues_after_a_restart(
    bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    folder = shutil.copytree(SHOP, tmp_path / "shop")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        listen = f"127.0.0.1:{free.getsockname()[1]}"
    with serving(bridge_path, environment, folder, "--listen", listen) as served:
        async with events(f"{served.url}/api/stream") as stream:
            await stream.until("state", lambda state: state["whole"])
            had = stream.last_id
            # Streams that are open do not keep it from ending.
            served.process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(served.process.wait, PATIENCE) == 0
    with serving(bridge_path, environment, folder, "--listen", listen) as served:
        async with events(f"{served.url}/api/stream", Last_Event_ID=had) as stream:
            assert (await stream.next("topology"))["reload"]
            await stream.until("state", lambda state: state["whole"])


def test_elsewhere_than_on_loopback_it_does_not_start_without_a_token(bridge_process: Run) -> None:
    refused = bridge_process("run", "--manifests", SHOP, "--listen", "0.0.0.0:0")
    assert refused.returncode == 2
    assert "--web-token-file" in refused.stderr


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("x", "a token has at least 32 characters, and this one has 1"),
        (32 * "xy", "the token has only 2 different characters: use a random one"),
    ],
)
def test_it_does_not_start_with_a_token_that_may_be_guessed(
    bridge_process: Run, tmp_path: Path, token: str, why: str
) -> None:
    file = tmp_path / "token"
    file.write_text(token)
    refused = bridge_process("run", "--manifests", SHOP, "--web-token-file", file)
    assert refused.returncode == 2
    assert refused.stderr == f"error: the token file {file}: {why}; `pbctl admin token` prints a suitable one\n"


async def test_with_a_token_file_it_wants_the_token(
    bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    folder = shutil.copytree(SHOP, tmp_path / "shop")
    token = tmp_path / "token"
    token.write_text(f"{FIRST}\n")
    with serving(bridge_path, environment, folder, "--listen", "127.0.0.1:0", "--web-token-file", str(token)) as served:
        for path in (
            "/api/topology",
            "/api/stream",
            "/api/problems",
            "/api/violations",
            "/api/uncovered?without=colorpolicy",
            f"/api/object?key={CART}",
            f"/api/events?key={CART}",
            f"/v1/effective?target={CART}",
        ):
            status, said = await get(served.url + path)
            assert (status, said["error"]["code"]) == (401, "Unauthorized")
        assert (await get(f"{served.url}/api/topology", Authorization=f"Bearer {FIRST}"))[0] == 200
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
            async with browser.post(f"{served.url}/api/login", json={"token": FIRST}) as response:
                assert response.status == 200
            async with browser.get(f"{served.url}/api/topology") as response:
                assert response.status == 200
            token.write_text(f"{SECOND}\n")
            async with browser.get(f"{served.url}/api/topology") as response:
                assert response.status == 401
        assert (await get(f"{served.url}/api/topology", Authorization=f"Bearer {SECOND}"))[0] == 200


async def test_a_client_that_has_the_token_reads_and_changes_nothing(
    bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    folder = shutil.copytree(SHOP, tmp_path / "shop")
    (tmp_path / "token").write_text(f"{FIRST}\n")
    more = ["--listen", "127.0.0.1:0", "--web-token-file", str(tmp_path / "token")]
    queries = {file.stem for file in (rego_root() / "bridge" / "v1").glob("*.rego")} - {"input"}
    assert queries > ALLOWED & queries > {"effective"}
    new = json.dumps(policy("new", "cart", "black"))
    with bridge_runs(bridge_path, environment, tmp_path / "log", "--manifests", folder, *more) as found:
        before = await _everything(found.opa_url, folder)
        assert {"objects", "index", "kinds"} <= before.keys()
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {FIRST}"}) as session:

            async def send(method: str, path: str, body: str | None = new) -> int:
                async with session.request(method, f"{found.url}{path}", data=body) as response:
                    return response.status

            assert await send("POST", "/api/changes") == 200
            requested = {"input": {"targets": [CART], "changes": {"upsert": [json.loads(new)], "delete": [BRAND]}}}
            assert await send("POST", "/api/query/effective", json.dumps(requested)) == 200
            for name in sorted(queries):
                assert (await send("POST", f"/api/query/{name}") != 404) == (name in ALLOWED), name
            own = ("/api/topology", "/api/changes", "/api/query/effective")
            for path in (*own, "/", "/v1/data/objects", "/v1/policies/x"):
                for method in ("PUT", "PATCH", "DELETE", *(() if path in own else ("POST",))):
                    assert await send(method, path) in {404, 405}, (method, path)
            for path in ("/v1/data", "/v1/data/objects", "/v1/policies", "/v1/config"):  # OPA's own are not passed on
                assert await send("GET", path, None) == 404
        assert await _everything(found.opa_url, folder) == before


async def _everything(opa_url: str, folder: Path) -> dict[str, Any]:
    """What OPA holds, and the manifests."""
    held = {name: (await get(f"{opa_url}/v1/data/{name}"))[1]["result"] for name in ("objects", "index", "kinds")}
    return {**held, "files": {file.name: file.read_text() for file in folder.iterdir()}}


async def test_followed_policies_lose_a_rejection_when_its_controller_takes_it_back(
    bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()

    def report(status: str) -> None:
        condition = {"type": "Accepted", "status": status, "reason": "Invalid", "message": "no such provider"}
        reported = {
            "controllerName": "gateway.envoyproxy.io/gatewayclass-controller",
            "ancestorRef": {"group": GATEWAY_API, "kind": "Gateway", "name": "edge", "namespace": "shop"},
            "conditions": [condition],
        }
        ref = {"group": GATEWAY_API, "kind": "HTTPRoute", "name": "cart"}
        security = {
            "apiVersion": "gateway.envoyproxy.io/v1alpha1",
            "kind": "SecurityPolicy",
            "metadata": {"name": "login", "namespace": "shop"},
            "spec": {"targetRefs": [ref], "cors": {"maxAge": "5s"}},
            "status": {"ancestors": [reported]},
        }
        (folder / "policy.yaml").write_text(yaml.safe_dump(security))

    controller = "gateway.envoyproxy.io/gatewayclass-controller"
    routes = [
        resource(f"{GATEWAY_API}/v1", "GatewayClass", "main", spec={"controllerName": controller}),
        gateway("edge", namespace="shop"),
        http_route("cart", "shop", parents=("edge",)),
    ]
    (folder / "routes.yaml").write_text(yaml.safe_dump_all(routes))
    report("False")
    with serving(bridge_path, environment, folder, "--listen", "127.0.0.1:0") as served:
        async with events(f"{served.url}/v1/effective?target={CART}&watch=true") as stream:
            assert "no such provider" in str(await stream.until("effective", lambda _: True))
            await stream.next("synced")
            report("True")
            await stream.until("effective", lambda data: "no such provider" not in str(data))
