"""`pbctl run`: the sidecar."""

from __future__ import annotations

import asyncio
import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click

from bridge import tracing
from bridge.cli.command import Command, command
from bridge.cli.options import file_option
from bridge.cli.output import print_error
from bridge.queries.names import CommandError

if TYPE_CHECKING:
    from bridge.admission.guardrails import JudgeChange
    from bridge.cli.table import Block
    from bridge.offline.modules import ReadServed
    from bridge.settings.model import Setting, Settings
    from bridge.sidecar.program import Running

_MOST_SHOWN = 100  # effective targets that are listed at the start: more would delay the answers to others


class _RunCommand(Command):
    """Has an option for each setting that names one, made when they are needed: other commands do not wait for it."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options of the settings first, then the others."""
        return [*_setting_options(), *super().get_params(ctx)]


@functools.cache
def _setting_options() -> tuple[click.Option, ...]:
    from bridge.settings.model import SETTINGS

    return tuple(_option(one) for one in SETTINGS.values() if one.option)


def _option(setting: Setting) -> click.Option:
    flag, _, metavar = setting.option.partition(" ")
    if setting.type is bool:
        return click.Option([flag, setting.name], is_flag=True, default=None, help=setting.text)
    several = get_origin(setting.type) is tuple
    choices = get_args(setting.type) if get_origin(setting.type) is Literal else None
    default = "" if several or setting.default in {None, ""} else f" Default: {setting.default}."
    return click.Option(
        [flag, setting.name],
        metavar=None if choices else metavar,
        multiple=several,
        type=click.Choice(choices) if choices else click.INT if int in get_args(setting.type) else click.STRING,
        help=f"{setting.text}{default}",
    )


@command(
    "Run the sidecar: sync OPA, serve, write statuses",
    file_option("--config", "Settings file (YAML); options take precedence."),
    cls=_RunCommand,
)
def run(config: Path | None, **flags: Any) -> None:
    """Sync the objects of a cluster or a folder to OPA, and write policies' statuses, until Ctrl-C.

    Options override environment variables (BRIDGE_OPA_URL, BRIDGE_LISTEN, …), which override the
    settings file.

    Examples:
        # Serve a folder of manifests and follow its changes
        pbctl run --manifests examples/shop
        # Serve kubectl's cluster, with the bridge's own OPA
        pbctl run
        # Use an OPA that runs with the output of `opa-config`
        pbctl run --opa http://127.0.0.1:8181
        # Try it on a cluster without writing anything to it
        pbctl run --read-only
        # Settings from a file
        pbctl run --config bridge.yaml
    """
    from bridge.cli.reading import take_standard_input
    from bridge.queries.judged_change import ChangeJudge
    from bridge.settings.loading import load_settings, warn_of_variables
    from bridge.sidecar.program import serve
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

    def judging(served: ReadServed) -> JudgeChange:
        return ChangeJudge(settings, served).judge

    try:
        asyncio.run(serve(settings, lambda running: report(settings, running), site_of(settings), judging, read))
    finally:
        tracing.stop()


async def report(settings: Settings, running: Running) -> None:
    """Print the effective policies of a folder once, and the addresses for queries."""
    from bridge.cli.table import print_tables
    from bridge.opa.errors import OpaError

    if settings.manifests:
        try:
            tables, example = await _overview(settings, running)
            print_tables(tables)
        except OpaError as error:
            # The bridge continues: the next sync repairs OPA.
            print_error(f"error: {error}")
            example = None
    else:
        example = None
    socket, at = _curl_address(running.opa_url)
    print(f"\nQueries:  {at}/v1/data/bridge/v1/effective   (explain, status, …: OPA's data API)")
    if example:
        body = f'{{"input": {{"targets": ["{example}"]}}}}'
        print(f"          curl -s {socket}{at}/v1/data/bridge/v1/effective -d '{body}'")
    print(f"Web page: {running.bridge_url}   (also /livez and /readyz)")
    print("Ctrl-C stops it.", flush=True)


def _curl_address(url: str) -> tuple[str, str]:
    """Return curl's option for a Unix socket, empty for a port, and the URL."""
    path = url.removeprefix("unix://")
    return (f"--unix-socket {path} ", "http://localhost") if path != url else ("", url)


async def _overview(settings: Settings, running: Running) -> tuple[list[Block], str | None]:
    from bridge.cli.effective import effective_table
    from bridge.cli.placement import placement_tables
    from bridge.cli.reading import report_problems
    from bridge.cli.status import status_tables
    from bridge.cli.table import filled
    from bridge.queries.asking import effective_everywhere, scopes
    from bridge.queries.statuses import statuses
    from bridge.remediator.decisions import findings

    await report_problems(running.engine)
    targets = sorted({str(key) for keys in (await scopes(running.engine.opa)).values() for key in keys})
    example = targets[0] if targets else None
    if len(targets) > _MOST_SHOWN:
        text = f"{len(targets):,} effective targets: `pbctl effective` and `pbctl status` list their policies"
        return [text], example
    tables = [
        effective_table(await effective_everywhere(running.engine.opa, fields=True)),
        *status_tables(await statuses(running.engine.opa, with_objects=False)),
        *placement_tables(await findings(running.engine.opa, settings.placed_types)),
    ]
    return filled(tables), example
