"""The replicator's state machine: only the table's transitions, from which everything about the state follows."""

import pytest

from bridge.replicator.replicator import SYNC, IllegalTransition, SyncEvent, SyncMachine, SyncState


def test_an_event_without_a_transition_is_an_error_and_changes_nothing() -> None:
    machine = SyncMachine()
    with pytest.raises(IllegalTransition, match=r"SyncState\.CONNECTING has no transition for SyncEvent\.WRITTEN"):
        machine.on(SyncEvent.WRITTEN)
    assert machine.state is SyncState.CONNECTING


def test_each_state_has_a_row_and_is_reached_and_left() -> None:
    assert set(SYNC) == set(SyncState)
    assert {event for row in SYNC.values() for event in row} == set(SyncEvent)
    reached, waiting = {SyncState.CONNECTING}, [SyncState.CONNECTING]
    while waiting:
        fresh = set(SYNC[waiting.pop()].values()) - reached
        reached |= fresh
        waiting += fresh
    assert reached == set(SyncState)
    assert [state for state, row in SYNC.items() if set(row.values()) <= {state}] == []


def test_a_loss_leads_back_to_connecting_from_every_state_with_data() -> None:
    having = [state for state in SyncState if state is not SyncState.CONNECTING]
    assert {SYNC[state][SyncEvent.LOST] for state in having} == {SyncState.CONNECTING}


def test_modules_that_change_are_waited_for_wherever_they_change() -> None:
    after = {state: row[SyncEvent.MODULES_CHANGE] for state, row in SYNC.items()}
    assert after.pop(SyncState.CONNECTING) is SyncState.CONNECTING
    assert after.pop(SyncState.SYNCING) is after.pop(SyncState.OUTDATED) is SyncState.OUTDATED
    assert set(after.values()) == {SyncState.RELOADING}


def test_an_opa_that_answers_again_while_facts_are_renewed_is_not_synced_yet() -> None:
    machine = SyncMachine(SyncState.RENEWING)
    machine.on(SyncEvent.DELAYED)
    machine.on(SyncEvent.ANSWERED)
    assert not machine.synced.is_set()
    machine.on(SyncEvent.RENEWED)
    assert machine.synced.is_set()
    machine.on(SyncEvent.DELAYED)
    assert not machine.synced.is_set()
