"""Answers do not depend on how many targets a query takes."""

import pytest

from bridge.model.keys import parse_key
from bridge.offline.engine import open_engine
from bridge.queries import asking
from tests.e2e.conftest import SHOP


async def test_small_batches_give_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Direct kind's target stands for its sections too, which another batch may name once more."""
    async with open_engine(manifests=[str(SHOP)]) as engine:
        at_once = await asking.effective_everywhere(engine.opa)
        monkeypatch.setattr(asking, "BATCH", 2)
        assert await asking.effective_everywhere(engine.opa) == at_once
        targets = [parse_key(entry["target"]) for entry in at_once]
        assert await asking.effective_at(engine.opa, targets) == at_once
