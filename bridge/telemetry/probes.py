"""`/livez` and `/readyz` for kubelets and people; and the listener for clients that cannot reach loopback."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping

import structlog
from aiohttp import web

from bridge.http.listeners import listen, new_runner
from bridge.settings.model import Settings
from bridge.telemetry.metrics import Metrics, add_metrics

log = structlog.get_logger(__name__)

Checks = Callable[[], Mapping[str, str]]  # by name why a check is not ready; empty text: ready


def add_probes(app: web.Application, checks: Checks) -> None:
    """Add `/livez`: the process responds. `/readyz`: 200 only if every check is ready; `?verbose` lists them."""

    async def livez(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(request: web.Request) -> web.Response:
        found = checks()
        bad = {name: why for name, why in found.items() if why}
        lines = [f"[{'-' if why else '+'}] {name}{': ' + why if why else ' ok'}" for name, why in found.items()]
        shown = lines if "verbose" in request.query else [line for line in lines if line.startswith("[-]")]
        text = "\n".join([*shown, "readyz check failed" if bad else "ok"])
        return web.Response(status=503 if bad else 200, text=text + "\n")

    app.router.add_get("/livez", livez)
    app.router.add_get("/readyz", readyz)


@contextlib.asynccontextmanager
async def probe_listening(settings: Settings, checks: Checks, metrics: Metrics) -> AsyncIterator[None]:
    """Serve only probes and metrics at the setting `probe_listen`. Raises ServeError."""
    if settings.probe_listen is None:
        yield
        return
    app = web.Application()
    add_probes(app, checks)
    add_metrics(app, metrics)
    runner = new_runner(app, shutdown_timeout=1.0)
    await runner.setup()
    try:
        host, port = await listen(runner, settings.probe_listen, "--probe-listen")
        log.info("probe and metrics server started", at=f"http://{f'[{host}]' if ':' in host else host}:{port}")
        yield
    finally:
        await runner.cleanup()
