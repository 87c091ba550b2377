"""Misspelled kinds and fields of manifests, by the schemas of their CRDs.

An API server drops a field that the schema does not have, and `kubectl apply` refuses it ("strict decoding error:
unknown field"). A folder has no API server, so the same check is made here: by the CRDs among the manifests and those
of `--schemas`, otherwise by the releases of Gateway API and vendors in known_fields.json, which
`python -m hack.tools.fields` writes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import msgspec

from bridge.model.keys import group_of
from bridge.model.text import nearest
from bridge.model.types import KUBERNETES, OWN_VERSIONS
from bridge.sources.defaults import mapping_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bridge.model.changes import Object
    from bridge.sources.yaml import Place

# The fields of an object by name, `*` for those of a map with free names. A list has the fields of its items. None
# means that everything below is accepted: a plain value, or a field whose schema keeps unknown fields.
Fields = dict[str, "Fields | None"]

FILE = "known_fields.json"
_FREE = "*"
_SIMILAR = 0.8  # the least similarity, by difflib, of a name that is meant
_MOST = 20  # doubts of one object; the rest is of the same kind

# Of ObjectMeta in the Kubernetes API reference.
_METADATA: Fields = dict.fromkeys(
    (
        *("annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers"),
        *("generateName", "generation", "labels", "managedFields", "name", "namespace", "ownerReferences"),
        *("resourceVersion", "selfLink", "uid"),
    )
)
_OF_EVERY_KIND: Fields = {"apiVersion": None, "kind": None, "metadata": _METADATA, "status": None}


class Released(msgspec.Struct, frozen=True):
    """The fields of one kind, and the release that has them (`Envoy Gateway v1.9.1`)."""

    release: str
    fields: dict[str, Any]  # Fields, a recursive type that msgspec does not read


@dataclass(frozen=True, slots=True)
class Doubt:
    """A kind or field of an object that its schema does not have, or a value that its schema does not allow.

    `reason` is UnknownKind, UnknownField, VersionNotServed or InvalidValue. `certain` is False if only a release in
    known_fields.json lacks the name and no similar name exists: a newer release may have it. `place` is that of the
    name or value in the object.
    """

    reason: str
    message: str
    certain: bool
    place: Place


class KnownFields:
    """The kinds and fields that manifests may have. `crds` are the CRDs that describe some of them.

    `described` are kinds (`<group>/<Kind>`) without a schema, which exist nevertheless: a PolicyKind describes them.
    """

    def __init__(self, crds: Iterable[Object] = (), described: Iterable[str] = ()) -> None:
        of_kubernetes = [f"{group}/{kind}" for group, kinds in KUBERNETES.items() for kind in kinds]
        self._described = {*described, *OWN_VERSIONS, *of_kubernetes}
        self._read_released = _read_released()
        self._defined = {type_id: fields for crd in crds for type_id, fields in fields_of(crd)}
        self._kinds: dict[str, set[str]] = {}
        for type_id in (*OWN_VERSIONS, *of_kubernetes, *self._read_released, *self._defined):
            group, _, kind = type_id.rpartition("/")
            self._kinds.setdefault(group, set()).add(kind)

    def doubts(self, obj: Object) -> list[Doubt]:
        """Return what an object (with apiVersion, kind and metadata) has and its schema does not, at most 20 doubts.

        Kinds of groups without any schema have none, and of Kubernetes' own groups only their names are known.
        """
        group, kind = group_of(obj["apiVersion"]), obj["kind"]
        type_id = f"{group}/{kind}"
        if type_id in self._defined:
            return list(itertools.islice(_find_unknown_fields(obj, self._defined[type_id], None), _MOST))
        if type_id in self._read_released:
            known = self._read_released[type_id]
            return list(itertools.islice(_find_unknown_fields(obj, known.fields, known.release), _MOST))
        return [] if type_id in self._described else list(self._find_unknown_kind(group, kind))

    def _find_unknown_kind(self, group: str, kind: str) -> Iterator[Doubt]:
        if kinds := self._kinds.get(group):
            near = nearest(kind, kinds, _SIMILAR)
            others = sorted(name for name, known in self._kinds.items() if kind in known) if group in KUBERNETES else []
            if others and near is None:
                hint = f"; did you mean the group {' or '.join(others)}?"
                message = f'unknown kind "{kind}" in the group {group}{hint}'
                yield Doubt("UnknownKind", message, True, ("apiVersion",))
                return
            message = f'unknown kind "{kind}" in the group {group}{_hint_at(near)}'
            yield Doubt("UnknownKind", message, near is not None, ("kind",))
        elif near := nearest(group, (name for name, kinds in self._kinds.items() if kind in kinds), _SIMILAR):
            message = f'unknown group "{group}" of the kind {kind}{_hint_at(near)}'
            yield Doubt("UnknownKind", message, True, ("apiVersion",))


def _find_unknown_fields(obj: Object, fields: Fields, release: str | None) -> Iterator[Doubt]:
    """Yield the unknown fields of an object; `release` has these fields, None for those of a CRD."""
    for place, known in _find_strangers(obj, fields | _OF_EVERY_KIND, ()):
        near = nearest(str(place[-1]), known, _SIMILAR)
        certain = release is None or near is not None
        where = "" if certain else f" in {release}: a newer release may have it, whose CRDs --schemas takes"
        yield Doubt("UnknownField", f'unknown field "{_written(place)}"{_hint_at(near)}{where}', certain, place)


def _find_strangers(value: Any, fields: Fields | None, place: Place) -> Iterator[tuple[Place, Fields]]:
    """Yield the places of the unknown fields in a value, each with the known names beside it."""
    if fields is None:
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _find_strangers(item, fields, (*place, index))
    elif isinstance(value, dict):
        for name, item in value.items():
            if name in fields or _FREE in fields:
                yield from _find_strangers(item, fields.get(name, fields.get(_FREE)), (*place, name))
            else:
                yield (*place, name), fields


def without_unknown_fields(obj: Object, crd_fields: Fields) -> Object:
    """Return an object as an API server reads it by a CRD, of which these are the result of `fields_of`."""
    return {
        name: value if name in _OF_EVERY_KIND else _drop_strangers(value, crd_fields[name])
        for name, value in obj.items()
        if name in _OF_EVERY_KIND or name in crd_fields
    }


def _drop_strangers(value: Any, fields: Fields | None) -> Any:
    if fields is None:
        return value
    if isinstance(value, list):
        return [_drop_strangers(item, fields) for item in value]
    if isinstance(value, dict):
        return {
            name: _drop_strangers(item, fields.get(name, fields.get(_FREE)))
            for name, item in value.items()
            if name in fields or _FREE in fields
        }
    return value


def _written(place: Place) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).removeprefix(".")


def _hint_at(near: str | None) -> str:
    return f'; did you mean "{near}"?' if near else ""


def fields_of(crd: Object) -> Iterator[tuple[str, Fields]]:
    """Yield a CRD's `<group>/<Kind>` with the fields of its served versions together; nothing without a schema."""
    spec = mapping_of(crd, "spec")
    group, kind = spec.get("group"), mapping_of(spec, "names").get("kind")
    versions = spec.get("versions")
    schemas = [
        mapping_of(mapping_of(version, "schema"), "openAPIV3Schema")
        for version in (versions if isinstance(versions, list) else ())
        if isinstance(version, dict) and version.get("served")
    ]
    found: Fields | None = {}
    for schema in schemas:
        found = _merge(found, _read_fields(schema))
    if group and kind and schemas and found is not None:
        yield f"{group}/{kind}", {name: fields for name, fields in found.items() if name not in _OF_EVERY_KIND}


def _read_fields(schema: Mapping[str, Any]) -> Fields | None:
    """Return the fields that a structural schema allows."""
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-embedded-resource"):
        return None
    if properties := mapping_of(schema, "properties"):
        return {name: _read_fields(field) if isinstance(field, dict) else None for name, field in properties.items()}
    if items := mapping_of(schema, "items"):
        return _read_fields(items)
    if (others := schema.get("additionalProperties")) is None and schema.get("type") == "object":
        return {}  # an API server drops everything in it
    inner = _read_fields(others) if isinstance(others, dict) else None
    return None if inner is None else {_FREE: inner}


def _merge(one: Fields | None, other: Fields | None) -> Fields | None:
    """Return the fields of two versions together."""
    if one is None or other is None:
        return None
    return one | {name: _merge(one[name], fields) if name in one else fields for name, fields in other.items()}


def _read_released() -> dict[str, Released]:
    content = resources.files("bridge.sources").joinpath(FILE).read_bytes()
    return msgspec.json.decode(content, type=dict[str, Released])
