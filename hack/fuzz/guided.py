"""`make fuzz`: coverage-guided fuzzing of every decoder; exit code 1 if one fails, and its input becomes a seed.

Atheris (libFuzzer) runs where it is installed. Elsewhere a loop of our own mutates what has reached new lines.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from hack.fuzz.decoders import LONGEST, SEEDS, TARGETS

PIECES = (
    *(b"[", b"{", b"]", b"}", b'"', b"\\", b":", b",", b"null", b"-1", b"1e400", b"\xff", b"\\ud800", b"\x00", b"\n"),
    *(b'{"a":' * 300, b"[" * 300, b"]" * 300, b"&a ", b"*a", b"---\n", b"- ", b"? ", b"<<: ", b"!!binary ", b"/", b"#"),
    *(b"@frontend", b'"metadata":', b'"name":', b'"object":', b'"items":', b"0x", b"2020-01-01", b"'", b"%", b"\t"),
    *(
        b"!!value ",
        b"!!int ",
        b"!!timestamp ",
        b"!!set ",
        b"!!omap ",
        b"!!python/name:os ",
        b"{!!value x: y}",
        b"&a {<<: *a}",
    ),
    *(
        b"<<: [*a, *a]",
        b"%25",
        b"%2F",
        b"~1",
        b"~01",
        b"..",
        b"\xef\xbb\xbf",
        b"12:30:45",
        b"0o7",
        b".inf",
        b"\xed\xa0\x80",
    ),
)


def main() -> int:
    """Fuzz with the given arguments."""
    parser = argparse.ArgumentParser(prog="python -m hack.fuzz.guided", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1200.0, help="for all targets together")
    parser.add_argument("--only", choices=TARGETS, help="one target")
    parser.add_argument("--seed", type=int, default=None, help="of the loop of our own")
    given = parser.parse_args()
    names = [given.only] if given.only else list(TARGETS)
    failed = [name for name in names if not fuzz(name, given.seconds / len(names), given.seed)]
    print(f"fuzz: {len(names)} decoders, {len(failed)} failed {' '.join(failed)}", flush=True)
    return 1 if failed else 0


def fuzz(name: str, seconds: float, seed: int | None = None) -> bool:
    """Fuzz one target for this time. Save an input that fails as a seed; return False for it."""
    if importlib.util.find_spec("atheris") is None:
        return _fuzz_alone(name, seconds, random.randrange(1 << 32) if seed is None else seed)
    command = [sys.executable, "-m", "hack.fuzz.libfuzzer", name, str(max(1, round(seconds)))]
    # A decoder that ends the process, such as by its stack, fails like one that raises.
    done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace", timeout=seconds + 120)
    print(f"fuzz: {name}: atheris, {seconds:.0f} s, {_figures(done.stderr)}", flush=True)
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n", flush=True)
    return done.returncode == 0


def _figures(said: str) -> str:
    lines = [line for line in said.splitlines() if " cov: " in line]
    return lines[-1].strip() if lines else "no figures"


def _fuzz_alone(name: str, seconds: float, seed: int) -> bool:
    """Fuzz without Atheris: keep inputs that reach new lines of the bridge, and mutate them."""
    chance = random.Random(seed)
    corpus = [file.read_bytes() for file in sorted(_folder(name).iterdir())] or [b""]
    seen: set[tuple[str, int]] = set()
    runs, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        data = corpus[runs] if runs < len(corpus) and runs < 1000 else _mutated(chance, corpus)
        runs += 1
        try:
            lines = _lines_of(TARGETS[name], data)
        except Exception as error:  # noqa: BLE001 - what it found
            file = _folder(name) / f"crash-{hashlib.sha256(data).hexdigest()[:16]}"
            file.write_bytes(data)
            print(f"fuzz: {name}: {type(error).__name__}: {error}, see {file} (seed {seed})", flush=True)
            return False
        if lines - seen:
            seen |= lines
            corpus.append(data)
    print(f"fuzz: {name}: own loop, seed {seed}, {runs} runs, {len(seen)} lines, {len(corpus)} inputs kept", flush=True)
    return True


def _lines_of(target: Callable[[bytes], None], data: bytes) -> set[tuple[str, int]]:
    lines: set[tuple[str, int]] = set()

    def trace(frame: FrameType, _: str, __: Any) -> Any:
        file = frame.f_code.co_filename
        if "/bridge/" not in file and "/yaml/" not in file:
            return None
        lines.add((file, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        target(data)
    finally:
        sys.settrace(before)
    return lines


def _mutated(chance: random.Random, corpus: list[bytes]) -> bytes:
    data = bytearray(chance.choice(corpus))
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((0, 0, 1, 2, 8, 64)))
        match chance.randrange(5):
            case 0:
                data[at:end] = b""
            case 1:
                data[at:end] = chance.choice(PIECES)
            case 2:
                data[at:end] = bytes([chance.randrange(256)])
            case 3:
                data[at:at] = data[at:end] * chance.choice((1, 2, 300))
            case _:
                other = chance.choice(corpus)
                start = chance.randrange(len(other) + 1)
                data[at:end] = other[start : start + chance.choice((4, 32, 256))]
    return bytes(data[:LONGEST])


def _folder(name: str) -> Path:
    folder = SEEDS / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    sys.exit(main())
