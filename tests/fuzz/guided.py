"""Fuzz one decoder with Atheris (libFuzzer) in its own process: `python -m tests.fuzz.guided TARGET SECONDS`."""

import sys
import tempfile

import atheris

with atheris.instrument_imports(include=["bridge", "yaml"]):
    from tests.fuzz.decoders import LONGEST, SEEDS, TARGETS


def main(name: str, seconds: str) -> None:
    """Fuzz until the time is over or the target fails; then save the input as a seed, and exit with a code above 0."""
    folder = SEEDS / name
    with tempfile.TemporaryDirectory(prefix="policy-bridge-fuzz-") as found:
        limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=20", "-rss_limit_mb=2048"]
        atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={folder}/", found, str(folder)], TARGETS[name])
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
