"""Soaks of one minute: what half an hour of them proves, `make soak` shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from hack.soak.soak import soak
from hack.soak.tenants import soak_tenants

pytestmark = pytest.mark.long


async def test_a_minute_of_changes_and_kills_leaves_everything_right(tmp_path: Path) -> None:
    await soak(1, 7, tmp_path)


async def test_hostile_tenant_does_not_slow_down_a_well_behaved_one(tmp_path: Path) -> None:
    await soak_tenants(1.5, 7, tmp_path)
