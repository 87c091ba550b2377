"""`bridge placement`: show the placement decision for existing objects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import View, namespace_options, view_options
from bridge.cli.terminal import print_error
from bridge.queries.names import CommandError

if TYPE_CHECKING:
    from bridge.app.engine import Engine
    from bridge.remediator.placement.decisions import PlacementFinding
    from bridge.settings.model import Settings

_EXAMPLES = (
    (
        "Show the placement of a folder, with the settings of a bridge",
        "bridge placement --manifests examples/placement --config examples/placement-settings.yaml",
    ),
    (
        "Show the placement of Deployments of a running bridge",
        "bridge placement --kind apps/Deployment --opa http://opa:8181",
    ),
)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Show the annotations of the placement decision")
@click.option("--kind", "kinds", metavar="GROUP/KIND", multiple=True, help="Objects of this type: apps/Deployment.")
@click.option("--decision", metavar="PATH", help="The decision document, instead of the settings'.")
@click.option(
    "--config", metavar="FILE", type=click.Path(path_type=Path), help="A bridge's settings, with the kinds to place."
)
@namespace_options(only="Only objects in this namespace.")
@view_options
@debug_option
@click.pass_context
def placement(
    ctx: click.Context,
    kinds: tuple[str, ...],
    decision: str | None,
    config: Path | None,
    namespace: str | None,
    view: View,
) -> None:
    """Show the annotations that the placement decision would set on objects, and the objects that it denies.

    Nothing is written. Without --kind: the kinds of the setting `placement` (from --config, or BRIDGE_PLACEMENT). The
    setting `types` counts too, because decisions may read these objects. -o wide, json and yaml also show objects
    without differences.
    """
    from bridge.cli.printers.status import placement_tables
    from bridge.cli.reading import Form, show
    from bridge.remediator.placement.decisions import findings

    settings = _settings(config, kinds, decision)
    if not settings.selected_types and not view.source.opa_url:
        known = "only the kinds to place and Gateway API's are read"
        print_error(f"warning: {known}: a decision that reads other kinds needs --config FILE with types")
    types = [*(one.type for one in settings.selected_types), *(one.type_id for one in settings.placed_types)]

    async def ask(engine: Engine) -> list[PlacementFinding]:
        return await findings(engine.opa, settings.placed_types, namespace)

    form = Form(
        placement_tables,
        "No object needs another placement.",
        document=lambda found: [one.document() for one in found],
    )
    _, code = show(view, ask, form, types)
    ctx.exit(code)


def _settings(config: Path | None, kinds: tuple[str, ...], decision: str | None) -> Settings:
    """Return the settings with the options applied. Raises SettingsError, or CommandError if no kind is placed."""
    from bridge.settings.loading import load_settings

    settings = load_settings(config, {"placement": kinds, "decision": decision})
    if not settings.placed_types:
        raise CommandError("no kinds: give --kind GROUP/KIND, or --config FILE with the setting placement")
    return settings
