"""`pbctl run`: replicate, serve and remediate until a signal stops it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec
import structlog
from aiohttp import web

from bridge.admission.concerned import Concerned
from bridge.admission.guardrails import JudgeChange
from bridge.derived.loop import Loop
from bridge.files import rego_root
from bridge.http.bundles import Bundles
from bridge.http.listeners import serving
from bridge.http.request_guard import WrongTokens
from bridge.kube.kube_client import KubeClient
from bridge.model.observability import record_nothing
from bridge.model.types import ALWAYS, CRD
from bridge.offline.engine import Engine
from bridge.opa.client import Opa
from bridge.opa.executable import ensure_opa
from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import shipped_bundle
from bridge.policy_loader.judgement import ServedModules
from bridge.remediator.audit import Audit, Audited
from bridge.remediator.placement_updates import Placement
from bridge.remediator.remediator import Remediator
from bridge.remediator.violation_reports import ViolationReports
from bridge.remediator.write_loop import StatusSink
from bridge.replicator.replicator import Replicator
from bridge.settings.model import Settings
from bridge.sidecar.managed_opa import OpaAccess, keep_running, reach_opa
from bridge.sidecar.metric_sources import (
    Writers,
    measure_admission,
    measure_guards,
    measure_opa,
    measure_start,
    measure_views,
    measure_work,
)
from bridge.sidecar.policy_loading import PolicyLoading, SubmittedPolicies
from bridge.sidecar.publishing import Publishing
from bridge.sidecar.signals import Reloading, Shutdown
from bridge.sidecar.store import Store, open_store
from bridge.sidecar.threads import start_threads
from bridge.sidecar.webhook import Webhook
from bridge.sources.manifests import ManifestSource
from bridge.telemetry.metrics import Checks, Metrics, add_metrics, add_probes, probe_listening
from bridge.work import Budget, beside

log = structlog.get_logger(__name__)

PLACEMENT_BURST = 10  # objects that may be patched at once before the budget limits them


READERS_TIMEOUT = 10.0  # seconds for one query of a page's reader
READERS_AT_ONCE = 3  # such queries that OPA evaluates at once: admission and statuses need it, too
BURST = 100  # statuses that may be written at once before the budget limits them
SETTLING = 30.0  # seconds that the report at the start waits for statuses


@dataclass(slots=True)
class Running:
    """A bridge after its initial sync, for the report at the start."""

    engine: Engine
    opa_url: str
    bridge_url: str
    sink: StatusSink


Report = Callable[[Running], Awaitable[None]]
Judging = Callable[[Callable[[str], ServedModules | None]], JudgeChange]
Run = Callable[[], Coroutine[None, None, None]]


async def serve(settings: Settings, report: Report, site: Site, judging: Judging, read: Callable[[], Settings]) -> None:
    """Run until SIGTERM or SIGINT; `report` is called after the initial sync and the first statuses.

    `judging` returns what judges requests at the webhook that change how policies act, for a function that returns the
    served modules of a revision. `site` is served together with the bundle and the probes; `read` reads the settings
    again on SIGHUP.

    Raises ServeError, and the errors of other packages (KubeError, OpaError, ManifestError, ToolError), if it cannot
    start.
    """
    start_threads()
    shutdown = Shutdown(settings.shutdown_grace)
    reloading = Reloading(settings, read)
    with reloading.on_signal():
        await shutdown.guard(asyncio.create_task(_serve(reloading, report, site, judging, shutdown)))


async def _serve(reloading: Reloading, report: Report, site: Site, judging: Judging, shutdown: Shutdown) -> None:
    async with _start_parts(reloading, report, site, judging, shutdown) as working:
        await working


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a bridge that has an OPA. `own_opa` is None for an OPA that the settings name."""

    opa: Opa
    store: Store
    loading: PolicyLoading
    replicator: Replicator
    loop: Loop
    budget: Budget
    remediator: Remediator
    audit: Audit
    reports: ViolationReports
    placement: Placement
    webhook: Webhook | None
    concerned: Concerned
    publishing: Publishing | None
    own_opa: ManagedOpa | None

    @property
    def writers(self) -> Writers:
        """What writes into objects."""
        return self.remediator, self.audit, self.placement

    @property
    def work(self) -> list[Run]:
        """What each part does until it is cancelled."""
        runs: list[Run] = [self.replicator.run, self.loop.run, *(writer.run for writer in self.writers)]
        runs += [self.reports.run, self.loading.run, self.store.run]
        if self.own_opa:
            runs.append(functools.partial(keep_running, self.own_opa, self.replicator.doubt))
        if self.webhook:
            runs.append(self.webhook.run)
        if self.publishing:
            runs.append(self.publishing.run)
        return runs

    @property
    def readiness(self) -> dict[str, Callable[[], str]]:
        """What keeps each part from being ready, by the name of its check."""
        checks: dict[str, Callable[[], str]] = {
            "policies": lambda: self.loading.loader.unready or self.loading.authors.unready,
            "replicator": self.replicator.explain_unready,
        }
        return checks | ({"webhook": self.webhook.readiness} if self.webhook else {})

    @property
    def notes(self) -> dict[str, str]:
        """What is wrong without keeping a part from being ready."""
        lost = [f"{author}: {why}" for author, why in sorted(self.loading.loader.lost.items())]
        return {"policies": "; ".join(lost), "view": self.loading.loader.view_missing}


