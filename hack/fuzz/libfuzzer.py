"""One decoder fuzzed by Atheris, in a process of its own: `python -m hack.fuzz.libfuzzer TARGET SECONDS`."""

from __future__ import annotations

import sys
import tempfile

import atheris

with atheris.instrument_imports(include=["bridge", "yaml"]):
    from hack.fuzz.decoders import LONGEST, SEEDS, TARGETS


def main(name: str, seconds: str) -> None:
    """Fuzz until the time is up or the target fails; a failing input is saved as a seed, and the exit code is not 0."""
    folder = SEEDS / name
    with tempfile.TemporaryDirectory(prefix="policy-bridge-fuzz-") as found:
        limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=20", "-rss_limit_mb=2048"]
        atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={folder}/", found, str(folder)], TARGETS[name])
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
