"""`bridge run`: the sidecar itself."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridge import tracing
from bridge.answers.errors import CommandError
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.plain import tell

if TYPE_CHECKING:
    from bridge.cli.printers.table import Table
    from bridge.runtime.serve import Running
    from bridge.runtime.settings import Settings

_EXAMPLES = (
    ("Serve a folder of manifests and follow its changes", "bridge run --manifests examples/shop"),
    ("Serve the cluster that kubectl talks to, with an OPA of its own", "bridge run"),
    ("Fill an OPA that was started with what `opa-config` prints", "bridge run --opa http://127.0.0.1:8181"),
    ("Settings from a file", "bridge run --config bridge.yaml"),
)

_SHOWN_ROWS = 100  # of a table at the start; the rest is a command away


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="The sidecar: fill OPA, serve, write statuses")
@click.option(
    "--manifests",
    metavar="PATH",
    multiple=True,
    help="Serve manifests instead of a cluster: a file, a folder with all below it, or - for standard input. Several "
    "may follow.",
)
@click.option(
    "--kubeconfig", metavar="FILE", help="How to reach the cluster. Default: as kubectl, else the pod's account."
)
@click.option("--context", metavar="NAME", help="The context in the kubeconfig.")
@click.option(
    "--opa", "opa_url", metavar="URL", help="Fill this OPA (http, https, unix:///PATH) instead of starting one."
)
@click.option("--opa-token-file", metavar="FILE", help="Bearer token for that OPA; read anew for each request.")
@click.option(
    "--bundle-credentials",
    metavar="FOLDER",
    help="The token and the keys by which that OPA fetches and verifies bundles, as `opa-config` has them.",
)
@click.option(
    "--opa-port", type=click.IntRange(1, 65535), help="The port of the OPA that is started. Default: a free one."
)
@click.option("--opa-socket", metavar="PATH", help="The OPA that is started listens on this Unix socket, on no port.")
@click.option("--listen", metavar="HOST:PORT", help="Where modules and probes are served. Default: 127.0.0.1:8282.")
@click.option("--web-token-file", metavar="FILE", help="Bearer token for the page; needed unless --listen is loopback.")
@click.option(
    "--probe-listen",
    metavar="HOST:PORT",
    help="Serve probes and metrics, and nothing else. Default: at --listen.",
)
@click.option("--webhook-listen", metavar="HOST:PORT", help="Serve admission there, over TLS. Default: not at all.")
@click.option(
    "--config", metavar="FILE", type=click.Path(path_type=Path), help="Settings as YAML; options go before them."
)
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="Default: info.")
@click.option("--log-format", type=click.Choice(["console", "json"]), help="Default: console.")
@debug_option
def run(config: Path | None, **flags: Any) -> None:
    """Keep OPA filled with a cluster's objects, or a folder's, and write policies' statuses back, until Ctrl-C.

    A setting comes from its option, else from the environment (BRIDGE_OPA_URL, BRIDGE_LISTEN, …), else from the file.
    """
    from bridge.cli.reading import take_standard_input
    from bridge.runtime.logs import configure_logs
    from bridge.runtime.serve import serve
    from bridge.runtime.settings_environment import warn_of_variables
    from bridge.runtime.settings_loading import load_settings
    from bridge.web.site import site_of

    def read() -> Settings:
        return load_settings(config, flags)

    settings = read()
    configure_logs(settings.log_level, settings.log_format)
    warn_of_variables()
    take_standard_input(settings.manifests)
    try:
        tracing.start(os.environ)
    except tracing.TracingError as error:
        raise CommandError(str(error)) from error
    try:
        asyncio.run(serve(settings, lambda running: report(settings, running), site_of(settings), read))
    finally:
        tracing.stop()


async def report(settings: Settings, running: Running) -> None:
    """Show, once, what a folder of manifests comes to, and where to ask from now on."""
    from bridge.cli.printers.table import print_tables
    from bridge.opa.errors import OpaError

    if settings.manifests:
        try:
            tables, example = await _overview(settings, running)
            print_tables(tables)
        except OpaError as error:
            # The bridge goes on: what fills OPA also mends it.
            tell(f"error: {error}")
            example = None
    else:
        example = None
    socket, at = _asked_at(running.opa_url)
    print(f"\nQueries:  {at}/v1/data/bridge/v1/effective   (scopes, status, …: OPA's data API)")
    if example:
        asked = f'{{"input": {{"targets": ["{example}"]}}}}'
        print(f"          curl -s {socket}{at}/v1/data/bridge/v1/effective -d '{asked}'")
    print(f"Bridge:   {running.bridge_url}   (/livez, /readyz)")
    print("Ctrl-C stops it.", flush=True)


def _asked_at(url: str) -> tuple[str, str]:
    """What curl is told of a Unix socket, empty for a port; and the URL that it asks."""
    path = url.removeprefix("unix://")
    return (f"--unix-socket {path} ", "http://localhost") if path != url else ("", url)


async def _overview(settings: Settings, running: Running) -> tuple[list[Table], str | None]:
    from bridge.answers.asking import effective_everywhere
    from bridge.answers.statuses import statuses
    from bridge.cli.printers.effective import effective_tables
    from bridge.cli.printers.placement import placement_tables
    from bridge.cli.printers.status import status_tables
    from bridge.cli.reading import tell_problems
    from bridge.remediator.placement.finding import findings

    await tell_problems(running.engine)
    entries = await effective_everywhere(running.engine.opa)
    tables = [*effective_tables(entries), *status_tables(await statuses(running.engine.opa, with_objects=False))]
    tables += placement_tables(await findings(running.engine.opa, settings.placed_types))
    for table in tables:
        left_out = len(table.rows) - _SHOWN_ROWS
        if left_out > 0:
            table.rows[_SHOWN_ROWS:] = [[f"… and {left_out} more", *[""] * (len(table.columns) - 1)]]
    return [table for table in tables if table.rows], entries[0]["target"] if entries else None
