"""`pbctl blame`: what explains the answers in a proxy's access log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bridge.cli.command import option
from bridge.cli.notation import Entry, kind_text, names_text, value_text
from bridge.cli.output import Answer
from bridge.cli.read_commands import read_command
from bridge.cli.reading import Asked, need_one_reader, opened_input
from bridge.cli.table import Block, Table
from bridge.model.keys import field_name, parse_key
from bridge.proxies.access_log import NAMES, Replies, Reply, count_replies
from bridge.queries.names import CommandError, short_key

if TYPE_CHECKING:
    from bridge.offline.engine import Engine
    from bridge.opa.client import Opa

QUERIES = ("blame",)  # that the command sends
_ANSWERS = 1_000  # of a query


def field_names(texts: Sequence[str]) -> dict[str, str]:
    """Return the names of a log's fields, from `NAME=FIELD` each. Raises CommandError for another form."""
    found = {}
    for text in texts:
        name, equals, own = text.partition("=")
        if name not in NAMES or not equals or not own:
            raise CommandError(f"--field {text}: write NAME=FIELD, NAME one of {', '.join(NAMES)}")
        found[name] = own
    return found


FIELD = option(
    "--field",
    "fields",
    metavar="NAME=FIELD",
    multiple=True,
    help=f"The log's field for NAME: {', '.join(NAMES)}. Repeatable. Default: Envoy Gateway's and Istio's names.",
)


def _check(asked: Asked) -> Sequence[str]:
    field_names(asked.more["fields"])
    need_one_reader("--access-log", [asked.more["log"]], asked.source)
    return ()


@read_command(
    "Explain errors in an access log",
    option("--access-log", "log", metavar="FILE|-", required=True, help="The log of a proxy: one JSON object a line."),
    FIELD,
    queries=QUERIES,
    check=_check,
)
async def blame(engine: Engine, asked: Asked) -> Answer:
    """Explain the errors in a proxy's access log by the effective policies.

    Counts equal answers, and shows for each the rule, and the field and the policies that explain it: 429 by rate
    limits, 401 and 403 by authentication and authorization, 504 by timeouts, 503 by circuit breakers, 404 if no rule
    serves the request. Rules are found by the name of the route, causes by the status with Envoy's response flags and
    details. Anything else is counted as unknown, never guessed.

    Examples:
        # The log of Envoy Gateway's proxy
        kubectl logs -n envoy-gateway-system deploy/PROXY -c envoy | pbctl blame --access-log -
        # A file, with manifests
        pbctl blame --access-log access.log --manifests deploy/
        # A log whose fields have other names
        pbctl blame --access-log access.log --field status=code --field route=route
    """
    with opened_input(asked.more["log"]) as file:
        counted = count_replies(file, field_names(asked.more["fields"]))
    # Whether an answer is an error does not depend on its route, of which a log may have thousands.
    kinds = list(dict.fromkeys(reply._replace(route="") for reply in counted.answers))
    kinds_of_errors = {kind for kind, about in await _explained(engine.opa, kinds) if about is not None}
    errors = [reply for reply, _ in counted.answers.most_common() if reply._replace(route="") in kinds_of_errors]
    rows = [
        {"count": counted.answers[reply], **reply._asdict(), **explained}
        for reply, explained in await _explained(engine.opa, errors)
        if explained is not None
    ]
    document = {
        "succeeded": counted.answers.total() - sum(row["count"] for row in rows),
        "explained": sum(row["count"] for row in rows if row["known"]),
        "unknown": sum(row["count"] for row in rows if not row["known"]),
        "broken": counted.broken,
        "answers": rows,
    }
    return Answer(lambda: _tables(rows, counted, document), "The log is empty.", document, whole=True, namespaced=False)


async def _explained(opa: Opa, replies: Sequence[Reply]) -> list[tuple[Reply, Entry | None]]:
    """Return replies with what explains them, None for those without an error. Raises OpaError."""
    from bridge.opa.batches import batches, in_halves
    from bridge.opa.errors import OpaError

    found: list[tuple[Reply, Entry | None]] = []

    async def ask(part: Sequence[Reply]) -> Any:
        return await opa.query("blame", {"answers": [reply._asdict() for reply in part]})

    async for part, answer in in_halves(opa, batches(replies, _ANSWERS), ask):
        if isinstance(answer, OpaError):
            raise answer
        found += zip(part, answer, strict=True)
    return found


def _tables(rows: Sequence[Entry], counted: Replies, document: Entry) -> list[Block]:
    table = Table(
        ["LINES", "STATUS", "RULE", "BECAUSE OF", "POLICIES", "WHY UNKNOWN"], long=("BECAUSE OF", "WHY UNKNOWN")
    )
    for row in rows:
        rule = short_key(parse_key(row["rule"])) if row["rule"] else "-"
        status = " ".join(filter(None, (str(row["status"]), row["flags"])))
        alike = {
            msgspec.json.encode([one["policyKind"], one["field"], one["value"], one["policies"]]): one
            for one in row["fields"]
        }
        causes = [*alike.values()] or [None]
        for cause in causes:
            because = _cause_text(cause) if cause else row["message"] if row["known"] else "-"
            policies = names_text(cause["policies"]) if cause else "-"
            table.rows.append(
                [f"{row['count']:,}", status, rule, because, policies, "" if row["known"] else row["message"]]
            )
    total = counted.answers.total() + counted.broken
    parts = [
        f"{document[name]:,} {about}"
        for name, about in (
            ("succeeded", "without an error"),
            ("explained", "explained"),
            ("unknown", "unknown"),
            ("broken", "not read: no JSON, or without a status"),
        )
        if document[name]
    ]
    return [table.without_empty("WHY UNKNOWN"), f"{total:,} lines: {', '.join(parts)}."] if total else []


def _cause_text(cause: Entry) -> str:
    field = field_name(cause["field"]) if cause["field"] else ""
    kind = kind_text(cause["policyKind"], wide=False)
    return f"{kind} {field}={value_text(cause['value'])}" if field else kind


def line_options(line: str, names: dict[str, str], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of `pbctl request` with the host, path and method of a log's line, where they have none.

    Raises CommandError for a line that is not JSON or has no host.
    """
    from bridge.proxies.access_log import read_line

    found = read_line(line.encode(), names)
    if found is None:
        raise CommandError("--from-log LINE is not a JSON object: give one line of an access log")
    if not isinstance(found["host"], str) or found["host"] in {"", "-"}:
        raise CommandError("--from-log LINE has no host: name its field with --field host=FIELD")
    host, _, port = found["host"].rpartition(":")
    return {
        **options,
        "host": options["host"] or (host if port.isdecimal() and host else found["host"]),
        "path": options["path"] or (found["path"] if isinstance(found["path"], str) else None),
        "method": options["method"] or (found["method"] if isinstance(found["method"], str) else None),
    }
