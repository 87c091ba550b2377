"""Edges: other OPAs that fetch bundles of views from this bridge, and report their status to it.

An edge has a token for its view: the one in the folder of credentials, or those in the setting `publish_tokens`. Its
files are read again within FILES seconds, for requests; one that cannot be read is logged, and its former tokens count.
"""

import functools
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import structlog
from aiohttp import web

from bridge.destinations.destination import DestinationState
from bridge.http.bodies import BODIES, Bodies
from bridge.http.bundles import DOWNLOADS, BundleEndpoint, BundleGuard, read_tokens, refuse_bundle, sign_bundle
from bridge.http.listeners import ServeError
from bridge.http.request_guard import Refused, WrongTokens, bearer_of, digest_of, same
from bridge.model.addresses import is_loopback
from bridge.opa.bundle import BUNDLE_NAME, view_path
from bridge.opa.credentials import CredentialsError, TokenError, default_folder, kept_credentials
from bridge.policy_loader.reporter import utc_ago, utc_now
from bridge.settings.model import Settings, split_address
from bridge.work import FILES, OwnersTurns

log = structlog.get_logger(__name__)

MOST_EDGES = 10_000  # edges whose last report is kept
LARGEST_REPORT = 1 << 20  # bytes
LONGEST_REPORT = 30.0  # seconds for its arrival
MOST_REPORTS = 32 << 20  # bytes of all reports at once beyond FREE of each; of one address half of it
FREE = 4 << 10
BEHIND = 60.0  # seconds in which an edge has not loaded the published revision, or has not reported that
SILENT = 300.0  # seconds without a report; an OPA sends one after each poll
FORGOTTEN = 3600.0  # seconds after which an edge without a report is gone, such as a deleted Pod
STATES = ("current", "behind", "failing", "silent")
_VIEWS_AT_ONCE = 4  # views of which DOWNLOADS edges download at once
_UNSET_NAME = "${HOSTNAME}"  # an edge's name if this variable is not set: OPA leaves it as it is
_LONGEST = 500  # characters that are kept of each text in a report
_MESSAGE = "bundles of views are only for an OPA with its token: `pbctl admin opa-config --view` configures it"


class _BundleReport(msgspec.Struct):
    active_revision: str = ""
    last_successful_activation: str = ""
    code: str = ""
    message: str = ""
    errors: list[Any] = []


class _Report(msgspec.Struct):
    labels: dict[str, str] = {}
    bundles: dict[str, _BundleReport] = {}


_REPORT = msgspec.json.Decoder(_Report)


class Edge(msgspec.Struct, frozen=True):
    """The last report of one OPA: its names, the active revision of its view and the last error; times in RFC 3339."""

    id: str
    name: str
    view: str
    revision: str
    activated: str
    reported: str
    error: str
    behind: str = ""  # since when it has lacked a newer revision; empty if it had the published one


class Published(msgspec.Struct, frozen=True):
    """What is published of a view: the revision (empty if there is none, with the `problem`), since when, its size."""

    name: str
    revision: str = ""
    since: str = ""
    objects: int = 0
    bytes: int = 0
    problem: str = ""


