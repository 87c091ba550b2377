"""A soak of two minutes: what half an hour of it proves, `make soak` shows."""

from pathlib import Path

import pytest

from tests.soak.soak import soak

pytestmark = pytest.mark.long


async def test_hostile_tenant_neither_slows_down_nor_spoils_the_others(tmp_path: Path) -> None:
    await soak(2, 7, tmp_path)
