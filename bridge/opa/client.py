"""The bridge's client for an OPA: queries, data, bundle state."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import unquote

import msgspec

from bridge import tracing
from bridge.model.keys import Key, parse_key, pointer, segments_of, url_path
from bridge.model.nesting import Decoded, NestingError, decode
from bridge.model.observability import Histogram
from bridge.opa.address import TlsFiles, Trust, read_address
from bridge.opa.bundle import BUNDLE_NAME
from bridge.opa.errors import (
    OpaDisconnected,
    OpaError,
    OpaRejected,
    OpaTimeout,
    OpaUnavailable,
    OpaUndefined,
    query_error,
)
from bridge.opa.transport import Response, Threads, Transport

QUERIES = "bridge/v1"  # the package of the queries for clients
_OF_FLEET = "bridge/fleet/v1"  # that of an OPA with the data of several clusters; each query has answers by cluster
_OF_CLUSTER = ("objects", "facts", "index", "kinds", "kind_sets")  # documents that a cluster has of its own
STATES_OF_MODULES = "bridge_modules"  # the document for `module_states`
STATE_OF_VIEW = "data.kubernetes"  # its entry for the view of that name: `{missing}`, if OPA lacks it
_REPETITIONS = 3  # times that a query is repeated after its cause of failure was fixed
# The path of a submitted module, `<key of the object>/<name>`; OPA adds the bundle's name before it.
_SUBMITTED = re.compile(r"(?:^|/)((?:core/ConfigMap|policybridge\.io/RegoPolicy)/[^/]+/[^/]+)/[^/]+\.rego$")
# Segments that are read by URL. OPA redirects from some others (`.`, `a/`), cannot parse a few (`"`), and takes `007`
# for 7, `1.0` for 1.
_PLAIN = re.compile(r"(?![+-]?[\d.]+$)[\w.:-]+", re.ASCII)


class BundleStatus(msgspec.Struct, frozen=True):
    """OPA's status of a bundle in `/v1/status`.

    `active_revision` is the active one, `last_request` the time of the last request. `code`, `message` and `errors` are
    the cause of the last failed download or activation (`code` is empty if it succeeded). `last_successful_request` is
    that of the last one whose response OPA could read.
    """

    name: str
    active_revision: str = ""
    last_request: str = ""
    code: str = ""
    message: str = ""
    errors: tuple[Any, ...] = ()
    last_successful_request: str = ""

    @property
    def has_read(self) -> bool:
        """Return whether the last failure is one of a bundle's content, and not of its way to OPA."""
        return bool(self.errors) or self.last_successful_request == self.last_request


class Answer(msgspec.Struct, frozen=True):
    """A document with its provenance.

    `result` is msgspec.UNSET if it is undefined. `revision` is that of the bridge's bundle, "" if OPA has none.
    `decision_id` identifies the decision in OPA's decision log; "" if OPA keeps none.
    """

    result: Any
    revision: str
    decision_id: str


class Module(msgspec.Struct, frozen=True):
    """A module in OPA: the object that submitted it (None: the bridge's own), its name there, its package, its text.

    `old` ones are Rego v0.
    """

    author: Key | None
    name: str
    package: tuple[str, ...]
    text: str
    old: bool = False


class _StatusResult(msgspec.Struct):
    bundles: dict[str, BundleStatus] = {}


class _Status(msgspec.Struct):
    result: _StatusResult


_OBJECT = msgspec.json.Decoder(dict[str, Any])
_STATUS = msgspec.json.Decoder(_Status)


