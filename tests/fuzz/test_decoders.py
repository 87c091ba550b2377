"""No decoder fails on what others write, but by its own error. Inputs that once failed are among the seeds."""

from __future__ import annotations

import pytest

from hack.fuzz.decoders import SEEDS, TARGETS
from hack.fuzz.guided import fuzz

FILES = sorted(file for file in SEEDS.glob("*/*") if file.is_file())
MINUTES = 5


@pytest.mark.parametrize("name", TARGETS)
def test_every_decoder_takes_every_seed(name: str) -> None:
    assert list((SEEDS / name).iterdir())
    for file in FILES:  # also those of the others
        TARGETS[name](file.read_bytes())


@pytest.mark.long
@pytest.mark.parametrize("name", TARGETS)
def test_guided_fuzzing_finds_no_input_that_a_decoder_fails_on(name: str) -> None:
    assert fuzz(name, MINUTES * 60 / len(TARGETS))
