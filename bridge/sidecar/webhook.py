"""The running admission webhook: its certificate, its address, the OPAs that it queries, and its configurations."""

import asyncio
import contextlib
import dataclasses
import functools
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import structlog
from aiohttp import web

from bridge.admission.admission import (
    PLACEMENT,
    RULES,
    Admission,
    AdmissionCounts,
    Ask,
    Complete,
    JudgeModules,
    Policies,
    Question,
    Steps,
    read_rules,
)
from bridge.admission.admitted import Admitted
from bridge.admission.certificates import CertificateFiles, Certificates, Clients, create_certificate
from bridge.admission.guardrails import JudgeChange, judge_alone, judge_change, judge_rest
from bridge.admission.review import ReviewRequest, Terms
from bridge.http.gate import Gate, Limits
from bridge.http.listeners import CONNECTIONS, ServeError, serving, token_of
from bridge.http.reviews import make_app
from bridge.kube.kube_client import is_in_pod
from bridge.kube.lease import FencedClient
from bridge.model.observability import Record
from bridge.model.placement_decision import Decision, read_decision, read_review_decision
from bridge.opa.client import Answer, Opa
from bridge.opa.errors import OpaError
from bridge.settings.model import RELOADED, Settings
from bridge.sidecar.managed_opa import OpaAccess

log = structlog.get_logger(__name__)

_RULES = "bridge/v1/admission"
_RULES_WITHOUT_EFFECTS = "bridge/v1/admission_without_effects"
_LOOK = 0.5  # seconds between two looks whether policies exist
TLS_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_RELOADED = tuple(name for name in RELOADED if name.startswith("webhook_"))


