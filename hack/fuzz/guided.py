"""`make fuzz`: fuzz every decoder; exit code 1 if one fails.

Atheris (libFuzzer) runs where it is installed, and writes an input that fails into the seeds. Elsewhere hypothesis
splices pieces into the seeds.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import time
import traceback

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hack.fuzz.decoders import LONGEST, SEEDS, TARGETS

PIECES = (
    *(b"[", b"{", b"]", b"}", b'"', b"\\", b":", b",", b"null", b"-1", b"1e400", b"\xff", b"\\ud800", b"\x00", b"\n"),
    *(b'{"a":' * 300, b"[" * 300, b"]" * 300, b"&a ", b"*a", b"---\n", b"- ", b"? ", b"<<: ", b"!!binary ", b"/", b"#"),
    *(b"@frontend", b'"metadata":', b'"name":', b'"object":', b'"items":', b"0x", b"2020-01-01", b"'", b"%", b"\t"),
    *(b"!!value ", b"!!int ", b"!!timestamp ", b"!!set ", b"!!omap ", b"!!python/name:os ", b"&a {<<: *a}", b"%25"),
    *(b"<<: [*a, *a]", b"%2F", b"~1", b"..", b"\xef\xbb\xbf", b"12:30:45", b"0o7", b".inf", b"\xed\xa0\x80"),
)
EXAMPLES = 500  # between two looks at the clock


def main() -> int:
    """Fuzz with the given arguments."""
    parser = argparse.ArgumentParser(prog="python -m hack.fuzz.guided", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1200.0, help="for all targets together")
    parser.add_argument("--only", choices=TARGETS, help="one target")
    given = parser.parse_args()
    names = [given.only] if given.only else list(TARGETS)
    failed = [name for name in names if not fuzz(name, given.seconds / len(names))]
    print(f"fuzz: {len(names)} decoders, {len(failed)} failed {' '.join(failed)}", flush=True)
    return 1 if failed else 0


def fuzz(name: str, seconds: float) -> bool:
    """Fuzz one target for this time; return False, and print the input, if it fails."""
    if importlib.util.find_spec("atheris") is None:
        return _fuzz_by_hypothesis(name, seconds)
    command = [sys.executable, "-m", "hack.fuzz.libfuzzer", name, str(max(1, round(seconds)))]
    # A decoder that ends the process, such as by its stack, fails like one that raises.
    done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace", timeout=seconds + 120)
    lines = [line for line in done.stderr.splitlines() if " cov: " in line]
    print(f"fuzz: {name}: atheris, {seconds:.0f} s, {lines[-1].strip() if lines else 'no figures'}", flush=True)
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n", flush=True)
    return done.returncode == 0


def _fuzz_by_hypothesis(name: str, seconds: float) -> bool:
    seeds = [file.read_bytes() for file in sorted((SEEDS / name).iterdir())]
    pieces = st.sampled_from(PIECES) | st.binary(max_size=8)
    splice = st.tuples(st.integers(0, LONGEST), st.sampled_from([0, 0, 1, 2, 8, 64]), pieces)
    until = time.monotonic() + seconds

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(seeds), st.lists(splice, max_size=8))
    def decode(data: bytes, splices: list[tuple[int, int, bytes]]) -> None:
        for place, cut, piece in splices:
            start = place % (len(data) + 1)
            data = data[:start] + piece + data[start + cut :]
        TARGETS[name](data[:LONGEST])

    try:
        while time.monotonic() < until:
            decode()
    except Exception:  # noqa: BLE001 - what it found
        traceback.print_exc()
        return False
    print(f"fuzz: {name}: hypothesis, {seconds:.0f} s", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
