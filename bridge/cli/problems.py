"""`bridge problems`: problems of existing objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bridge.cli.command import SCHEMAS, SELECTOR, namespace_options, words
from bridge.cli.notation import Entry, Place, Position
from bridge.cli.output import Answer, print_error
from bridge.cli.reading import Asked, read_command
from bridge.cli.table import Table
from bridge.model.keys import parse_key
from bridge.queries.names import first_of, short_key

if TYPE_CHECKING:
    from bridge.offline.engine import Engine

_FOUND = 1  # exit code
_NAMED = 3  # causes that a row lists


@read_command(
    "List problems of existing objects",
    words("[OBJECT]...", "objects"),
    *namespace_options("The namespace of OBJECTs without one; without OBJECT, list only this namespace."),
    SELECTOR,
    SCHEMAS,
)
async def problems(engine: Engine, asked: Asked) -> Answer:
    """List problems: targets that do not exist or are not granted, conflicts, policies without effect, broken links.

    With --manifests also unknown kinds and fields, and values that an API server refuses. The exit code is 1 if there
    are problems that are not warnings.

    Examples:
        # All problems in a folder
        bridge problems --manifests examples/shop
        # Problems in one namespace of the cluster, with updates
        bridge problems -n shop --watch
        # Problems of one object
        bridge problems httproute/cart -n shop
    """
    from bridge.queries.analysis import all_problems, doubtful, is_error, read_crds
    from bridge.queries.asking import target_keys

    keys = await target_keys(engine.opa, asked.words, asked.namespace) if asked.words else None
    doubts = doubtful(engine.doubts(read_crds(asked.more["schemas"])))
    for line in engine.unchecked():
        print_error(f"warning: {line}")
    found = known(engine, await all_problems(engine.opa, keys, asked.namespace, asked.selects, doubts))
    return Answer(
        lambda: [problems_table(found, engine.position)],
        "No problems found.",
        found,
        names=lambda: [problem["subject"] for problem in found],
        code=_FOUND if any(map(is_error, found)) else 0,
        hint=f"`bridge reasons {found[0]['reason']}` explains a reason" if found else "",
    )


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


def place_of(problem: Entry, position: Position) -> Place:
    """Return the file and line to change: of the first changed object that causes the problem, else of its object.

    A problem of a field has the field's line.
    """
    places = (position(parse_key(key)) for key in (*problem.get("causes", ()), problem["subject"]))
    place = next((place for place in places if place), None)
    return (place[0], problem.get("line", place[1])) if place else None


def causes_text(problem: Entry) -> str:
    """Return the names of the changed objects that cause a problem of another one."""
    return first_of([short_key(parse_key(key)) for key in problem.get("causes", ())], _NAMED)
