"""`pbctl analyze`: the effects of changed manifests, and of deleted objects."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from bridge.cli.command import command, option
from bridge.cli.differences import differences_table
from bridge.cli.notation import Place, Position
from bridge.cli.options import (
    EVERY_SOURCE,
    SCHEMAS,
    completing,
    namespace_option,
    output_option,
    source_namespace_option,
    words,
)
from bridge.cli.output import print_document, print_error
from bridge.cli.problems import FAIL_ON, IGNORE, ignored_reasons, known, problems_table
from bridge.cli.reading import INPUT_ERROR, Asked, asked_for, need_one_reader, read, take_standard_input
from bridge.cli.reports import FORMATS, print_report, summary_with_names, unnoticed
from bridge.cli.source import SOURCE, Input
from bridge.cli.table import Table, print_tables
from bridge.files import STDIN
from bridge.queries.names import CommandError

if TYPE_CHECKING:
    from bridge.model.keys import Key
    from bridge.offline.engine import Engine
    from bridge.queries.analysis import Analysis, Applied

# That the command sends.
QUERIES = (
    "audit_keys",
    "compared_problems",
    "constraints",
    "deleted_objects",
    "dependents",
    "differences",
    "effective_at_scopes",
    "guarded_targets",
    "kind_documents",
    "neighbors",
    "outcomes",
    "outdated",
    "policies",
    "problems",
    "relaxed_guardrails",
    "resource_versions",
    "scopes",
    "status",
    "violations",
)

_FOUND = 1  # exit code if problems are introduced


_OPTIONS = (  # of the command and of its former name
    namespace_option("-n", "--namespace", about="The namespace of a deleted OBJECT without one."),
    source_namespace_option(EVERY_SOURCE),
    SCHEMAS,
    IGNORE,
    FAIL_ON,
    *SOURCE,
    output_option("table", "wide", "json", "yaml", *FORMATS),
)


@command(
    "Show the effects of applying or deleting objects",
    click.Argument(["named"], metavar="[FILE]...", nargs=-1),
    option(
        "-f",
        "--filename",
        "files",
        metavar="FILE|URL",
        multiple=True,
        help="Manifests to apply: a file, a folder with all its files, a URL, or - for standard input. Repeatable.",
    ),
    option(
        "--delete",
        "deleted",
        metavar="OBJECT",
        multiple=True,
        shell_complete=completing("objects"),
        help="Object to delete: KIND/NAMESPACE/NAME, or [NAMESPACE/]NAME of a policy. Repeatable.",
    ),
    option(
        "--base",
        metavar="COMMIT",
        help="Compare with FILE at this commit of its Git repository, deletions included.",
    ),
    option("--prune", is_flag=True, help="With --manifests: delete the objects that FILE lacks."),
    *_OPTIONS,
)
def analyze(**options: Any) -> int:
    """Show the effects of applying FILE: introduced and fixed problems, effective policies before and after.

    This is a preview: nothing is applied. Problems are targets that do not exist or are not granted, conflicts,
    policies that are overridden on all paths or have no effective target, links that are ignored, violations of
    Constraints, unknown kinds and fields, and values that an API server refuses. A Constraint that the change deletes
    or edits judges the change as it was, too. Only problems that the change can affect are listed. Exits with 1 if
    problems are introduced that are not warnings, 2 if FILE or COMMIT is not all readable.

    Examples:
        # Show the effects of a changed file on a cluster
        pbctl analyze -f policy.yaml --opa http://opa:8181
        # Compare with a folder
        pbctl analyze -f policy.yaml --manifests deploy/
        # Compare the work tree with main, including deletions
        pbctl analyze deploy/ --base main
        # Print annotations for a pull request on GitHub
        pbctl analyze deploy/ --base origin/main -o github
        # Print a comment for a pull request (or sarif, junit)
        pbctl analyze deploy/ --base origin/main -o markdown
        # Show the effects of deleting a policy
        pbctl analyze --delete colorpolicy/infra/brand --manifests examples/shop
    """
    return _analyze(options)


@command("Show the effects of deleting a policy", words("POLICY", "policies", required=True), *_OPTIONS)
def impact(words: tuple[str, ...], **options: Any) -> int:
    """Show the effects of deleting a policy: the former name of `analyze --delete`.

    Examples:
        # Show the effects of deleting a policy
        pbctl analyze --delete colorpolicy/infra/brand --manifests examples/shop
    """
    deleted = [f"{words[0]}/{name}" for name in words[1:]] or words
    return _analyze({**options, "files": (), "named": (), "deleted": deleted, "base": None, "prune": False})


def _analyze(options: dict[str, Any]) -> int:
    base: str | None = options["base"]
    asked = asked_for(options, reads_commit=base is not None)
    files, prune = (*asked.more["files"], *asked.more["named"]), asked.more["prune"]
    if not files and not asked.more["deleted"]:
        raise CommandError("nothing to analyze: give FILE, or --delete OBJECT")
    _refuse_objects(asked.more["named"] if asked.more["deleted"] else ())
    if base is not None and (not files or STDIN in files):
        raise CommandError("--base compares FILE with a commit: give files or folders")
    if prune and base is None and not (files and asked.source.manifests):
        raise CommandError("--prune needs -f FILE and --manifests PATH: it compares two folders")
    need_one_reader("-f", files, asked.source)
    ignored = ignored_reasons(asked.more["ignore"])
    from bridge.queries.asking import AboutChange

    take_standard_input(files)

    async def ask(engine: Engine) -> tuple[Analysis, Applied, Position]:
        if STDIN in files:
            sys.stdin.seek(0)  # it may be read again
        return (*await _analysis(engine, asked, files, ignored), engine.position)

    with _downloaded(files) as (files, named), _stored(base, files, asked.source) as (stored, at_base):
        (found, applied, position), code = read(
            dataclasses.replace(stored, applied=files),
            ask,
            allow_empty=True,
            queries=QUERIES,
            question=None if prune or base is not None else AboutChange(tuple(asked.more["deleted"])),
        )

    def place_of(key: Key) -> Place:
        place = applied.position(key)
        return (named(place[0]), place[1]) if place else at_base(position(key))

    errors = [(named(problem.subject), problem.message) for problem in applied.problems]
    if code:
        errors.append(("", "the objects to compare with could not all be read: see the log"))
    found = dataclasses.replace(found, errors=errors, fail_on_warnings=asked.more["fail_on"] == "warning")
    print_analysis(asked.output, found, place_of)
    for line in applied.source.unchecked:
        print_error(f"warning: {line}")
    for where, message in errors[: len(applied.problems)]:
        print_error(f"error: {where}: {message}")
    return INPUT_ERROR if code or applied.problems else _FOUND if found.fails else 0


def _refuse_objects(files: Sequence[str]) -> None:
    """Raise CommandError for a file that does not exist, where it may be a further object to delete."""
    from bridge.sources.downloads import is_url

    for name in files:
        if name != STDIN and not is_url(name) and not Path(name).exists():
            raise CommandError(f"{name}: no such file or folder; to delete several objects, repeat --delete")


@contextmanager
def _downloaded(files: Sequence[str]) -> Iterator[tuple[tuple[str, ...], Callable[[str], str]]]:
    """Yield the files, with the text at each URL in a temporary one, and a function that names the URL instead of it.

    Raises ManifestError for a URL that cannot be read.
    """
    from bridge.queries.analysis import download
    from bridge.sources.downloads import is_url

    with TemporaryDirectory() as folder:
        names: dict[str, str] = {}
        for number, url in enumerate(filter(is_url, files)):
            file = Path(folder, f"{number}.yaml")
            file.write_bytes(download(url))
            names[url] = str(file)
        urls = {file: url for url, file in names.items()}

        def named(text: str) -> str:
            file, colon, rest = text.partition(":")
            return urls.get(file, file) + colon + rest

        yield tuple(names.get(file, file) for file in files), named


@contextmanager
def _stored(base: str | None, files: Sequence[str], source: Input) -> Iterator[tuple[Input, Callable[[Place], Place]]]:
    """Yield the source to compare with, and a function that names the commit in place of its temporary folder."""
    if base is None:
        yield source, lambda place: place
        return
    from bridge.sources.commits import manifests_at

    with manifests_at(base, files) as (tree, paths, warnings):
        for warning in warnings:
            print_error(f"warning: {warning}")
        prefix = f"{tree}/"
        yield (
            dataclasses.replace(source, manifests=tuple(paths)),
            lambda place: place and (place[0].replace(prefix, f"{base}:", 1), place[1]),
        )


async def _analysis(
    engine: Engine, asked: Asked, files: tuple[str, ...], ignored: Collection[str]
) -> tuple[Analysis, Applied]:
    from bridge.queries.analysis import analyze, doubts_of_change, held_crds, held_keys, read_applied, read_crds
    from bridge.queries.states import deleted_keys, plan_change

    deleted, prune = asked.more["deleted"], asked.more["prune"] or asked.more["base"] is not None
    crds = read_crds(asked.more["schemas"])
    # Of two whole states each has its own CRDs.
    applied = read_applied(files, [*([] if prune else await held_crds(engine)), *crds])
    if files and not applied.objects and not applied.problems and asked.more["base"] is None:
        raise CommandError(f"no objects in {', '.join(files)}")
    going = await deleted_keys(engine, deleted, asked.namespace)
    if prune:
        going += [key for key in await held_keys(engine.opa) if key not in applied.keys]
    change = await plan_change(engine, applied.objects, going, whole=prune, crds=crds)
    before, after = await doubts_of_change(
        engine, change, applied.keys, lambda keys: applied.source.doubts((), keys), crds, whole=prune
    )
    found = await analyze(engine, change, asked.source_namespace, doubts_before=before, doubts_after=after)
    introduced, fixed, remaining = (
        [problem for problem in known(engine, problems) if problem["reason"] not in ignored]
        for problems in (found.introduced, found.fixed, found.remaining)
    )
    return dataclasses.replace(found, introduced=introduced, fixed=fixed, remaining=remaining), applied


def print_analysis(output: str, answer: Analysis, position: Position) -> None:
    """Print the analysis on standard output; `position` returns the file and line of an object."""
    if output in {"json", "yaml"}:
        print_document(output, answer.document())
    elif output in FORMATS:
        print_report(output, answer, position)
    else:
        tables: list[Table] = [
            problems_table(answer.introduced, position, "INTRODUCED"),
            problems_table(answer.fixed, position, "FIXED"),
            problems_table(answer.remaining, position, "UNCHANGED"),
            differences_table(answer.effective, output == "wide"),
        ]
        print_tables([summary_with_names(answer), *(table for table in tables if table.rows), *unnoticed(answer)])