@dataclass(slots=True)
class Webhook:
    """Serves admission at the setting `webhook_listen`. `access` is to the OPA that the bridge syncs.

    `judge` judges requests that change how policies act. `concerned` returns whether the rules may decide about a
    request. `admitted` has the changes that OPA may not have yet. `counted` counts the API server's requests; `gate`,
    once it listens, has the connections.
    """

    settings: Settings
    access: OpaAccess
    policies: Policies
    record: Record
    judge: JudgeChange
    cluster: FencedClient | None = None
    concerned: Callable[[ReviewRequest], bool] = lambda _: True
    admitted: Admitted = field(default_factory=Admitted)
    counted: AdmissionCounts = field(default_factory=AdmissionCounts)
    gate: Gate | None = field(default=None, init=False)
    _trouble: str = field(default="the webhook is not listening yet", init=False)
    _admission: Admission | None = field(default=None, init=False)
    _settings_changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _serving: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack, init=False)
    _draining: bool = field(default=False, init=False)

    def readiness(self) -> str:
        """Return why it is not ready; empty if it is."""
        return self._trouble

    async def drain(self, seconds: float) -> None:
        """Continue to respond for this number of seconds, and close each connection after its response."""
        self._draining = True
        if not self._trouble:
            log.info("admission webhook draining", seconds=seconds)
            await asyncio.sleep(seconds)

    async def stop(self) -> None:
        """Accept no more connections; return once requests in progress are answered."""
        was_serving, self._trouble = not self._trouble, "the webhook has stopped"
        await self._serving.aclose()
        if was_serving:
            log.info("admission webhook stopped")

    async def run(self) -> None:
        """Serve. Raises ServeError if it cannot listen, or its certificate files cannot be used."""
        with tempfile.TemporaryDirectory(prefix="policy-bridge-webhook-") as folder:
            files = self._files(Path(folder))
            certificates = self._certificates(files)
            async with asyncio.TaskGroup() as tasks:
                over = await self._judge_by(self.settings, tasks)
                if self.cluster:
                    tasks.create_task(self._keep_configurations(self.cluster, files.authority))
                tasks.create_task(self._serve(certificates))
                tasks.create_task(self._log_failure_mode())
                await self._follow_settings(over, tasks)

    async def _follow_settings(self, over: asyncio.Event, tasks: asyncio.TaskGroup) -> None:
        while True:
            await self._settings_changed.wait()
            self._settings_changed.clear()
            try:
                following = await self._judge_by(self.settings, tasks)
            except ServeError as error:
                log.error("webhook decision reload failed", why=str(error))
            else:
                over.set()
                over = following

    def change(self, settings: Settings) -> None:
        """Apply other settings from now on: `webhook_decision`, `webhook_token_file`, `webhook_deadline`."""
        fresh = {name: getattr(settings, name) for name in _RELOADED}
        if fresh != {name: getattr(self.settings, name) for name in _RELOADED}:
            self.settings = dataclasses.replace(self.settings, **fresh)
            self._settings_changed.set()

    async def _judge_by(self, settings: Settings, tasks: asyncio.TaskGroup) -> asyncio.Event:
        """Answer requests with these settings from here on, until the returned event is set. Raises ServeError.

        Requests in progress then are still answered.
        """
        over = asyncio.Event()
        stack = contextlib.AsyncExitStack()
        self._admission = await stack.enter_async_context(self._asking(settings))

        async def keep() -> None:
            async with stack:
                await over.wait()
                await asyncio.sleep(settings.webhook_deadline)

        tasks.create_task(keep())
        return over

    async def _review(self, body: bytes, terms: Terms) -> bytes:
        assert self._admission is not None  # noqa: S101 - it is there before anything is served
        return await self._admission.review(body, terms)

    async def _serve(self, certificates: Certificates) -> None:
        settings = self.settings
        app = make_app(self._review, lambda: self.settings.webhook_deadline)
        app.on_response_prepare.append(self._say_goodbye)
        limits = Limits(settings.webhook_connections, settings.webhook_connections_per_peer)
        # A request in progress at the end gets its whole time.
        served = serving(
            app,
            settings.webhook_listen or "",
            "--webhook-listen",
            certificates,
            limits=limits,
            shutdown_timeout=settings.webhook_deadline,
        )
        try:
            at = await self._serving.enter_async_context(served)
            self.gate = app[CONNECTIONS].gate
            url, path = self.settings.admission_decision
            decision = f"{url}/v1/data/{path}" if url else path
            log.info("admission webhook started", at=at, decision=decision or "none")
            self._trouble = ""
            await certificates.follow()
        finally:
            await self.stop()

    async def _say_goodbye(self, _: web.Request, response: web.StreamResponse) -> None:
        if self._draining:
            response.force_close()
            # aiohttp has made the headers before this call: without `Connection: close`, a client would send its next
            # request on a connection that is being closed.
            response.headers["Connection"] = "close"

    @contextlib.asynccontextmanager
    async def _asking(self, settings: Settings) -> AsyncIterator[Admission]:
        deadline = settings.webhook_deadline
        url, path = settings.admission_decision
        async with contextlib.AsyncExitStack() as stack:
            own = await stack.enter_async_context(self.access.open(timeout=deadline))
            placement = None
            whole = settings.webhook_input == "review"
            read = read_review_decision if whole else read_decision
            if url:
                token = token_of(settings.webhook_token_file)
                try:
                    other = await stack.enter_async_context(
                        Opa(url, token=token, timeout=deadline, requests=self.access.requests)
                    )
                except OpaError as error:
                    raise ServeError(f"webhook_decision: {error}") from error
                placement = Question(
                    PLACEMENT,
                    _asking(other, path),
                    self.policies,
                    self._undefined,
                    read,
                    is_own=False,
                    asks_with_review=whole,
                )
            elif path:
                placement = Question(
                    PLACEMENT, _asking(own, path), self.policies, self._undefined, read, asks_with_review=whole
                )
            rules = Question(
                RULES,
                _asking(own, _RULES),
                self.policies,
                lambda: "OPA lacks these rules",
                read_rules,
                steps=_steps(own, self.judge),
                complete=_completing(own, self.judge),
            )
            yield Admission(
                placement,
                rules,
                self.record,
                self.policies,
                self.counted,
                _judging_modules(own, self.judge),
                frozenset(settings.policy_namespaces),
                self.concerned,
                self.admitted,
            )

    @property
    def _decisions(self) -> tuple[str, ...]:
        return (PLACEMENT, RULES) if any(self.settings.admission_decision) else (RULES,)

    def _undefined(self) -> str | None:
        if not self.policies.may_exist(PLACEMENT):
            return None
        return (
            f"{self._named_decision()} is undefined though policies exist: define it for every object, or set "
            "webhook_decision to an empty text to turn this decision off"
        )

    async def _log_failure_mode(self) -> None:
        """Log what happens to requests without a decision, at the start and after a change, until cancelled."""
        logged: dict[str, bool | None] = {}
        while True:
            for decision in self._decisions:
                exist = self.policies.exist(decision)
                if exist is not None and exist is not logged.get(decision):
                    undecided = "denied" if exist else "admitted"
                    why = self._explain_mode(decision, exist=exist)
                    log.info("failure mode of admission", decision=decision, undecided=undecided, why=why)
                logged[decision] = exist
            await asyncio.sleep(_LOOK)

    def _explain_mode(self, decision: str, *, exist: bool) -> str:
        if not exist and decision == PLACEMENT:
            return f"no policy defines {self._named_decision()}"
        if not exist:
            return "no Constraint uses a policy, and no policy extends the rules"
        deciding = sorted(map(str, self.policies.deciding(decision)))
        others = f" and {len(deciding) - 1} more" if len(deciding) > 1 else ""
        return f"policies exist: {deciding[0]}{others}" if deciding else "a Constraint fails closed"

    def _named_decision(self) -> str:
        _, path = self.settings.admission_decision
        return f"data.{path.replace('/', '.')}" if path else "a decision"

    def _files(self, folder: Path) -> CertificateFiles:
        """Return the settings' files; without any, new ones in `folder`. Raises ServeError in a Pod without files."""
        settings = self.settings
        if settings.webhook_cert_file and settings.webhook_key_file:
            return CertificateFiles(Path(settings.webhook_cert_file), Path(settings.webhook_key_file))
        if is_in_pod():
            raise ServeError("webhook_cert_file and webhook_key_file are required in a Pod: all replicas share them")
        log.info("webhook certificate created", names=settings.webhook_host_names)
        return create_certificate(settings.webhook_host_names, folder)

    def _certificates(self, files: CertificateFiles) -> Certificates:
        settings = self.settings
        authority = Path(settings.webhook_client_ca_file) if settings.webhook_client_ca_file else None
        clients = Clients(authority, settings.webhook_client_names)
        return Certificates(files.certificate, files.key, clients, TLS_VERSIONS[settings.webhook_tls_min_version])

    async def _keep_configurations(self, cluster: FencedClient, authority: bytes) -> None:
        from bridge.admission.webhook_configuration import Keeper

        name = self.settings.webhook_configuration
        policies = self.policies

        def exist() -> bool | None:
            return policies.exist_of_any(self._decisions)

        await Keeper(cluster, name, cluster.may_write, exist, policies.kinds, authority).run()


def _asking(opa: Opa, path: str) -> Ask:
    async def ask(document: msgspec.Raw) -> Answer:
        return await opa.answer(path, document)

    return ask


def _steps(opa: Opa, judge: JudgeChange) -> Steps:
    return Steps(functools.partial(judge_alone, opa, judge), functools.partial(opa.answer, _RULES_WITHOUT_EFFECTS))


def _judging_modules(opa: Opa, judge: JudgeChange) -> JudgeModules:
    async def judge_modules(request: msgspec.Raw, seconds: float) -> Decision:
        return read_rules(await judge_change(opa, judge, request, seconds))

    return judge_modules


def _completing(opa: Opa, judge: JudgeChange) -> Complete:
    async def complete(request: msgspec.Raw, result: Any, seconds: float) -> Any:
        if not (isinstance(result, dict) and result.get("remaining")):
            return result
        if result["remaining"].get("describes"):
            decision = await judge_change(opa, judge, request, seconds)
        else:
            decision = await judge_rest(opa, request, result["remaining"], seconds)
        return result | {name: [*result[name], *decision[name]] for name in ("denied", "warnings")}

    return complete
