"""How cells of tables write policies, paths to targets, and specs."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bridge.cli.output import to_yaml
from bridge.cli.table import Lines
from bridge.model.keys import CLUSTER, Key, field_name, parse_key, pointer, segments_of
from bridge.model.text import TIE
from bridge.queries.names import first_of, short_key

Entry = Mapping[str, Any]
Place = tuple[str, int] | None  # a file and a line
Position = Callable[[Key], Place]  # the place of an object

# Marks after the name of a policy that is not Programmed.
MARKS = {
    "PartiallyProgrammed": f"{TIE}(partly)",
    "Overridden": f"{TIE}(overridden)",
    "Incomplete": f"{TIE}(incomplete)",
}
_NAMED = 3  # Gateways without a command
_SENTENCES = 3  # of a message that are printed unless a table is wide
_SENTENCE_END = re.compile(r"\. (?=[A-Z])")
_COUNTED = re.compile(r"( on [\d,]+ paths?\b.*?): .*")
_PLAIN = re.compile(r"[^\s,=\"'{}\[\]]+")  # a text that needs no quotes


def name_of(key: Key) -> str:
    """Return `<namespace>/<name>[#section]`, or only the name of a cluster-scoped object."""
    namespace = "" if key.namespace == CLUSTER else f"{key.namespace}/"
    return f"{namespace}{key.name}" + (f"#{key.section}" if key.section else "")


def namespace_cell(key: Key) -> str:
    """Return the namespace of an object, empty for a cluster-scoped one."""
    return "" if key.namespace == CLUSTER else key.namespace


def kind_text(type_id: str, *, wide: bool) -> str:
    """Return a kind, wide with its group."""
    return type_id if wide else type_id.partition("/")[2]


def names_text(policies: Iterable[str]) -> str:
    """Return the names of policies, given as keys."""
    return ", ".join(name_of(parse_key(key)) for key in policies)


def path_text(path: Iterable[str], target: Key, *, wide: bool) -> str:
    """Return the nodes that distinguish paths to a target, wide every node."""
    nodes = nodes_of(path)
    return " > ".join(map(short_key, nodes)) if wide else via_text(nodes, target)


def nodes_of(path: Iterable[str]) -> list[Key]:
    """Return the nodes of a path that are objects or sections."""
    return [parse_key(node) for node in path if node.count("/") == 3]


def proxy_lines(commands: Mapping[Key, str]) -> list[str]:
    """Return a line for each Gateway whose proxies a command shows, and one for the others."""
    lines = [
        f"The routes in the proxies of {short_key(key)}: {command}" for key, command in commands.items() if command
    ]
    if others := [short_key(key) for key, command in commands.items() if not command]:
        lines.append(f"Policy Bridge knows no command for the proxies of {first_of(others, _NAMED)}")
    return lines


def via_text(path: Sequence[Key], target: Key) -> str:
    """Return the nodes that distinguish paths to a target: a section replaces its object, a Gateway its class."""
    nodes = []
    for index, key in enumerate(path):
        after = path[index + 1] if index + 1 < len(path) else None
        above_own_section = after is not None and after.object == key.object
        if key.object == target.object or above_own_section or (key.kind == "GatewayClass" and after is not None):
            continue
        if key.kind != "Namespace":
            nodes.append(name_of(key))
    return " > ".join(nodes) or "-"


_SHOWN_WAYS = 3


def ways_text(vias: Sequence[str]) -> str:
    """Return paths in one text: of the listeners of one object, that object's name once; at most _SHOWN_WAYS."""
    named: list[str] = []
    for before, via in zip(("", *vias), vias[:_SHOWN_WAYS], strict=False):
        holder, mark, section = via.partition("#")
        named.append(f"#{section}" if mark and before.partition("#")[0] == holder else via)
    more = len(vias) - _SHOWN_WAYS
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def counts_of(message: str) -> str:
    """Return a message about paths with their number and the policies, without the paths."""
    return ". ".join(_COUNTED.sub(r"\1", sentence) for sentence in _SENTENCE_END.split(message))


