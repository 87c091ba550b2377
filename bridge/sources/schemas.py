"""Values that an API server refuses, by the schemas of CRDs: types, required fields, enums, patterns, formats, rules.

The schemas are those of CRDs among the manifests and of `--schemas`, otherwise those of Gateway API and of vendors in
schemas.json, which `python -m hack.tools.fields` writes. They are Kubernetes' structural schemas, of which
`_translate` makes JSON schemas for jsonschema-rs. A field that a schema does not have is no wrong value: the API server
drops it, and `known_fields` reports it.
"""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import msgspec

from bridge.model.keys import group_of
from bridge.model.types import CORE_VERSIONS, OWN_VERSIONS
from bridge.sources.defaults import drop_nulls, mapping_of
from bridge.sources.rules import KEYWORD, NAMED_FORMATS, Rules, parses
from bridge.sources.shipped_schemas import shipped_schema, shipped_versions

if TYPE_CHECKING:
    from bridge.model.changes import Object
    from bridge.sources.yaml import Place

Schema = Mapping[str, Any]

_MAP_KEYS = "x-kubernetes-list-map-keys"
_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")  # "Version priority" of Kubernetes
_OF_SERVER = {"metadata", "status"}
_MOST = 20  # wrong values of one object: the rest is of the same kind
_SHOWN = 100  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class WrongValue:
    """A value that an API server refuses. `message` begins with the field; `place` is that of the value."""

    message: str
    place: Place


_RBAC = "rbac.authorization.k8s.io"  # whose names may have other characters


def wrong_metadata(obj: Object) -> Iterator[WrongValue]:
    """Yield the names, labels and annotations that an API server refuses of an object of any kind.

    The rules are those of Kubernetes' pages "Object Names and IDs" and "Labels and Selectors".
    """
    metadata = obj["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace")
    if group_of(obj["apiVersion"]) != _RBAC and not NAMED_FORMATS["dns1123Subdomain"].fullmatch(name):
        yield _refused(name, "lower case letters, digits, '-' and '.', at most 253", "name")
    if namespace and not NAMED_FORMATS["dns1123Label"].fullmatch(namespace):
        yield _refused(namespace, "lower case letters, digits and '-', at most 63", "namespace")
    for key, value in mapping_of(metadata, "labels").items():
        if not NAMED_FORMATS["qualifiedName"].fullmatch(key):
            yield _refused(key, _OF_KEYS, "labels")
        elif not NAMED_FORMATS["labelValue"].fullmatch(value or ""):
            yield _refused(value, "letters, digits, '-', '_' and '.', at most 63", "labels", key)
    for key in mapping_of(metadata, "annotations"):
        if not NAMED_FORMATS["qualifiedName"].fullmatch(key.lower()):
            yield _refused(key, _OF_KEYS, "annotations")


_OF_KEYS = "letters, digits, '-', '_' and '.', at most 63, with or without a domain and / before them"


def _refused(value: str, allowed: str, *place: str) -> WrongValue:
    where = ".".join(("metadata", *place))
    return WrongValue(f"{where}: Invalid value: {_shown(value)}: must be {allowed}", ("metadata", *place))


