"""`pbctl problems`: problems of existing objects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from bridge.cli.annotations import annotate, causes_text, place_of
from bridge.cli.command import option
from bridge.cli.notation import Entry, Position
from bridge.cli.options import SCHEMAS, SELECTOR, namespace_options, words
from bridge.cli.output import Answer, print_error
from bridge.cli.read_commands import read_command
from bridge.cli.reading import Asked
from bridge.cli.table import Table
from bridge.cli.violations import violations_answer
from bridge.model.keys import parse_key
from bridge.model.text import nearest
from bridge.opa.errors import QueryError
from bridge.queries.names import CommandError, short_key

if TYPE_CHECKING:
    from bridge.offline.engine import Engine

# That the command sends.
QUERIES = (
    "audit_keys",
    "compared_problems",
    "constraints",
    "outcomes",
    "policies",
    "problems",
    "resource_versions",
    "scopes",
    "violations",
)


class _Baseline(msgspec.Struct):
    """The file of --baseline."""

    problems: list[dict[str, Any]]


_FOUND = 1  # exit code
_OF_PROBLEMS = ("schemas", "ignore", "baseline", "write_baseline")  # options that --violations excludes


IGNORE = option("--ignore", metavar="REASON[,REASON]", help="Leave out problems with these reasons.", default="")
FAIL_ON = option(
    "--fail-on",
    type=click.Choice(["problem", "warning"]),
    default="problem",
    help="What sets the exit code to 1. Default: problem.",
)


@read_command(
    "List problems of existing objects",
    words("[OBJECT]...", "objects"),
    *namespace_options("The namespace of OBJECTs without one; without OBJECT, list only this namespace."),
    SELECTOR,
    SCHEMAS,
    IGNORE,
    option("--baseline", metavar="FILE", help="Leave out the problems that FILE lists."),
    option("--write-baseline", is_flag=True, help="Write all problems to the FILE of --baseline. The exit code is 0."),
    FAIL_ON,
    option("--violations", is_flag=True, help="Only violations of Constraints. An OBJECT may be a Constraint's name."),
    queries=QUERIES,
    formats=["github"],
)
async def problems(engine: Engine, asked: Asked) -> Answer:
    """List everything that is wrong.

    Problems are targets that do not exist or are not granted, conflicts, policies without effect, links that are
    ignored, violations of Constraints, Constraints that are not active, and rejected Rego. With --manifests also
    unknown kinds and fields, and values that an API server refuses. The exit code is 1 if there are problems that are
    not warnings, or with --violations if a violation has the action deny.

    Examples:
        # All problems in a folder
        pbctl problems --manifests examples/shop
        # Problems in one namespace of the cluster, with updates
        pbctl problems -n shop --watch
        # Problems of one object
        pbctl problems httproute/cart -n shop
        # Only problems that are new since the baseline was written, warnings included
        pbctl problems --manifests deploy/ --baseline problems.json --fail-on warning
        # Annotations of the lines on GitHub
        pbctl problems --manifests deploy/ -o github
        # Violations of Constraints, with their actions
        pbctl problems --violations --manifests examples/constraints
    """
    if asked.more["violations"]:
        if other := next((name for name in _OF_PROBLEMS if asked.more[name]), None):
            raise CommandError(f"--violations and --{other.replace('_', '-')} cannot be used together")
        return await violations_answer(engine, asked)
    from bridge.queries.analysis import (
        all_problems,
        doubtful,
        is_failure,
        read_crds,
        rejected_modules,
        without_identity,
    )
    from bridge.queries.asking import some_targets, target_keys

    ignored, baseline = ignored_reasons(asked.more["ignore"]), asked.more["baseline"]
    if asked.more["write_baseline"] and not baseline:
        raise CommandError("--write-baseline needs --baseline FILE")
    if asked.more["write_baseline"] and asked.watch:
        raise CommandError("--watch and --write-baseline cannot be used together")
    find = partial(target_keys, with_policies=True)
    keys = await some_targets(engine.opa, asked.words, asked.namespace, find) if asked.words else None
    doubts = doubtful(engine.doubts(read_crds(asked.more["schemas"]), None))
    for line in engine.unchecked:
        print_error(f"warning: {line}")
    found = await all_problems(engine.opa, keys, asked.namespace, asked.selects, doubts)
    nothing = "No new problems found." if baseline else "No problems found."
    if not asked.words and asked.namespace is None:
        found += await rejected_modules(engine)
    every = known(engine, found)
    found = [problem for problem in every if problem["reason"] not in ignored]
    if left_out := len(every) - len(found):
        nothing = nothing.replace("problems found.", f"problems found: --ignore leaves out {left_out}.")
    if asked.more["write_baseline"]:
        keep = partial(_write_baseline, Path(baseline), found)
        return Answer(list, f"Wrote {len(found)} problems to {baseline}.", found, keep=keep)
    if baseline:
        found = await _without_known(engine, Path(baseline), found)
    found = [without_identity(problem) for problem in found]
    fails = any(is_failure(problem, warnings=asked.more["fail_on"] == "warning") for problem in found)
    return Answer(
        lambda: [problems_table(found, engine.position)],
        nothing,
        found,
        names=lambda: [problem["subject"] for problem in found],
        annotations=lambda: annotate(found, engine.position),
        code=_FOUND if fails else 0,
        hint=f"`pbctl reasons {found[0]['reason']}` explains a reason" if found else "",
    )


@read_command(
    "Show the violations of Constraints",
    words("[CONSTRAINT]...", "constraints"),
    *namespace_options("Only objects in this namespace."),
    SELECTOR,
    queries=QUERIES,
)
async def violations(engine: Engine, asked: Asked) -> Answer:
    """Show the violations of Constraints: the former name of `problems --violations`.

    Examples:
        # All violations by manifests
        pbctl problems --violations --manifests examples/constraints
    """
    return await violations_answer(engine, asked)


def ignored_reasons(text: str) -> set[str]:
    """Return the reasons in a list with commas. Raises CommandError for one that no problem has."""
    from bridge.queries.explained_reasons import explained_reasons

    explained = {reason.name for reason in explained_reasons()}
    wanted = {name.strip() for name in text.split(",") if name.strip()}
    for name in sorted(wanted - explained):
        near = nearest(name, explained)
        raise CommandError(f'unknown reason "{name}" in --ignore' + (f'; did you mean "{near}"?' if near else ""))
    return wanted


def _write_baseline(file: Path, found: Sequence[Entry]) -> None:
    entries = [{name: problem[name] for name in _STORED if name in problem} for problem in found]
    entries.sort(key=lambda entry: [entry[name] for name in _STORED[:4]])
    try:
        file.write_bytes(msgspec.json.format(msgspec.json.encode({"problems": entries}), indent=2) + b"\n")
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from error


_STORED = ("subject", "about", "reason", "message", "value", "enforcementAction", "identity")  # of a problem


async def _without_known(engine: Engine, file: Path, found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the problems that a baseline does not list, and report how many of its problems are gone."""
    from bridge.queries.analysis import compare_problems

    try:
        entries = msgspec.json.decode(file.read_bytes(), type=_Baseline).problems
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}: --write-baseline writes it") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: not a baseline: {error}; --write-baseline writes one") from error
    try:
        compared = await compare_problems(engine.opa, entries, found)
    except QueryError as error:
        raise CommandError(f"{file}: not a baseline: {error}; --write-baseline writes one") from error
    if gone := len(compared["fixed"]):
        print_error(f"note: {gone} of {len(entries)} problems in {file} no longer exist: --write-baseline removes them")
    return compared["introduced"]


def known(engine: Engine, problems: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return problems without those about objects that may exist where the user may not read them."""
    return [problem for problem in problems if engine.knows(parse_key(problem["about"]))]


def problems_table(found: Sequence[Entry], position: Position, title: str = "OBJECT") -> Table:
    """Return a row for each problem of the query `problems`; `title` is the header of the objects' column."""
    table = Table([title, "PROBLEM", "MESSAGE", "WHERE", "BECAUSE OF"])
    for problem in found:
        place = place_of(problem, position)
        where = "{}:{}".format(*place) if place else ""
        subject = short_key(parse_key(problem["subject"]))
        table.rows.append([subject, reason_text(problem), problem["message"], where, causes_text(problem)])
    return table.without_empty("WHERE", "BECAUSE OF")


def reason_text(problem: Entry) -> str:
    """Return the reason, marked if the problem is only a warning."""
    from bridge.queries.analysis import is_error

    return f"{problem['reason']}{'' if is_error(problem) else ' (warning)'}"
