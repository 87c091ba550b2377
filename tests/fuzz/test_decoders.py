"""No decoder fails on what others write, but by its own error. Inputs that once failed are among the seeds.

`make fuzz` takes longer. Where Atheris is installed, it is guided by coverage, and writes an input that fails into the
seeds.
"""

import importlib.util
import os
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.decoders import LONGEST, SEEDS, TARGETS
from tests.fuzz.splices import spliced

FILES = sorted(file for file in SEEDS.glob("*/*") if file.is_file())
SECONDS = float(os.environ.get("FUZZ_SECONDS", "300")) / len(TARGETS)
EXAMPLES = 500  # between two checks of the time


@pytest.mark.parametrize("name", TARGETS)
def test_every_decoder_takes_every_seed(name: str) -> None:
    assert list((SEEDS / name).iterdir())
    for file in FILES:  # also those of the others
        TARGETS[name](file.read_bytes())


@pytest.mark.long
@pytest.mark.parametrize("name", TARGETS)
def test_no_splice_of_seeds_makes_a_decoder_fail(name: str) -> None:
    seeds = [file.read_bytes() for file in sorted((SEEDS / name).iterdir())]
    until = time.monotonic() + SECONDS

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(spliced(st.sampled_from(seeds)))
    def decode(data: bytes) -> None:
        TARGETS[name](data[:LONGEST])

    while time.monotonic() < until:
        decode()


@pytest.mark.long
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="Atheris is not installed")
def test_guided_fuzzing_finds_no_input_that_a_decoder_fails_on(name: str) -> None:
    """A decoder that ends the process, such as by its stack, fails like one that raises."""
    command = [sys.executable, "-m", "tests.fuzz.guided", name, str(max(1, round(SECONDS)))]
    done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace", timeout=SECONDS + 120)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
