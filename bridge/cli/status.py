"""The commands about results: `bridge status`, `bridge problems`, `bridge violations` and `bridge placement`."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridge.cli.completion import CONSTRAINTS, OBJECTS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import (
    View,
    namespace_options,
    schemas_option,
    selector_option,
    view_options,
    wants_document,
)
from bridge.cli.terminal import print_error
from bridge.model.keys import parse_key
from bridge.queries.names import CommandError, NameNotFoundError, object_name

if TYPE_CHECKING:
    from bridge.cli.printers.differences import Position
    from bridge.offline.engine import Engine
    from bridge.queries.asking import Entry, Selects
    from bridge.queries.statuses import Statuses
    from bridge.remediator.placement.decisions import PlacementFinding
    from bridge.settings.model import Settings

_FOUND = 1  # exit code if there are problems, or a violation has the action deny

_PROBLEMS_EXAMPLES = (
    ("All problems in a folder", "bridge problems --manifests examples/shop"),
    ("Problems in one namespace of the cluster, with updates", "bridge problems -n shop --watch"),
    ("Problems of one object", "bridge problems httproute/cart -n shop"),
)


@click.command(cls=ExampleCommand, examples=_PROBLEMS_EXAMPLES, short_help="List problems of existing objects")
@click.argument("targets", metavar="[OBJECT]...", nargs=-1, shell_complete=OBJECTS)
@namespace_options(only="The namespace of OBJECTs without one; without OBJECT, list only this namespace.")
@selector_option
@schemas_option
@view_options
@debug_option
@click.pass_context
def problems(
    ctx: click.Context,
    targets: tuple[str, ...],
    namespace: str | None,
    selects: Selects | None,
    schemas: tuple[str, ...],
    view: View,
) -> None:
    """List problems: targets that do not exist or are not granted, conflicts, policies without effect, broken links.

    With --manifests also unknown kinds and fields. The exit code is 1 if there are any problems.
    """
    from bridge.cli.printers.differences import problems_table
    from bridge.cli.reading import Form, show
    from bridge.queries.analysis import is_error

    async def ask(engine: Engine) -> tuple[list[Entry], Position]:
        from bridge.queries.analysis import all_problems, doubtful, read_crds
        from bridge.queries.asking import target_keys

        keys = await target_keys(engine.opa, targets, namespace) if targets else None
        doubts = doubtful(engine.doubts(read_crds(schemas)))
        return await all_problems(engine.opa, keys, namespace, selects, doubts), engine.position

    form: Form[tuple[list[Entry], Position]] = Form(
        lambda found, _: [problems_table(*found)],
        "No problems found.",
        document=lambda found: found[0],
        names=lambda found: [problem["subject"] for problem in found[0]],
    )
    answer, code = show(view, ask, form)
    ctx.exit(code or (_FOUND if any(map(is_error, answer[0])) else 0))


_STATUS_EXAMPLES = (
    ("The statuses of the policies in a folder of manifests", "bridge status --manifests examples/shop"),
    ("The same for a cluster, from its OPA", "bridge status --opa http://opa:8181"),
    ("Each object with its desired status", "bridge status --manifests examples/shop -o yaml"),
)


@click.command(
    cls=ExampleCommand, examples=_STATUS_EXAMPLES, short_help="Show statuses of policies and affected objects"
)
@namespace_options(only="Only policies and affected objects in this namespace.")
@selector_option
@view_options
@debug_option
@click.pass_context
def status(ctx: click.Context, namespace: str | None, selects: Selects | None, view: View) -> None:
    """Show the status of each policy, and the conditions on objects that policies affect.

    -o json and yaml print an array of these objects with their desired status. A policy of a kind in mode Observe,
    whose status the bridge does not write, has the annotation policybridge.io/mode: Observe there.
    """
    from bridge.cli.printers.status import status_tables
    from bridge.cli.reading import Form, show
    from bridge.queries.statuses import objects_with_status, only, statuses

    async def ask(engine: Engine) -> Statuses:
        found = await statuses(engine.opa, with_objects=wants_document(view.output))
        return await only(engine.opa, found, namespace, selects)

    form = Form(
        status_tables,
        "No policies found.",
        document=objects_with_status,
        names=lambda found: [object_name(parse_key(entry["policy"])) for entry in found.policies],
    )
    _, code = show(view, ask, form)
    ctx.exit(code)


_VIOLATIONS_EXAMPLES = (
    ("All violations by manifests", "bridge violations --manifests examples/constraints"),
    (
        "Violations of one Constraint, in one namespace, from a running OPA",
        "bridge violations memory-limits -n shop --opa URL",
    ),
    ("The JSON result of the query", "bridge violations --manifests examples/constraints -o json"),
)


@click.command(cls=ExampleCommand, examples=_VIOLATIONS_EXAMPLES, short_help="Show the violations of Constraints")
@click.argument("constraints", metavar="[CONSTRAINT]...", nargs=-1, shell_complete=CONSTRAINTS)
@namespace_options(only="Only objects in this namespace.")
@selector_option
@view_options
@debug_option
@click.pass_context
def violations(
    ctx: click.Context,
    constraints: tuple[str, ...],
    namespace: str | None,
    selects: Selects | None,
    view: View,
) -> None:
    """Show the violations of Constraints by existing objects, or by manifests.

    CONSTRAINT is the name of a Constraint; default: all. The exit code is 1 if a violation has the action deny;
    violations with warn and dryrun do not change it.
    """
    from bridge.cli.printers.status import violation_table
    from bridge.cli.reading import Form, show

    async def ask(engine: Engine) -> tuple[list[Entry], bool]:
        from bridge.queries.asking import selected

        rows, at_fault = await violations_of(engine, constraints, namespace)
        return await selected(engine.opa, rows, "object", selects), at_fault

    form: Form[tuple[list[Entry], bool]] = Form(
        lambda found, wide: [violation_table(found[0], wide=wide)],
        "No violations found.",
        document=lambda found: found[0],
    )
    (rows, at_fault), code = show(view, ask, form)
    denied = any(row["enforcementAction"] == "deny" for row in rows)
    ctx.exit(code or (2 if at_fault else _FOUND if denied else 0))


async def violations_of(engine: Engine, names: Sequence[str], namespace: str | None = None) -> tuple[list[Entry], bool]:
    """Return the violations of these Constraints, or of all, as in the query result, and whether manifests have errors.

    Warns on standard error about Constraints that are not active. Raises NameNotFoundError for an unknown name.
    """
    from bridge.queries.asking import in_batches

    query_input: dict[str, Any] = {"replicated": list(engine.replicated)} if engine.replicated is not None else {}
    known = {entry["constraint"]: entry for entry in await engine.opa.query("constraints", query_input)}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = (
                f"; did you mean {near[0]}?"
                if near
                else f"; existing Constraints: {', '.join(sorted(known)) or 'none'}"
            )
            raise NameNotFoundError(f"Constraint {name} does not exist{hint}")
    query_input = {"constraints": list(names)} if names else {}
    audited: dict[str, list[str]] = await engine.opa.query("audit_keys", query_input)
    keys = sorted({key for held in audited.values() for key in held if namespace in {None, parse_key(key).namespace}})
    rows = await in_batches(engine.opa, "violations", "objects", keys, query_input)
    rows.sort(key=lambda row: (row["constraint"], row["object"], row["message"]))
    return rows, _report_inactive(engine, [known[name] for name in names or sorted(known)])


def _report_inactive(engine: Engine, constraints: Sequence[Entry]) -> bool:
    at_fault = False
    for entry in constraints:
        condition = entry["condition"]
        if entry["unaudited"]:
            kinds = ", ".join(entry["unaudited"])
            print_error(f"warning: Constraint {entry['constraint']}: not evaluated because not replicated: {kinds}")
        if condition["status"] != "True":
            position = engine.position(parse_key(f"policybridge.io/Constraint/-/{entry['constraint']}"))
            where = f"{position[0]}:{position[1]}: " if position else ""
            at_fault = at_fault or position is not None
            level = "error" if position else "warning"
            what = " is not active:" if condition["reason"] == "Invalid" else ":"
            print_error(f"{level}: {where}Constraint {entry['constraint']}{what} {condition['message']}")
    return at_fault


_PLACEMENT_EXAMPLES = (
    (
        "Show the placement of a folder, with the settings of a bridge",
        "bridge placement --manifests examples/placement --config examples/placement-settings.yaml",
    ),
    (
        "Show the placement of Deployments of a running bridge",
        "bridge placement --kind apps/Deployment --opa http://opa:8181",
    ),
)


@click.command(
    cls=ExampleCommand, examples=_PLACEMENT_EXAMPLES, short_help="Show the annotations of the placement decision"
)
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
