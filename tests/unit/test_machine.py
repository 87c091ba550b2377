"""State machines: only the table's transitions, from which everything about the state follows."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, NamedTuple

import pytest

from bridge.machine import IllegalTransition, Machine
from bridge.replicator.states import RESTART, SYNC, RestartEvent, RestartState, SyncEvent, SyncState


class Subject(NamedTuple):
    """A table with its first state, all states and all events."""

    table: Mapping[Any, Mapping[Any, Any]]
    start: Enum
    states: type[Enum]
    events: type[Enum]


MACHINES = {
    "sync": Subject(SYNC, SyncState.CONNECTING, SyncState, SyncEvent),
    "restart": Subject(RESTART, RestartState.VERIFIED, RestartState, RestartEvent),
}


class Door(Enum):
    """Two states."""

    OPEN = auto()
    SHUT = auto()


class Push(Enum):
    """Two events."""

    OPENS = auto()
    SHUTS = auto()


DOOR = {Door.OPEN: {Push.SHUTS: Door.SHUT, Push.OPENS: Door.OPEN}, Door.SHUT: {Push.OPENS: Door.OPEN}}


def test_an_event_leads_to_the_state_of_the_table() -> None:
    machine = Machine(DOOR, Door.OPEN)
    assert machine.on(Push.OPENS) is Door.OPEN
    assert machine.on(Push.SHUTS) is Door.SHUT
    assert machine.state is Door.SHUT


def test_an_event_without_a_transition_is_an_error_and_changes_nothing() -> None:
    machine = Machine(DOOR, Door.SHUT)
    with pytest.raises(IllegalTransition, match=r"Door\.SHUT has no transition for Push\.SHUTS"):
        machine.on(Push.SHUTS)
    assert machine.state is Door.SHUT


def test_the_event_of_a_period_is_set_exactly_in_its_states() -> None:
    machine = Machine(DOOR, Door.OPEN)
    is_open, always = machine.during(Door.OPEN), machine.during(*Door)
    assert is_open.is_set()
    machine.on(Push.SHUTS)
    assert not is_open.is_set()
    machine.on(Push.OPENS)
    assert is_open.is_set()
    assert always.is_set()


@pytest.mark.parametrize("name", MACHINES)
def test_each_state_has_a_row_and_is_reached_and_left(name: str) -> None:
    table, start, states, events = MACHINES[name]
    assert set(table) == set(states)
    assert {event for row in table.values() for event in row} == set(events)
    reached, waiting = {start}, [start]
    while waiting:
        fresh = set(table[waiting.pop()].values()) - reached
        reached |= fresh
        waiting += fresh
    assert reached == set(states)
    assert [state for state, row in table.items() if set(row.values()) <= {state}] == []


@pytest.mark.parametrize("name", MACHINES)
def test_each_pair_outside_of_the_table_is_an_error(name: str) -> None:
    table, _, states, events = MACHINES[name]
    for state in states:
        for event in set(events) - set(table[state]):
            with pytest.raises(IllegalTransition):
                Machine(table, state).on(event)


def test_a_loss_leads_back_to_connecting_from_every_state_with_data() -> None:
    having = [state for state in SyncState if state is not SyncState.CONNECTING]
    assert {SYNC[state][SyncEvent.LOST] for state in having} == {SyncState.CONNECTING}


def test_modules_that_change_are_waited_for_wherever_they_change() -> None:
    after = {state: row[SyncEvent.MODULES_CHANGE] for state, row in SYNC.items()}
    assert after.pop(SyncState.CONNECTING) is SyncState.CONNECTING
    assert after.pop(SyncState.SYNCING) is after.pop(SyncState.OUTDATED) is SyncState.OUTDATED
    assert set(after.values()) == {SyncState.RELOADING}


def test_an_opa_that_answers_again_while_facts_are_renewed_is_not_synced_yet() -> None:
    machine = Machine(SYNC, SyncState.RENEWING)
    synced = machine.during(SyncState.SYNCED)
    machine.on(SyncEvent.DELAYED)
    machine.on(SyncEvent.ANSWERED)
    assert not synced.is_set()
    machine.on(SyncEvent.RENEWED)
    assert synced.is_set()


def test_a_sign_of_a_restart_during_its_check_is_checked_again() -> None:
    machine = Machine(RESTART, RestartState.VERIFIED)
    for event in (RestartEvent.SIGN, RestartEvent.CHECK, RestartEvent.SIGN, RestartEvent.CHECKED):
        machine.on(event)
    assert machine.state is RestartState.DOUBTED
