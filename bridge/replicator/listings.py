"""How far the source has told each type: what a fill still waits for."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from bridge.model.changes import Change, Deleted, Listed, Listing, Trouble, Upserted


class Listings:
    """Follows a change stream. A type has begun with its first Listing, and is whole with the Listed of all of it."""

    def __init__(self) -> None:
        self.begun: set[str] = set()
        self._awaited: set[str] = set()  # types that a fill waits for
        self._open: set[tuple[str, str]] = set()  # types, with the namespace where it is about one
        self._absent: set[str] = set()  # types that cannot be had, as the source has told
        self._silent: set[str] = set()  # types of which nobody can say now what they have

    def note(self, change: Change) -> None:
        """Take in a change; what comes before a type's Listing says nothing of it."""
        match change:
            case Listing(type_id, namespace):
                self._open.add((type_id, namespace))
                self.begun.add(type_id)
                self._absent.discard(type_id)
                self._silent.discard(type_id)
            case Listed(type_id, namespace) if type_id in self.begun:
                self._open.discard((type_id, namespace))
                if not namespace:
                    self._awaited.discard(type_id)
            case Upserted(type_id) | Deleted(type_id) if type_id in self.begun:
                self._silent.discard(type_id)
            case Trouble(subject, unknown=unknown):
                self._open = {place for place in self._open if place[0] != subject}
                if unknown:
                    self._silent.add(subject)
                else:
                    self._silent.discard(subject)
                    self._absent.add(subject)
                    self._awaited.discard(subject)
            case _:
                pass

    def expect(self, types: AbstractSet[str]) -> None:
        """Wait for those of these types that have not begun, and that could be had."""
        self._awaited = set(types) - self.begun - self._absent

    def expect_nothing(self) -> None:
        """Wait for no type that has not begun."""
        self._awaited.clear()

    def start_over(self) -> None:
        """Everything was asked for anew."""
        self._open.clear()
        self.begun.clear()
        self._absent.clear()

    @property
    def missing(self) -> set[str]:
        """The types that are not told whole."""
        return self._awaited | {type_id for type_id, _ in self._open}

    @property
    def held_up_by_silence(self) -> bool:
        """Whether only types are missing that do not answer, while others do."""
        return self.missing <= self._silent and bool(self.begun - self._silent)
