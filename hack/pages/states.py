"""The page about states: each state machine's diagram and meanings, from its table of transitions."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

from bridge.replicator.states import RESTART, SYNC, RestartEvent, RestartState, SyncEvent, SyncState

_HEAD = """# States

<!-- made by `make reference` from bridge/replicator/states.py -->

The states of the replicator, and the events that change them. Read this page to understand why a bridge is not ready,
or before you change the replicator. The bridge runs by the same tables of transitions that these diagrams are made
from. An event in a state for which neither the diagram nor the table below it has that event is a defect, and ends the
bridge.
"""


Transitions = Mapping[Any, Mapping[Any, Enum]]


class _Subject(NamedTuple):
    title: str
    text: str
    transitions: Transitions
    start: Enum
    states: type[Enum]
    events: type[Enum]


_SUBJECTS = (
    _Subject(
        "Replicator: the objects in OPA",
        "`/readyz` reports the check `replicator` as ready only in SYNCED. The bridge writes no statuses before a\n"
        "sync is complete, and none while modules change.",
        SYNC,
        SyncState.CONNECTING,
        SyncState,
        SyncEvent,
    ),
    _Subject(
        "Replicator: signs of a restart",
        "A second machine beside the first: `/readyz` reports the check `replicator` as ready only in VERIFIED.",
        RESTART,
        RestartState.VERIFIED,
        RestartState,
        RestartEvent,
    ),
)


def states_page() -> str:
    """Return the page."""
    return _HEAD + "".join(map(_section, _SUBJECTS))


def diagram(transitions: Transitions, start: Enum) -> str:
    """Return a Mermaid state diagram, without events that do not change the state."""
    lines = ["stateDiagram-v2", f"  [*] --> {start.name}"]
    for state, following in transitions.items():
        arrows: dict[str, list[str]] = {}
        for event, target in following.items():
            if target is not state:
                arrows.setdefault(target.name, []).append(event.name)
        lines += [f"  {state.name} --> {target}: {', '.join(events)}" for target, events in arrows.items()]
    return "\n".join(lines)


def _section(subject: _Subject) -> str:
    states = [f"| {state.name} | {state.value} | {_without_effect(subject, state)} |" for state in subject.states]
    events = [f"| {event.name} | {event.value} |" for event in subject.events]
    return "\n".join(
        [
            f"\n## {subject.title}\n",
            f"{subject.text}\n",
            f"```mermaid\n{diagram(subject.transitions, subject.start)}\n```\n",
            "| state | meaning | events that do not change it |\n|---|---|---|",
            *states,
            "\n| event | meaning |\n|---|---|",
            *events,
            "",
        ]
    )


def _without_effect(subject: _Subject, state: Enum) -> str:
    return ", ".join(event.name for event, target in subject.transitions[state].items() if target is state)