@contextlib.asynccontextmanager
async def _start_parts(
    reloading: Reloading, report: Report, site: Site, judging: Judging, shutdown: Shutdown
) -> AsyncIterator[asyncio.Task[None]]:
    settings = reloading.settings
    async with contextlib.AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings))
        # Probes are served from here on, and OPA may have to be built first: until then nothing is ready.
        ready = {"replicator": lambda: "OPA is not started yet", "shutdown": shutdown.unready}
        ends_last = await stack.enter_async_context(contextlib.AsyncExitStack())

        def checks() -> Mapping[str, str]:
            return {name: check() for name, check in ready.items()}

        bundles = Bundles(settings)
        metrics = Metrics()
        measure_start(metrics, checks, store, reloading)
        guards = {"page": site.wrong_tokens, "bundle": bundles.guard.wrong_tokens}
        measure_guards(metrics, guards)
        known: list[Parts] = []  # once there is an OPA

        def notes() -> Mapping[str, str]:
            return known[0].notes if known else {}

        app = _make_app(settings, bundles, checks, metrics, site, notes)
        bridge_url = await stack.enter_async_context(serving(app, settings.listen, "--listen"))
        await stack.enter_async_context(probe_listening(settings, checks, metrics, notes))
        executable = await asyncio.to_thread(ensure_opa)
        access, own_opa = await ends_last.enter_async_context(
            reach_opa(settings, bridge_url, bundles.tokens, bundles.trust, executable.path)
        )
        parts = await _make_parts(
            stack, settings, store, access, own_opa, bundles, executable.path, bridge_url, judging
        )
        known.append(parts)
        _connect(parts, bundles)
        ready |= parts.readiness
        if parts.publishing:
            guards["edges"] = parts.publishing.edges.wrong_tokens
            measure_views(metrics, parts.publishing.edges, parts.publishing.destinations)
        _measure(metrics, parts, access)
        readers = await stack.enter_async_context(access.open(timeout=READERS_TIMEOUT, at_once=READERS_AT_ONCE))
        backing = Backing(
            opa=parts.opa,
            readers=readers,
            loop=parts.loop,
            replicator=parts.replicator,
            remediator=parts.remediator,
            checks=checks,
            audited=parts.audit.audited,
            cluster=store.cluster,
            manifests=store.manifests,
        )
        site.open(backing)
        _follow_settings(reloading, parts)
        _end_in_order(shutdown, settings, parts)
        log.info("running", bridge=bridge_url, opa=access.url, source=store.name)
        engine = Engine(parts.opa, manifests=store.manifests, running=True)
        running = Running(engine, access.url, bridge_url, store.sink)
        async with beside(_work(parts, parts.work, report, running)) as task:
            yield task


