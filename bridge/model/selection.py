"""The replicated objects of a type, and their fields."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Selection:
    """Objects of one type: served in `version` (empty: the preferred one), in `namespaces` (empty: all), by selectors.

    The selectors are the API server's own (`app=web`, `spec.type!=ExternalName`); empty ones select everything.
    """

    version: str = ""
    namespaces: tuple[str, ...] = ()
    label_selector: str = ""
    field_selector: str = ""

    @property
    def parameters(self) -> dict[str, str]:
        """Return the selectors as parameters of a list or a watch."""
        given = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class Fields:
    """Fields of an object by JSON Pointer (RFC 6901): with `keep` only these, otherwise all except those of `drop`.

    apiVersion, kind and metadata always stay, except for metadata fields in `drop`. With both None, only the conditions
    of the status stay.
    """

    keep: tuple[str, ...] | None = None
    drop: tuple[str, ...] | None = None


EVERYTHING = Selection()
