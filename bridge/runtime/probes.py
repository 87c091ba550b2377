"""`/livez` and `/readyz`, as kubelets and people ask them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aiohttp import web

Checks = Callable[[], Mapping[str, str]]  # by name of a check what keeps it from being ready; empty text: ready


def add_probes(app: web.Application, checks: Checks) -> None:
    """`/livez`: the process answers. `/readyz`: 200 only when every check is ready; `?verbose` lists them."""

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
