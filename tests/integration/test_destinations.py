"""Destinations on real servers: whose they are, one writer, and what happens to stored views."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from bridge.destinations import buckets, registry_client, registry_login
from bridge.destinations import destination as queue
from bridge.destinations.destination import OWNER, Destination
from bridge.destinations.place import Changed, StorageError
from bridge.destinations.urls import place_of
from bridge.http.bundles import _encode_base64url, _encode_part
from bridge.opa.bundle import BundleTrust
from tests.eventually import eventually
from tests.storing import BUCKET, PASSWORD, USER, Front, StorageServer
from tests.working import working

LARGE = 5_000  # bytes: for more than this a full server has no room
KEY = BundleTrust(public_key="a key")
_SERVERS = {
    "s3": "versitygw",
    "oci": "registry",
    "gs": "fake-gcs-server",
    "az": "azurite-blob",
}  # tools


def on_servers(*kinds: str) -> pytest.MarkDecorator:
    """Run a test on a server of each kind."""
    each = [pytest.param(kind, marks=pytest.mark.needs(_SERVERS[kind])) for kind in kinds]
    return pytest.mark.parametrize("server", each, indirect=True)


BOTH = on_servers("s3", "oci")
ALL = on_servers(*_SERVERS)


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StorageServer]:
    monkeypatch.setattr(queue, "CHECK", 0.3)
    started = StorageServer(request.param, tmp_path)
    for name, value in started.environment.items():
        monkeypatch.setenv(name, value)
    with started.running():
        yield started


def open_one(
    url: str, cluster: str = "east", trust: BundleTrust = KEY, may_write: Callable[[], bool] = lambda: True
) -> Destination:
    return Destination(place_of(url), cluster, trust, may_write)


@asynccontextmanager
async def at_work(destination: Destination) -> AsyncIterator[Destination]:
    async with working(destination.run):
        yield destination


async def has(destination: Destination, revision: str) -> None:
    """Wait until it has a revision of the view `all`, and no problem."""
    await eventually(lambda: destination.state.revisions.get("all") == revision and not destination.state.problem)


async def store(destination: Destination, content: bytes, revision: str) -> None:
    """Offer a content of the view `all`, and wait until it is there."""
    destination.offer("all", content, revision)
    await has(destination, revision)


def problem_of(destination: Destination) -> str:
    return destination.state.problem


async def stored(destination: Destination) -> tuple[bytes, str]:
    """What is stored of the view `all`."""
    found = await destination._storage.read(destination._place.name_of("all"))
    return (b"", "") if found is None else (found[0], found[1].revision)


@ALL
async def test_view_is_stored_once_and_by_the_next_bridge_only_if_it_differs(server: StorageServer) -> None:
    async with at_work(open_one(server.url("views"))) as first:
        await store(first, b"one", "1")
        assert await stored(first) == (b"one", "1")
        await store(first, b"two", "2")
    async with at_work(open_one(server.url("views"))) as second:
        await store(second, b"two, signed again", "2")
        assert await stored(second) == (b"two", "2")
        await store(second, b"three", "3")
        assert await stored(second) == (b"three", "3")


@ALL
async def test_place_of_others_is_refused(server: StorageServer) -> None:
    async with at_work(open_one(server.url("views"))) as owner:
        await store(owner, b"one", "1")
        west, other_key = open_one(server.url("views"), "west"), open_one(server.url("views"), trust=BundleTrust("b"))
        nameless = open_one(server.url("something/else"))
        await nameless._storage.write("a-file", b"{}", "", None)
        for refused, why in {
            west: "belongs to the cluster 'east'",
            other_key: "a bridge with another key",
            nameless: "it contains a-file, which no bridge wrote",
        }.items():
            async with at_work(refused):
                refused.offer("all", b"other", "9")
                problem = await eventually(functools.partial(problem_of, refused), lambda found: "use " in found)
                assert why in problem
                assert refused.problems == 1
        await has(owner, "1")
        assert await stored(owner) == (b"one", "1")


@asynccontextmanager
async def displacing(first: Destination, server: StorageServer) -> AsyncIterator[Destination]:
    """A later bridge that has stored over what the first one stored, which reports that."""
    await store(first, b"one", "1")
    async with at_work(open_one(server.url("views"))) as second:
        await store(second, b"two", "2")
        await eventually(lambda: "another bridge publishes there since" in first.state.problem)
        yield second


@ALL
async def test_of_two_bridges_the_later_one_writes_and_the_other_one_reports_it(server: StorageServer) -> None:
    async with at_work(open_one(server.url("views"))) as first, displacing(first, server) as second:
        first.offer("all", b"three", "3")
        await asyncio.sleep(1)
        assert await stored(second) == (b"two", "2")
        await has(second, "2")


@BOTH
async def test_writer_renews_its_claim(server: StorageServer) -> None:
    seen: set[bytes] = set()

    async def owners() -> int:
        if found := await destination._storage.read(OWNER):
            seen.add(found[0])
        return len(seen)

    async with at_work(open_one(server.url("views"))) as destination:
        await store(destination, b"one", "1")
        await eventually(owners, lambda count: count == queue._RENEWALS)
        await asyncio.sleep(1)
        assert await owners() == queue._RENEWALS
    assert len({msgspec.json.decode(one)["writer"] for one in seen}) == 1


@BOTH
async def test_earlier_bridge_gets_the_place_back_when_the_later_one_is_gone(server: StorageServer) -> None:
    async with at_work(open_one(server.url("views"))) as first:
        async with displacing(first, server):
            pass
        first.offer("all", b"three", "3")
        await has(first, "3")
        assert await stored(first) == (b"three", "3")


@ALL
async def test_new_key_of_a_cluster_takes_the_place_of_an_owner_that_is_gone(server: StorageServer) -> None:
    async with at_work(open_one(server.url("views"))) as owner:
        await store(owner, b"one", "1")
    async with (
        at_work(open_one(server.url("views"), trust=BundleTrust("a new key"))) as rebuilt,
        at_work(open_one(server.url("views"), "west")) as west,
    ):
        for one in (rebuilt, west):
            one.offer("all", b"two", "2")
        await eventually(lambda: "a bridge with another key" in rebuilt.state.problem)
        await has(rebuilt, "2")
        await asyncio.sleep(2)
        assert "belongs to the cluster 'east'" in west.state.problem
        assert await stored(rebuilt) == (b"two", "2")


@BOTH
async def test_holder_of_the_lease_writes_and_gets_the_place_back_with_it(
    server: StorageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    leader = "first"
    async with (
        at_work(open_one(server.url("views"), may_write=lambda: leader == "first")) as first,
        at_work(open_one(server.url("views"), may_write=lambda: leader == "second")) as second,
    ):
        for number in range(1, 4):
            for one in (first, second):
                one.offer("all", f"{number} of {one is first}".encode(), str(number))
            holder = first if leader == "first" else second
            await has(holder, str(number))
            assert await stored(holder) == (f"{number} of {holder is first}".encode(), str(number))
            assert second.problems == first.problems == 0
            leader = "second" if leader == "first" else "first"
    assert "was replaced" not in capsys.readouterr().out


@BOTH
async def test_holder_gets_the_place_back_that_another_one_had_for_a_moment(
    server: StorageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "CHECK", 60.0)
    leader = "first"
    async with (
        at_work(open_one(server.url("views"), may_write=lambda: leader == "first")) as first,
        at_work(open_one(server.url("views"), may_write=lambda: leader == "second")) as second,
    ):
        await store(first, b"one", "1")
        leader = "second"
        await store(second, b"two", "2")
        await eventually(lambda: not first._is_writer)
        leader = "first"
        await store(first, b"three", "3")
        assert await stored(first) == (b"three", "3")


@BOTH
async def test_one_of_two_bridges_with_different_clocks_writes_and_the_other_reports_it(
    server: StorageServer,
) -> None:
    async with at_work(open_one(server.url("views"))) as first:
        await store(first, b"one", "1")
        # Its clock was ahead when it became the writer.
        first._me = msgspec.structs.replace(first._me, since="2999-01-01T00:00:00+00:00")
        await first._storage.write(OWNER, msgspec.json.encode(first._me), "", await first._storage.find(OWNER))
        async with at_work(open_one(server.url("views"))) as second:
            second.offer("all", b"two", "2")
            await eventually(lambda: "another bridge publishes there since" in second.state.problem)
            await has(first, "1")
            await asyncio.sleep(1)
            assert await stored(first) == (b"one", "1")
            assert first.problems == 0


@BOTH
async def test_reads_of_an_earlier_state_do_not_keep_it(server: StorageServer) -> None:
    front = Front(server)
    direct = open_one(server.url("views"))
    async with front.running() as eventual, at_work(open_one(eventual.url("views"))) as destination:
        await store(destination, b"one", "1")
        front.is_stale = True
        for number, text in enumerate((b"two", b"three"), 2):
            destination.offer("all", text, str(number))
            await asyncio.sleep(1)
            assert await stored(direct) in {(b"one", "1"), (b"two", "2"), (b"three", "3")}
        assert front.stale_reads > 1
        front.is_stale = False
        await has(destination, "3")
        assert await stored(direct) == (b"three", "3")
    await direct._storage.close()


@BOTH
async def test_slow_storage_gets_the_last_revision_and_not_each(server: StorageServer) -> None:
    front = Front(server, delay=0.3)
    async with front.running() as slow, at_work(open_one(slow.url("views"))) as destination:
        await store(destination, b"0", "0")
        front.writes.clear()
        for number in range(1, 11):
            destination.offer("all", str(number).encode(), str(number))
            await asyncio.sleep(0.05)
        await has(destination, "10")
        name = "all.tar.gz" if server.kind == "s3" else "manifests/all"
        assert 1 <= sum(path.endswith(name) for path in front.writes) <= 3


@BOTH
@pytest.mark.parametrize("content", [b"one", b"forged"])
async def test_replaced_view_is_stored_again(server: StorageServer, content: bytes) -> None:
    """An earlier content, as after a rollback of the storage, or a wrong one that pretends to be current."""
    async with at_work(open_one(server.url("views"))) as destination:
        for number, text in enumerate((b"one", b"two"), 1):
            await store(destination, text, str(number))
        other, name = destination._storage, destination._place.name_of("all")
        await other.write(name, content, "1" if content == b"one" else "2", await other.find(name))
        await eventually(lambda: stored(destination), lambda found: found == (b"two", "2"))


@ALL
async def test_rollback_of_all_that_is_stored_is_undone(server: StorageServer) -> None:
    async with at_work(open_one(server.url("views"))) as earlier:
        await store(earlier, b"one", "1")
    async with at_work(open_one(server.url("views"))) as destination:
        await store(destination, b"two", "2")
        storage, name = destination._storage, destination._place.name_of("all")
        for one, content in ((OWNER, msgspec.json.encode(earlier._me)), (name, b"one")):
            await storage.write(one, content, "1", await storage.find(one))
        await eventually(lambda: stored(destination), lambda found: found == (b"two", "2"))
        await has(destination, "2")
        owner = await storage.read(OWNER)
        assert owner
        assert msgspec.json.decode(owner[0])["writer"] == destination._me.writer


@BOTH
@pytest.mark.parametrize("trouble", ["away", "hanging", "full"])
async def test_storage_in_trouble_delays_no_other_and_is_used_again(
    server: StorageServer, trouble: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (buckets, registry_client):
        monkeypatch.setattr(module, "TIMEOUT", 1.0)
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    healthy = StorageServer(server.kind, other_folder)
    with healthy.running():
        server.allow(healthy)
        async with (
            at_work(open_one(server.url("views"))) as broken,
            at_work(open_one(healthy.url("views"))) as other,
        ):
            for one in (broken, other):
                await store(one, b"1" * LARGE, "1")
            with server.in_trouble(trouble):
                for one in (broken, other):
                    one.offer("all", b"2" * LARGE, "2")
                await has(other, "2")
                await eventually(lambda: broken.problems)
                if trouble == "full":
                    assert await stored(broken) == (b"1" * LARGE, "1")
            await has(broken, "2")
            assert await stored(broken) == (b"2" * LARGE, "2")


@ALL
async def test_write_fails_if_something_else_has_written_meanwhile(server: StorageServer) -> None:
    one, other = open_one(server.url("views"))._storage, open_one(server.url("views"))._storage
    first = await one.write(OWNER, b"one", "1", None)
    second = await other.write(OWNER, b"two", "2", first)
    for replaced in (None, first):
        with pytest.raises(Changed):
            await one.write(OWNER, b"three", "3", replaced)
    assert await one.read(OWNER) == (b"two", second)
    assert await one.find_any() == OWNER
    await one.close()
    await other.close()


@BOTH
async def test_owner_that_is_no_json_is_refused(server: StorageServer) -> None:
    async with at_work(open_one(server.url("views"))) as destination:
        await destination._storage.write(OWNER, b"not json", "", None)
        destination.offer("all", b"one", "1")
        await eventually(lambda: f"{OWNER} is not a bridge's" in destination.state.problem)


@asynccontextmanager
async def token_server(folder: Path, lifetime: float = 60) -> AsyncIterator[tuple[str, list[tuple[str, str]]]]:
    """A server of tokens for the repository `views`: the settings of its registry, and who has asked for which scope.

    As the registries of clouds have it. A registry accepts a token for a minute longer than its lifetime.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    numbers = key.public_key().public_numbers()
    x, y = (_encode_base64url(number.to_bytes(32, "big")).decode() for number in (numbers.x, numbers.y))
    known = {"keys": [{"kty": "EC", "crv": "P-256", "kid": "tests", "use": "sig", "alg": "ES256", "x": x, "y": y}]}
    (folder / "keys.json").write_text(json.dumps(known))
    asked: list[tuple[str, str]] = []

    async def give(request: web.Request) -> web.Response:
        given = request.query if request.method == "GET" else await request.post()
        scope = str(given["scope"])
        asked.append((request.headers.get("Authorization") or str(given.get("refresh_token", "")), scope))
        _, name, actions = scope.split(":")
        access = [{"type": "repository", "name": name, "actions": actions.split(",")}]
        claims = {"iss": "tests", "aud": "registry", "exp": int(time.time() + lifetime), "access": access}
        payload = _encode_part({"alg": "ES256", "kid": "tests", "typ": "JWT"}) + b"." + _encode_part(claims)
        parts = decode_dss_signature(key.sign(payload, ec.ECDSA(hashes.SHA256())))
        signature = _encode_base64url(b"".join(part.to_bytes(32, "big") for part in parts))
        name = "token" if request.method == "GET" else "access_token"
        return web.json_response({name: (payload + b"." + signature).decode()})

    app = web.Application()
    app.router.add_get("/token", give)
    app.router.add_post("/token", give)
    async with TestServer(app, host="127.0.0.1") as tokens:
        where = f"realm: '{tokens.make_url('/token')}', service: registry, issuer: tests, jwks: {folder}/keys.json"
        yield f"{{token: {{{where}}}}}", asked


