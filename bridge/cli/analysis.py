"""`bridge analyze` and `bridge impact`: the effects of changed manifests, and of one policy."""

from __future__ import annotations

import dataclasses
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from bridge.cli.completion import OBJECTS, POLICIES
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import (
    EVERY_SOURCE,
    Input,
    View,
    input_options,
    namespace_options,
    output_option,
    schemas_option,
    source_namespace_option,
    view_options,
)
from bridge.cli.terminal import print_error
from bridge.queries.names import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bridge.model.keys import Key
    from bridge.offline.engine import Engine
    from bridge.queries.analysis import Analysis, Applied

    Place = tuple[str, int] | None
    Position = Callable[[Key], Place]
    from bridge.queries.asking import Entry

_ANALYZE_EXAMPLES = (
    ("Show the effects of a changed file on a cluster", "bridge analyze -f policy.yaml --opa http://opa:8181"),
    ("Compare with a folder", "bridge analyze -f policy.yaml --manifests deploy/"),
    ("Compare the work tree with main, including deletions", "bridge analyze deploy/ --base main"),
    ("Print annotations for a pull request on GitHub", "bridge analyze deploy/ --base origin/main -o github"),
    ("Print a comment for a pull request (or sarif, junit)", "bridge analyze deploy/ --base origin/main -o markdown"),
    ("Show the effects of deleting a policy", "bridge analyze --delete colorpolicy/infra/brand --manifests deploy/"),
)
REPORTS = ("github", "markdown", "sarif", "junit")  # the formats of bridge.cli.reports
_FOUND = 1  # exit code if problems are introduced


@click.command(cls=ExampleCommand, examples=_ANALYZE_EXAMPLES, short_help="Show the effects of applying manifests")
@click.argument("named", metavar="[FILE]...", nargs=-1)
@click.option(
    "-f",
    "--filename",
    "files",
    metavar="FILE",
    multiple=True,
    help="Manifests to apply: a file, a folder with all its files, or - for standard input. Repeatable.",
)
@click.option(
    "--delete",
    "deleted",
    metavar="OBJECT",
    multiple=True,
    shell_complete=OBJECTS,
    help="Object to delete: KIND/NAMESPACE/NAME.",
)
@click.option(
    "--base",
    metavar="COMMIT",
    help="Compare with FILE at this commit of its Git repository, deletions included.",
)
@source_namespace_option(EVERY_SOURCE)
@schemas_option
@click.option("--prune", is_flag=True, help="With --manifests: delete the objects that FILE lacks.")
@input_options
@output_option("table", "wide", "json", "yaml", *REPORTS)
@debug_option
@click.pass_context
def analyze(  # noqa: PLR0913, PLR0917 - the arguments and options of the command
    ctx: click.Context,
    named: tuple[str, ...],
    files: tuple[str, ...],
    deleted: tuple[str, ...],
    base: str | None,
    source_namespace: str | None,
    schemas: tuple[str, ...],
    prune: bool,
    source: Input,
    output: str,
) -> None:
    """Show the effects of applying FILE: introduced and fixed problems, effective policies before and after.

    Nothing is written. Problems are targets that do not exist or are not granted, conflicts, policies that are
    overridden on all paths or have no effective target, links that do not count, violations of Constraints, and unknown
    kinds and fields. Only problems that the change can affect are listed. Exits with 1 if problems are introduced, 2 if
    FILE is not all readable.
    """
    from bridge.cli.reading import INPUT_ERROR, STDIN, read, take_standard_input
    from bridge.cli.reports import print_analysis

    files += named
    if not files and not deleted:
        raise CommandError("nothing to analyze: give FILE, or --delete OBJECT")
    if base is not None and (not files or STDIN in files):
        raise CommandError("--base compares FILE with a commit: give files or folders")
    if prune and base is None and not (files and source.manifests):
        raise CommandError("--prune needs -f FILE and --manifests PATH: it compares two folders")
    if STDIN in files and STDIN in source.manifests:
        raise CommandError("-f - and --manifests - cannot both read standard input")
    take_standard_input(files)

    async def ask(engine: Engine) -> tuple[Analysis, Applied, Position]:
        from bridge.queries.analysis import analyze as analyzed
        from bridge.queries.analysis import doubtful, held_crds, held_keys, read_applied, read_crds
        from bridge.queries.asking import target_keys

        crds = read_crds(schemas)
        applied = read_applied(files, [*await held_crds(engine.opa), *crds])
        if files and not applied.objects and not applied.problems and not prune:
            raise CommandError(f"no objects in {', '.join(files)}")
        going = await target_keys(engine.opa, deleted, None) if deleted else []
        if prune:
            going += [key for key in await held_keys(engine.opa) if key not in applied.keys]
        analysis = await analyzed(
            engine.opa,
            applied.objects,
            going,
            source_namespace,
            doubts_before=doubtful(engine.doubts(crds)),
            doubts_after=doubtful(applied.source.doubts()),
        )
        return analysis, applied, engine.position

    prune = prune or base is not None
    with _stored(base, files, source) as (stored, at_base):
        (answer, applied, position), code = read(stored, ask, allow_empty=True)
    print_analysis(output, answer, lambda key: applied.position(key) or at_base(position(key)))
    for problem in applied.problems:
        print_error(f"error: {problem.subject}: {problem.message}")
    ctx.exit(INPUT_ERROR if code or applied.problems else _FOUND if answer.fails else 0)


