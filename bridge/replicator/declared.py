"""Of an object, what its links are made from: the only part that OPA is sent for them, and asked about again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridge.model.changes import Object
from bridge.model.nesting import decode
from bridge.opa.paths import segments_of

EVERY = "*"  # in a pointer, each item of a list

_Wanted = dict[str, "_Wanted"]  # by field; empty: all of it


_Decoders = dict[str, msgspec.json.Decoder[Any]]  # by field of an object


class Reading:
    """What the query `links` reads, as it says itself (`link_fields`), or None for any field.

    `fields` are JSON Pointers; an object that has a field of `{"with": pointer}` is read whole, without its status
    and the metadata that is not among the fields.
    """

    def __init__(self, fields: Sequence[str | Mapping[str, str]] | None) -> None:
        self.fields = fields
        self._decoders = _decoders([field for field in fields or () if isinstance(field, str)])
        self._whole_with = _decoders([field["with"] for field in fields or () if not isinstance(field, str)])

    def of(self, obj: Object) -> msgspec.Raw:
        """This part of an object, as JSON. What an object reports is none of it, and often the larger part."""
        if self.fields is None:
            part = {name: value for name, value in obj.items() if name != "status"}
        elif self._is_whole(obj):
            part = {name: value for name, value in obj.items() if name not in {"metadata", "status"}}
            part["metadata"] = _part(obj["metadata"], self._decoders["metadata"])
        else:
            part = {name: _part(obj[name], decoder) for name, decoder in self._decoders.items() if name in obj}
        return msgspec.Raw(msgspec.json.encode(part, order="deterministic"))

    def _is_whole(self, obj: Object) -> bool:
        return any(
            msgspec.json.encode(_part(obj[name], decoder)) != b"{}"
            for name, decoder in self._whole_with.items()
            if name in obj
        )


def _decoders(fields: Sequence[str]) -> _Decoders:
    wanted: _Wanted = {}
    for field in fields:
        below = wanted
        for name in segments_of(field):
            below = below.setdefault(name, {})
    return {name: msgspec.json.Decoder(_shape(below)) for name, below in wanted.items()}


def _part(value: Any, decoder: msgspec.json.Decoder[Any]) -> Any:
    text = value if isinstance(value, msgspec.Raw) else msgspec.json.encode(value)
    try:
        return decode(text, decoder)
    except msgspec.DecodeError:
        return value  # of another shape than it should be, which the Rego judges


def _shape(wanted: _Wanted) -> Any:
    """A type that takes what is wanted out of JSON, so that the rest is not even parsed."""
    if not wanted:
        return msgspec.Raw
    if EVERY in wanted:
        return list[_shape(wanted[EVERY])]  # type: ignore[misc] # made while running
    names = {f"field_{number}": name for number, name in enumerate(wanted)}
    fields = [(field, _shape(wanted[name]), msgspec.UNSET) for field, name in names.items()]
    return msgspec.defstruct("Part", fields, rename=names)
