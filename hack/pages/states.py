"""The diagram and meanings of the replicator's states, from its table of transitions, in the page about states."""

from bridge.replicator.replicator import SYNC, SyncEvent, SyncState


def states_page(page: str) -> str:
    """Return the page with the current diagram and tables."""
    states = [f"| {state.name} | {state.value} | {_without_effect(state)} |" for state in SyncState]
    events = [f"| {event.name} | {event.value} |" for event in SyncEvent]
    return "\n".join(
        [
            page.partition("\n```mermaid")[0],
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
