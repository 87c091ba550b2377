"""Of an object, what its links are made from: the only part that OPA is sent for them, and asked about again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from bridge.model.changes import Object
from bridge.opa.paths import segments_of

EVERY = "*"  # in a pointer, each item of a list

_Wanted = dict[str, "_Wanted"]  # by field; empty: all of it


class Reading:
    """What the query `links` reads, as it says itself (`links_read`): fields as JSON Pointers, or None for any."""

    def __init__(self, fields: Sequence[str] | None) -> None:
        self.fields = fields
        wanted: _Wanted = {}
        for field in fields or ():
            below = wanted
            for name in segments_of(field):
                below = below.setdefault(name, {})
        self._decoders = {name: msgspec.json.Decoder(_shape(below)) for name, below in wanted.items()}

    def of(self, obj: Object) -> msgspec.Raw:
        """This part of an object, as JSON. What an object reports is none of it, and often the larger part."""
        if self.fields is None:
            part = {name: value for name, value in obj.items() if name != "status"}
        else:
            part = {name: _part(obj[name], decoder) for name, decoder in self._decoders.items() if name in obj}
        return msgspec.Raw(msgspec.json.encode(part, order="deterministic"))


def _part(value: Any, decoder: msgspec.json.Decoder[Any]) -> Any:
    text = value if isinstance(value, msgspec.Raw) else msgspec.json.encode(value)
    try:
        return decoder.decode(text)
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
