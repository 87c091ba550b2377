"""`pbctl compare`: the differences of effective policies and problems between two clusters, OPAs or folders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from bridge.cli.command import command, option
from bridge.cli.differences import differences_table
from bridge.cli.notation import Entry
from bridge.cli.options import ONLY_KIND, kind_option, namespace_options, output_option
from bridge.cli.output import print_document
from bridge.cli.problems import problems_table
from bridge.cli.reading import read
from bridge.cli.source import kubeconfig_option, opa_options, read_input
from bridge.cli.table import print_tables
from bridge.files import STDIN
from bridge.queries.names import CommandError, NameNotFoundError

if TYPE_CHECKING:
    from bridge.cli.source import Input
    from bridge.offline.engine import Engine

_DIFFERENT = 1  # exit code
_Place = tuple[str, str, str, str]  # target, policy kind, path, namespace of the requests
_Effective = dict[_Place, Entry]
_Problem = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Side:
    """What is in effect in a source, its problems, and, of the second source, those that only one of both has."""

    effective: _Effective
    problems: list[_Problem]
    lost: list[_Problem] = field(default_factory=list)
    gained: list[_Problem] = field(default_factory=list)


@command(
    "Compare two clusters, OPAs or folders",
    option("--context", "contexts", metavar="NAME", multiple=True, help="A context in the kubeconfig. Repeatable."),
    kubeconfig_option("The kubeconfig of the contexts.  [default: kubectl's]"),
    option("--opa", "opas", metavar="URL", multiple=True, help="The OPA of a bridge. Repeatable."),
    opa_options("", "Bearer token for the OPAs.")[1],
    option(
        "--manifests",
        "folders",
        metavar="PATH",
        type=click.Path(),
        multiple=True,
        help="A file, or a folder with all its files. Repeatable.",
    ),
    kind_option(ONLY_KIND),
    namespace_options("Only this namespace.")[0],
    output_option("table", "wide", "json", "yaml"),
)
def compare(
    contexts: tuple[str, ...],
    opas: tuple[str, ...],
    folders: tuple[str, ...],
    kind: str | None,
    namespace: str | None,
    output: str,
    **options: Any,
) -> int:
    """Show where effective policies and problems differ between two sources: clusters, OPAs of bridges, folders.

    Compare exactly two sources of any type, in the order contexts, OPAs, folders. Objects are matched by kind,
    namespace and name, so both clusters should have the same namespaces. The command writes nothing. The exit code
    is 1 if they differ.

    Examples:
        # Two clusters of the kubeconfig
        pbctl compare --context staging --context production
        # One policy kind in one namespace
        pbctl compare --context staging --context production --kind btp -n shop
        # A cluster, and the manifests that it should have
        pbctl compare --context production --manifests deploy/
    """
    sources = [(name, read_input(None, None, (), options["kubeconfig"], name)) for name in contexts]
    sources += [(url, read_input(url, options["opa_token_file"])) for url in opas]
    sources += [("standard input" if path == STDIN else path, read_input(None, None, (path,))) for path in folders]
    if len(sources) != 2:
        raise CommandError(f"give two sources to compare, not {len(sources)}: --context, --opa or --manifests twice")
    namespaces: set[str] = set()
    (first, source), (second, other) = sources
    before, code = _side(source, kind, namespace, namespaces)
    after, other_code = _side(other, kind, namespace, namespaces, before.problems)
    if namespace and namespace not in namespaces:
        raise NameNotFoundError(f"namespace {namespace} has no objects in either source")
    differing = _differences(before.effective, after.effective)
    lost, gained = after.lost, after.gained
    if output in {"json", "yaml"}:
        from bridge.queries.analysis import without_fields

        problems = {"before": lost, "after": gained}
        effective = without_fields(differing)
        print_document(output, {"before": first, "after": second, "effective": effective, "problems": problems})
    else:
        table = differences_table(differing, output == "wide").titled(BEFORE=first, AFTER=second)
        only = [
            problems_table(rows, lambda _: None, f"ONLY IN {name}") for name, rows in ((first, lost), (second, gained))
        ]
        same = len(before.effective.keys() | after.effective.keys()) - len(differing)
        print_tables([_summary(differing, same), *(one for one in (table, *only) if one.rows)])
    return max(code, other_code) or (_DIFFERENT if differing or lost or gained else 0)


def _side(
    source: Input,
    kind: str | None,
    namespace: str | None,
    namespaces: set[str],
    former: Sequence[_Problem] | None = None,
) -> tuple[_Side, int]:
    """Return a side, and the exit code; `former` are the problems of the first one, if this is the second.

    Adds the namespaces of the source to `namespaces`.
    """

    async def ask(engine: Engine) -> _Side:
        from bridge.queries.analysis import all_problems, compare_problems, in_order, without_identity
        from bridge.queries.asking import effective_everywhere, policy_kind

        namespaces.update(await engine.opa.query("namespaces", {}))
        chosen = await policy_kind(engine.opa, kind) if kind else None
        effective = {
            (entry["target"], entry["policyKind"], json.dumps(one["path"]), one.get("sourceNamespace", "")): one
            for entry in await effective_everywhere(engine.opa, chosen, namespace, fields=True)
            for one in entry["paths"]
        }
        problems = await all_problems(engine.opa, None, namespace) if kind is None else []
        if former is None:
            return _Side(effective, problems)
        # An error and a warning with one name differ, so each side is compared with the other.
        gained = (await compare_problems(engine.opa, former, problems))["introduced"]
        lost = (await compare_problems(engine.opa, problems, former))["introduced"]
        only = ([without_identity(one) for one in in_order(found)] for found in (lost, gained))
        return _Side(effective, problems, *only)

    return read(source, ask)


def _differences(before: _Effective, after: _Effective) -> list[Entry]:
    """Return the places with another spec, or other policies, in the form of the query `differences`."""
    return [
        {"target": place[0], "policyKind": place[1], "path": json.loads(place[2])}
        | ({"sourceNamespace": place[3]} if place[3] else {})
        | {"before": before.get(place), "after": after.get(place)}
        for place in sorted(before.keys() | after.keys())
        if before.get(place) != after.get(place)
    ]


def _summary(differing: list[Entry], same: int) -> str:
    targets = len({(one["target"], one["policyKind"]) for one in differing})
    where = f"differ at {targets:,} target{'' if targets == 1 else 's'}" if targets else "do not differ"
    return f"Effective policies {where}; {same:,} path{'' if same == 1 else 's'} are equal."