async def _make_parts(  # noqa: PLR0913, PLR0917 - what the parts need
    stack: contextlib.AsyncExitStack,
    settings: Settings,
    store: Store,
    access: OpaAccess,
    own_opa: ManagedOpa | None,
    bundles: Bundles,
    executable: Path,
    bridge_url: str,
    judging: Judging,
) -> Parts:
    """Make every part that needs OPA. Clients of OPA are closed with `stack`."""
    opa = await stack.enter_async_context(access.open())
    loading = PolicyLoading(store, opa, bundles.modules, executable, settings)
    # Queries for links and statuses are repeated without a policy author's module that fails; those of admission must
    # not be: a crafted object would remove a policy.
    loader = loading.loader
    opa.failures = loader.failing
    recovering = await stack.enter_async_context(access.open(recover=loader.blame, failing=loader.failing))
    # Requests of several readers share one query about a change.
    impatient = await stack.enter_async_context(
        access.open(timeout=settings.opa_query_timeout, recover=loader.blame, failing=loader.failing)
    )
    replicator = _make_replicator(settings, store, loading, recovering, bridge_url)
    budget = Budget(settings.status_writes_per_second, BURST)
    replicated = None if settings.manifests else (*ALWAYS, *_configured_types(settings))
    loop = Loop(impatient)
    audit = Audit(loop, opa, store.sink, budget, lambda: replicated)
    concerned = Concerned(loop, opa, lambda: replicator.unready)
    return Parts(
        opa=opa,
        store=store,
        loading=loading,
        replicator=replicator,
        loop=loop,
        budget=budget,
        remediator=Remediator(loop, impatient, store.sink, budget, patient=recovering),
        audit=audit,
        reports=ViolationReports(loop, audit.audited, opa, store.sink, budget, store.record, store.reports),
        placement=Placement(
            loop,
            opa,
            store.sink,
            settings.placed_types,
            Budget(settings.placement_writes_per_second, PLACEMENT_BURST),
            record_nothing if settings.manifests else store.record,  # for a folder the log has it already
            settings.placement_most_patches,
        ),
        webhook=_make_webhook(settings, store, access, loading, replicator, judging(loader.describe_served), concerned),
        concerned=concerned,
        publishing=Publishing(loop, settings, opa, replicator, loader, bundles.modules, store.sink.may_write)
        if settings.publish
        else None,
        own_opa=own_opa,
    )


def _connect(parts: Parts, bundles: Bundles) -> None:
    """Let parts listen to each other's changes."""
    replicator = parts.replicator
    bundles.modules.on_fresh_start(replicator.doubt)
    bundles.modules.before_first_bundle(parts.loading.loader.inspect)
    parts.loading.loader.before_rules_change(replicator.rules_change)
    if parts.webhook:
        parts.loop.follow(parts.concerned)
        replicator.listen(parts.webhook.admitted.take_in)
    replicator.listen(parts.loop.take_in)
    replicator.listen(parts.store.rediscover, CRD)
    parts.audit.listen(parts.reports.follow)


def _measure(metrics: Metrics, parts: Parts, access: OpaAccess) -> None:
    measure_opa(metrics, access.requests, parts.own_opa)
    measure_work(metrics, parts.store, parts.replicator, parts.loading, parts.writers, parts.reports)
    if parts.webhook:
        measure_admission(metrics, parts.webhook)


def _follow_settings(reloading: Reloading, parts: Parts) -> None:
    budget, placement = parts.budget, parts.placement
    reloading.take(lambda settings: budget.change(settings.status_writes_per_second))
    reloading.take(
        lambda settings: placement.set_limits(settings.placement_writes_per_second, settings.placement_most_patches)
    )
    if parts.webhook:
        reloading.take(parts.webhook.change)


def _end_in_order(shutdown: Shutdown, settings: Settings, parts: Parts) -> None:
    if webhook := parts.webhook:
        shutdown.then("drain", lambda: webhook.drain(settings.shutdown_drain))
        shutdown.then("webhook", webhook.stop)
    shutdown.then("replicator", parts.replicator.finish)
    shutdown.then("lease", parts.store.resign)


