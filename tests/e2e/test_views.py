"""A hub with views, and real OPAs as its edges, which have no bridge."""

import asyncio
import functools
import http.client
import io
import json
import re
import shutil
import socket
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
import yaml

from bridge.admission.certificates import create_certificate
from bridge.http.gate import Limits
from bridge.opa.bundle import BUNDLE_NAME, edge_config, view_path
from bridge.opa.credentials import kept_credentials, new_credentials
from tests.e2e.conftest import SHOP, Run
from tests.e2e.serving import bridge_runs, fetch
from tests.e2e.test_get import FAILING
from tests.e2e.test_hostile_names import ESCAPE, OBEYED
from tests.e2e.test_hostile_names import NAMES as HOSTILE_NAMES
from tests.e2e.test_hostile_names import objects as hostile_objects
from tests.eventually import equal_to, eventually, eventually_blocking

PUBLIC = "gateway.networking.k8s.io/Gateway/infra/public"
STOREFRONT = "gateway.networking.k8s.io/HTTPRoute/shop/storefront"

NO_TOKEN = "it is configured for the view all, of which it has no token"
_MODES = ("mode: Manage", "mode: Observe")
MODULE = """
apiVersion: v1
kind: ConfigMap
metadata: {{name: acme, namespace: opa-policies, labels: {{openpolicyagent.org/policy: rego}}}}
data: {{acme.rego: "package acme\\n\\nnumber := {}"}}
"""


def free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def _send(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(url, data, timeout=180) as response:  # noqa: S310 (loopback)
        return json.load(response)


def query(opa_url: str, name: str, query_input: dict[str, Any]) -> Any:
    return _send(f"{opa_url}/v1/data/bridge/v1/{name}", {"input": query_input})["result"]


def about(opa_url: str) -> dict[str, str]:
    """What the OPA says of its view."""
    found: dict[str, str] = _send(f"{opa_url}/v1/data/bridge_view")["result"]
    return found


@dataclass
class Fleet:
    """A hub for a copy of the example, with an address and credentials that survive it, and edges."""

    folder: Path
    bridge_path: Path
    opa_path: Path
    environment: dict[str, str]
    stack: ExitStack
    address: str = field(default_factory=free_address)

    def __post_init__(self) -> None:
        shutil.copytree(SHOP, self.folder / "manifests")
        self.credentials = kept_credentials(self.folder / "credentials")

    def start_hub(self, *views: str, settings: Path | None = None) -> ExitStack:
        """Start a hub with these views; it is killed when the result is closed. `opa_url` is its OPA's from then on."""
        stack = self.stack.enter_context(ExitStack())
        options = [word for view in views for word in ("--publish", view)]
        options += ["--publish-listen", self.address, "--publish-credentials", str(self.folder / "credentials")]
        options += ["--manifests", str(self.folder / "manifests"), "--listen", "127.0.0.1:0"]
        options += ["--config", str(settings)] if settings else []
        hub = bridge_runs(self.bridge_path, self.environment, self.folder / "log", *options)
        serving = stack.enter_context(hub)
        self.opa_url, self.bridge_url = serving.opa_url, serving.url
        return stack

    def start_edge(self, name: str, config: dict[str, Any], *options: str) -> tuple[str, subprocess.Popen[bytes]]:
        """Start an OPA; return its URL. Its folder keeps what it persists."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "opa.json").write_text(json.dumps(config))
        address = free_address()
        words = [
            str(self.opa_path),
            "run",
            "--server",
            "--addr",
            address,
            "--config-file",
            "opa.json",
            "--log-level=error",
            *options,
        ]
        process = subprocess.Popen(words, cwd=folder, env={**self.environment, "HOSTNAME": name})
        self.stack.enter_context(process)
        self.stack.callback(process.kill)
        return f"http://{address}", process

    def config(self, view: str) -> dict[str, Any]:
        """What `pbctl admin opa-config --view` prints."""
        return edge_config(f"http://{self.address}", self.credentials.trust, view)

    def change(self, manifest: str, old: str, new: str) -> None:
        """Replace a text in a manifest."""
        file = self.folder / "manifests" / manifest
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    def get_view(self, name: str) -> tuple[int, bytes]:
        """Fetch the bundle of a view; return status and body."""
        return self.get(view_path(name), self.credentials.token)

    def get(self, path: str, token: str | None = None) -> tuple[int, bytes]:
        """Send a request to the hub; return status and body."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            with urllib.request.urlopen(
                urllib.request.Request(f"http://{self.address}{path}", headers=headers)
            ) as found:
                return found.status, found.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()


