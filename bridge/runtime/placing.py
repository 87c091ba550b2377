"""Placement as the settings want it, in the world that they name."""

from __future__ import annotations

from bridge.model.recording import record_nothing
from bridge.opa.client import Opa
from bridge.remediator.placement.placement import Placement
from bridge.remediator.queue import Budget
from bridge.runtime.settings import Settings
from bridge.runtime.world import World

BURST = 10  # objects that may be moved at once before the budget bounds them


def make_placement(opa: Opa, world: World, settings: Settings) -> Placement:
    """The placement of the configured kinds; without any it does nothing."""
    return Placement(
        opa,
        world.sink,
        settings.placed_types,
        Budget(settings.placement_writes_per_second, BURST),
        record_nothing if settings.manifests else world.record,  # of a folder the log tells already
        settings.placement_most_patches,
    )