@pytest.mark.needs("registry")
async def test_registry_names_a_server_of_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The password is for that server, and its token for the registry."""
    async with token_server(tmp_path) as (auth, asked):
        server = StorageServer("oci", tmp_path, auth=auth)
        monkeypatch.setenv("DOCKER_CONFIG", server.environment["DOCKER_CONFIG"])
        with server.running():
            async with at_work(open_one(server.url("views"))) as destination:
                await store(destination, b"one", "1")
                assert await stored(destination) == (b"one", "1")
    assert set(asked) == {(f"Basic {StorageServer.basic()}", "repository:views:pull,push")}


@pytest.mark.needs("registry")
async def test_expired_token_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with token_server(tmp_path, lifetime=-58) as (auth, asked):
        server = StorageServer("oci", tmp_path, auth=auth)
        monkeypatch.setenv("DOCKER_CONFIG", server.environment["DOCKER_CONFIG"])
        with server.running():
            async with at_work(open_one(server.url("views"))) as destination:
                await store(destination, b"one", "1")
                before = len(asked)
                await asyncio.sleep(3)
                await store(destination, b"two", "2")
                assert len(asked) > before
    assert "view not stored" not in capsys.readouterr().out


@pytest.mark.parametrize("named", ["upload", "redirect", "token server"])
async def test_password_is_for_the_registry_and_not_for_servers_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """The storage of others asks for a password as a registry does, and names its own server of tokens."""
    seen: list[str] = []

    async def ask(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization", "") + (await request.text()))
        realm = f'Bearer realm="{request.url.with_path("/steal").with_query({})}",service="s"'
        return web.Response(status=401, headers={"WWW-Authenticate": realm})

    others = web.Application()
    others.router.add_route("*", "/{any:.*}", ask)
    async with TestServer(others, host="127.0.0.1") as storage:

        async def lead(request: web.Request) -> web.Response:
            if request.path == "/token":
                return web.Response(status=307, headers={"Location": str(storage.make_url("/steal"))})
            if named == "token server":
                realm = f'Bearer realm="{request.url.with_path("/token").with_query({})}"'
                return web.Response(status=401, headers={"WWW-Authenticate": realm})
            if "Authorization" not in request.headers:
                return web.Response(status=401, headers={"WWW-Authenticate": "Basic"})
            if named == "redirect":
                return web.Response(status=307, headers={"Location": str(storage.make_url("/blob"))})
            if request.method == "POST":
                return web.Response(status=202, headers={"Location": str(storage.make_url("/upload"))})
            return web.Response(status=404)

        registry = web.Application()
        registry.router.add_route("*", "/{any:.*}", lead)
        async with TestServer(registry, host="127.0.0.1") as server:
            login = {"auth": StorageServer.basic()}
            if named == "token server":
                login["identitytoken"] = "an-identity"
            auths = {f"127.0.0.1:{server.port}": login}
            (tmp_path / "config.json").write_text(json.dumps({"auths": auths}))
            monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
            destination = open_one(f"oci://127.0.0.1:{server.port}/views")._storage
            with pytest.raises(StorageError, match=r"HTTP (401|307)"):
                await destination.write("all", b"content", "1", None)
            await destination.close()
    assert (named == "token server") == (not seen)
    assert all("Basic" not in one and "an-identity" not in one for one in seen)


async def test_content_that_storage_of_others_replaced_is_an_error() -> None:
    async def answer(request: web.Request) -> web.Response:
        if "/blobs/" in request.path:
            return web.Response(body=b"replaced")
        blob = {"mediaType": registry_client.LAYER, "digest": f"sha256:{'0' * 64}", "size": 8}
        return web.json_response({"config": blob, "layers": [blob]})

    registry = web.Application()
    registry.router.add_get("/{any:.*}", answer)
    async with TestServer(registry, host="127.0.0.1") as server:
        storage = open_one(f"oci://127.0.0.1:{server.port}/views")._storage
        with pytest.raises(
            StorageError, match="the content of the tag all has another digest than its manifest states"
        ):
            await storage.read("all")
        await storage.close()


HELPER = """#!/bin/sh
read -r host
echo "$1 $host" >>{folder}/asked
[ "$host" = "{host}" ] || {{ echo "credentials not found in native keychain"; exit 1; }}
cat {folder}/answer
"""


class Helper:
    """A credential helper of docker on PATH, for one registry."""

    def __init__(self, folder: Path, host: str, monkeypatch: pytest.MonkeyPatch, config: object) -> None:
        self._folder = folder
        self.write(HELPER.format(folder=folder, host=host))
        (folder / "config.json").write_text(json.dumps(config))
        monkeypatch.setenv("DOCKER_CONFIG", str(folder))
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def write(self, program: str) -> None:
        """Replace the program."""
        file = self._folder / "docker-credential-tests"
        file.write_text(program)
        file.chmod(0o755)

    def answer(self, user: str, secret: str) -> None:
        """Let it return these credentials from now on."""
        (self._folder / "answer").write_text(json.dumps({"ServerURL": "", "Username": user, "Secret": secret}))

    @property
    def asked(self) -> list[str]:
        """The commands that it got, with the registry."""
        return (self._folder / "asked").read_text().splitlines()


@pytest.mark.needs("registry")
@pytest.mark.parametrize("kind", ["credHelpers", "credsStore"])
async def test_credentials_of_a_helper_are_read_again_when_they_expire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    server = StorageServer("oci", tmp_path)
    config: object = {
        kind: {server.address: "tests"} if kind == "credHelpers" else "tests",
        "auths": {server.address: {}},
    }
    helper = Helper(tmp_path, server.address, monkeypatch, config)
    helper.answer(USER, "expired")
    with server.running():
        async with at_work(open_one(server.url("views"))) as destination:
            destination.offer("all", b"one", "1")
            await eventually(lambda: "HTTP 401" in destination.state.problem)
            helper.answer(USER, PASSWORD)
            await has(destination, "1")
            assert await stored(destination) == (b"one", "1")
    assert set(helper.asked) == {f"get {server.address}"}


@pytest.mark.needs("registry")
async def test_identity_token_of_a_helper_is_for_the_server_of_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with token_server(tmp_path) as (auth, asked):
        server = StorageServer("oci", tmp_path, auth=auth)
        Helper(tmp_path, server.address, monkeypatch, {"credsStore": "tests"}).answer("<token>", "an-identity")
        with server.running():
            async with at_work(open_one(server.url("views"))) as destination:
                await store(destination, b"one", "1")
    assert set(asked) == {("an-identity", "repository:views:pull,push")}


@pytest.mark.parametrize(
    ("config", "program", "problem"),
    [
        ({"credsStore": "tests"}, "#!/bin/sh\nsleep 3\n", "has not answered within 1 s"),
        ({"credsStore": "tests"}, "#!/bin/sh\necho no JSON\n", "cannot be used"),
        ({"credsStore": "tests"}, "#!/bin/sh\necho the vault is locked\nexit 1\n", "the vault is locked"),
        ({"auths": {"HOST": {"auth": "no base64"}}}, "", "config.json: the credentials for HOST cannot be used"),
        ({"auths": []}, "", "HTTP 401"),
        (["no mapping"], "", "config.json: the credentials for HOST cannot be used"),
    ],
)
async def test_unusable_credentials_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: object, program: str, problem: str
) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="tests"'})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", refuse)
    monkeypatch.setattr(registry_login, "TIMEOUT", 1.0)
    async with TestServer(app, host="127.0.0.1") as server:
        host = f"127.0.0.1:{server.port}"
        helper = Helper(tmp_path, host, monkeypatch, json.loads(json.dumps(config).replace("HOST", host)))
        helper.write(program)
        async with at_work(open_one(f"oci://{host}/views")) as destination:
            destination.offer("all", b"one", "1")
            wanted = problem.replace("HOST", host)
            await eventually(lambda: wanted in destination.state.problem, about=lambda: destination.state.problem)


@pytest.mark.parametrize(
    ("path", "status", "headers", "body"),
    [
        ("/tags/list", 200, {}, {"tags": {"a": "b"}}),
        ("/uploads/", 202, {"Location": "http://["}, {}),
        ("", 401, {"WWW-Authenticate": 'Bearer realm="https://host:99999/"'}, {}),
    ],
)
async def test_odd_response_of_a_registry_is_reported(
    path: str, status: int, headers: dict[str, str], body: object
) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response(body, status=status if request.path.endswith(path) else 404, headers=headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with (
        TestServer(app, host="127.0.0.1") as server,
        at_work(open_one(f"oci://127.0.0.1:{server.port}/views")) as destination,
    ):
        destination.offer("all", b"one", "1")
        await eventually(lambda: "not as expected" in destination.state.problem)


@on_servers("s3", "oci", "az")
async def test_wrong_secret_is_reported(server: StorageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in server.environment_with("wrong").items():
        monkeypatch.setenv(name, value)
    async with at_work(open_one(server.url("views"))) as destination:
        destination.offer("all", b"one", "1")
        await eventually(lambda: destination.problems)
        assert ("HTTP 401" if server.kind == "oci" else "403 Forbidden") in destination.state.problem


@on_servers("s3", "az")
async def test_bucket_that_does_not_exist_is_reported(server: StorageServer) -> None:
    async with at_work(open_one(server.url("views").replace(f"//{BUCKET}", "//missing"))) as destination:
        destination.offer("all", b"one", "1")
        await eventually(lambda: destination.problems)
        assert re.fullmatch(r"(GET|PUT) http://127\.0\.0\.1:\d+/\S*: 404 Not Found.*", destination.state.problem)
