"""State machines: a table of transitions and the current state. An event that the table does not have is an error."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from enum import Enum
from typing import Generic, TypeVar

State = TypeVar("State", bound=Enum)
Event = TypeVar("Event", bound=Enum)
Transitions = Mapping[State, Mapping[Event, State]]  # by state, its events with the state that follows


class IllegalTransition(RuntimeError):
    """An event in a state that has no transition for it: a defect of the program."""


class Machine(Generic[State, Event]):
    """The current state of one subject; `transitions` are the only ways to change it."""

    def __init__(self, transitions: Transitions[State, Event], start: State) -> None:
        self._transitions = transitions
        self._state = start
        self._periods: list[tuple[frozenset[State], asyncio.Event]] = []

    @property
    def state(self) -> State:
        """Return the current state."""
        return self._state

    def on(self, event: Event) -> State:
        """Make the transition of an event; return the new state. Raises IllegalTransition if there is none."""
        following = self._transitions[self._state].get(event)
        if following is None:
            raise IllegalTransition(f"{self._state} has no transition for {event}")
        self._state = following
        for states, period in self._periods:
            _set(period, following in states)
        return following

    def during(self, *states: State) -> asyncio.Event:
        """Return an Event that is set exactly while the machine is in one of these states. Do not set it elsewhere."""
        period = asyncio.Event()
        _set(period, self._state in states)
        self._periods.append((frozenset(states), period))
        return period


def _set(period: asyncio.Event, holds: bool) -> None:
    if holds:
        period.set()
    else:
        period.clear()