class Schemas:
    """The schemas by which objects are checked. `crds` describe some of their kinds."""

    def __init__(self, crds: Iterable[Object] = ()) -> None:
        self._defined = dict(found for crd in crds for found in schemas_of(crd))
        self._checks: dict[tuple[str, str], _Check | None] = {}

    def wrong_values(self, obj: Object) -> list[WrongValue]:
        """Return what an API server refuses of an object that has its defaults, at most 20 values.

        An object of a kind or version without a schema has none.
        """
        check = self._check_of(obj)
        return list(itertools.islice(check.wrong_values(obj), _MOST)) if check else []

    def refused_nulls(self, obj: Object) -> list[WrongValue]:
        """Return the nulls in an object as written that only a server-side apply refuses, at most 20."""
        check = self._check_of(obj) if "." in group_of(obj["apiVersion"]) else None  # by CRDs alone
        if check is None:
            return []
        found = _refused_nulls({name: obj[name] for name in obj if name not in _OF_SERVER}, check.schema, ())
        return [
            WrongValue(f"{_written(place)}: null is refused by a server-side apply, and dropped otherwise", place)
            for place in itertools.islice(found, _MOST)
        ]

    def unserved_version(self, obj: Object) -> tuple[str, bool] | None:
        """Return that no API server takes an object in its version, and whether this is certain.

        None if one does, and for a kind without a schema. It is certain by a CRD, for the core group and for what is no
        name of a version, not by a release.
        """
        group, kind, version = group_of(obj["apiVersion"]), obj["kind"], obj["apiVersion"].rpartition("/")[2]
        type_id = f"{group}/{kind}"
        served: Iterable[str] = self._defined.get(type_id, ()) or (OWN_VERSIONS | CORE_VERSIONS).get(type_id, ())
        certain = bool(served)
        if not served:
            served = shipped_versions(type_id)
        if not served or version in served:
            return None
        certain = certain or not _VERSION.fullmatch(version)
        where = (
            "" if certain else " in a release that the bridge knows: another may have it, whose CRDs --schemas takes"
        )
        return f"no version {version!r} of {kind}, only {', '.join(sorted(served))}{where}", certain

    def unchecked_rules(self) -> dict[str, int]:
        """Return how many rules of each checked kind cannot be evaluated, by `<group>/<Kind>`."""
        return {
            type_id: len(check.unchecked) for (type_id, _), check in self._checks.items() if check and check.unchecked
        }

    def _check_of(self, obj: Object) -> _Check | None:
        group, kind, version = group_of(obj["apiVersion"]), obj["kind"], obj["apiVersion"].rpartition("/")[2]
        at = f"{group}/{kind}", version
        if at not in self._checks:
            self._checks[at] = self._make_check(*at)
        return self._checks[at]

    def _make_check(self, type_id: str, version: str) -> _Check | None:
        schema = self._defined[type_id].get(version) if type_id in self._defined else shipped_schema(type_id, version)
        try:
            return _Check(schema) if schema else None
        except (jsonschema_rs.ValidationError, ValueError, TypeError, KeyError):
            return None  # the API server refuses such a CRD


class _Check:
    """The check of objects of one kind and version."""

    def __init__(self, schema: Schema) -> None:
        self.unchecked: set[str] = set()
        self.schema = schema
        translated = _translate(schema)
        translated.get("properties", {}).pop("status", None)
        self._values = jsonschema_rs.Draft7Validator(
            translated,
            formats=_FORMATS,
            validate_formats=True,
            keywords={_MAP_KEYS: _MapKeys},
            pattern_options=jsonschema_rs.RegexOptions(),
            offline=True,
        )
        rules = _rules_in(translated)
        keywords: Any = {KEYWORD: lambda parent, value, _: Rules(self.unchecked, parent, value)}
        self._rules = jsonschema_rs.Draft7Validator(rules, keywords=keywords, offline=True) if rules else None

    def wrong_values(self, obj: Object) -> Iterator[WrongValue]:
        """Yield the wrong values of an object; those by rules only if there are no others, as the API server does."""
        value = {name: field for name, field in obj.items() if name != "status"}  # which it drops
        if b"null" in (text := msgspec.json.encode(value)):
            value = msgspec.json.decode(text)
            drop_nulls(value, self.schema)
        errors = [*self._values.iter_errors(value)]
        if not errors and self._rules is not None:
            errors = [*self._rules.iter_errors(value)]
        for error in errors:
            place = tuple(error.instance_path)
            yield WrongValue(f"{_written(place) or 'the object'}: {_describe(error)}", place)