async def _work(parts: Parts, work: Iterable[Run], report: Report, running: Running) -> None:
    async with asyncio.TaskGroup() as tasks:
        for run in work:
            tasks.create_task(run())
        await parts.replicator.filled.wait()
        if parts.store.sink.may_write():
            # A rejected write is repeated for ever: the report does not wait for it.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SETTLING):
                    for writer in parts.writers:
                        await writer.settled()
        running.engine.problems = parts.store.problems()
        await report(running)


def _configured_types(settings: Settings) -> list[str]:
    """Return the types that settings name."""
    placed = [one.type_id for one in settings.placed_types]
    return list(dict.fromkeys([*(one.type for one in settings.selected_types), *placed]))


def _make_replicator(settings: Settings, store: Store, loading: PolicyLoading, opa: Opa, bridge_url: str) -> Replicator:
    configured = _configured_types(settings)
    return Replicator(
        loading.source,
        opa,
        (*ALWAYS, *configured),
        # The listen address distinguishes bridges on one host, and stays the same after a restart.
        owner=f"{socket.gethostname()}:{bridge_url.rpartition(':')[2]}",
        content=_describe_content(store, settings),
        configured=configured,
        fields={one.type: one.fields for one in settings.selected_types},
        rules=loading.loader.links,
        record=store.record,
    )


def _admission_document(settings: Settings) -> tuple[str, ...] | None:
    """Return the document of the webhook's decision in the bridge's OPA, () for none; None for one in another OPA."""
    url, path = settings.admission_decision
    return None if url else tuple(path.split("/")) if path else ()


def _make_webhook(
    settings: Settings,
    store: Store,
    access: OpaAccess,
    loading: PolicyLoading,
    replicator: Replicator,
    judge: JudgeChange,
    concerned: Concerned,
) -> Webhook | None:
    if settings.webhook_listen is None:
        return None

    def document() -> tuple[str, ...] | None:
        return _admission_document(webhook.settings)  # a reload may have changed it

    policies = SubmittedPolicies(loading, replicator, document)
    webhook = Webhook(settings, access, policies, store.record, judge, store.cluster, concerned)
    return webhook


def _describe_content(store: Store, settings: Settings) -> str:
    """Return the origin of OPA's documents: the store, the Rego, and the omitted fields."""
    chosen = hashlib.sha256(
        msgspec.json.encode(
            [settings.types, [one.type_id for one in settings.placed_types], sorted(settings.policy_bounds.items())]
        )
    ).hexdigest()[:16]
    return f"{store.name} {shipped_bundle(rego_root()).revision} {chosen}"


def _make_app(
    settings: Settings, bundles: Bundles, checks: Checks, metrics: Metrics, site: Site, notes: Checks
) -> web.Application:
    app = web.Application()
    bundles.add_to(app)
    add_probes(app, checks, notes)
    if settings.probe_listen is None:
        add_metrics(app, metrics)
    site.add_to(app)
    return app


@dataclass(frozen=True, slots=True)
class Backing:
    """A working bridge: the OPA that it syncs, and its results.

    `readers` is a client for the queries of the page's readers: expensive ones wait for each other and do not delay the
    following of changes. `loop` computes what is derived from OPA; `remediator` counts the outcomes of policies;
    `audited` has the violations of Constraints; `checks` returns by name why the bridge is not ready; `cluster` is None
    for a folder, and `manifests` for a cluster.
    """

    opa: Opa
    readers: Opa
    loop: Loop
    replicator: Replicator
    remediator: Remediator
    checks: Callable[[], Mapping[str, str]]
    audited: Audited
    cluster: KubeClient | None = None
    manifests: ManifestSource | None = None


class Site(Protocol):
    """Routes that are served from the beginning, before OPA is running."""

    wrong_tokens: WrongTokens

    def add_to(self, app: web.Application) -> None:
        """Add all routes."""

    def open(self, backing: Backing) -> None:
        """Called when OPA is running."""
