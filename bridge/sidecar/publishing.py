"""Publishes views: for each one signed bundle with the slice of OPA's data and the Rego that OPA has.

- All of a bundle is of one state of OPA: no change is written meanwhile. If a sync began, or other modules arrived, the
  answer is dropped, and the loop builds the view again.
- A view is built again if a change concerns it, at most every PERIOD seconds, and published if its content differs.
  Rego computes the marks of views and of changes; those that have one in common concern each other.
  A large view, which takes OPA longer, is built less often.
- A view that selects nothing is not published; edges with an earlier bundle keep it.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import structlog
from aiohttp import web

from bridge.admission.certificates import Certificates
from bridge.derived.loop import Derived, Loop, Outdated
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
from bridge.policy_loader.reporter import utc_now
from bridge.replicator.answer_table import AnswerTable
from bridge.replicator.replicator import Replicator
from bridge.replicator.slices import Marks, Slice, query_slice
from bridge.settings.model import Settings
from bridge.work import FAILED, Turns, delay_after

log = structlog.get_logger(__name__)

_LIMITS = Limits(2 * MOST_EDGES, MOST_EDGES)  # an OPA has a waiting request and one with its status
PERIOD = 1.0  # seconds between two bundles of one view: an OPA takes about half a second of processor time to load one
LARGEST_FILE = 1 << 30  # bytes of a file, unpacked, that OPA loads from a bundle without a larger size_limit_bytes
_NEARLY = 0.8  # of that, from which the log has a warning
_SHARE = 3  # a view rests at least this multiple of the time for which its reading makes changes wait


class Publishing(Derived[str]):
    """Serves the views of the settings to edges, on their current content, until `run` is cancelled. Raises ServeError.

    The loop builds them, by name. `modules` has the Rego that OPA gets. Views are stored at destinations while
    `may_write`.
    """

    name = "views"
    patient = True  # a change of which OPA cannot say what it concerns makes every view stale, and no answer of others

    def __init__(
        self,
        loop: Loop,
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
        self._loop = loop
        self._settings = settings
        self._views = {view.name: view for view in settings.views}
        self._opa = opa
        self._replicator = replicator
        self._loader = loader
        self._modules = modules
        self._answers = {name: AnswerTable(view, opa) for name, view in self._views.items() if view.has_answers}
        self._rests_until: dict[str, float] = {}  # by view that was built, or not, a moment ago
        self._failures: Counter[str] = Counter()  # in a row
        self._large: set[str] = set()  # views with a file that OPA may reject
        self._marks: dict[str, Marks | None] = {}  # of built views; None or absent: every change concerns it
        self._outdated: set[str] = set()  # views that a change concerns since they were read
        self._number = 0  # of the last bundle
        self._took = 0.0  # seconds for which the last reading of a view made changes wait

    def notice(self, change: Notice) -> None:
        """Let all answers have the change: what is read of them is of one state of OPA, which has it."""
        if change.kinds:
            self._loop.renew(self)
        for key in (*change.keys, *change.reported) if self._answers else ():
            paths = (*change.was.get(key, ()), *self._replicator.paths_of(key))
            for answers in self._answers.values():
                answers.add_change(str(key), paths, self._loop.revision)

    def wants(self, change: Notice, since: float) -> Mapping[str, Any]:  # noqa: ARG002 - of every result
        """Return the part of the query `outdated` with the marks of each changed object."""
        if all(self._marks.get(name) is None for name in self._views):
            return {}  # every change concerns them
        return {"marks": {"now": {str(key): self._replicator.paths_of(key) for key in change.keys}}}

    def hear(self, outdated: Outdated) -> None:
        """Find the views that have a mark of a change; the answers of others are as before it."""
        change, marks = outdated.change, outdated.parts.get("marks", {})
        concerned = {
            *(name for key in change.keys for name in self._views if self._is_concerned(name, marks.get(str(key)))),
            # A changed status concerns the views that have the object.
            *(name for key in change.reported for name in self._views if self._is_concerned(name, [str(key)])),
        }
        self._loop.add(self, concerned)
        self._outdated |= concerned
        revision = self._loop.known_revision
        for name in self._answers.keys() - self._outdated:
            self._answers[name].drop_changes(revision)

    async def every(self) -> AsyncIterator[Iterable[str]]:
        """Yield all views, whose answers are all computed again."""
        for answers in self._answers.values():
            answers.forget()
        yield self._views

    def owner_of(self, key: str) -> str:
        """Return the view: each has its own turn."""
        return key

    def rest(self, key: str) -> float:
        """Return the seconds until a view is built again."""
        return self._rests_until.get(key, 0.0) - asyncio.get_running_loop().time()

    def take(self, stale: Turns[str]) -> Iterable[Sequence[str]]:
        """Return a view that has rested."""
        return [stale.take(1, lambda name: self.rest(name) <= 0)]

    async def compute(self, keys: Sequence[str]) -> None:
        """Publish views; one that cannot be built is tried again, with growing delays."""
        for name in keys:
            problem, published = "", self.edges.published
            try:
                await self._publish(self._views[name])
            except OpaError as error:
                problem = f"not built: {error}"
                if published[name].problem != problem:
                    log.warning("view not built", view=name, why=str(error))
                self._failures[name] += 1
                self._rest(name, max(delay_after(FAILED, self._failures[name]), _SHARE * self._took))
                self._loop.add(self, [name])
            else:
                del self._failures[name]  # a Counter has no error for a missing key
            if problem or published[name].revision:  # otherwise it selects nothing
                published[name] = msgspec.structs.replace(published[name], problem=problem)

    async def run(self) -> None:
        """Serve and publish until cancelled. Raises ServeError."""
        with self._loop.following(self):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._serve())
                tasks.create_task(self._follow_modules())
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
            self._loop.renew(self)
            await self._modules.wait_for_other(revision)

    def _is_concerned(self, name: str, marks: Sequence[str] | None) -> bool:
        known = self._marks.get(name)
        return known is None or marks is None or not known.isdisjoint(marks)

    async def _publish(self, view: View) -> None:
        if (read := await self._read(view)) is None:
            return
        found, rules = read
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

    async def _read(self, view: View) -> tuple[Slice, Bundle] | None:
        """Return the content of a view and the modules that OPA has, both of the same state.

        None if OPA was not in one state meanwhile: then all views are stale.
        """
        revision = await self._loader.wait_until_active()
        rules, answers = self._modules.bundle, self._answers.get(view.name)
        clock = asyncio.get_running_loop().time
        self._took = 0.0
        if answers:  # in many short queries, between which OPA writes
            await answers.catch_up()
        async with self._replicator.changing:
            if self._loop.is_renewing(self):
                return None
            began = clock()
            try:
                found = await (answers.read() if answers else query_slice(self._opa, view))
            finally:
                self._took = clock() - began
        if (
            self._loop.is_renewing(self)
            or rules is None
            or rules is not self._modules.bundle
            or rules.revision != revision
        ):
            return None
        self._marks[view.name] = found.marks
        self._outdated.discard(view.name)
        return found, edge_bundle(rego_root()) if answers else rules

    def _rest(self, name: str, seconds: float) -> None:
        self._rests_until[name] = asyncio.get_running_loop().time() + seconds