def _refused_nulls(value: Any, schema: Schema, at: Place) -> Iterator[Place]:
    """Yield the places of nulls in fields that are not nullable and have no default."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _refused_nulls(item, mapping_of(schema, "items"), (*at, index))
    elif isinstance(value, dict):
        properties, others = mapping_of(schema, "properties"), mapping_of(schema, "additionalProperties")
        for name, item in value.items():
            field = properties.get(name, others)
            if not isinstance(field, dict) or not field:
                continue
            if item is not None:
                yield from _refused_nulls(item, field, (*at, name))
            elif not field.get("nullable") and "default" not in field:
                yield (*at, name)


class _MapKeys:
    """The keyword of a list whose items have distinct keys."""

    def __init__(self, _: Schema, keys: Sequence[str], __: Sequence[str | int]) -> None:
        self._keys = keys

    def validate(self, items: Any) -> None:
        """Raise ValueError for the second item with the same keys."""
        for error in self.iter_errors(items):
            raise error

    def iter_errors(self, items: Any) -> Iterator[ValueError]:
        """Yield an error for each item whose keys an earlier one has."""
        seen: set[str] = set()
        for item in items if isinstance(items, list) else ():
            found = {key: item[key] for key in self._keys if key in item} if isinstance(item, dict) else {}
            text = _shown(found)
            if found and text in seen:
                yield ValueError(f"Duplicate value: {text}")
            seen.add(text)


def _translate(schema: Any) -> Any:
    """Return a structural schema as a JSON schema, with Kubernetes' keywords for maps' keys and rules."""
    if not isinstance(schema, dict):
        return schema
    done = {name: schema[name] for name in _KEPT if name in schema}
    if "properties" in schema:
        done["properties"] = {name: _translate(part) for name, part in mapping_of(schema, "properties").items()}
    done |= {name: _translate(schema[name]) for name in ("items", "additionalProperties", "not") if name in schema}
    done |= {name: [*map(_translate, schema[name])] for name in ("allOf", "anyOf", "oneOf") if name in schema}
    _translate_type(schema, done)
    _translate_bounds(schema, done)
    return done


def _translate_type(schema: Schema, done: dict[str, Any]) -> None:
    if schema.get("x-kubernetes-int-or-string"):
        done["type"] = ["integer", "string"]
    if schema.get("nullable") and "type" in done:
        done["type"] = [*([done["type"]] if isinstance(done["type"], str) else done["type"]), "null"]
    if schema.get("x-kubernetes-list-type") == "set":
        done["uniqueItems"] = True
    if schema.get("x-kubernetes-embedded-resource"):
        done["required"] = [*done.get("required", ()), "apiVersion", "kind"]


def _translate_bounds(schema: Schema, done: dict[str, Any]) -> None:
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(exclusive) is True and bound in done:
            done[exclusive] = done.pop(bound)
    if bits := {"int32": 31, "int64": 63}.get(str(schema.get("format"))):
        done["minimum"] = max(done.get("minimum", -(2**bits)), -(2**bits))
        done["maximum"] = min(done.get("maximum", 2**bits - 1), 2**bits - 1)


_KEPT = (
    *("type", "enum", "required", "pattern", "format", "minimum", "maximum", "multipleOf", "minLength", "maxLength"),
    *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", _MAP_KEYS, KEYWORD),
)


def _rules_in(schema: Any, *, below: bool = False) -> dict[str, Any] | None:
    """Return the part of a JSON schema that leads to rules, with the types that they read; None without any."""
    if not isinstance(schema, dict):
        return None
    below = below or KEYWORD in schema
    kept = {name: schema[name] for name in (KEYWORD, "type", "format") if below and name in schema}
    fields = schema.get("properties", {})
    if found := {name: part for name, field in fields.items() if (part := _rules_in(field, below=below))}:
        kept["properties"] = found
    for name in ("items", "additionalProperties"):
        if part := _rules_in(schema.get(name), below=below):
            kept[name] = part
    return kept or None


def _written(place: Place) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).removeprefix(".")


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value, order="sorted").decode()
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _describe(error: jsonschema_rs.ValidationError) -> str:
    """Return an error in an API server's words."""
    describe = _WORDS.get(error.kind.name)
    return describe(error.instance, error.kind.value) if describe else error.message