class Opa:
    """An OPA at `url` (http, https or a Unix socket; see `bridge.opa.address`), as an async context manager.

    `tls` are files for https; a server's certificate is always verified. `token` is a bearer token, or a callable that
    returns the current one for each request. `timeout` is in seconds, for a whole request: an initial sync is large.
    `recover` returns whether a query that failed in evaluation can be repeated. `requests` counts requests. `failing`
    are the items on which batches of queries fail (`parts`). At most `at_once` requests are in progress; others wait
    for them within their own time. A `brief` client is for the few requests of a command to an OPA of its own, by http:
    it does not import aiohttp. Paths of documents are JSON Pointers (`bridge.model.keys.pointer`), with or without
    the leading slash. Every method raises OpaUnavailable without a response and OpaRejected for an error response.
    """

    def __init__(  # noqa: PLR0913 - independent options of one client
        self,
        url: str,
        *,
        token: str | Callable[[], str] | None = None,
        timeout: float = 30.0,
        recover: Callable[[OpaRejected], Awaitable[bool]] | None = None,
        tls: TlsFiles | None = None,
        requests: Requests | None = None,
        failing: Failing | None = None,
        at_once: int = 100,
        brief: bool = False,
    ) -> None:
        self._address = read_address(url)
        self._trust = Trust(tls or TlsFiles()) if self._address.secure else None
        self._token = token
        self._recover = recover
        self._at_once = at_once
        self._requests = requests or Requests()
        self.failures = failing or Failing()
        self.cluster = ""  # that queries are about, if the OPA has the data of several
        self._timeout = timeout
        self._transport: Transport | None = None
        self._brief = brief
        self._closed = False
        self.url = self._address.url

    async def __aenter__(self) -> Self:
        if self._brief:
            self._transport = Threads(self._address)
        else:
            from bridge.opa.pool import Pool

            self._transport = Pool(self._address, self._trust, self._at_once)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        if self._transport is not None:
            await self._transport.close()

    async def query(self, name: str, input_document: Any) -> Any:
        """Send a query of the contract (`effective`, `status`, …) and return its result.

        Raises QueryError or OpaIncomplete if the Rego returns an error, OpaUndefined if it is not loaded.
        """
        path = f"{_OF_FLEET}/{name}/{self.cluster}" if self.cluster else f"{QUERIES}/{name}"
        result = await self._query_recovering(path, input_document)
        match result:
            case {"error": {"code": code, "message": message}}:
                raise query_error(code, message)
        return result

    async def _query_recovering(self, path: str, input_document: Any) -> Any:
        for _ in range(_REPETITIONS):
            try:
                return await self.ask(path, input_document)
            except OpaRejected as error:
                if self._recover is None or not error.in_evaluation or not await self._recover(error):
                    raise
        return await self.ask(path, input_document)

    async def ask(self, path: str, input_document: Any) -> Any:
        """Evaluate any document with an input. Raises OpaUndefined when it is undefined."""
        body = await self._send_read("POST", f"/v1/data/{url_path(path)}", {"input": input_document})
        answer = _decode(body)
        if "result" not in answer:
            raise OpaUndefined(url_path(path))
        return answer["result"]

    async def evaluate(self, query: str, input_document: Any) -> list[dict[str, Any]]:
        """Evaluate a Rego query without a module (`/v1/query`): the variables of each result; none for undefined.

        It sees one state of OPA, however many documents it reads. Compiling costs about a millisecond.
        """
        body = await self._send_read("POST", "/v1/query", {"query": query, "input": input_document})
        answers: list[dict[str, Any]] = _decode(body).get("result", [])
        return answers

    @property
    def of_cluster(self) -> str:
        """Return what the expression of a query needs at its end to read the chosen cluster."""
        place = f"data.clusters[{json.dumps(self.cluster)}]"
        return "".join(f" with data.{name} as {place}.{name}" for name in _OF_CLUSTER) if self.cluster else ""

    async def answer(self, path: str, input_document: Any) -> Answer:
        """Evaluate any document with an input, and return its provenance. `input_document` may be JSON text (`Raw`)."""
        body = {"input": input_document}
        found = _decode(await self._send_read("POST", f"/v1/data/{url_path(path)}?provenance=true", body))
        return Answer(found.get("result", msgspec.UNSET), _read_revision(found), str(found.get("decision_id", "")))

    async def get(self, path: str) -> Any | None:
        """Return a document without input, None if it is undefined; objects are those of the chosen cluster."""
        segments = segments_of(path)
        if self.cluster and segments[:1] == ["objects"]:
            segments = ["clusters", self.cluster, *segments]
            path = pointer(*segments)
        if not all(map(_PLAIN.fullmatch, segments)):
            answers = await self.evaluate("found = data" + "".join(f"[{json.dumps(name)}]" for name in segments), {})
            return answers[0]["found"] if answers else None
        # The path of all documents has no slash at its end: OPA would redirect, and the client follows no redirects.
        document = f"/v1/data/{url_path(path)}".removesuffix("/")
        return _decode(await self._send_read("GET", document)).get("result")

    async def put(self, path: str, value: Any) -> None:
        """Write one whole document, and create its missing parents."""
        await self._send("PUT", f"/v1/data/{url_path(path)}", value)

    async def patch(self, operations: Sequence[Mapping[str, Any]]) -> None:
        """Apply a JSON Patch (RFC 6902) to `data` as one transaction: all of it or, with OpaRejected, none.

        The last segment of a path must not be empty: OPA omits it, and changes the parent.
        """
        # OPA also decodes percent-encoding in paths (`storage.ParsePathEscaped`), which RFC 6901 does not know.
        escaped = [
            {**operation, "path": operation["path"].replace("%", "%25")} if "%" in operation["path"] else operation
            for operation in operations
        ]
        await self._send("PATCH", "/v1/data", escaped, content_type="application/json-patch+json")

    async def bundle_revision(self) -> str | None:
        """Return the revision of the bridge's bundle that answers queries now, None before the first is activated.

        An OPA that was started with a single bundle file names the bundle by its path; then its revision is returned.
        """
        # A path without a document: only the provenance is needed.
        return (
            _read_revision(_decode(await self._send_read("GET", "/v1/data/system/provenance?provenance=true"))) or None
        )

    async def bundle_status(self) -> BundleStatus | None:
        """Return the status of the last bundle that OPA got from the bridge; None for an OPA without its configuration.

        Raises OpaRejected (status 500) if OPA's status plugin is off, which `opa_config` never does.
        """
        body = await self._send_read("GET", "/v1/status")
        return _decode_as(_STATUS, body).result.bundles.get(BUNDLE_NAME)

    async def modules(self) -> list[Module]:
        """Return all modules in OPA."""
        found = []
        versions = [
            bundle.get("manifest", {}).get("file_rego_versions") or {}
            for bundle in (await self.get("system/bundles") or {}).values()
        ]
        old = {path.strip("/") for files in versions for path, version in files.items() if version == 0}
        for module in _decode(await self._send_read("GET", "/v1/policies")).get("result", []):
            path = tuple(str(term["value"]) for term in module["ast"]["package"]["path"][1:])
            submitted = _SUBMITTED.search(module["id"])
            author = parse_key(submitted[1]) if submitted else None
            name = unquote(module["id"].rpartition("/")[2])
            is_old = submitted is not None and module["id"][submitted.start() :].strip("/") in old
            found.append(Module(author, name, path, module.get("raw", ""), is_old))
        return found

    async def modules_by_author(self) -> dict[Key, list[str]]:
        """Return the packages of the authors' modules in OPA, by object (ConfigMaps, RegoPolicies)."""
        found: dict[Key, set[str]] = {}
        for module in await self.modules():
            if module.author:
                found.setdefault(module.author, set()).add(".".join(module.package))
        return {author: sorted(packages) for author, packages in found.items()}

    async def bundle_roots(self) -> list[tuple[str, ...]]:
        """Return the parts of `data` that OPA's bundles own, as paths; none for an OPA without bundles."""
        bundles = await self.get("system/bundles") or {}
        roots = {root for bundle in bundles.values() for root in bundle["manifest"].get("roots") or ()}
        return [tuple(root.split("/")) for root in sorted(roots)]

    async def packages_of_policies(self) -> dict[str, tuple[str, ...]]:
        """Return the package of each policy in OPA, by the policy's id: of files, bundles, and other clients."""
        found = _decode(await self._send_read("GET", "/v1/policies")).get("result", [])
        return {
            policy["id"]: tuple(str(term["value"]) for term in policy["ast"]["package"]["path"][1:]) for policy in found
        }

    async def module_states(self) -> dict[Key, dict[str, str]]:
        """Return what the bridge reports of modules, by object: `{since?, failing?}`.

        A version that OPA does not have yet is checked since `since`; the active one fails on objects (`failing`).
        """
        found = await self.get(STATES_OF_MODULES) or {}
        return {parse_key(name): state for name, state in found.items() if name != STATE_OF_VIEW}

    async def missing_view(self) -> str:
        """Return why the view `data.kubernetes` is missing though the bridge's settings ask for it; "" if it is not."""
        return str(await self.get(pointer(STATES_OF_MODULES, STATE_OF_VIEW, "missing")) or "")

    async def config(self) -> dict[str, Any]:
        """Return the configuration of this OPA (OPA omits secrets)."""
        config: dict[str, Any] = _decode(await self._send_read("GET", "/v1/config")).get("result", {})
        return config

    async def is_ready(self) -> bool:
        """Return whether OPA responds and is healthy."""
        try:
            await self._send_read("GET", "/health")
        except (OpaUnavailable, OpaRejected):
            return False
        return True

    async def _send_read(self, method: str, path: str, body: Any = msgspec.UNSET) -> bytes:
        try:
            return await self._send(method, path, body)
        except OpaDisconnected:
            # OPA may have closed an idle connection, or restarted, before this request. Reading twice changes nothing,
            # so one retry on a new connection spares every caller.
            return await self._send(method, path, body)

    async def _send(
        self, method: str, path: str, body: Any = msgspec.UNSET, content_type: str = "application/json"
    ) -> bytes:
        document = path.partition("?")[0]
        attributes = {"http.request.method": method, "url.path": document} if tracing.on() else {}
        with self._requests.measured(method, path), tracing.child(f"OPA {method} {document}", attributes=attributes):
            return await self._exchange(method, path, body, content_type)

    async def _exchange(self, method: str, path: str, body: Any, content_type: str) -> bytes:
        if self._transport is None:
            raise RuntimeError("the OPA client is not open: use it as an async context manager")
        if self._closed:
            raise OpaUnavailable(f"OPA at {self.url} cannot be reached: the bridge is stopping")
        headers = dict(tracing.headers())
        if self._token is not None:
            try:
                token = self._token if isinstance(self._token, str) else self._token()
            except OSError as error:
                raise OpaUnavailable(f"the token for OPA at {self.url} cannot be read: {error}") from error
            headers["Authorization"] = f"Bearer {token}"
        data = None
        if body is not msgspec.UNSET:
            data = msgspec.json.encode(body)
            headers["Content-Type"] = content_type
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._transport.exchange(method, path, data, headers)
        except TimeoutError as error:
            raise OpaTimeout(f"OPA at {self.url} gave no answer within {self._timeout:g} s") from error
        if response.status >= 300:
            raise _read_rejection(response)
        return response.body