@pytest.fixture
def fleet(bridge_path: Path, opa_path: Path, environment: dict[str, str], tmp_path: Path) -> Iterator[Fleet]:
    with ExitStack() as stack:
        yield Fleet(tmp_path, bridge_path, opa_path, environment, stack)


def _lookups(opa_url: str, nodes: list[str]) -> dict[str, Any]:
    """The results of the queries that an edge with answers has."""
    return {
        "effective": [query(opa_url, "effective", {"targets": [node]}) for node in nodes],
        "request": [
            query(opa_url, "request", {"host": host, "path": path, **more})
            for host in ("shop.example.com", "blog.example.com", "nowhere.example.com")
            for path in ("/", "/cart", "/admin/x")
            for more in ({"gateway": PUBLIC}, {"gateway": PUBLIC, "method": "POST", "headers": {"x-canary": "1"}})
        ],
    }


def _answers(opa_url: str, nodes: list[str]) -> dict[str, Any]:
    """The results of the queries about these nodes, and about requests to the Gateway."""
    objects = sorted({node.partition("#")[0].partition("@")[0] for node in nodes})
    requests = [
        {"gateway": PUBLIC, "host": host, "path": path}
        for host in ("shop.example.com", "blog.example.com", "nowhere.example.com")
        for path in ("/", "/cart", "/admin/x")
    ]
    return {
        "effective": query(opa_url, "effective", {"targets": nodes}),
        "explain": {node: query(opa_url, "explain", {"target": node}) for node in nodes},
        "problems": query(opa_url, "problems", {"objects": objects}),
        "request": [query(opa_url, "request", request) for request in requests],
    }


def test_edges_answer_as_the_hub_does_and_follow_its_changes(fleet: Fleet) -> None:
    fleet.start_hub("all", "Gateway/infra/public")
    whole, _ = fleet.start_edge("whole", fleet.config("all"))
    one, _ = fleet.start_edge("one", fleet.config("infra.public"))
    for url in (whole, one):
        eventually_blocking(functools.partial(about, url))
    below = [
        node for node in query(fleet.opa_url, "tree", {"root": PUBLIC})["nodes"] if not node.startswith("core/Name")
    ]
    assert STOREFRONT in below

    def compare() -> None:
        wanted = _answers(fleet.opa_url, below)
        assert _answers(one, below) == wanted
        assert _answers(whole, below) == wanted
        everything = {"effective": query(fleet.opa_url, "problems", {}), "status": query(fleet.opa_url, "policies", {})}
        assert {"effective": query(whole, "problems", {}), "status": query(whole, "policies", {})} == everything

    compare()
    objects = [_count(_send(f"{url}/v1/data/objects")["result"]) for url in (one, whole)]
    assert objects[0] < objects[1]

    revisions = _revisions(one, whole)
    fleet.change("63-storefront.yaml", "theme: dark", "theme: light")
    for url, revision in revisions.items():
        _wait_for_other_revision(url, revision)
    compare()
    assert "light" in json.dumps(query(one, "effective", {"targets": [STOREFRONT]}))

    # What does not concern the Gateway changes the view of everything only.
    revisions = _revisions(one, whole)
    (fleet.folder / "manifests" / "99.yaml").write_text(
        (SHOP / "22-gateway-internal.yaml").read_text().replace("namespace: infra", "namespace: aside")
    )
    _wait_for_other_revision(whole, revisions[whole])
    compare()
    assert _revisions(one) == {one: revisions[one]}


