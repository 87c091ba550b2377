"""A hub that stores views in real object storage and in a real registry, and real OPAs that get them there."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.server
import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.store import AzureStore

from bridge.destinations.buckets import AzureContainer
from bridge.destinations.urls import place_of
from bridge.opa.bundle import BUNDLE_NAME
from tests.e2e.conftest import Run
from tests.e2e.test_views import PUBLIC, STOREFRONT, Fleet, _answers, _error_of, _wait_for_other_revision, about, query
from tests.eventually import eventually_blocking
from tests.storing import PASSWORD, USER, StorageServer

pytestmark = [pytest.mark.long, pytest.mark.needs("versitygw", "registry")]
VIEW = "infra.public"


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[dict[str, StorageServer]]:
    with ExitStack() as stack:
        found = {}
        for kind in ("s3", "oci"):
            (tmp_path / kind).mkdir()
            found[kind] = stack.enter_context(StorageServer(kind, tmp_path / kind).running())
        yield found


@pytest.fixture
def fleet(
    bridge_path: Path, opa_path: Path, environment: dict[str, str], tmp_path: Path, servers: dict[str, StorageServer]
) -> Iterator[Fleet]:
    with ExitStack() as stack:
        started = Fleet(tmp_path, bridge_path, opa_path, environment, stack)
        for server in servers.values():
            started.environment = {**started.environment, **server.environment}
        settings = tmp_path / "bridge.yaml"
        settings.write_text(f"cluster: east\npublish_to: {[server.url('east') for server in servers.values()]}\n")
        started.start_hub("Gateway/infra/public", settings=settings)
        yield started


def edge_of(fleet: Fleet, bridge: Run, name: str, url: str, **more: Any) -> str:
    """Start an OPA with what `pbctl admin opa-config --from` prints, which reports to the hub; return its address."""
    config = configuration_of(fleet, bridge, url)
    if url.startswith("oci"):
        credentials = {"bearer": {"scheme": "Basic", "token": f"{USER}:{PASSWORD}"}}
        config["services"]["storage"]["credentials"] = credentials
    address, _ = fleet.start_edge(name, config | more)
    return address


def configuration_of(fleet: Fleet, bridge: Run, url: str) -> dict[str, Any]:
    """Return what `pbctl admin opa-config --from` prints, with shorter delays."""
    printed = bridge(
        *("opa-config", "--view", VIEW, "--from", url, "--bridge-url", f"http://{fleet.address}", "-o", "json"),
        *("--publish-credentials", fleet.folder / "credentials"),
    )
    assert printed.returncode == 0, printed.stderr
    config: dict[str, Any] = json.loads(printed.stdout)
    config["bundles"][BUNDLE_NAME]["polling"] = {"min_delay_seconds": 1, "max_delay_seconds": 1}
    return config


def status_of(fleet: Fleet, bridge: Run) -> subprocess.CompletedProcess[str]:
    credentials = fleet.folder / "credentials"
    return bridge("fleet", "status", "--bridge-url", f"http://{fleet.address}", "--publish-credentials", credentials)


def test_edges_of_storage_and_of_a_registry_answer_as_the_hub(
    fleet: Fleet, servers: dict[str, StorageServer], bridge: Run
) -> None:
    edges = {kind: edge_of(fleet, bridge, f"edge-{kind}", server.url("east")) for kind, server in servers.items()}
    for url in edges.values():
        eventually_blocking(functools.partial(about, url))
    below = [
        node for node in query(fleet.opa_url, "tree", {"root": PUBLIC})["nodes"] if not node.startswith("core/Name")
    ]
    wanted = _answers(fleet.opa_url, below)
    for url in edges.values():
        assert _answers(url, below) == wanted

    # One destination is away: the edges of the other one get the change.
    revision = about(edges["s3"])["revision"]
    servers["oci"].stop()
    fleet.change("63-storefront.yaml", "theme: dark", "theme: light")
    _wait_for_other_revision(edges["s3"], revision)
    assert "light" in json.dumps(query(edges["s3"], "effective", {"targets": [STOREFRONT]}))
    assert _answers(edges["oci"], below) == wanted
    shown = eventually_blocking(lambda: status_of(fleet, bridge), lambda found: "0 of 1" in found.stdout)
    rows = {row[0]: row[1:] for line in shown.stdout.splitlines() if (row := line.split())}
    assert shown.returncode == 1
    assert rows[servers["s3"].url("east")] == ["1", "of", "1"]
    assert rows[servers["oci"].url("east")][:3] == ["0", "of", "1"]

    # It is back.
    servers["oci"].start()
    _wait_for_other_revision(edges["oci"], revision)
    assert _answers(edges["oci"], below) == _answers(fleet.opa_url, below)
    eventually_blocking(lambda: status_of(fleet, bridge), lambda found: "0 of 1" not in found.stdout)


def test_edge_keeps_its_view_when_storage_has_a_corrupt_one_or_one_that_is_not_signed_for_it(
    fleet: Fleet, servers: dict[str, StorageServer], bridge: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = servers["s3"].url("east")
    edge = edge_of(fleet, bridge, "edge", url)
    known = eventually_blocking(lambda: about(edge))
    printed = json.loads(
        bridge("opa-config", "--view", VIEW, "--from", url, "-o", "json").stdout  # of other credentials
    )
    other = edge_of(fleet, bridge, "other", url, keys=printed["keys"])
    assert "signature" in eventually_blocking(functools.partial(_error_of, other))
    assert "status" not in printed or "service" not in printed["status"]
    assert known == about(edge)

    # Somebody replaces what is stored, by bytes that are no bundle.
    for name, value in servers["s3"].environment.items():
        monkeypatch.setenv(name, value)
    asyncio.run(_replace(url, b"\x1f\x8b no bundle"))
    error = eventually_blocking(functools.partial(_error_of, edge))
    shown = eventually_blocking(lambda: status_of(fleet, bridge), lambda found: error in found.stdout)
    assert re.search(rf"^edge +{VIEW} +{known['revision']} .*{re.escape(error)}$", shown.stdout, re.MULTILINE)
    assert shown.returncode == 1
    assert known == about(edge)


@contextlib.contextmanager
def metadata_server() -> Iterator[str]:
    """The metadata server of a machine of Google, whose account has a token."""

    class Metadata(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_asked = self.headers["Metadata-Flavor"] == "Google" and "devstorage.read_only" in self.path
            self.send_response(200 if is_asked else 400)
            self.end_headers()
            self.wfile.write(json.dumps({"access_token": "a-token", "expires_in": 60, "token_type": "Bearer"}).encode())

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metadata) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.needs("fake-gcs-server", "azurite-blob")
def test_edges_of_google_and_of_azure_answer_as_the_hub(
    bridge_path: Path, opa_path: Path, environment: dict[str, str], tmp_path: Path, bridge: Run
) -> None:
    with ExitStack() as stack:
        fleet = Fleet(tmp_path, bridge_path, opa_path, environment, stack)
        urls = {}
        for kind in ("gs", "az"):
            (tmp_path / kind).mkdir()
            server = stack.enter_context(StorageServer(kind, tmp_path / kind).running())
            fleet.environment = {**fleet.environment, **server.environment}
            urls[kind] = server.url("east")
        settings = tmp_path / "bridge.yaml"
        settings.write_text(f"cluster: east\npublish_to: {[*urls.values()]}\n")
        fleet.start_hub("Gateway/infra/public", settings=settings)
        # As the guide has it: Google's token from the machine, and for Azure a signed URL instead of an identity.
        google = configuration_of(fleet, bridge, urls["gs"])
        google["services"]["storage"]["credentials"]["gcp_metadata"]["endpoint"] = stack.enter_context(
            metadata_server()
        )
        azure = configuration_of(fleet, bridge, urls["az"])
        for name in ("credentials", "headers"):
            del azure["services"]["storage"][name]
        azure["bundles"][BUNDLE_NAME]["resource"] += f"?{signed_query(urls['az'], fleet.environment)}"
        edges = [fleet.start_edge(f"edge-{number}", one)[0] for number, one in enumerate((google, azure))]
        for edge in edges:
            eventually_blocking(functools.partial(about, edge))
            assert _answers(edge, [STOREFRONT]) == _answers(fleet.opa_url, [STOREFRONT])
        revision = about(edges[0])["revision"]
        fleet.change("63-storefront.yaml", "theme: dark", "theme: light")
        for edge in edges:
            _wait_for_other_revision(edge, revision)
            assert "light" in json.dumps(query(edge, "effective", {"targets": [STOREFRONT]}))


def signed_query(url: str, environment: dict[str, str]) -> str:
    """Return the query of a signed URL with which the view can be read for ten minutes."""
    place = place_of(url)
    assert isinstance(place, AzureContainer)
    key = environment["AZURE_STORAGE_ACCOUNT_KEY"]
    store = AzureStore(
        place.name, prefix=place.prefix, account_name=place.account, account_key=key, endpoint=place.endpoint
    )
    return obstore.sign(store, "GET", place.name_of(VIEW), timedelta(minutes=10)).partition("?")[2]


async def _replace(url: str, content: bytes) -> None:
    """Store another content of the view."""
    place = place_of(url)
    storage, name = place.open(), place.name_of(VIEW)
    await storage.write(name, content, "", await storage.find(name))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from", "s3://fleet/east"), "--from needs --view"),
        (("--view", "all", "--cluster", "a=s3://a/b"), "--cluster needs --view federation --from URL"),
        (("--view", "federation", "--from", "s3://fleet/a", "--cluster", "a"), "--cluster: write NAME=VALUE"),
        (("--cluster-key", "a=b"), "--cluster-key a: no --cluster has this name"),
        (
            (
                "--view",
                "federation",
                "--from",
                "s3://fleet/a",
                "--cluster",
                "a=s3://fleet/a",
                "--cluster-key",
                "a=nope",
            ),
            "--cluster-key nope: ",
        ),
        (
            (
                *("--view", "federation", "--from", "s3://fleet/a"),
                *("--cluster", "a=s3://fleet/a", "--cluster-key", f"a={__file__}"),
            ),
            "it is not a public key in PEM",
        ),
        (("--view", "all", "--from", "ftp://a/b"), "'ftp://a/b' is not a destination"),
        (("--view", "all", "--from", "s3://fleet/a?endpoint=http://10.0.0.1"), "the endpoint must be https"),
    ],
)
def test_configuration_of_no_destination_is_refused(bridge: Run, words: tuple[str, ...], said: str) -> None:
    answer = bridge("opa-config", *words)
    assert (answer.returncode, said in answer.stderr) == (2, True), answer.stderr