def brief(message: str) -> str:
    """Return the first sentences of a long message, and the number of the others."""
    sentences = _SENTENCE_END.split(message)
    if len(sentences) <= _SENTENCES:
        return message
    return f"{'. '.join(sentences[:_SENTENCES])}. … and {len(sentences) - _SENTENCES} more (-o wide shows them)"


def policy_text(policy: Entry, *, wide: bool = False) -> str:
    """Return a policy of a stack with its outcome; wide also with its target, strategy and the overriding policies."""
    name = name_of(parse_key(policy["policy"]))
    if not wide:
        return name + MARKS.get(policy.get("outcome", ""), "")
    target = short_key(parse_key(policy["target"]))
    by = names_text(policy.get("overriddenBy", ()))
    outcome = policy.get("outcome", "Failed")
    return f"{name} on {target} ({policy['strategy']}: {outcome}{f', overridden by {by}' if by else ''})"


def shadow_text(shadowed: Entry) -> str:
    """Return what policies set at a field, and the field of a route's rule that goes before it."""
    set_there = compact(dict_at(segments_of(shadowed["path"]), shadowed["value"]))
    field, rule = field_name(shadowed["field"]), short_key(parse_key(shadowed["by"]))
    return f"not {set_there} of {origin_text(shadowed['policies'])}, because {rule} has {field}"


def dict_at(path: Sequence[str], value: Any) -> Any:
    """Return a value below the names of a path."""
    return {path[0]: dict_at(path[1:], value)} if path else value


def compact(value: Any) -> str:
    """Return a value on one line, a mapping as `colors.accent=blue, theme=dark`."""
    return ", ".join(f"{_name(path)}={value_text(leaf)}" for path, leaf in _leaves(value, ())) or "{}"


def fields_of(at_path: Entry, *, with_policies: bool = True) -> dict[tuple[str, ...], Lines]:
    """Return each field of an effective policy by its name, as one line and as lines of YAML.

    The entry's `fields` say what is in effect and which policies set it. A field that a null removed has no value.
    With policies these are `theme=dark [shop/cart]` and `theme: dark  # shop/cart`.
    """
    found: dict[tuple[str, ...], Lines] = {}
    for one in at_path["fields"]:
        if "value" not in one:
            continue
        origin = origin_text(one["policies"]) if with_policies else ""
        if isinstance(at_path["spec"], list):  # an additive kind has one item for each policy, wherever it is listed
            found[tuple(one["policies"])] = _field(_item_text(one["value"]), nested_lines([one["value"]]), origin)
            continue
        for path, value in _leaves(one["value"], tuple(segments_of(one["field"]))):
            name = _name(path)
            first, *others = value_lines(value)
            lines = [f"{name}:", first, *others] if others or is_nested(value) else [f"{name}: {first}"]
            found[path] = _field(f"{name}={value_text(value)}", lines, origin)
    return found


def _name(path: Sequence[str]) -> str:
    return field_name(pointer(*path)) or "(all)"


def _field(text: str, lines: Sequence[str], origin: str) -> Lines:
    if not origin:
        return Lines(text, lines)
    return Lines(f"{text} [{origin}]", [f"{lines[0]}  # {origin}", *lines[1:]])


def is_nested(value: Any) -> bool:
    """Return whether a value is a list or a mapping with content."""
    return isinstance(value, list | dict) and bool(value)


def value_lines(value: Any) -> list[str]:
    """Return a value, in lines of YAML if it is a list or a mapping."""
    return nested_lines(value) if is_nested(value) else [value_text(value)]


def nested_lines(value: Any) -> list[str]:
    """Return the lines of YAML of a list or a mapping, with indentation that no table breaks."""
    return [line.replace(" ", TIE, len(line) - len(line.lstrip(" "))) for line in to_yaml(value).splitlines()]


def _item_text(item: Any) -> str:
    return f"{{{compact(item)}}}" if item else "{}"


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


def origin_text(origin: str | Sequence[str]) -> str:
    """Return the policy, or policies, that a field comes from, or the rule of a route."""
    keys = [parse_key(key) for key in ([origin] if isinstance(origin, str) else origin)]
    return "+".join(short_key(key) if key.section else name_of(key) for key in keys)