@pytest.mark.parametrize("content", ["", pytest.param(".effective", marks=pytest.mark.long)])
def test_edge_with_a_part_of_another_gateway_never_answers_differently_about_it(fleet: Fleet, content: str) -> None:
    """Routes of one Gateway bring others, the class and Namespaces into its view, without all that is below them."""
    fleet.start_hub("Gateway/infra/public", "Gateway/infra/public=effective")
    edge, _ = fleet.start_edge("edge", fleet.config(f"infra.public{content}"))
    eventually_blocking(functools.partial(about, edge))
    gateways = query(fleet.opa_url, "names", {"types": [PUBLIC.partition("/infra")[0]]})
    assert len(gateways) > 1
    for gateway in gateways:
        for host in ("shop.example.com", "blog.example.com", "admin.example.com", "nowhere.example.com"):
            for path in ("/", "/cart", "/admin/x"):
                request = {"gateway": gateway, "host": host, "path": path}
                wanted, answered = query(fleet.opa_url, "request", request), query(edge, "request", request)
                if gateway == PUBLIC:
                    assert answered["rule"] == wanted["rule"]
                else:
                    assert answered["error"]["code"] == "NotInView"
        targets = {"targets": [gateway]}
        if not content:
            assert query(edge, "problems", {"objects": [gateway]}) == (
                query(fleet.opa_url, "problems", {"objects": [gateway]})
                if gateway == PUBLIC
                else query(edge, "effective", targets)
            )
        if gateway == PUBLIC:
            assert query(edge, "effective", targets) == query(fleet.opa_url, "effective", targets)
        else:
            assert query(edge, "effective", targets)["error"]["code"] == "NotInView"


@pytest.mark.long
def test_edges_with_answers_look_up_the_results_of_the_hub(fleet: Fleet, bridge: Run) -> None:
    fleet.start_hub("Gateway/infra/public", "Gateway/infra/public=effective")
    edge, _ = fleet.start_edge("edge", fleet.config("infra.public.effective"))
    revision = eventually_blocking(functools.partial(about, edge))["revision"]
    below = [
        node for node in query(fleet.opa_url, "tree", {"root": PUBLIC})["nodes"] if not node.startswith("core/Name")
    ]

    def compare() -> None:
        wanted, found = _lookups(fleet.opa_url, below), _lookups(edge, below)
        for answer in wanted["request"]:
            if answer["nearest"]:
                answer["nearest"]["candidates"] = []
        assert found == wanted

    compare()
    fleet.change("63-storefront.yaml", "theme: dark", "theme: light")
    _wait_for_other_revision(edge, revision)
    compare()
    assert "light" in json.dumps(query(edge, "effective", {"targets": [STOREFRONT]}))
    for name, more in (("effective", "changes"), ("explain", "policyKind")):
        error = query(edge, name, {"targets": below[:1], "target": STOREFRONT, more: {}})["error"]
        assert error["code"] == "NeedsObjects"
        assert error["message"].endswith(
            "needs a view with content objects: infra.public.effective has content effective"
        )

    for command in (
        "effective httproute/storefront -n shop",
        "effective",
        "get policies",
        "problems",
        "violations",
        "status",
    ):
        refused = bridge(*command.split(), "--opa", edge)
        assert refused.returncode == 2
        assert "the command line needs a view with content objects" in refused.stderr

    # All answers may differ with another kind.
    (fleet.folder / "manifests" / "11-colorpolicy-kind.yaml").unlink()
    storefront = {"targets": [STOREFRONT]}
    before = query(edge, "effective", storefront)
    after = eventually_blocking(lambda: query(edge, "effective", storefront), lambda found: found != before)
    assert after == query(fleet.opa_url, "effective", storefront)
    compare()
    sizes = [len(fleet.get_view(view)[1]) for view in ("infra.public.effective", "infra.public")]
    assert sizes[0] < sizes[1] / 4


