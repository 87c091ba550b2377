"""`bridge run`: the sidecar."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridge import tracing
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.plain import tell
from bridge.queries.names import CommandError

if TYPE_CHECKING:
    from bridge.app.run import Running
    from bridge.cli.printers.table import Table
    from bridge.settings.model import Settings

_EXAMPLES = (
    ("Serve a folder of manifests and follow its changes", "bridge run --manifests examples/shop"),
    ("Serve kubectl's cluster, with the bridge's own OPA", "bridge run"),
    ("Use an OPA that runs with the output of `opa-config`", "bridge run --opa http://127.0.0.1:8181"),
    ("Settings from a file", "bridge run --config bridge.yaml"),
)

_SHOWN_ROWS = 100  # of a table at the start; other commands show the rest


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Run the sidecar: sync OPA, serve, write statuses")
@click.option(
    "--manifests",
    metavar="PATH",
    multiple=True,
    help="Serve manifests instead of a cluster: a file, a folder with all its files, or - for standard input. "
    "may follow.",
)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    help="The kubeconfig of the cluster. Default: as kubectl, otherwise the pod's service account.",
)
@click.option("--context", metavar="NAME", help="The context in the kubeconfig.")
@click.option(
    "--opa", "opa_url", metavar="URL", help="Use this OPA (http, https, unix:///PATH) instead of starting one."
)
@click.option("--opa-token-file", metavar="FILE", help="Bearer token for that OPA; read again for each request.")
@click.option(
    "--bundle-credentials",
    metavar="FOLDER",
    help="The token and the keys with which that OPA fetches and verifies bundles, as for `opa-config`.",
)
@click.option(
    "--opa-port", type=click.IntRange(1, 65535), help="The port of the bridge's own OPA. Default: a free one."
)
@click.option(
    "--opa-socket", metavar="PATH", help="The bridge's own OPA listens on this Unix socket instead of a port."
)
@click.option("--listen", metavar="HOST:PORT", help="Address of modules and probes. Default: 127.0.0.1:8282.")
@click.option(
    "--web-token-file", metavar="FILE", help="Bearer token for the page; required unless --listen is loopback."
)
@click.option(
    "--probe-listen",
    metavar="HOST:PORT",
    help="Separate address of probes and metrics. Default: as --listen.",
)
@click.option(
    "--webhook-listen", metavar="HOST:PORT", help="Address of the admission webhook, over TLS. Default: no webhook."
)
@click.option(
    "--config", metavar="FILE", type=click.Path(path_type=Path), help="Settings file (YAML); options take precedence."
)
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="Default: info.")
@click.option("--log-format", type=click.Choice(["console", "json"]), help="Default: console.")
@debug_option
def run(config: Path | None, **flags: Any) -> None:
    """Sync the objects of a cluster or a folder to OPA, and write policies' statuses, until Ctrl-C.

    A setting comes from its option, otherwise from the environment (BRIDGE_OPA_URL, BRIDGE_LISTEN, …), otherwise from
    the file.
    """
    from bridge.app.run import serve
    from bridge.cli.reading import take_standard_input
    from bridge.settings.environment import warn_of_variables
    from bridge.settings.loading import load_settings
    from bridge.telemetry.logs import configure_logs
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
    """Print the effective policies of a folder once, and the addresses for queries."""
    from bridge.cli.printers.table import print_tables
    from bridge.opa.errors import OpaError

    if settings.manifests:
        try:
            tables, example = await _overview(settings, running)
            print_tables(tables)
        except OpaError as error:
            # The bridge continues: the next sync repairs OPA.
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
    """Return curl's option for a Unix socket, empty for a port, and the URL."""
    path = url.removeprefix("unix://")
    return (f"--unix-socket {path} ", "http://localhost") if path != url else ("", url)


async def _overview(settings: Settings, running: Running) -> tuple[list[Table], str | None]:
    from bridge.cli.printers.effective import effective_tables
    from bridge.cli.printers.placement import placement_tables
    from bridge.cli.printers.status import status_tables
    from bridge.cli.reading import tell_problems
    from bridge.queries.asking import effective_everywhere
    from bridge.queries.statuses import statuses
    from bridge.remediator.placement.decisions import findings

    await tell_problems(running.engine)
    entries = await effective_everywhere(running.engine.opa)
    tables = [*effective_tables(entries), *status_tables(await statuses(running.engine.opa, with_objects=False))]
    tables += placement_tables(await findings(running.engine.opa, settings.placed_types))
    for table in tables:
        left_out = len(table.rows) - _SHOWN_ROWS
        if left_out > 0:
            table.rows[_SHOWN_ROWS:] = [[f"… and {left_out} more", *[""] * (len(table.columns) - 1)]]
    return [table for table in tables if table.rows], entries[0]["target"] if entries else None
