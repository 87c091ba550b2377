"""Which objects of a type are replicated, and which of their fields."""

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
        """The selectors as parameters of a list or a watch."""
        given = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class Fields:
    """Fields of an object by JSON Pointer (RFC 6901): with `keep` only these, else all but those of `drop`.

    apiVersion, kind and metadata stay in any case, except for what `drop` names of metadata. With both None, of the
    status only the conditions stay.
    """

    keep: tuple[str, ...] | None = None
    drop: tuple[str, ...] | None = None


EVERYTHING = Selection()