def _decode(body: bytes) -> dict[str, Any]:
    return _decode_as(_OBJECT, body or b"{}")


def _decode_as(decoder: msgspec.json.Decoder[Decoded], body: bytes) -> Decoded:
    try:
        return decode(body, decoder)
    except NestingError as error:
        raise OpaError(f"invalid response from OPA: {error}") from error
    except msgspec.DecodeError as error:
        raise OpaError(f"the server at this address does not respond like OPA: {error}") from error


def _read_revision(answer: dict[str, Any]) -> str:
    bundles = answer.get("provenance", {}).get("bundles", {})
    chosen = bundles.get(BUNDLE_NAME) or (next(iter(bundles.values())) if len(bundles) == 1 else {})
    return str(chosen.get("revision") or "")


def _read_rejection(response: Response) -> OpaRejected:
    status, body, retry_after = response
    wait = float(retry_after) if retry_after.isdecimal() else 0.0
    try:
        answer: Any = decode(body)
    except msgspec.DecodeError:
        answer = None
    if not isinstance(answer, dict):
        return OpaRejected(status, "no_opa_error", body.decode(errors="replace").strip()[:500], retry_after=wait)
    message = str(answer.get("message", answer.get("error", "")))
    errors = answer.get("errors")
    details = errors if isinstance(errors, list) else ()
    return OpaRejected(status, str(answer.get("code", "")), message, details, wait)


