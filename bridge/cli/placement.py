"""`pbctl admin placement`: the annotations that the placement decision would set on objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bridge.cli.command import option
from bridge.cli.options import file_option, namespace_options
from bridge.cli.output import Answer, print_error
from bridge.cli.read_commands import read_command
from bridge.cli.reading import Asked
from bridge.cli.table import Table
from bridge.model.keys import parse_key
from bridge.queries.names import CommandError, short_key

if TYPE_CHECKING:
    from bridge.offline.engine import Engine
    from bridge.remediator.decisions import PlacementFinding
    from bridge.settings.model import Settings


def _types(asked: Asked) -> list[str]:
    """Return the types to read, and warn if a decision may need others."""
    settings = _settings(asked)
    if not settings.selected_types and not asked.source.opa_url:
        known = "only the kinds to place and Gateway API's are read"
        print_error(f"warning: {known}: a decision that reads other kinds needs --config FILE with types")
    return [*(one.type for one in settings.selected_types), *(one.type_id for one in settings.placed_types)]


def _settings(asked: Asked) -> Settings:
    """Return the settings with the options applied. Raises SettingsError, or CommandError if no kind is placed."""
    from bridge.settings.loading import load_settings

    chosen = {"placement": asked.more["kinds"], "decision": asked.more["decision"]}
    settings = load_settings(asked.more["config"], chosen)
    if not settings.placed_types:
        raise CommandError("no kinds: give --kind GROUP/KIND, or --config FILE with the setting placement")
    return settings


@read_command(
    "Show the annotations of the placement decision",
    option("--kind", "kinds", metavar="GROUP/KIND", multiple=True, help="Objects of this type: apps/Deployment."),
    option("--decision", metavar="PATH", help="The decision document, instead of the settings'."),
    file_option("--config", "A bridge's settings, with the kinds to place."),
    *namespace_options("Only objects in this namespace."),
    check=_types,
)
async def placement(engine: Engine, asked: Asked) -> Answer:
    """Show the annotations that the placement decision would set on objects, and the objects that it denies.

    This is a preview: nothing is applied. Without --kind, the command uses the kinds of the setting `placement` (from
    --config, or BRIDGE_PLACEMENT). It also reads the setting `types`, because decisions may read these objects. -o
    wide, json and yaml also show objects without differences.

    Examples:
        # Show the placement of a folder, with the settings of a bridge
        pbctl admin placement --manifests examples/placement --config examples/placement-settings.yaml
        # Show the placement of Deployments of a running bridge
        pbctl admin placement --kind apps/Deployment --opa http://opa:8181
        # Show the placement of each cluster's Deployments by a decision that reads the data of all clusters
        pbctl admin placement --kind apps/Deployment --opa http://opa:8181 --all-clusters
    """
    from bridge.remediator.decisions import findings

    found = await findings(engine.opa, _settings(asked).placed_types, asked.namespace)
    return Answer(
        lambda: placement_tables(found, asked.wide),
        "No object needs another placement.",
        [one.document() for one in found],
    )


def placement_tables(findings: Sequence[PlacementFinding], wide: bool = False) -> list[Table]:
    """Return a row for each annotation that differs (`wide`: each one), and for each object without placement."""
    wanted = Table(["OBJECT", "ANNOTATION", "NOW", "WANTED"])
    not_placed = Table(["NOT PLACED", "WHY"])
    for one in findings:
        name = short_key(parse_key(one.key))
        annotations = one.decided.annotations
        chosen = one.decided.decision.annotations if wide and not one.troubles else one.changes
        wanted.rows.extend([name, key, str(annotations.get(key, "")), chosen[key]] for key in sorted(chosen))
        not_placed.rows.extend([name, why] for why in one.troubles)
    return [wanted, not_placed]
