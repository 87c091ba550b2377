"""A soak of one minute: after random changes and kills everything comes right, and memory stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.soak import soak

pytestmark = pytest.mark.long


async def test_a_minute_of_changes_and_kills_leaves_everything_right(tmp_path: Path) -> None:
    await soak(1, 7, tmp_path)
