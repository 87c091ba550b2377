"""Publishes views: for each one signed bundle with the slice of OPA's data and the Rego that OPA has.

- All of a bundle is of one state of OPA: one query reads it. If a change of several writes, or other modules, arrived
  meanwhile, the query is repeated.
- A view is built again if a change concerns it, at most every PERIOD seconds, and published if its content differs.
  A large view, which takes OPA longer, is built less often.
- A view that selects nothing is not published; edges with an earlier bundle keep it.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import structlog
from aiohttp import web

from bridge.admission.certificates import Certificates
from bridge.destinations.destination import Destination
from bridge.destinations.federation import build_cluster_bundle
from bridge.destinations.place import StorageError
from bridge.files import rego_root
from bridge.http.bundles import BundleEndpoint
from bridge.http.edges import MOST_EDGES, Edges, Published
from bridge.http.gate import Limits
from bridge.http.listeners import ServeError, serving
from bridge.model.changes import Notice
from bridge.model.views import View
from bridge.opa.bundle import Bundle, build_view_bundle
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.opa.shipped import add_edge_policy, edge_bundle
from bridge.policy_loader.loader import Loader
from bridge.policy_loader.reports import utc_now
from bridge.replicator.answers import AnswerTable
from bridge.replicator.replicator import Replicator
from bridge.replicator.views import Marks, Slice, marks_of_change, query_slice
from bridge.settings.model import Settings
from bridge.work import RetryQueue

log = structlog.get_logger(__name__)

_LIMITS = Limits(2 * MOST_EDGES, MOST_EDGES)  # an OPA has a waiting request and one with its status
PERIOD = 1.0  # seconds between two bundles of one view: an OPA takes about half a second of processor time to load one
LARGEST_FILE = 1 << 30  # bytes of a file, unpacked, that OPA loads from a bundle without a larger size_limit_bytes
_NEARLY = 0.8  # of that, from which the log has a warning
_SHARE = 3  # a view rests at least this multiple of the time of its query, during which OPA writes little


class Publishing:
    """Serves the views of the settings to edges, on their current content, until `run` is cancelled. Raises ServeError.

    `modules` has the Rego that OPA gets. Views are stored at destinations while `may_write`.
    """

    def __init__(
        self,
        settings: Settings,
        opa: Opa,
        replicator: Replicator,
        loader: Loader,
        modules: BundleEndpoint,
        may_write: Callable[[], bool],
    ) -> None:
        self.edges = Edges(settings)
        try:
            self.destinations = [
                Destination(place, settings.cluster, self.edges.trust, may_write) for place in settings.destinations
            ]
        except StorageError as error:
            raise ServeError(f"publish_to: {error}") from error
        self.edges.destinations = lambda: [one.state for one in self.destinations]
        self._settings = settings
        self._views = {view.name: view for view in settings.views}
        self._opa = opa
        self._replicator = replicator
        self._loader = loader
        self._modules = modules
        self._answers = {name: AnswerTable(view, opa) for name, view in self._views.items() if view.has_answers}
        self._queue: RetryQueue[str] = RetryQueue(str)  # names of views to build; each has its own turn
        self._large: set[str] = set()  # views with a file that OPA may reject
        self._resting: set[str] = set()  # views that were built a moment ago
        self._marks: dict[str, Marks | None] = {}  # of built views; None or absent: every change concerns it
        self._seen: list[Marks] | None = None  # of changes since the current query began; None: none is running
        self._number = 0  # of the last bundle
        self._took = 0.0  # seconds of the last query
        self._torn = False  # whether the current query may have seen a part of a change

    def note(self, notice: Notice) -> None:
        """Note a change of OPA's documents."""
        self._torn |= notice.refilling or notice.refilled or notice.kinds
        if notice.refilled or notice.kinds:
            self._build_all()
        for key in (*notice.keys, *notice.reported):
            paths = (*notice.was.get(key, ()), *self._replicator.paths_of(key))
            marks = marks_of_change(key, paths)
            if self._seen is not None:
                self._seen.append(marks)
            concerned = [name for name in self._views if self._is_concerned(name, marks)]
            self._queue.add(concerned)
            for name in self._answers.keys() & {*concerned}:
                self._answers[name].note(str(key), paths)

    def _build_all(self) -> None:
        for answers in self._answers.values():
            answers.forget()
        self._queue.add(self._views)

    async def run(self) -> None:
        """Serve and publish until cancelled. Raises ServeError."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._serve())
            tasks.create_task(self._follow_modules())
            tasks.create_task(self._build())
            for destination in self.destinations:
                tasks.create_task(destination.run())

    async def _serve(self) -> None:
        settings = self._settings
        certificates = None
        if settings.publish_cert_file and settings.publish_key_file:
            certificates = Certificates(Path(settings.publish_cert_file), Path(settings.publish_key_file))
        app = web.Application()
        self.edges.add_to(app)
        listening = serving(app, settings.publish_listen, "--publish-listen", certificates, limits=_LIMITS)
        async with listening as url:
            log.info("serving views", at=url, views=[*self._views])
            await (certificates.follow() if certificates else asyncio.Event().wait())

    async def _follow_modules(self) -> None:
        """Build all views when OPA has other modules."""
        while True:
            revision = await self._loader.wait_until_active()
            self._build_all()
            await self._modules.wait_for_other(revision)

    async def _build(self) -> None:
        while True:
            [name] = await self._queue.take(1, lambda name: name not in self._resting)
            problem, published = "", self.edges.published
            try:
                await self._publish(self._views[name])
            except OpaError as error:
                problem = f"not built: {error}"
                if published[name].problem != problem:
                    log.warning("view not built", view=name, why=str(error))
                self._queue.failed(name)
            else:
                self._queue.succeeded(name)
            if problem or published[name].revision:  # otherwise it selects nothing
                published[name] = msgspec.structs.replace(published[name], problem=problem)

    def _is_concerned(self, name: str, marks: Marks) -> bool:
        known = self._marks.get(name)
        return known is None or not known.isdisjoint(marks)

    async def _publish(self, view: View) -> None:
        found, rules = await self._read(view)
        self._marks[view.name] = found.marks
        seen, self._seen = self._seen, None
        if any(self._is_concerned(view.name, marks) for marks in seen or ()):
            self._queue.add([view.name])  # the query may not have seen this change
        endpoint = self.edges.endpoints[view.name]
        if not found.objects and view.has_data:
            why = f"view {view.name} selects nothing: no {view.selection} exists"
            if endpoint.refusal != why:
                log.warning("view not published", view=view.name, why=why)
                await endpoint.refuse(why)
                self.edges.published[view.name] = Published(view.name, problem=why)
            return
        now, documents = utc_now(), found.documents
        # The time, because a bridge that starts knows no former number.
        self._number = max(self._number + 1, time.time_ns() // 1_000_000)
        if view.cluster:
            bundle = await asyncio.to_thread(
                build_cluster_bundle, documents, view.cluster, view.name, now, self._number
            )
        else:
            allowed = add_edge_policy(rules, rego_root())
            bundle = await asyncio.to_thread(build_view_bundle, allowed, documents, view.name, now, self._number)
        if bundle.revision != endpoint.revision:
            content = await asyncio.to_thread(self.edges.sign, view.name, bundle)
            await endpoint.serve_next(Bundle({}, bundle.revision, bundle.roots), content)
            for destination in self.destinations:
                destination.offer(view.name, content, bundle.revision)
            count, size = found.objects, len(content)
            self._warn_of_size(view.name, bundle)
            self.edges.published[view.name] = Published(view.name, bundle.revision, now, count, size)
            log.info("view published", view=view.name, revision=bundle.revision, objects=count, bytes=size)
        self._rest(view.name, max(PERIOD, _SHARE * self._took))

    def _warn_of_size(self, view: str, bundle: Bundle) -> None:
        """Log once that edges reject the view, or soon will."""
        file = max(bundle.files, key=lambda name: len(bundle.files[name]))
        size = len(bundle.files[file])
        if size < _NEARLY * LARGEST_FILE:
            self._large.discard(view)
        elif view not in self._large:
            self._large.add(view)
            fix = "raise size_limit_bytes of the bundle in the configuration of edges, or publish smaller views"
            log.warning(
                "view too large for OPA, or nearly", view=view, file=file, bytes=size, limit=LARGEST_FILE, fix=fix
            )

    async def _read(self, view: View) -> tuple[Slice, Bundle]:
        """Return the content of a view and the modules that OPA has, both of the same state."""
        while True:
            await self._replicator.filled.wait()
            revision = await self._loader.wait_until_active()
            rules = self._modules.bundle
            self._torn, self._seen = False, []
            began = asyncio.get_running_loop().time()
            answers = self._answers.get(view.name)
            found = await (answers.read(self._replicator.changing) if answers else query_slice(self._opa, view))
            # Answers take many short queries, between which OPA writes.
            self._took = 0.0 if answers else asyncio.get_running_loop().time() - began
            async with self._replicator.changing:
                pass  # changes of which the query may have seen a part are complete, and noted
            steady = self._replicator.filled.is_set() and not self._torn
            if steady and rules is not None and rules is self._modules.bundle and rules.revision == revision:
                return found, edge_bundle(rego_root()) if answers else rules
            if answers:
                answers.forget()

    def _rest(self, name: str, seconds: float) -> None:
        def end() -> None:
            self._resting.discard(name)
            self._queue.look_again()

        self._resting.add(name)
        asyncio.get_running_loop().call_later(seconds, end)