@pytest.mark.long
def test_each_bundle_is_of_one_state_while_kinds_and_modules_change(fleet: Fleet) -> None:
    module = fleet.folder / "manifests" / "90-module.yaml"
    module.write_text(MODULE.format(1))
    fleet.start_hub("all", "Gateway/infra/public")
    edge, _ = fleet.start_edge("edge", fleet.config("infra.public"))
    assert eventually_blocking(lambda: _send(f"{edge}/v1/data/acme/number")["result"]) == 1
    seen: dict[str, list[int]] = {"all": [], "infra.public": []}
    for number in range(2, 8):
        module.write_text(MODULE.format(number))
        fleet.change("11-colorpolicy-kind.yaml", "spec:\n", f"# {number}\nspec:\n")
        fleet.change("11-colorpolicy-kind.yaml", *_MODES[:: -1 if number % 2 else 1])
        until = time.monotonic() + 1.2  # a view is published at most once a second
        while time.monotonic() < until:
            for view, numbers in seen.items():
                numbers.append(_check_state(fleet.get_view(view)[1]))
    assert eventually_blocking(lambda: _send(f"{edge}/v1/data/acme/number")["result"], equal_to(7)) == 7
    for view, numbers in seen.items():
        assert numbers == sorted(numbers)
        eventually_blocking(lambda view=view: _check_state(fleet.get_view(view)[1]), equal_to(7))  # type: ignore[misc]


