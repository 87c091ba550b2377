"""What proxies have of explained fields: the states of `pbctl verify` beside each field of an explanation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

Entry = dict[str, Any]
_KEPT = ("proxy", "field", "policies", "state", "actual", "message")
_UNREAD = "cannot be read"


def add_states(explained: Iterable[Entry], rows: Iterable[Entry], *, unread: bool = False) -> None:
    """Add `proxy` to each path of explanations, its rows of a comparison, and to each of its fields, its states.

    `unread`: there are proxies that cannot be read, which every field says at last.
    """
    at: dict[tuple[str, str, tuple[str, ...]], list[Entry]] = defaultdict(list)
    for row in rows:
        at[row["target"], row["policyKind"], tuple(row["path"])].append(row)
    for entry in explained:
        for path in entry["paths"]:
            about = at[entry["target"], entry["policyKind"], tuple(path["path"])]
            path["proxy"] = [{name: row[name] for name in _KEPT} for row in about]
            for one in path.get("fields", ()):
                one["proxy"] = "; ".join(_states(about, one, unread=unread))


def _states(rows: Sequence[Entry], one: Entry, *, unread: bool) -> Iterable[str]:
    """Return the states of a field in proxies, with another value of a proxy.

    A row may be about a part that has the field. Where every policy applies, a field is the spec of one.
    """
    found: dict[str, None] = {}
    for row in rows:
        is_spec = one["field"][1:].isdecimal() and bool(row["policies"]) and set(row["policies"]) <= {*one["policies"]}
        if is_spec or _is_on_line(row["field"], one["field"]):
            actual = row["actual"]
            text = actual if isinstance(actual, str) else msgspec.json.encode(actual).decode()
            value = f", {text}" if row["state"] == "differs" and actual is not None else ""
            found[f"{row['state']}{value}"] = None
    if unread:
        found.pop(_UNREAD, None)
        found[_UNREAD] = None
    return found


def _is_on_line(one: str, other: str) -> bool:
    return f"{other}/".startswith(f"{one}/") or one.startswith(f"{other}/")
