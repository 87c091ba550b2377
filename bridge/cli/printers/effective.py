"""Effective policies as a table: a row for each path to a target."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bridge.cli.printers.table import Column, Table
from bridge.cli.terminal import TIE
from bridge.model.keys import CLUSTER, Key, parse_key
from bridge.queries.names import short_key

# Marks after the name of a policy that is not Programmed.
MARKS = {"PartiallyProgrammed": f"{TIE}(partly)", "Overridden": f"{TIE}(overridden)"}
_PLAIN = re.compile(r"[^\s,=\"'{}\[\]]+")  # a text that needs no quotes


def effective_tables(entries: Sequence[Mapping[str, Any]], wide: bool = False) -> list[Table]:
    """Return the tables for the query `effective`.

    A wide table has whole paths, strategies, and the origin of each field.
    """
    columns = [
        Column("TARGET"),
        Column("POLICY KIND"),
        Column("VIA", long=wide),
        Column("EFFECTIVE", painted=True, long=True),
        Column("POLICIES", painted=True, long=True),
    ]
    rows: list[Sequence[str]] = []
    for entry in entries:
        target = parse_key(entry["target"])
        for at_path in entry["paths"]:
            path = [parse_key(node) for node in at_path["path"] if node.count("/") == 3]
            via = whole_path(path) if wide else via_text(path, target)
            origins = at_path.get("origins", {}) if wide else {}
            policies = ", ".join(policy_text(policy, wide=wide) for policy in at_path["policies"])
            kind = entry["policyKind"] if wide else entry["policyKind"].partition("/")[2]
            rows.append([short_key(target), kind, via, _effective(at_path, origins), policies])
    return [Table(columns, rows)]


def whole_path(path: Iterable[Key]) -> str:
    """Return every node of a path."""
    return " > ".join(short_key(key) for key in path)


def via_text(path: Sequence[Key], target: Key) -> str:
    """Return the nodes that distinguish paths to a target: a section replaces its object, a Gateway its class."""
    shown = []
    for index, key in enumerate(path):
        after = path[index + 1] if index + 1 < len(path) else None
        above_own_section = after is not None and after.object == key.object
        if key.object == target.object or above_own_section or (key.kind == "GatewayClass" and after is not None):
            continue
        if key.kind != "Namespace":
            shown.append(name_of(key))
    return " > ".join(shown) or "-"


def name_of(key: Key) -> str:
    """Return `<namespace>/<name>[#section]`, or only the name of a cluster-scoped object."""
    namespace = "" if key.namespace == CLUSTER else f"{key.namespace}/"
    return f"{namespace}{key.name}" + (f"#{key.section}" if key.section else "")


def policy_text(policy: Mapping[str, Any], *, wide: bool = False) -> str:
    """Return a policy of a stack with its outcome; wide also with its target, strategy and the overriding policies."""
    name = name_of(parse_key(policy["policy"]))
    if not wide:
        return name + MARKS.get(policy.get("outcome", ""), "")
    target = short_key(parse_key(policy["target"]))
    by = ", ".join(name_of(parse_key(key)) for key in policy.get("overriddenBy", ()))
    outcome = policy.get("outcome", "Failed")
    return f"{name} on {target} ({policy['strategy']}: {outcome}{f', overridden by {by}' if by else ''})"


def _effective(at_path: Mapping[str, Any], origins: Mapping[str, Any]) -> str:
    if "error" in at_path:
        return f"error: {at_path['error']['message']}"
    return compact(at_path["spec"], origins)


def compact(spec: Any, origins: Mapping[str, Any] | None = None) -> str:
    """Return a spec on one line, `colors.accent=blue, theme=dark`; with `origins` also each field's policy."""
    return ", ".join(_told(spec, origins or {}).values()) or "{}"


def leaves_of(at_path: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
    """Return each field of an effective policy in the form of `compact`, with its policy."""
    return _told(at_path["spec"], at_path["origins"])


def _told(spec: Any, origins: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
    if isinstance(spec, list):  # an additive kind has one item for each policy, wherever it is listed
        return {
            (origins.get(f"/{place}", str(place)),): f"{{{compact(item)}}}" + _origin([str(place)], origins)
            for place, item in enumerate(spec)
        }
    return {
        path: f"{'.'.join(path) or '(all)'}={value_text(value)}" + _origin(path, origins)
        for path, value in _leaves(spec, ())
    }


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping) and value:
        for name in sorted(value):
            yield from _leaves(value[name], (*path, name))
    elif path or not isinstance(value, Mapping):
        yield path, value


def value_text(value: Any) -> str:
    """Return a value of a spec on one line: a text without quotes if it needs none, anything else as JSON."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.isprintable():
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _origin(path: Sequence[str], origins: Mapping[str, Any]) -> str:
    pointer = "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)
    origin = origins.get(pointer)
    return f" [{origin_text(origin)}]" if origin else ""


def origin_text(origin: str | Sequence[str]) -> str:
    """Return the policy, or policies, that a field comes from."""
    keys = [origin] if isinstance(origin, str) else origin
    return "+".join(name_of(parse_key(key)) for key in keys)