@contextmanager
def _stored(base: str | None, files: Sequence[str], source: Input) -> Iterator[tuple[Input, Callable[[Place], Place]]]:
    """Yield the source to compare with, and a function that names the commit in place of its temporary folder."""
    if base is None:
        yield source, lambda place: place
        return
    from bridge.sources.commits import manifests_at

    with manifests_at(base, files) as (tree, paths):
        prefix = f"{tree}/"
        yield (
            dataclasses.replace(source, manifests=tuple(paths)),
            lambda place: place and (place[0].replace(prefix, f"{base}:", 1), place[1]),
        )


_IMPACT_EXAMPLES = (
    ("Show the changes if a policy were deleted", "bridge impact colorpolicy/infra/brand --manifests examples/shop"),
    ("The same for a cluster, from its OPA", "bridge impact cp/brand -n infra --opa http://opa:8181"),
    (
        "Each target, before and after",
        "bridge impact cp/infra/brand --opa http://opa:8181 -o json",
    ),
)


@click.command(
    cls=ExampleCommand,
    examples=_IMPACT_EXAMPLES,
    short_help="Show the effects of a policy",
)
@click.argument("policy", metavar="POLICY", nargs=-1, required=True, shell_complete=POLICIES)
@namespace_options(only="The namespace of a POLICY without one.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="The number of effective targets to compare before and after.",
)
@source_namespace_option(EVERY_SOURCE)
@view_options
@debug_option
@click.pass_context
def impact(
    ctx: click.Context,
    policy: tuple[str, ...],
    namespace: str | None,
    limit: int,
    source_namespace: str | None,
    view: View,
) -> None:
    """Show the number of effective targets of a policy by outcome, and the changes if it were deleted.

    POLICY is KIND NAME, KIND/NAME, KIND/NAMESPACE/NAME or a full key. Targets with equal changes share a row.
    """
    from bridge.cli.printers.differences import impact_tables
    from bridge.cli.reading import Form, show

    async def ask(engine: Engine) -> Entry:
        from bridge.queries.asking import one_target

        key = await one_target(engine.opa, policy, namespace)
        more = {"sourceNamespace": source_namespace} if source_namespace else {}
        found: Entry = await engine.opa.query("impact", {"policy": str(key), "limit": limit, **more})
        return found

    form = Form(impact_tables, "The policy has no effective targets.", names=lambda found: found["scopes"], whole=True)
    _, code = show(view, ask, form, queries=("impact",))
    ctx.exit(code)