def _check_state(archive: bytes) -> int:
    """Check that the facts in a bundle were made from the policy kinds in it; return the number of its module."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as found:
        files = {entry.name: found.extractfile(entry).read() for entry in found}  # type: ignore[union-attr]
    kinds, facts = json.loads(files["kinds/data.json"]), json.loads(files["facts/data.json"])
    policies = facts["example.com"]["ColorPolicy"]
    stamps = {one["by"] for names in policies.values() for one in names.values()}
    assert stamps == {kinds["example.com/ColorPolicy"]["by"]}
    [text] = [text.decode() for name, text in files.items() if name.endswith(".rego") and b"package acme" in text]
    return int(text.rpartition(" ")[2])


def test_policy_that_makes_a_strategy_fail_is_an_error_at_its_targets_and_holds_no_view(fleet: Fleet) -> None:
    (fleet.folder / "manifests" / "99.yaml").write_text(FAILING)
    fleet.start_hub("Gateway/infra/internal=effective")
    edge, _ = fleet.start_edge("edge", fleet.config("infra.internal.effective"))
    eventually_blocking(functools.partial(about, edge))
    admin, internal = STOREFRONT.replace("storefront", "admin"), PUBLIC.replace("public", "internal")
    given = {"targets": [admin], "policyKind": "acme.example/Rate"}

    def codes(answer: list[dict[str, Any]]) -> set[str]:
        return {path["error"]["code"] for one in answer for path in one["paths"]}

    # The first view may have been published before the module was checked.
    eventually_blocking(lambda: codes(query(edge, "effective", given)), equal_to({"EvaluationFailed"}))
    served = query(edge, "request", {"gateway": internal, "host": "admin.example.com", "path": "/orders"})
    assert served["route"] == admin
    assert codes(served["policies"]) == {"EvaluationFailed"}
    others = {"targets": [STOREFRONT.replace("storefront", "cart")]}
    assert query(edge, "effective", others) == query(fleet.opa_url, "effective", others) != []


async def test_more_edges_behind_one_address_wait_than_other_listeners_serve(fleet: Fleet) -> None:
    fleet.start_hub("Gateway/infra/public=effective")
    await eventually(lambda: asyncio.to_thread(fleet.get_view, "infra.public.effective"), lambda found: found[0] == 200)
    url = f"http://{fleet.address}{view_path('infra.public.effective')}"
    headers = {"Authorization": f"Bearer {fleet.credentials.token}", "Prefer": "wait=60"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as session:

        async def fetch(etag: str) -> tuple[int, str]:
            async with session.get(url, headers={"If-None-Match": etag}) as answer:
                await answer.read()
                return answer.status, answer.headers["ETag"]

        _, etag = await fetch("")
        waiting = asyncio.gather(*(fetch(etag) for _ in range(Limits().per_peer + 100)))
        await asyncio.sleep(1)
        fleet.change("63-storefront.yaml", "theme: dark", "theme: light")
        assert {status for status, _ in await waiting} == {200}


@pytest.mark.long
def test_edge_outlives_the_hub_and_follows_the_next_one(fleet: Fleet) -> None:
    hub = fleet.start_hub("Gateway/infra/public")
    edge, process = fleet.start_edge("edge", fleet.config("infra.public"))
    known = eventually_blocking(lambda: about(edge))
    answer = query(edge, "effective", {"targets": [STOREFRONT]})
    hub.close()
    process.kill()
    process.wait()

    edge, _ = fleet.start_edge("edge", fleet.config("infra.public"))
    assert eventually_blocking(lambda: about(edge)) == known
    assert query(edge, "effective", {"targets": [STOREFRONT]}) == answer

    fleet.start_hub("Gateway/infra/public")
    _, archive = eventually_blocking(lambda: fleet.get_view("infra.public"), lambda found: found[0] == 200)
    assert archive
    assert about(edge)["revision"] == known["revision"]  # the same content is the same revision
    fleet.change("63-storefront.yaml", "theme: dark", "theme: light")
    _wait_for_other_revision(edge, known["revision"])
    assert "light" in json.dumps(query(edge, "effective", {"targets": [STOREFRONT]}))


def test_edge_refuses_bundles_not_signed_for_it_or_too_large_and_fleet_status_shows_it(
    fleet: Fleet, bridge: Run
) -> None:
    fleet.start_hub("all", "Gateway/infra/public")
    other_key = edge_config(f"http://{fleet.address}", fleet.credentials.trust, "all")
    other_key["keys"] = edge_config("", new_credentials().trust, "all")["keys"]
    other_view = fleet.config("infra.public")
    other_view["bundles"][BUNDLE_NAME]["resource"] = view_path("all")
    small = fleet.config("all")
    small["bundles"][BUNDLE_NAME]["size_limit_bytes"] = 1_000
    wanted = {
        "key": (other_key, "failed to verify JWT signature"),
        "view": (other_view, "scope mismatch"),
        "size": (small, "exceeds configured size_limit_bytes (1000 bytes)"),
    }
    for name, (config, error) in wanted.items():
        edge, _ = fleet.start_edge(name, config)
        assert error in eventually_blocking(functools.partial(_error_of, edge))
        assert "result" not in _send(f"{edge}/v1/data/objects")

    url, credentials = f"http://{fleet.address}", fleet.folder / "credentials"
    asked = ("fleet", "status", "--bridge-url", url, "--publish-credentials", credentials)
    shown = eventually_blocking(
        lambda: bridge(*asked), lambda found: all(error in found.stdout for _, error in wanted.values())
    )
    assert shown.returncode == 1


def test_over_tls_edges_with_tokens_of_their_own_are_shown_by_fleet_status(fleet: Fleet, bridge: Run) -> None:
    certificate = create_certificate(("localhost",), fleet.folder)
    tokens = fleet.folder / "tokens"
    tokens.mkdir()
    (tokens / "infra.public").write_text("a-token-of-the-public-view\nanother-token-of-the-view\n")
    settings = fleet.folder / "bridge.yaml"
    settings.write_text(
        f"publish_tokens: {tokens}\npublish_cert_file: {certificate.certificate}\npublish_key_file: {certificate.key}\n"
    )
    fleet.start_hub("all", "Gateway/infra/public", "Gateway/new/such", settings=settings)
    authority = fleet.folder / "ca.pem"
    authority.write_bytes(certificate.authority)
    url = f"https://localhost:{fleet.address.rpartition(':')[2]}"
    for view in ("infra.public", "all"):
        trust = replace(fleet.credentials.trust, token_path="", token="another-token-of-the-view")
        fleet.start_edge(f"edge-{view}", edge_config(url, trust, view, str(authority)))

    asked = ("fleet", "status", "--bridge-url", url, "--publish-credentials", fleet.folder / "credentials")

    def is_complete(found: subprocess.CompletedProcess[str]) -> bool:
        rows = [line.split() for line in found.stdout.splitlines()]
        revisions = {row[0]: row[1] for row in rows if len(row) > 1}
        current = ["edge-infra.public", "infra.public", revisions.get("infra.public"), "0s"] in [
            row[:4] for row in rows
        ]
        # The token of the other one is not of its view.
        return current and re.search(rf"^edge-all +infra.public .*{NO_TOKEN}$", found.stdout, re.MULTILINE) is not None

    answer = eventually_blocking(lambda: bridge(*asked, "--ca-file", authority), is_complete)
    assert answer.returncode == 1
    problem = r"^new\.such +view new\.such selects nothing: no Gateway/new/such exists$"
    assert re.search(problem, answer.stdout, re.MULTILINE), answer.stdout
    document = json.loads(bridge(*asked, "--ca-file", authority, "-o", "json").stdout)
    views = {one["name"]: one for one in document["views"] if one["revision"]}
    assert views.keys() == {"all", "infra.public"}
    assert 0 < views["infra.public"]["objects"] < views["all"]["objects"]
    assert views["all"]["bytes"] > 100_000
    assert re.search(r"wrong_tokens_total{listener=\"edges\"} [1-9]", _page(f"{fleet.bridge_url}/metrics"))
    refused = bridge(*asked)
    assert (refused.returncode, "does not respond" in refused.stderr) == (2, True)


def test_hub_gives_a_view_only_for_a_token_and_says_why_there_is_none(fleet: Fleet) -> None:
    fleet.start_hub("all", "Gateway/new/such")
    token = fleet.credentials.token
    assert [fleet.get(view_path("all"), one)[0] for one in (None, "wrong")] == [401, 401]
    eventually_blocking(lambda: fleet.get_view("all")[0], lambda status: status == 200)
    for name, message in {
        "new.such": "view new.such selects nothing: no Gateway/new/such exists",
        "nope": "no view 'nope' is published: see the setting publish",
        "a%20b%2F..%2Fall": "no view 'a b/../all' is published: see the setting publish",
    }.items():
        fetch = functools.partial(fleet.get, f"/bundles/{name}.tar.gz", token)
        status, body = eventually_blocking(fetch, lambda found: found[0] != 503)
        assert (status, json.loads(body)["error"]["message"]) == (404, message)
    assert fleet.get("/bundles/policy-bridge.tar.gz", token)[0] == 404

    # The Gateway appears later.
    gateway = (SHOP / "21-gateway-public.yaml").read_text()
    (fleet.folder / "manifests" / "99.yaml").write_text(
        gateway.replace("name: public", "name: such").replace("namespace: infra", "namespace: new")
    )
    eventually_blocking(lambda: fleet.get_view("new.such")[0], lambda status: status == 200)


@pytest.mark.parametrize("content", ["", pytest.param("=effective", marks=pytest.mark.long)])
def test_edges_answer_about_hostile_names_and_their_own_do_nothing(fleet: Fleet, bridge: Run, content: str) -> None:
    (fleet.folder / "manifests" / "99.yaml").write_text(yaml.safe_dump_all(hostile_objects(), allow_unicode=True))
    fleet.start_hub(f"Gateway/infra/public{content}")
    edge, _ = fleet.start_edge("edge", fleet.config("infra.public" + content.replace("=", ".")))
    eventually_blocking(functools.partial(about, edge))
    for number, name in enumerate(HOSTILE_NAMES):
        targets = {"targets": [f"gateway.networking.k8s.io/HTTPRoute/shop/{name}"]}
        wanted = query(fleet.opa_url, "effective", targets)
        assert wanted
        assert query(edge, "effective", targets) == wanted
        request = {"gateway": PUBLIC, "host": "hostile.example.com", "path": f"/{number}"}
        served = query(fleet.opa_url, "request", request)
        assert served["rule"].startswith(f"{targets['targets'][0]}#")
        assert query(edge, "request", request) == served

    report = json.dumps({"labels": {"id": "one", "edge": ESCAPE, "view": ESCAPE}}).encode()
    url, credentials = f"http://{fleet.address}", fleet.folder / "credentials"
    assert fetch(f"{url}/status", report, token=fleet.credentials.token)[0] == 200
    shown = bridge("fleet", "status", "--bridge-url", url, "--publish-credentials", credentials).stdout
    assert "owned" in shown
    assert not OBEYED.search(shown.replace("\n", ""))


# What would change an edge, or show more than the answers of its view: a method, a path and a body.
FORBIDDEN = [
    ("PUT", "/v1/policies/other", b"package bridge.v1.other\n\nr := opa.runtime().env"),
    ("DELETE", "/v1/policies/policy-bridge/bridge/lib/keys.rego", None),
    ("PUT", "/v1/data/bridge/v1/effective", b"{}"),
    ("PATCH", "/v1/data", b"[]"),
    ("DELETE", "/v1/data/objects", None),
    ("POST", "/v1/query", b'{"query": "x = opa.runtime()"}'),
    ("POST", "/v1/compile", b'{"query": "data.bridge"}'),
    ("POST", "/v1/batch/data/bridge/v1/effective", b"{}"),
    ("GET", "/v1/config", None),
    ("GET", "/v1/policies", None),
    ("GET", "/v1/status", None),
    ("GET", "/v1/data", None),
    ("GET", "/v1/data/objects", None),
    ("GET", "/v1/data/bridge/%2e%2e/objects", None),
    ("GET", "/v1/data/bridge%2fv1%2f..%2f..%2fobjects", None),
    ("POST", "/v1/data/bridge/v1/effective?explain=full", b"{}"),
    ("POST", "/", b"{}"),
    ("POST", "/v0/data/bridge/v1/effective", b"{}"),
]


@pytest.mark.parametrize("view", ["infra.public", "infra.public.effective"])
def test_edge_that_authorizes_requests_answers_queries_and_nothing_else(fleet: Fleet, view: str) -> None:
    edge, _ = fleet.start_edge("edge", fleet.config(view), "--authorization=basic")
    eventually_blocking(lambda: _status(f"{edge}/health"), lambda found: found == 500)  # it has no policy yet
    fleet.start_hub("Gateway/infra/public", "Gateway/infra/public=effective")
    eventually_blocking(lambda: _status(f"{edge}/health"), lambda found: found == 200)
    assert about(edge)["name"] == view
    storefront = {"targets": [STOREFRONT]}
    assert query(edge, "effective", storefront) == query(fleet.opa_url, "effective", storefront) != []
    assert {case[:2]: _status(f"{edge}{case[1]}", case[0], case[2]) for case in FORBIDDEN} == {
        case[:2]: 401 for case in FORBIDDEN
    }
    connection = http.client.HTTPConnection(edge.removeprefix("http://"), timeout=60)
    connection.putrequest("POST", "/v1/data/bridge/v1/effective")
    connection.putheader("Content-Length", str(5 << 20))
    connection.endheaders()
    assert connection.getresponse().status in {400, 413}
    connection.close()


def _status(url: str, method: str = "GET", body: bytes | None = None) -> int:
    headers = {"Content-Type": "application/json-patch+json" if method == "PATCH" else "application/json"}
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
    try:
        connection.request(method, url.removeprefix(f"http://{parts.netloc}"), body, headers)
        return connection.getresponse().status
    except ConnectionRefusedError:
        return 0
    finally:
        connection.close()


def _wait_for_other_revision(url: str, revision: str) -> None:
    eventually_blocking(lambda: about(url)["revision"], lambda found: found != revision)


def _page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=180) as response:  # noqa: S310 (loopback)
        return str(response.read().decode())


def _error_of(url: str) -> str:
    message: str = _send(f"{url}/v1/status")["result"]["bundles"][BUNDLE_NAME]["message"]
    return message


def _revisions(*urls: str) -> dict[str, str]:
    return {url: about(url)["revision"] for url in urls}


def _count(objects: dict[str, Any]) -> int:
    return sum(len(names) for kinds in objects.values() for spaces in kinds.values() for names in spaces.values())
