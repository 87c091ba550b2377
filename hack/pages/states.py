"""The page about states: the diagram and meanings of the replicator's state machine, from its table of transitions."""

from __future__ import annotations

from bridge.replicator.replicator import SYNC, SyncEvent, SyncState

_HEAD = """# States

<!-- made by `make reference` from bridge/replicator/replicator.py -->

The states of the replicator (what OPA has of the objects), and the events that change them. Read this page to
understand why a bridge is not ready, or before you change the replicator. The bridge runs by the same table of
transitions that the diagram is made from. An event in a state for which neither the diagram nor the table below it has
that event is a defect, and ends the bridge.

`/readyz` reports the check `replicator` as ready only in SYNCED, and only while no sign of a restart of OPA (it has
requested its bundle as after a restart, or its process was restarted) is unchecked. The bridge writes no statuses
before a sync is complete, and none while modules change.
"""


def states_page() -> str:
    """Return the page."""
    states = [f"| {state.name} | {state.value} | {_without_effect(state)} |" for state in SyncState]
    events = [f"| {event.name} | {event.value} |" for event in SyncEvent]
    return "\n".join(
        [
            _HEAD,
            f"```mermaid\n{diagram()}\n```\n",
            "| state | meaning | events that do not change it |\n|---|---|---|",
            *states,
            "\n| event | meaning |\n|---|---|",
            *events,
            "",
        ]
    )


def diagram() -> str:
    """Return a Mermaid state diagram, without events that do not change the state."""
    lines = ["stateDiagram-v2", f"  [*] --> {SyncState.CONNECTING.name}"]
    for state, following in SYNC.items():
        arrows: dict[str, list[str]] = {}
        for event, target in following.items():
            if target is not state:
                arrows.setdefault(target.name, []).append(event.name)
        lines += [f"  {state.name} --> {target}: {', '.join(events)}" for target, events in arrows.items()]
    return "\n".join(lines)


def _without_effect(state: SyncState) -> str:
    return ", ".join(event.name for event, target in SYNC[state].items() if target is state)
