"""`pbctl verify`: compare what proxies have with what is in effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bridge.cli.command import command, option
from bridge.cli.config_dumps import PROXIES, QUERIES, compare_proxies, names_proxies
from bridge.cli.notation import Entry, kind_text, names_text, path_text, value_text
from bridge.cli.options import namespace_options, output_option, words
from bridge.cli.output import print_document, print_error
from bridge.cli.reading import INPUT_ERROR, asked_for, read
from bridge.cli.source import SOURCE
from bridge.cli.table import Block, Table, filled, print_tables
from bridge.model.keys import field_name, parse_key
from bridge.queries.names import CommandError, first_of, short_key

if TYPE_CHECKING:
    from bridge.offline.engine import Engine
    from bridge.proxies.comparison import Comparison

_DIFFERS, _NOTHING_COMPARED = 1, 2  # exit codes
_NAMED = 3  # targets that a row lists
_SIDES = "EXPECTED (FROM)", "PROXY", "WHY"  # titles of columns


@command(
    "Compare proxies with the effective policies",
    words("[TARGET]...", "objects"),
    *PROXIES,
    option("--all", "everything", is_flag=True, help="List verified fields and those that cannot be read too."),
    option("--strict", is_flag=True, help="Exit with 1 also if a field cannot be read, or a proxy is not known."),
    *namespace_options("The namespace of a TARGET without one."),
    *SOURCE,
    output_option("table", "wide", "json", "yaml", "github", "markdown"),
)
def verify(**options: Any) -> int:
    """Compare what proxies have with the effective policies.

    A policy that is accepted may not be applied yet. Each field has a state: differs, missing in the proxy, stale (the
    proxy's configuration is older than the policy), cannot be read, not known, or verified. Without TARGET or --all,
    verified fields and those that cannot be read are only counted. A field is verified only if its value was compared.

    Exits with 1 if a proxy differs, and with 2 if a proxy cannot be read or nothing could be compared. Values of
    secrets are never read.

    Examples:
        # A dump of Envoy Gateway's proxy
        pbctl verify --config-dump dump.json --manifests deploy/
        # A proxy behind kubectl port-forward, compared with the cluster
        pbctl verify --config-dump http://localhost:19000
        # Each field of one rule
        pbctl verify httproute/cart#checkout -n shop --config-dump dump.json --manifests deploy/
        # The cluster's proxies of the Gateways of a rule
        pbctl verify httproute/cart#checkout -n shop --pods
        # What egctl prints
        egctl config envoy-proxy all -A -o json | pbctl verify --config-dump -
    """
    asked = asked_for(options)
    if not names_proxies(asked):
        raise CommandError("no proxy: give --config-dump FILE, or --pods to read the proxies of the cluster")

    async def ask(engine: Engine) -> Comparison:
        from bridge.queries.asking import target_keys

        targets = await target_keys(engine.opa, asked.words, asked.namespace) if asked.words else []
        return await compare_proxies(engine, asked, targets, everything=bool(targets) or asked.everything)

    found, code = read(asked.source, ask, queries=QUERIES)
    _print(asked.output, found)
    if not found.counts.get("verified") and not found.fails:
        print_error("error: nothing was compared: no dump has a target of these objects that Policy Bridge can read")
        return _NOTHING_COMPARED
    is_known = all(proxy["covers"] for proxy in found.proxies.values())
    unread = any(found.counts.get(state) for state in ("cannot be read", "not known"))
    uncertain = asked.more["strict"] and (unread or not is_known)
    return code or (INPUT_ERROR if found.unread else _DIFFERS if found.fails or uncertain else 0)


def _print(output: str, found: Comparison) -> None:
    match output:
        case "json" | "yaml":
            print_document(output, {"counts": found.counts, "proxies": found.proxies, "rows": found.rows})
        case "github":
            from bridge.cli.annotations import workflow_command

            for row in found.rows:
                if row["state"] != "verified":
                    level = "error" if row["state"] in found.wrong else "warning"
                    title = f"{short_key(parse_key(row['target']))}: {row['state']}"
                    print(workflow_command(level, _sentence(row), title=title))
            print(workflow_command("notice", summary(found), title="Policy Bridge"))
        case "markdown":
            from bridge.cli.reports import MARKER, markdown_table

            print("\n".join((MARKER, f"### Policy Bridge: {_verdict(found)}", "", summary(found), "")))
            if found.rows:
                print("\n".join(markdown_table(verdict_table(found.rows, wide=False))))
        case _:
            print_tables(filled(verdict_tables(found, wide=output == "wide")))


def _verdict(found: Comparison) -> str:
    if found.fails:
        return "❌ Proxies differ from the effective policies"
    if not found.counts.get("verified"):
        return "❌ Nothing was compared"
    return "❌ Not every proxy could be read" if found.unread else "✅ No difference was found"


def verdict_tables(found: Comparison, *, wide: bool) -> Iterator[Block]:
    """Yield a title and a table for the fields of each policy kind at the same targets and paths, and a summary."""
    tables: dict[str, Table] = {}
    for kind, targets, via, cells in _verdicts(found.rows, wide=wide):
        title = " ".join(filter(None, (kind, "at" if kind else "", targets, f"via {via}" if via else "")))
        tables.setdefault(title, Table(["STATE", "FIELD", *_SIDES], long=_SIDES[:2])).rows.append(cells)
    for title, table in tables.items():
        yield title
        yield table.without_empty("WHY")
    yield summary(found)


def verdict_table(rows: Sequence[Entry], *, wide: bool) -> Table:
    """Return a row for each field; targets at which it has the same verdict share one."""
    table = Table(["TARGET", "VIA", "STATE", "FIELD", *_SIDES], long=_SIDES[:2])
    for kind, targets, via, (state, field, *sides) in _verdicts(rows, wide=wide):
        table.rows.append([targets, via, state, f"{kind} {field}".strip(), *sides])
    return table.without_empty("WHY")


def _verdicts(rows: Sequence[Entry], *, wide: bool) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield a policy kind (empty for a rule), targets, a path, and the cells of a field with the same verdict there."""
    alike: dict[tuple[str, ...], dict[str, None]] = {}
    several = len({row["proxy"] for row in rows if row["proxy"]}) > 1
    for row in rows:
        key = parse_key(row["target"])
        cells = (
            kind_text(row["policyKind"], wide=wide),
            path_text(row["path"], key, wide=wide),
            row["state"],
            _field(row),
            _expected(row),
            _side(row, "actual") + (f" ({row['proxy']})" if several or wide else ""),
            row["message"],
        )
        alike.setdefault(cells, {})[short_key(key)] = None
    for (kind, via, *cells_there), targets in alike.items():
        named = first_of(list(targets), len(targets) if wide or len(targets) == _NAMED + 1 else _NAMED)
        yield kind, named, via, cells_there


def _field(row: Entry) -> str:
    """Return a field of a policy in dots."""
    return field_name(row["field"]) if row["field"].startswith("/") else str(row["field"])


def _expected(row: Entry) -> str:
    text = _side(row, "expected")
    is_field = row["field"] not in {"(policy)", "(rule)"}
    return f"{text} ({names_text(row['policies'])})" if is_field and row["policies"] else text


def _side(row: Entry, side: str) -> str:
    """Return what is expected in the proxy, or is there."""
    value = row[side]
    if row["field"] == "(policy)":
        return names_text(value) if value else "none"
    if row["field"] == "(rule)":
        return ", ".join(value) or "-"
    return "-" if value is None else value_text(value)


def _sentence(row: Entry) -> str:
    why = f": {row['message']}" if row["message"] else ""
    what = f"{kind_text(row['policyKind'], wide=False)} {_field(row)}".strip()
    return f"{what}: expected {_expected(row)}, the proxy has {_side(row, 'actual')}{why}"


def summary(found: Comparison) -> str:
    """Return one line with the number of fields by state."""
    counts = ", ".join(f"{number:,} {state}" for state, number in found.counts.items()) or "nothing to compare"
    proxies = f"{len(found.proxies):,} {'proxy' if len(found.proxies) == 1 else 'proxies'}"
    return f"Fields compared with {proxies}: {counts}."