_TYPES: Mapping[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
}


def _type_text(value: Any, types: Any) -> str:
    wanted = [one for one in ([types] if isinstance(types, str) else sorted(types)) if one != "null"]
    found = _TYPES.get(type(value), "null")
    shown = "" if isinstance(value, dict | list) else f": {_shown(value)}"
    return f'Invalid value: "{found}": must be of type {" or ".join(wanted)}{shown}'


def _invalid(text: str) -> Callable[[Any, Any], str]:
    """Return a function that describes a wrong value; `{}` in the text is what the schema says."""
    return lambda value, wanted: f"Invalid value: {_shown(value)}: {text.format(wanted)}"


def _alone(text: str) -> Callable[[Any, Any], str]:
    return lambda _, wanted: text.format(wanted)


_WORDS: Mapping[str, Callable[[Any, Any], str]] = {
    "type": _type_text,
    "required": lambda _, name: f"Required value: {name}",
    "enum": lambda value, names: (
        f"Unsupported value: {_shown(value)}: supported values: {', '.join(map(_shown, names))}"
    ),
    "pattern": _invalid("must match {!r}"),
    "format": _invalid("must be of the format {}"),
    "minimum": _invalid("must be greater than or equal to {}"),
    "maximum": _invalid("must be less than or equal to {}"),
    "exclusiveMinimum": _invalid("must be greater than {}"),
    "exclusiveMaximum": _invalid("must be less than {}"),
    "multipleOf": _invalid("must be a multiple of {}"),
    "minLength": _invalid("must be at least {} characters long"),
    "maxLength": _alone("Too long: may not be more than {} characters"),
    "minItems": _alone("Invalid value: must have at least {} items"),
    "maxItems": _alone("Too many: must have at most {} items"),
    "minProperties": _alone("Invalid value: must have at least {} properties"),
    "maxProperties": _alone("Too many: must have at most {} properties"),
    "uniqueItems": _alone("Duplicate value: the items must differ"),
    "anyOf": _alone("Invalid value: must validate at least one schema (anyOf)"),
    "oneOf": _alone("Invalid value: must validate one and only one schema (oneOf)"),
    "not": _alone("Invalid value: must not validate the schema (not)"),
}


# Those of Kubernetes that JSON Schema does not have, or has otherwise.
_FORMATS: dict[str, Callable[..., bool]] = {
    "byte": lambda text: text != "" and parses(lambda text: base64.b64decode(text, validate=True))(text),
    "cidr": parses(lambda text: ipaddress.ip_network(text, strict=False)),
    "date": parses(dt.date.fromisoformat),
    "duration": lambda text: (
        re.fullmatch(r"[-+]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+)", text) is not None
    ),
    "mac": lambda text: re.fullmatch(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5,7}", text) is not None,
}


def schemas_of(crd: Object) -> Iterator[tuple[str, dict[str, Schema]]]:
    """Yield a CRD's `<group>/<Kind>` with the schemas of its served versions; nothing for an incomplete CRD."""
    spec = mapping_of(crd, "spec")
    group, kind, versions = spec.get("group"), mapping_of(spec, "names").get("kind"), spec.get("versions")
    served = [
        one for one in (versions if isinstance(versions, list) else ()) if isinstance(one, dict) and one.get("served")
    ]
    if group and kind and served:
        yield (
            f"{group}/{kind}",
            {str(one.get("name")): mapping_of(mapping_of(one, "schema"), "openAPIV3Schema") for one in served},
        )


def slim(schema: Any) -> Any:
    """Return what a schema has for checks: without descriptions, and without the status."""
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for name, value in schema.items():
        if name == "properties":
            kept[name] = {field: slim(part) for field, part in value.items()}
        elif name in {"items", "additionalProperties", "not"}:
            kept[name] = slim(value)
        elif name in {"allOf", "anyOf", "oneOf"}:
            kept[name] = [slim(part) for part in value]
        elif name not in {"description", "example", "externalDocs", "title"}:
            kept[name] = value
    return kept