MOST_FAILING = 1_000  # further ones are logged only


class Failing:
    """Why queries fail on single items, by query and name of the item. `changed` is called after a change."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self.errors: dict[tuple[str, str], OpaError] = {}
        self._changed = changed

    def add(self, query: str, name: str, error: OpaError) -> None:
        """Note that a query fails on an item."""
        if len(self.errors) < MOST_FAILING:
            self.errors[query, name] = error
            self._changed()

    def drop(self, query: str, names: Iterable[str]) -> None:
        """Note that a query succeeds on items, or that they are removed."""
        found = [self.errors.pop((query, name), None) for name in names] if self.errors else []
        if any(found):
            self._changed()


MOST_NAMES = 64  # further names count as OTHER: unknown clients' requests make no new series
OTHER = "other"
FAILURES = ("rejected", "unavailable", "abandoned")  # error response; no response; cancelled by the client
_QUERIES = "/v1/data/bridge/v1/"
_STATES = ("/health", "/v1/status", "/v1/config")


class Requests:
    """Requests to OPA. `seconds` by query, `errors` by query and failure: one of FAILURES."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, Histogram] = defaultdict(Histogram)
        self.errors: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def measured(self, method: str, path: str) -> Iterator[None]:
        """Count the request that the block sends."""
        began = time.perf_counter()
        failure = ""
        try:
            yield
        except OpaRejected:
            failure = "rejected"
            raise
        except OpaUnavailable:
            failure = "unavailable"
            raise
        except asyncio.CancelledError:
            failure = "abandoned"
            raise
        finally:
            name = request_name(method, path)
            if name not in self.seconds and len(self.seconds) >= MOST_NAMES:
                name = OTHER
            self.seconds[name].observe(time.perf_counter() - began)
            if failure:
                self.errors[name, failure] += 1


def request_name(method: str, path: str) -> str:
    """Return the name of a request: a query's name, or `write`, `document`, `decision`, `adhoc`, `state`."""
    if path.startswith(_QUERIES):
        return path[len(_QUERIES) :].partition("?")[0]
    if method in {"PATCH", "PUT"}:
        return "write"
    if path == "/v1/query":
        return "adhoc"
    if path.startswith(_STATES):
        return "state"
    return "document" if method == "GET" else "decision"