class Edges:
    """The endpoints `/bundles/<view>.tar.gz`, `/status` for reports of edges, and `/fleet`. Raises ServeError.

    `reports` has the last report of each edge by a view of its token and the token's digest, and by its id, the longest
    silent one first: an edge cannot report as one that has another token.
    `published` is by view. `trust` has the key that verifies views.
    """

    def __init__(self, settings: Settings) -> None:
        folder = Path(settings.publish_credentials or default_folder("publish"))
        try:
            credentials = kept_credentials(folder)
        except CredentialsError as error:
            raise ServeError(str(error)) from error
        # The scope keeps an edge from taking another view's bundle for its own.
        self.sign = functools.partial(sign_bundle, credentials.key)
        self.trust = credentials.trust
        self.destinations: Callable[[], Iterable[DestinationState]] = list
        turns = OwnersTurns(_VIEWS_AT_ONCE * DOWNLOADS)
        self.endpoints = {
            view.name: BundleEndpoint(view_path(view.name), functools.partial(self.sign, view.name), turns=turns)
            for view in settings.views
        }
        self.reports: dict[tuple[str, bytes], dict[str, Edge]] = {}
        self.published = {name: Published(name, problem="not published yet") for name in self.endpoints}
        self.wrong_tokens = WrongTokens("edges")
        self._shared = credentials.token
        self._files = Path(settings.publish_tokens) if settings.publish_tokens else None
        self._trouble: set[str] = set()  # views whose tokens cannot be read
        self._granted: dict[bytes, list[str]] = {}  # the views of each token, by its digest
        self._reread = 0.0
        self._local = is_loopback(split_address(settings.publish_listen)[0])
        if settings.views and not self._local and not settings.publish_cert_file:
            where = f"publish_listen {settings.publish_listen}"
            raise ServeError(f"{where} needs publish_cert_file and publish_key_file: edges send tokens")
        if self._files is not None and not self._files.exists():
            raise ServeError(f"publish_tokens: {self._files} does not exist")
        try:
            # By view, the last valid tokens.
            self._read = {name: self._read_tokens(name) for name in self.endpoints}
        except (OSError, TokenError) as error:
            raise ServeError(f"publish_tokens: {error}") from error

    def add_to(self, app: web.Application) -> None:
        """Add all endpoints to an application."""
        app[BODIES] = Bodies(MOST_REPORTS, FREE, "report")
        for name, endpoint in self.endpoints.items():
            endpoint.add_to(app, self._guard(functools.partial(self._may_have, name)))
        every = self._guard(self._views_of)
        app.router.add_get("/bundles/{view}", every(self._refuse_unknown))
        app.router.add_post("/status", every(self._take_report))
        # An edge need not know of others.
        app.router.add_get("/fleet", self._guard(lambda given: same(given, self._shared))(self._describe_fleet))

    def _guard(self, accepts: Callable[[str], object]) -> BundleGuard:
        return BundleGuard(accepts, self.wrong_tokens, _MESSAGE, local=self._local)

    def _may_have(self, view: str, token: str) -> bool:
        return view in self._views_of(token)

    def _views_of(self, token: str) -> list[str]:
        """Return the views for which this is a token. It takes as long for one edge as for 10,000."""
        if (now := time.monotonic()) > self._reread:
            self._reread = now + FILES
            self._read_again()
        return self._granted.get(digest_of(token), [])

    def _read_again(self) -> None:
        for view in self.endpoints:
            try:
                self._read[view] = self._read_tokens(view)
                self._trouble.discard(view)
            except (OSError, TokenError) as error:
                if view not in self._trouble:
                    self._trouble.add(view)
                    log.warning("token reload failed", why=str(error))
        self._granted = {}
        for view, tokens in self._read.items():
            for token in tokens:
                self._granted.setdefault(digest_of(token), []).append(view)

    def _read_tokens(self, view: str) -> list[str]:
        if self._files is None:
            return [self._shared]
        file = self._files / view if self._files.is_dir() else self._files
        try:
            return read_tokens(file)
        except FileNotFoundError:
            return []  # no edge may have this view

    async def _refuse_unknown(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["view"].removesuffix(".tar.gz")
        return refuse_bundle("UnknownView", f"no view {name!r} is published: see the setting publish")

    async def _describe_fleet(self, _: web.Request) -> web.StreamResponse:
        fleet = {
            "views": [*self.published.values()],
            "destinations": [*self.destinations()],
            "edges": sorted((edge for _, edge in self._known_edges()), key=lambda one: one.name),
        }
        return web.Response(body=msgspec.json.encode(fleet), content_type="application/json")

    def count(self) -> dict[tuple[str, str], int]:
        """Return the number of edges by a view of their token and by state (STATES)."""
        counts = dict.fromkeys(itertools.product(self.endpoints, STATES), 0)
        silent, behind = utc_ago(SILENT), utc_ago(BEHIND)
        for view, edge in self._known_edges():
            published = self.published.get(edge.view, Published(""))
            if edge.reported < silent:
                state = "silent"
            elif edge.error:
                state = "failing"
            elif published.revision not in {"", edge.revision} and (edge.behind or published.since) < behind:
                state = "behind"
            else:
                state = "current"
            counts[view, state] += 1
        return counts

    def _known_edges(self) -> Iterator[tuple[str, Edge]]:
        """Yield each edge that has not been silent for too long, with a view of its token."""
        forgotten = utc_ago(FORGOTTEN)
        for (view, _), known in self.reports.items():
            while known and next(iter(known.values())).reported < forgotten:
                del known[next(iter(known))]
            yield from ((view, edge) for edge in known.values())

    async def _take_report(self, request: web.Request) -> web.StreamResponse:
        token = bearer_of(request) or ""
        own = self._views_of(token)
        try:
            async with request.app[BODIES].read(request, LARGEST_REPORT, LONGEST_REPORT) as body:
                edge = _edge_of(_REPORT.decode(body))
        except Refused as error:
            refusal = {"error": {"code": error.code, "message": str(error)}}
            return web.json_response(refusal, status=error.status, headers=error.headers)
        except (msgspec.DecodeError, RecursionError) as error:
            return web.json_response({"error": {"code": "InvalidReport", "message": str(error)}}, status=400)
        if edge.view in self.endpoints and edge.view not in own:
            why = f"it is configured for the view {edge.view}, of which it has no token"
            edge = msgspec.structs.replace(edge, view=own[0], revision="", error=why)
        known = self.reports.setdefault((edge.view if edge.view in own else own[0], digest_of(token)), {})
        before, published = known.pop(edge.id, edge), self.published.get(edge.view, Published(""))
        if edge.revision != published.revision:  # it may be stuck while newer revisions follow each other
            since = (before.revision == edge.revision and before.behind) or published.since
            edge = msgspec.structs.replace(edge, behind=since)
        known[edge.id] = edge
        if sum(map(len, self.reports.values())) > MOST_EDGES:
            most = max(self.reports.values(), key=len)
            del most[next(iter(most))]
        return web.json_response({})


def _edge_of(report: _Report) -> Edge:
    labels = report.labels
    bundle = report.bundles.get(BUNDLE_NAME, _BundleReport())
    identity, edge = labels.get("id", ""), labels.get("edge", "")
    texts = {
        "id": identity,
        "name": identity if edge in {"", _UNSET_NAME} else edge,
        "view": labels.get("view", ""),
        "revision": bundle.active_revision,
        "activated": bundle.last_successful_activation,
        "error": "; ".join(filter(None, [bundle.message, *map(_text_of, bundle.errors)])),
    }
    return Edge(reported=utc_now(), **{name: text[:_LONGEST] for name, text in texts.items()})


def _text_of(error: Any) -> str:
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)
